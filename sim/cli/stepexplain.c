// Prints a step's phases and traffic so that every number can be redone by hand.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepexplain.h"

#include <inttypes.h>

#include "json.h"
#include "train.h"
#include "units.h"

static enum sand_rc compare_orders(const struct sand_step_question *question,
                                   const struct sand_step_layout *layout,
                                   struct sand_explain_view *view, struct sand_diag *diag)
{
    struct sand_job_spec job = *question->job;
    struct sand_step_question other = *question;
    struct sand_step_layout moved;
    struct sand_step_phases phases;
    const int apart = sand_split_order(&job.split) == SAND_RANKS_TP_CP_DP_PP;
    if (layout->expert_domains < 2 || job.split.pp < 2)
        return SAND_OK;
    job.split.order = apart ? SAND_RANKS_TP_CP_PP_DP : SAND_RANKS_TP_CP_DP_PP;
    other.job = &job;
    SAND_TRY(sand_step_layout_find(&other, &moved, diag));
    if (moved.expert_domains >= layout->expert_domains)
        return SAND_OK;
    sand_step_phases_find(&other, &moved, &phases);
    view->order = (struct sand_explain_order){.domains = layout->expert_domains,
                                              .other_domains = moved.expert_domains,
                                              .step_s = sand_step_phases_sum(&view->phases),
                                              .other_step_s = sand_step_phases_sum(&phases),
                                              .other = apart ? "tp-cp-pp-dp" : "tp-cp-dp-pp"};
    return SAND_OK;
}

enum sand_rc sand_cli_step_explain(const struct sand_step_question *question, uint32_t stage,
                                   struct sand_explain_view *view, struct sand_diag *diag)
{
    struct sand_step_layout layout;
    SAND_TRY(sand_step_layout_find(question, &layout, diag));
    sand_step_phases_find(question, &layout, &view->phases);
    SAND_TRY(compare_orders(question, &layout, view, diag));
    return sand_step_breakdown_find(question, stage, &view->traffic, diag);
}

// ---- phases -------------------------------------------------------------------------------------

struct phase {
    const char *label, *name;
    size_t offset;
    const char *equation;
};
#define PHASE(label, member, equation)                                                             \
    {                                                                                              \
        label, #member, offsetof(struct sand_step_phases, member), equation                        \
    }

static const struct phase phases[] = {
    PHASE("work", work_s, "micro-batches x slowest stage, forwards and backwards"),
    PHASE("fill and drain", fill_s,
          "1F1B: sum over stages - slowest; interleaved: first chunks of the stages before"),
    PHASE("exposed sends", sends_s,
          "1F1B: 2 send (p-1) x (1 + (m-p)/p); interleaved: 2 send (p v - 1)"),
    PHASE("gradients on the way", wave_s,
          "interleaved: exposed share of the gradients of all chunks but the first"),
    PHASE("gradients at the end", gradients_s,
          "1F1B: of the first stage, what its last backward does not hide; interleaved: of the "
          "first chunk"),
    PHASE("weights", weights_s, "gathered before they are needed, what compute does not hide"),
    PHASE("optimizer", optimizer_s, "bytes of traffic x parameters updated / usable memory rate"),
    PHASE("fixed overhead", overhead_s, "of the software, once a step"),
};
enum { N_PHASES = sizeof phases / sizeof phases[0] };

static double phase_of(const struct sand_step_phases *p, size_t i)
{
    return *(const double *)(const void *)((const char *)p + phases[i].offset);
}

static char *quantity(double value, enum sand_dim dim, char *buffer)
{
    return sand_quantity_format(value, dim, 6, buffer, 48);
}

static void print_phases(const struct sand_explain_view *view, FILE *out)
{
    const struct sand_step_phases *p = &view->phases;
    char a[48], b[48], c[48];
    fprintf(out, "\nphases of the GPUs that end last (Narayanan et al. 2021, section 2.2)\n");
    for (size_t i = 0; i < N_PHASES; i++)
        fprintf(out, "  %-22s %14s  %s\n", phases[i].label,
                quantity(phase_of(p, i), SAND_DIM_TIME, a), phases[i].equation);
    fprintf(out, "  %-22s %14s  simulated: %s\n", "sum",
            quantity(sand_step_phases_sum(p), SAND_DIM_TIME, a),
            quantity(view->profile->profile->step_s, SAND_DIM_TIME, b));
    fprintf(out, "with %.0f micro-batches, slowest stage %s, mean stage %s, one send %s\n",
            p->micro_batches, quantity(p->slowest_s, SAND_DIM_TIME, a),
            quantity(p->mean_s, SAND_DIM_TIME, b), quantity(p->send_s, SAND_DIM_TIME, c));
}

// ---- traffic ------------------------------------------------------------------------------------

static void print_latency(const struct sand_step_term *t, FILE *out)
{
    char a[48], b[48], c[48], d[48];
    fprintf(out, "  latency base %s + %.6g x %s (scale-up) + %.6g x %s (network)",
            quantity(t->base_s, SAND_DIM_TIME, a), t->scaleup_hops,
            quantity(t->scaleup_hop_s, SAND_DIM_TIME, b), t->network_hops,
            quantity(t->network_hop_s, SAND_DIM_TIME, c));
    if (t->messages_s > 0)
        fprintf(out, " + messages %s", quantity(t->messages_s, SAND_DIM_TIME, a));
    if (t->fill_s > 0)
        fprintf(out, " + fill %s", quantity(t->fill_s, SAND_DIM_TIME, a));
    fprintf(out, " = %s\n", quantity(t->latency_s, SAND_DIM_TIME, d));
    if (t->fill_s > 0)
        fprintf(out, "  fill    %.6g x wire alone %s / (1 + S / %s)\n", t->depth,
                quantity(t->fill_wire_s, SAND_DIM_TIME, a), quantity(t->fill_B, SAND_DIM_BYTES, b));
}

static void print_term(const struct sand_step_term *t, FILE *out)
{
    char a[48], b[48];
    fprintf(out, "\n%s: %s, %s, protocol %s, n = %" PRIu32 " ranks in %" PRIu32 " domain%s\n",
            t->name, t->collective, t->algorithm, t->protocol, t->ranks, t->domains,
            t->domains == 1 ? "" : "s");
    fprintf(out, "  S       %s, %s\n", quantity(t->message_B, SAND_DIM_BYTES, a), t->message);
    fprintf(out, "  a hop   %.6g x S x %.6g / %" PRIu32 " = %s; the factor: %s\n", t->factor,
            t->stretch, t->channels, quantity(t->hop_B, SAND_DIM_BYTES, a), t->volume);
    print_latency(t, out);
    if (t->rate_Bps > 0)
        fprintf(out, "  rate    %s x usable %.6g / %.6g users of %s = %s\n",
                quantity(t->link_Bps, SAND_DIM_BANDWIDTH, a), t->link_usable, t->link_users,
                t->link, quantity(t->rate_Bps, SAND_DIM_BANDWIDTH, b));
    fprintf(out, "  one     latency + hop / rate = %s; %.6g a step = %s\n",
            quantity(t->one_s, SAND_DIM_TIME, a), t->per_step,
            quantity(t->per_step * t->one_s, SAND_DIM_TIME, b));
    fprintf(out, "  waited  %.6g of it = %s; the rest beside: %s\n", t->exposed,
            quantity(t->exposed_s, SAND_DIM_TIME, a), t->overlap);
    fprintf(out, "  by      %s\n          %s\n", t->equation, t->source);
}

static void print_order(const struct sand_explain_order *order, FILE *out)
{
    char a[48], b[48];
    if (order->other_domains == 0)
        return;
    fprintf(out,
            "\nthe ranks of an expert group are in %" PRIu32
            " scale-up domains, with order=\"%s\" in %" PRIu32 ": closed form\n%s instead of %s\n",
            order->domains, order->other, order->other_domains,
            quantity(order->other_step_s, SAND_DIM_TIME, a),
            quantity(order->step_s, SAND_DIM_TIME, b));
}

void sand_explain_print_text(const struct sand_explain_view *view, FILE *out)
{
    char a[48];
    const struct sand_profile_view *v = view->profile;
    fprintf(out, "job %s: %s, one step on %s: %s\n", v->job->id, v->job->model->id,
            v->experiment->cluster.name, quantity(v->profile->step_s, SAND_DIM_TIME, a));
    print_phases(view, out);
    fprintf(out,
            "\ntraffic of stage %" PRIu32
            ", each alone with its like: the simulation also has the others "
            "on\nthe links, and pipelines hide some of what is waited for in their bubbles\n",
            view->traffic.stage);
    for (size_t i = 0; i < view->traffic.n; i++)
        print_term(&view->traffic.terms[i], out);
    print_order(&view->order, out);
    if (view->traffic.n == 0)
        fprintf(out, "\nnothing is sent: one GPU, or none beside it to talk to\n");
}

// ---- JSON and CSV -------------------------------------------------------------------------------

struct number {
    const char *name, *unit;
    size_t offset;
    int is_u32;
};
#define NUMBER(member, unit)                                                                       \
    {                                                                                              \
#member, unit, offsetof(struct sand_step_term, member), 0                                  \
    }
#define COUNT(member)                                                                              \
    {                                                                                              \
#member, "1", offsetof(struct sand_step_term, member), 1                                   \
    }

static const struct number numbers[] = {
    COUNT(ranks),
    COUNT(domains),
    COUNT(channels),
    NUMBER(message_B, "B"),
    NUMBER(factor, "1"),
    NUMBER(stretch, "1"),
    NUMBER(hop_B, "B"),
    NUMBER(base_s, "s"),
    NUMBER(scaleup_hops, "1"),
    NUMBER(scaleup_hop_s, "s"),
    NUMBER(network_hops, "1"),
    NUMBER(network_hop_s, "s"),
    NUMBER(messages_s, "s"),
    NUMBER(depth, "1"),
    NUMBER(fill_wire_s, "s"),
    NUMBER(fill_B, "B"),
    NUMBER(fill_s, "s"),
    NUMBER(latency_s, "s"),
    NUMBER(link_Bps, "B/s"),
    NUMBER(link_usable, "1"),
    NUMBER(link_users, "1"),
    NUMBER(rate_Bps, "B/s"),
    NUMBER(one_s, "s"),
    NUMBER(per_step, "1"),
    NUMBER(exposed, "1"),
    NUMBER(exposed_s, "s"),
};
enum { N_NUMBERS = sizeof numbers / sizeof numbers[0] };

static double number_of(const struct sand_step_term *term, const struct number *number)
{
    const void *at = (const char *)term + number->offset;
    return number->is_u32 ? *(const uint32_t *)at : *(const double *)at;
}

static void put_term(const struct sand_step_term *t, FILE *out)
{
    const char *const texts[][2] = {{"name", t->name},           {"collective", t->collective},
                                    {"algorithm", t->algorithm}, {"protocol", t->protocol},
                                    {"message", t->message},     {"link", t->link},
                                    {"volume", t->volume},       {"equation", t->equation},
                                    {"source", t->source},       {"overlap", t->overlap}};
    fputs("    {", out);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fprintf(out, "%s\"%s\": ", i > 0 ? ", " : "", texts[i][0]);
        sand_json_string(out, texts[i][1]);
    }
    for (size_t i = 0; i < N_NUMBERS; i++) {
        fprintf(out, ", \"%s\": ", numbers[i].name);
        sand_json_number(out, number_of(t, &numbers[i]));
    }
    fputs("}", out);
}

void sand_explain_print_json(const struct sand_explain_view *view, FILE *out)
{
    const struct sand_step_phases *p = &view->phases;
    fputs("{\n  \"job\": ", out);
    sand_json_string(out, view->profile->job->id);
    fputs(",\n  \"step_s\": ", out);
    sand_json_number(out, view->profile->profile->step_s);
    fputs(",\n  \"closed_form_s\": ", out);
    sand_json_number(out, sand_step_phases_sum(p));
    fputs(",\n  \"phases\": {\"micro_batches\": ", out);
    sand_json_number(out, p->micro_batches);
    const double more[] = {p->slowest_s, p->mean_s, p->send_s};
    static const char *const names[] = {"slowest_s", "mean_s", "send_s"};
    for (size_t i = 0; i < 3; i++) {
        fprintf(out, ", \"%s\": ", names[i]);
        sand_json_number(out, more[i]);
    }
    for (size_t i = 0; i < N_PHASES; i++) {
        fprintf(out, ", \"%s\": ", phases[i].name);
        sand_json_number(out, phase_of(p, i));
    }
    fputs("},\n", out);
    if (view->order.other_domains > 0) {
        fprintf(out,
                "  \"expert_order\": {\"domains\": %" PRIu32 ", \"other\": \"%s\", "
                "\"other_domains\": %" PRIu32 ", \"step_s\": ",
                view->order.domains, view->order.other, view->order.other_domains);
        sand_json_number(out, view->order.step_s);
        fputs(", \"other_step_s\": ", out);
        sand_json_number(out, view->order.other_step_s);
        fputs("},\n", out);
    }
    fprintf(out, "  \"stage\": %" PRIu32 ",\n  \"traffic\": [", view->traffic.stage);
    for (size_t i = 0; i < view->traffic.n; i++) {
        fputs(i > 0 ? ",\n" : "\n", out);
        put_term(&view->traffic.terms[i], out);
    }
    fputs("\n  ]\n}\n", out);
}

static void put_csv(const char *part, const char *name, double value, const char *unit, FILE *out)
{
    char text[64];
    fprintf(out, "\"%s\",%s,%s,%s\n", part, name,
            sand_quantity_canonical(value, SAND_DIM_NUMBER, text, sizeof text), unit);
}

void sand_explain_print_csv(const struct sand_explain_view *view, FILE *out)
{
    fputs("part,name,value,unit\n", out);
    put_csv("step", "step_s", view->profile->profile->step_s, "s", out);
    for (size_t i = 0; i < N_PHASES; i++)
        put_csv("phases", phases[i].name, phase_of(&view->phases, i), "s", out);
    for (size_t k = 0; k < view->traffic.n; k++)
        for (size_t i = 0; i < N_NUMBERS; i++)
            put_csv(view->traffic.terms[k].name, numbers[i].name,
                    number_of(&view->traffic.terms[k], &numbers[i]), numbers[i].unit, out);
}
