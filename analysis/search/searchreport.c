// Prints a search from one table of its columns.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "searchreport.h"

#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "train.h"
#include "units.h"

// ---- words --------------------------------------------------------------------------------------

static const char *recompute_word(const struct sand_split *split)
{
    static const char *const words[] = {"none", "selective", "full", "partial"};
    return words[split->recompute];
}

static const char *sharding_word(const struct sand_split *split)
{
    static const char *const words[] = {"ZeRO-1", "ZeRO-2", "ZeRO-3"};
    if (split->dp * split->cp == 1)
        return "-";
    if (split->sharding == SAND_SHARD_OPTIMIZER && !split->distributed_optimizer)
        return "none";
    return words[split->sharding];
}

static const char *order_word(const struct sand_split *split)
{
    return sand_split_order(split) == SAND_RANKS_TP_CP_DP_PP ? "tp-cp-dp-pp" : "tp-cp-pp-dp";
}

// ---- reasons ------------------------------------------------------------------------------------

enum { TERMS = 7, MOST_NAMED = 2 };
static const char *const term_names[TERMS] = {
    "compute", "recomputation", "exposed TP", "exposed CP", "exposed PP", "exposed DP", "bubble"};

static void terms_of(const struct sand_step_profile *p, double terms[TERMS])
{
    terms[0] = p->compute_s - p->recompute_s;
    terms[1] = p->recompute_s;
    terms[2] = p->exposed_tp_s;
    terms[3] = p->exposed_cp_s;
    terms[4] = p->exposed_pp_s;
    terms[5] = p->exposed_dp_s;
    terms[6] = p->bubble_s;
}

static int largest(const double terms[TERMS])
{
    int at = 0;
    for (int i = 1; i < TERMS; i++)
        if (terms[i] > terms[at])
            at = i;
    return at;
}

char *sand_search_reason(const struct sand_search_hit *best, const struct sand_search_hit *hit,
                         char *buffer, size_t size)
{
    double base[TERMS], grown[TERMS];
    terms_of(&best->profile, base);
    terms_of(&hit->profile, grown);
    for (int i = 0; i < TERMS; i++)
        grown[i] -= base[i];
    const double most_s = grown[largest(grown)];
    size_t used = 0;
    buffer[0] = '\0';
    for (int named = 0; named < MOST_NAMED && used < size; named++) {
        const int i = largest(grown);
        if (!(grown[i] > 0) || grown[i] < most_s / 4)
            break;
        char time[48];
        sand_quantity_format(grown[i], SAND_DIM_TIME, 3, time, sizeof time);
        const int n = snprintf(buffer + used, size - used, "%s%s +%s", named > 0 ? ", " : "",
                               term_names[i], time);
        used += n > 0 ? (size_t)n : 0;
        grown[i] = 0;
    }
    return buffer;
}

// ---- text ---------------------------------------------------------------------------------------

static void print_counts(const struct sand_search_view *view, FILE *out)
{
    const struct sand_search_question *q = view->question;
    const struct sand_search_result *r = view->result;
    const uint64_t too_big = r->too_big_state + r->too_big_activations;
    fprintf(out, "%s on %" PRIu32 " x %s (%s), global batch %" PRIu32 " x %" PRIu32 " tokens\n",
            q->job->model->id, q->job->n_nodes * q->fabric->gpus_per_node, r->gpu->id,
            q->cluster->name, q->job->split.global_batch, q->job->split.sequence);
    fprintf(out,
            "considered: %" PRIu64 " splits; %" PRIu64 " not possible, %" PRIu64
            " beyond the memory\n"
            "(%" PRIu64 " by weights, gradients and optimizer, %" PRIu64
            " by activations and buffers)\n"
            "time: %" PRIu64 " ruled out by a bound, %" PRIu64 " in closed form over %" PRIu64
            " placements, %zu simulated\n",
            r->considered, r->impossible, too_big, r->too_big_state, r->too_big_activations,
            r->ruled_out, r->estimated, r->layouts, r->n_hits);
    if (r->n_shortened > 0)
        fprintf(out,
                "of these %zu with very many micro-batches, as the straight line through two "
                "shorter steps\n",
                r->n_shortened);
}

static void print_split(const struct sand_split *s, FILE *out)
{
    char shards[32];
    const int n = snprintf(shards, sizeof shards, "%s", sharding_word(s));
    if (s->shard_group > 0)
        snprintf(shards + n, sizeof shards - (size_t)n, "/%" PRIu32, s->shard_group);
    fprintf(out,
            " %3" PRIu32 " %3" PRIu32 " %3" PRIu32 " %4" PRIu32 " %3" PRIu32 " %3" PRIu32
            " %3" PRIu32 " %-9s %-9s",
            s->tp, s->cp, s->pp, s->dp, s->ep > 1 ? s->ep : 1, s->virtual_stages, s->micro_batch,
            recompute_word(s), shards);
}

static const char split_heading[] = "  tp  cp  pp   dp  ep  vs  mb recompute shards   ";

static void print_hits(const struct sand_search_view *view, FILE *out)
{
    const struct sand_search_result *r = view->result;
    fprintf(out, "\nrank%s  memory  MFU       step  loses by\n", split_heading);
    for (size_t i = 0; i < r->n_hits; i++) {
        const struct sand_search_hit *hit = &r->hits[i];
        char memory[48], step[48], why[160];
        if (hit->shape_rank == 0 || hit->shape_rank > view->top)
            continue;
        sand_quantity_format(hit->of.memory.total_B, SAND_DIM_BYTES, 3, memory, sizeof memory);
        sand_quantity_format(hit->profile.step_s, SAND_DIM_TIME, 4, step, sizeof step);
        fprintf(out, "%4" PRIu32, hit->shape_rank);
        print_split(&hit->of.split, out);
        fprintf(out, " %7s %4.1f%% %9s  %s\n", memory, 100 * hit->profile.mfu, step,
                i == 0 ? "-" : sand_search_reason(&r->hits[0], hit, why, sizeof why));
    }
}

static void print_refused(const struct sand_search_view *view, FILE *out)
{
    const struct sand_search_result *r = view->result;
    if (r->n_refused == 0)
        return;
    fprintf(out, "\nfaster, but beyond the memory (closed form)\n    %s    needs  of       step\n",
            split_heading);
    for (size_t i = 0; i < r->n_refused; i++) {
        const struct sand_search_candidate *c = &r->refused[i];
        char need[48], have[48], step[48];
        sand_quantity_format(c->memory.total_B, SAND_DIM_BYTES, 3, need, sizeof need);
        sand_quantity_format(c->memory.capacity_B, SAND_DIM_BYTES, 3, have, sizeof have);
        sand_quantity_format(c->estimate.step_s, SAND_DIM_TIME, 4, step, sizeof step);
        fputs("    ", out);
        print_split(&c->split, out);
        fprintf(out, " %8s  %s  %8s\n", need, have, step);
    }
}

static const char *yes_no(int value)
{
    return value ? "yes" : "no";
}

// The winner as an experiment writes it.
static void print_element(const struct sand_search_hit *hit, FILE *out)
{
    static const char *const shards[] = {"optimizer", "gradients", "parameters"};
    const struct sand_split *s = &hit->of.split;
    fprintf(out,
            "\nthe best, as an experiment writes it\n"
            "  tp=\"%" PRIu32 "\" cp=\"%" PRIu32 "\" pp=\"%" PRIu32 "\" dp=\"%" PRIu32
            "\" virtual_stages=\"%" PRIu32 "\" micro_batch=\"%" PRIu32 "\" global_batch=\"%" PRIu32
            "\"\n"
            "  order=\"%s\" recompute=\"%s\" sequence_parallel=\"%s\" "
            "distributed_optimizer=\"%s\" sharding=\"%s\"\n",
            s->tp, s->cp, s->pp, s->dp, s->virtual_stages, s->micro_batch, s->global_batch,
            order_word(s), recompute_word(s), yes_no(s->sequence_parallel),
            yes_no(s->distributed_optimizer), shards[s->sharding]);
    if (s->shard_group > 0)
        fprintf(out, "  shard_group=\"%" PRIu32 "\"\n", s->shard_group);
    if (s->ep > 1)
        fprintf(out, "  and inside: <experts ep=\"%" PRIu32 "\" expert_tp=\"%" PRIu32 "\"/>\n",
                s->ep, s->expert_tp > 0 ? s->expert_tp : s->tp);
}

void sand_search_print_text(const struct sand_search_view *view, FILE *out)
{
    print_counts(view, out);
    print_hits(view, out);
    print_refused(view, out);
    print_element(&view->result->hits[0], out);
}

// ---- JSON and CSV -------------------------------------------------------------------------------

// A column: how a hit's value is found. Texts have a word, numbers a value.
struct column {
    const char *name;
    const char *(*word)(const struct sand_split *split);
    double (*value)(const struct sand_search_hit *hit);
};

#define VALUE(name, expression)                                                                    \
    static double name##_of(const struct sand_search_hit *hit)                                     \
    {                                                                                              \
        return expression;                                                                         \
    }
VALUE(shape_rank, hit->shape_rank)
VALUE(tp, hit->of.split.tp)
VALUE(cp, hit->of.split.cp)
VALUE(pp, hit->of.split.pp)
VALUE(dp, hit->of.split.dp)
VALUE(ep, hit->of.split.ep > 1 ? hit->of.split.ep : 1)
VALUE(expert_tp, hit->of.split.ep > 1 ? sand_split_expert_tp(&hit->of.split) : 0)
VALUE(shard_group, hit->of.split.shard_group)
VALUE(virtual_stages, hit->of.split.virtual_stages)
VALUE(micro_batch, hit->of.split.micro_batch)
VALUE(sequence_parallel, hit->of.split.sequence_parallel)
VALUE(step, hit->profile.step_s)
VALUE(closed_form, hit->of.estimate.step_s)
VALUE(mfu, hit->profile.mfu)
VALUE(compute, hit->profile.compute_s)
VALUE(recompute, hit->profile.recompute_s)
VALUE(exposed_tp, hit->profile.exposed_tp_s)
VALUE(exposed_cp, hit->profile.exposed_cp_s)
VALUE(exposed_pp, hit->profile.exposed_pp_s)
VALUE(exposed_dp, hit->profile.exposed_dp_s)
VALUE(bubble, hit->profile.bubble_s)
VALUE(memory, hit->of.memory.total_B)

static const struct column columns[] = {
    {"shape_rank", NULL, shape_rank_of},
    {"tp", NULL, tp_of},
    {"cp", NULL, cp_of},
    {"pp", NULL, pp_of},
    {"dp", NULL, dp_of},
    {"ep", NULL, ep_of},
    {"expert_tp", NULL, expert_tp_of},
    {"virtual_stages", NULL, virtual_stages_of},
    {"micro_batch", NULL, micro_batch_of},
    {"rank_order", order_word, NULL},
    {"recompute", recompute_word, NULL},
    {"sequence_parallel", NULL, sequence_parallel_of},
    {"sharding", sharding_word, NULL},
    {"shard_group", NULL, shard_group_of},
    {"memory_B", NULL, memory_of},
    {"step_s", NULL, step_of},
    {"closed_form_s", NULL, closed_form_of},
    {"mfu", NULL, mfu_of},
    {"compute_s", NULL, compute_of},
    {"recompute_s", NULL, recompute_of},
    {"exposed_tp_s", NULL, exposed_tp_of},
    {"exposed_cp_s", NULL, exposed_cp_of},
    {"exposed_pp_s", NULL, exposed_pp_of},
    {"exposed_dp_s", NULL, exposed_dp_of},
    {"bubble_s", NULL, bubble_of},
};
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

static void put_hit(const struct sand_search_view *view, size_t i, FILE *out)
{
    const struct sand_search_hit *hit = &view->result->hits[i];
    char why[160];
    fprintf(out, "    {\"rank\": %zu", i + 1);
    for (size_t c = 0; c < N_COLUMNS; c++) {
        fprintf(out, ", \"%s\": ", columns[c].name);
        if (columns[c].word)
            sand_json_string(out, columns[c].word(&hit->of.split));
        else
            sand_json_number(out, columns[c].value(hit));
    }
    fputs(", \"loses_by\": ", out);
    sand_json_string(out, sand_search_reason(&view->result->hits[0], hit, why, sizeof why));
    fputs("}", out);
}

void sand_search_print_json(const struct sand_search_view *view, FILE *out)
{
    const struct sand_search_result *r = view->result;
    const struct sand_search_question *q = view->question;
    fputs("{\n  \"model\": ", out);
    sand_json_string(out, q->job->model->id);
    fputs(",\n  \"cluster\": ", out);
    sand_json_string(out, q->cluster->name);
    fprintf(out,
            ",\n  \"gpus\": %" PRIu32 ",\n  \"global_batch\": %" PRIu32
            ",\n  \"considered\": %" PRIu64 ",\n  \"ruled_out_by_bound\": %" PRIu64
            ",\n  \"in_closed_form\": %" PRIu64 ",\n  \"placements\": %" PRIu64
            ",\n  \"not_possible\": %" PRIu64 ",\n  \"beyond_memory_by_state\": %" PRIu64
            ",\n  \"beyond_memory_by_activations\": %" PRIu64 ",\n  \"splits\": [",
            q->job->n_nodes * q->fabric->gpus_per_node, q->job->split.global_batch, r->considered,
            r->ruled_out, r->estimated, r->layouts, r->impossible, r->too_big_state,
            r->too_big_activations);
    for (size_t i = 0; i < r->n_hits; i++) {
        fputs(i > 0 ? ",\n" : "\n", out);
        put_hit(view, i, out);
    }
    fputs("\n  ]\n}\n", out);
}

void sand_search_print_csv(const struct sand_search_view *view, FILE *out)
{
    fputs("rank", out);
    for (size_t c = 0; c < N_COLUMNS; c++)
        fprintf(out, ",%s", columns[c].name);
    fputs(",loses_by\n", out);
    for (size_t i = 0; i < view->result->n_hits; i++) {
        const struct sand_search_hit *hit = &view->result->hits[i];
        char text[160];
        fprintf(out, "%zu", i + 1);
        for (size_t c = 0; c < N_COLUMNS; c++) {
            if (columns[c].word)
                fprintf(out, ",%s", columns[c].word(&hit->of.split));
            else
                fprintf(out, ",%s",
                        sand_quantity_canonical(columns[c].value(hit), SAND_DIM_NUMBER, text,
                                                sizeof text));
        }
        fprintf(out, ",\"%s\"\n",
                sand_search_reason(&view->result->hits[0], hit, text, sizeof text));
    }
}
