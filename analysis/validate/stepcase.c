// From the texts of a row to a question. The vocabulary of the columns stands here; which hardware
// and software a row means stands in the rules.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepcase.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csvrows.h"
#include "namewords.h"
#include "stepfind.h"
#include "steprest.h"
#include "train.h"

// ---- verdicts -----------------------------------------------------------------------------------

// The gravest class stays, with its first reason.
__attribute__((format(printf, 3, 4))) static void
judge(struct sand_step_case *c, enum sand_step_class class, const char *format, ...)
{
    if (class <= c->class)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
    c->class = class;
}

static const char *cell(const struct sand_step_case *c, enum sand_step_column column)
{
    return c->row->cell[column];
}

// ---- numbers ------------------------------------------------------------------------------------

_Static_assert(SAND_STEP_COLUMNS <= 32, "a column is a bit");

static int has_experts(const struct sand_step_case *c);

static int is_measurement(enum sand_step_column column)
{
    return column == SAND_STEP_TIME || column == SAND_STEP_TOKENS;
}

// "0" experts are none.
static int is_whole(enum sand_step_column column)
{
    return (column >= SAND_STEP_LAYERS && column <= SAND_STEP_TOP_K) ||
           (column >= SAND_STEP_GPUS && column <= SAND_STEP_EP) ||
           column == SAND_STEP_MICRO_BATCH || column == SAND_STEP_GLOBAL_BATCH;
}

const char *sand_step_column_rule(enum sand_step_column column)
{
    return is_measurement(column) ? "a number above 0 and below 1e12"
           : is_whole(column)     ? "a whole number from 1 to 1000000000"
                                  : NULL;
}

// A positive whole number; 0 if the cell is empty or holds something else.
static uint32_t whole(const struct sand_step_case *c, enum sand_step_column column)
{
    char *end = NULL, plain[SAND_CSV_NUMBER];
    const char *text = sand_csv_ungrouped(cell(c, column), plain);
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 1) || value > 1e9 ||
        value != (double)(uint32_t)value)
        return 0;
    return (uint32_t)value;
}

static double positive(const struct sand_step_case *c, enum sand_step_column column)
{
    char *end = NULL;
    const char *text = cell(c, column);
    const double value = strtod(text, &end);
    return end != text && *end == '\0' && value > 0 && value < 1e12 ? value : 0;
}

// No number of a cell that says something else is made up, nor is the cell taken for empty.
static void check_cells(struct sand_step_case *c)
{
    for (int i = 0; i < SAND_STEP_COLUMNS; i++) {
        const enum sand_step_column column = (enum sand_step_column)i;
        if (cell(c, column)[0] == '\0')
            continue;
        if ((is_whole(column) && whole(c, column) == 0 &&
             !(column == SAND_STEP_EXPERTS && !has_experts(c))) ||
            (is_measurement(column) && !(positive(c, column) > 0)))
            c->bad_cells |= (uint32_t)1 << i;
    }
    if (c->bad_cells != 0)
        judge(c, SAND_STEP_SKIPPED, "cells that are no numbers of their column");
}

// A needed number: the row is skipped without it.
static uint32_t needed(struct sand_step_case *c, enum sand_step_column column)
{
    const uint32_t value = whole(c, column);
    if (value == 0)
        judge(c, SAND_STEP_SKIPPED, "%s is not given", sand_step_column_name(column));
    return value;
}

// A number that has a usual value, which makes the row ill specified.
static uint32_t assumed(struct sand_step_case *c, enum sand_step_column column, uint32_t usual)
{
    const uint32_t value = whole(c, column);
    if (value == 0)
        judge(c, SAND_STEP_ILL, "%s is not given", sand_step_column_name(column));
    return value == 0 ? usual : value;
}

static uint32_t or_else(uint32_t value, uint32_t otherwise)
{
    return value == 0 ? otherwise : value;
}

// ---- model --------------------------------------------------------------------------------------

static int has_experts(const struct sand_step_case *c)
{
    const char *text = cell(c, SAND_STEP_EXPERTS);
    return text[0] != '\0' && strcmp(text, "0") != 0;
}

// Takes the known model's figure where the row has none, which makes the row ill specified unless
// its name tells all.
static void take(struct sand_step_case *c, const struct sand_step_known *known,
                 enum sand_step_column column, uint32_t *figure)
{
    const uint32_t value = whole(c, column);
    if (value == 0 && known->whole)
        return;
    if (value == 0)
        judge(c, SAND_STEP_ILL, "%s is not given", sand_step_column_name(column));
    else
        *figure = value;
}

// The columns do not say whether the FFN is gated: without a gate it is four times the width in all
// published models, with one it is not.
static void read_widths(struct sand_step_case *c)
{
    struct sand_transformer *m = &c->model;
    m->n_layers = whole(c, SAND_STEP_LAYERS);
    m->hidden = whole(c, SAND_STEP_HIDDEN);
    if (m->n_layers == 0 || m->hidden == 0)
        judge(c, SAND_STEP_SKIPPED, "%s is not given, and no rule knows the model \"%.40s\"",
              sand_step_column_name(m->n_layers == 0 ? SAND_STEP_LAYERS : SAND_STEP_HIDDEN),
              cell(c, SAND_STEP_MODEL));
    m->n_heads = assumed(c, SAND_STEP_HEADS, m->hidden / 128);
    m->n_kv_heads = or_else(whole(c, SAND_STEP_KV_HEADS), m->n_heads);
    m->ffn_hidden = or_else(whole(c, SAND_STEP_FFN), 4 * m->hidden);
    m->vocab = assumed(c, SAND_STEP_VOCAB, 51200);
    m->gated_ffn = m->ffn_hidden != 4 * m->hidden || has_experts(c);
    m->tied_embeddings = !m->gated_ffn;
    m->head_dim = m->n_heads > 0 ? m->hidden / m->n_heads : 0;
    if (m->head_dim == 0)
        judge(c, SAND_STEP_SKIPPED, "heads %s do not fit hidden %s", cell(c, SAND_STEP_HEADS),
              cell(c, SAND_STEP_HIDDEN));
    if (has_experts(c))
        m->experts.ffn_hidden = m->ffn_hidden;
}

static void read_model(const struct sand_step_rules *rules, struct sand_step_case *c)
{
    struct sand_transformer *m = &c->model;
    const struct sand_step_known *known = sand_step_find_known(rules, c->row);
    if (known != NULL) {
        *m = *known->model;
        take(c, known, SAND_STEP_LAYERS, &m->n_layers);
        take(c, known, SAND_STEP_HIDDEN, &m->hidden);
        take(c, known, SAND_STEP_HEADS, &m->n_heads);
        take(c, known, SAND_STEP_VOCAB, &m->vocab);
        m->n_kv_heads = or_else(whole(c, SAND_STEP_KV_HEADS), m->n_kv_heads);
        take(c, known, SAND_STEP_FFN, has_experts(c) ? &m->experts.ffn_hidden : &m->ffn_hidden);
    } else {
        read_widths(c);
    }
    m->id = cell(c, SAND_STEP_MODEL);
    if (c->recipe != NULL && c->recipe->vocab > 0)
        m->vocab = c->recipe->vocab;
    if (!has_experts(c))
        return;
    const uint32_t usual = or_else(m->experts.per_token, 2);
    m->experts.n = whole(c, SAND_STEP_EXPERTS);
    m->experts.per_token = assumed(c, SAND_STEP_TOP_K, usual);
}

// ---- split --------------------------------------------------------------------------------------

struct word {
    const char *text;
    int value;
};

// The first word that the cell contains, in upper or lower case; `otherwise` if none.
static int find_word(const char *text, const struct word *words, size_t n, int otherwise)
{
    for (size_t i = 0; i < n; i++)
        if (sand_name_says(text, words[i].text))
            return words[i].value;
    return otherwise;
}
#define WORD(text, words, otherwise)                                                               \
    find_word(text, words, sizeof(words) / sizeof(words)[0], otherwise)

// "4 slice(s) of v5e-256"; 0: the cell does not say, or there are none.
static uint32_t slices_of(const struct sand_step_case *c)
{
    char *end = NULL;
    const char *text = cell(c, SAND_STEP_NETWORK);
    const unsigned long n = strtoul(text, &end, 10);
    const int says = end != text && strncmp(end, " slice", 6) == 0;
    return says && n <= 65536 && c->machine->node->scaleup == SAND_SCALEUP_TORUS ? (uint32_t)n : 0;
}

// GPUs of the job in one scale-up domain: all of them, or as many as fill the domains evenly, in
// whole tensor-parallel groups if they fit.
static uint32_t gpus_per_domain(const struct sand_step_case *c, uint32_t gpus)
{
    const struct sand_node_type *node = c->machine->node;
    const uint32_t most = node->n_gpus * or_else(node->scaleup_nodes, 1);
    const uint32_t nodes = whole(c, SAND_STEP_NODES), slices = slices_of(c);
    uint32_t used = gpus < most ? gpus : most;
    if (slices > 0 && gpus % slices == 0 && gpus / slices <= most)
        return gpus / slices;
    // The nodes column counts servers; a domain may span several, but not be part of one.
    if (most <= 8 && nodes > 0 && gpus % nodes == 0 && gpus / nodes <= most)
        return gpus / nodes;
    while (used > 1 && (gpus % used != 0 || (c->job.split.tp <= used && used % c->job.split.tp)))
        used--;
    return used;
}

// Buckets of one GPU's parameters.
static uint32_t buckets_of(const struct sand_step_case *c)
{
    const struct sand_split *s = &c->job.split;
    const double params = c->model.experts.n > 0
                              ? sand_split_gpu_params(&c->model, s, 0)
                              : sand_model_params(&c->model) / ((double)s->tp * s->pp);
    const double replicas = c->stack->bucket_per_replica * s->dp * s->cp;
    const double bucket = c->stack->bucket_params > replicas ? c->stack->bucket_params : replicas;
    return bucket > 0 && params > bucket ? (uint32_t)(params / bucket) : 1;
}

// Copies that share out among themselves, where the cell says so: "groups of 8", "group 64", "FSDP
// 128 + DP". HSDP alone is the node (PyTorch, HYBRID_SHARD without process groups). 0: all.
static uint32_t shard_group_of(const struct sand_step_case *c)
{
    static const char *const before[] = {"groups of ", "group ", "FSDP "};
    const struct sand_split *s = &c->job.split;
    const char *text = cell(c, SAND_STEP_SHARDING);
    uint32_t group = 0;
    for (size_t i = 0; group == 0 && i < sizeof before / sizeof before[0]; i++) {
        const char *at = strcasestr(text, before[i]);
        for (at = at ? at + strlen(before[i]) : ""; *at >= '0' && *at <= '9' && group < 1000000;
             at++)
            group = 10 * group + (uint32_t)(*at - '0');
    }
    if (group == 0 && (sand_name_says(text, "HSDP") || sand_name_says(text, "hybrid-shard") ||
                       strstr(text, "in slice") != NULL))
        group = gpus_per_domain(c, whole(c, SAND_STEP_GPUS)) / s->tp;
    return group < s->dp * s->cp ? group : 0;
}

static void read_sharding(struct sand_step_case *c)
{
    enum { NOTHING, STATE, GRADIENTS, PARAMETERS, BLANK };
    static const struct word words[] = {{"SHARD_GRAD_OP", GRADIENTS},
                                        {"ZeRO-2", GRADIENTS},
                                        {"stage-2", GRADIENTS},
                                        {"NO-SHARD", NOTHING},
                                        {"hybrid-shard", PARAMETERS},
                                        {"full-shard", PARAMETERS},
                                        {"fully-shard", PARAMETERS},
                                        {"FSDP", PARAMETERS},
                                        {"HSDP", PARAMETERS},
                                        {"ZeRO-3", PARAMETERS},
                                        {"stage-3", PARAMETERS},
                                        {"ZeRO-0", NOTHING},
                                        {"stage-0", NOTHING},
                                        {"none", NOTHING},
                                        {"ZeRO-1", STATE},
                                        {"stage-1", STATE},
                                        {"dist-opt", STATE},
                                        {"distributed", STATE},
                                        {"optimizer", STATE},
                                        {"DDP", NOTHING}};
    struct sand_split *s = &c->job.split;
    const char *text = cell(c, SAND_STEP_SHARDING);
    const int kind = WORD(text, words, BLANK);
    if (kind == BLANK && text[0] != '\0')
        judge(c, SAND_STEP_ILL, "zero_or_fsdp \"%.40s\" is not known", text);
    s->distributed_optimizer = kind == BLANK ? c->stack->distributed_optimizer : kind != NOTHING;
    s->sharding = kind == GRADIENTS    ? SAND_SHARD_GRADIENTS
                  : kind == PARAMETERS ? SAND_SHARD_PARAMETERS
                                       : SAND_SHARD_OPTIMIZER;
    s->shard_group = shard_group_of(c);
    s->overlap_grad_reduce = s->overlap_param_gather = c->stack->overlap;
    s->grad_B = c->stack->grad_B;
    s->buckets = buckets_of(c);
}

static int says_no(const char *text)
{
    return strcmp(text, "0") == 0 || strcasecmp(text, "no") == 0 || strcasecmp(text, "off") == 0 ||
           strcasecmp(text, "false") == 0;
}

// "y", "yes", "n", "no" and what follows them; blank is as the stack does.
static void read_sequence_parallel(struct sand_step_case *c)
{
    const char *text = cell(c, SAND_STEP_SEQUENCE_PARALLEL);
    const int yes = sand_name_begins(text, "y") || sand_name_begins(text, "true") ||
                    strcmp(text, "1") == 0 || strcasecmp(text, "on") == 0;
    const int no =
        says_no(text) || (sand_name_begins(text, "n") && !sand_name_begins(text, "not "));
    if (text[0] != '\0' && !yes && !no)
        judge(c, SAND_STEP_ILL, "seq_parallel \"%.40s\" is neither yes nor no", text);
    c->job.split.sequence_parallel =
        c->job.split.tp > 1 && (yes || (!no && c->stack->sequence_parallel));
}

static void read_recompute(struct sand_step_case *c)
{
    // MaxText: "minimal" keeps all products of weights, "qkv" those of queries, keys and values.
    static const struct word words[] = {{"full", SAND_RECOMPUTE_FULL},
                                        {"selective", SAND_RECOMPUTE_SELECTIVE},
                                        {"minimal", SAND_RECOMPUTE_SELECTIVE},
                                        {"qkv", SAND_RECOMPUTE_PARTIAL},
                                        {"none", SAND_RECOMPUTE_NONE}};
    struct sand_split *s = &c->job.split;
    const char *text = cell(c, SAND_STEP_RECOMPUTE);
    if (text[0] == '\0' && c->recipe != NULL && c->recipe->recompute != NULL)
        text = c->recipe->recompute;
    s->recompute = (enum sand_recompute)WORD(text, words, SAND_RECOMPUTE_NONE);
    if (text[0] != '\0' && WORD(text, words, -1) < 0 && !says_no(text))
        judge(c, SAND_STEP_SKIPPED,
              "recompute \"%.40s\" is not modelled; write none, selective, full, minimal or qkv",
              text);
    if (s->recompute == SAND_RECOMPUTE_PARTIAL) {
        const struct sand_head_widths widths = sand_model_head_widths(&c->model);
        const double down = c->stack->software->recompute_stops ? c->model.ffn_hidden : 0;
        const double kept = (widths.q + widths.kv + down) * c->model.hidden;
        const double layer = sand_model_layer_params(&c->model, 0);
        s->recompute_share = layer > kept ? 1 - kept / layer : 1;
    }
    if (s->recompute == SAND_RECOMPUTE_SELECTIVE && c->stack->selective_share > 0) {
        s->recompute = SAND_RECOMPUTE_PARTIAL;
        s->recompute_share = c->stack->selective_share;
    }
}

static void read_precision(struct sand_step_case *c)
{
    static const struct word words[] = {{"nvfp4", SAND_NVFP4}, {"row-wise", SAND_FP8_ROW},
                                        {"fp8", SAND_FP8},     {"float8", SAND_FP8},
                                        {"bf16", SAND_BF16},   {"bfloat16", SAND_BF16},
                                        {"fp16", SAND_FP16},   {"float16", SAND_FP16}};
    const char *text = cell(c, SAND_STEP_PRECISION);
    if (text[0] == '\0') {
        judge(c, SAND_STEP_ILL, "precision is not given");
        text = c->recipe != NULL && c->recipe->precision != NULL ? c->recipe->precision : "bf16";
    }
    c->job.split.precision = (enum sand_precision)WORD(text, words, SAND_BF16);
    if (strstr(text, "not read") != NULL)
        judge(c, SAND_STEP_ILL, "precision \"%.40s\" leaves it open", text);
    else if (WORD(text, words, -1) < 0)
        judge(c, SAND_STEP_SKIPPED,
              "precision \"%.40s\" is not modelled; write bf16, fp16, fp8, fp8 rowwise or nvfp4",
              text);
}

// A batch that is not given is one micro-batch of every replica, if that is how the stack has it.
static void read_global_batch(struct sand_step_case *c, uint64_t replicas)
{
    struct sand_split *s = &c->job.split;
    const uint64_t one_each = s->micro_batch * replicas;
    s->global_batch = whole(c, SAND_STEP_GLOBAL_BATCH);
    if (s->global_batch > 0)
        return;
    if (whole(c, SAND_STEP_MICRO_BATCH) == 0 || one_each == 0 || one_each > UINT32_MAX)
        judge(c, SAND_STEP_SKIPPED, "neither global_batch nor micro_batch is given");
    else if (!c->stack->batch_of_gpu)
        judge(c, SAND_STEP_ILL, "global_batch is not given, taken as one micro-batch a replica");
    s->global_batch = (uint32_t)one_each;
}

static void read_sizes(struct sand_step_case *c)
{
    struct sand_split *s = &c->job.split;
    s->tp = whole(c, SAND_STEP_TP);
    s->pp = whole(c, SAND_STEP_PP);
    s->cp = or_else(whole(c, SAND_STEP_CP), 1);
    s->virtual_stages = s->pp != 1 ? or_else(whole(c, SAND_STEP_VP), 1) : 1;
    s->micro_batch = assumed(c, SAND_STEP_MICRO_BATCH, 1);
    s->sequence = needed(c, SAND_STEP_SEQUENCE);
    const uint32_t gpus = needed(c, SAND_STEP_GPUS);
    const uint64_t group = (uint64_t)or_else(s->tp, 1) * or_else(s->pp, 1) * s->cp;
    if (c->stack->batch_of_gpu && (uint64_t)s->micro_batch * group <= UINT32_MAX)
        s->micro_batch *= (uint32_t)group;
    read_global_batch(c, gpus / group);
    if (c->class == SAND_STEP_SKIPPED)
        return;
    if (gpus % group != 0)
        judge(c, SAND_STEP_SKIPPED, "TP x PP x CP = %llu does not divide %u GPUs",
              (unsigned long long)group, gpus);
    s->dp = (uint32_t)(gpus / group);
}

// Experts are cut as their stack says, or as the rest where that fits, else whole.
static void read_experts(struct sand_step_case *c)
{
    struct sand_split *s = &c->job.split;
    s->ep = 1;
    s->imbalance = 1;
    s->dispatch = c->stack->dispatch;
    s->dispatch_B = c->stack->dispatch_B;
    if (!has_experts(c))
        return;
    s->ep = assumed(c, SAND_STEP_EP, 8);
    s->sequence_parallel = s->tp > 1;
    s->expert_tp = c->stack->expert_tp;
    const uint64_t gpus = (uint64_t)s->tp * s->cp * s->dp;
    const int fits =
        gpus % ((uint64_t)s->ep * s->tp) == 0 && c->model.experts.ffn_hidden % s->tp == 0;
    // Some stacks take whole experts, but not where EP is too small to share them out: there they
    // are cut like the rest, which is Megatron's default (--expert-tensor-parallel-size).
    if (s->expert_tp > 0 && ((uint64_t)s->ep * s->expert_tp) % s->tp != 0 && fits)
        s->expert_tp = 0;
    else if (s->expert_tp == 0 && !fits)
        s->expert_tp = 1;
}

static void read_split(const struct sand_step_rules *rules, struct sand_step_case *c)
{
    struct sand_split *s = &c->job.split;
    read_sizes(c);
    if (c->class == SAND_STEP_SKIPPED)
        return;
    const uint32_t tp = s->tp, pp = s->pp;
    s->tp = or_else(tp, 1); // until one is found that fits
    s->pp = or_else(pp, 1);
    s->order = c->stack->order;
    s->attention = c->stack->attention;
    read_sequence_parallel(c);
    read_experts(c);
    read_sharding(c);
    read_recompute(c);
    read_precision(c);
    if (tp > 0 && pp > 0)
        return;
    s->tp = tp;
    s->pp = pp;
    sand_step_rest_split(rules, whole(c, SAND_STEP_GPUS), c->machine->node->n_gpus, c);
    judge(c, SAND_STEP_ILL, "%s not given, the first split that fits has tp %u, pp %u",
          tp > 0   ? "PP is"
          : pp > 0 ? "TP is"
                   : "TP and PP are",
          s->tp, s->pp);
    read_sequence_parallel(c);
    read_experts(c);
    read_sharding(c);
}

// ---- hardware -----------------------------------------------------------------------------------

// A fat tree without oversubscription: rows do not describe their fabric beyond the NICs.
static void build_cluster(struct sand_step_case *c)
{
    const uint32_t gpus = whole(c, SAND_STEP_GPUS);
    c->node = *c->machine->node;
    c->node.n_gpus = gpus_per_domain(c, gpus);
    uint32_t nics =
        (uint32_t)((uint64_t)c->machine->node->n_nics * c->node.n_gpus / c->machine->node->n_gpus);
    c->node.n_nics = or_else(nics, 1);
    c->node.scaleup_nodes = 1; // a node here is what the job has of a domain
    c->job.n_nodes = gpus / c->node.n_gpus;
    c->cluster = (struct sand_cluster){.name = c->machine->id,
                                       .node_type = &c->node,
                                       .n_nodes = c->job.n_nodes,
                                       .nodes_per_rack = 4,
                                       .racks_per_row = 8,
                                       .rows_per_hall = 4,
                                       .pue = 1};
    c->cluster.fabric = (struct sand_fabric_spec){.n_tiers = 2,
                                                  .endpoints_per_leaf = 4 * c->node.n_nics,
                                                  .leaf_oversubscription = 1,
                                                  .pod_oversubscription = 1,
                                                  .spines = 1,
                                                  .spreading = SAND_SPREAD_EVEN,
                                                  .link = c->node.nic};
}

static void find_rules(const struct sand_step_rules *rules, struct sand_step_case *c)
{
    const char *gpu = cell(c, SAND_STEP_GPU);
    c->stack = sand_step_find_stack(rules, c->row);
    c->machine = sand_step_find_machine(rules, c->row);
    c->recipe = sand_step_find_recipe(rules, c->row);
    for (size_t i = 0; i < rules->n_flags; i++)
        if (strcmp(cell(c, SAND_STEP_ID), rules->flags[i].id) == 0)
            judge(c, SAND_STEP_ILL, "%s", rules->flags[i].why);
    if (c->stack == NULL)
        judge(c, SAND_STEP_SKIPPED, "no rule knows the software of this source");
    else
        c->collectives = c->stack->collectives ? c->stack->collectives : rules->collectives;
    if (gpu[0] == '\0')
        judge(c, SAND_STEP_SKIPPED, "gpu is not given");
    else if (c->machine == NULL)
        judge(c, SAND_STEP_SKIPPED,
              "no rule knows the accelerator \"%.40s\"; add a <machine> with its node to a copy of "
              "platforms/catalogue/step_rules/published.xml and name that by --rules",
              gpu);
}

// ---- all together -------------------------------------------------------------------------------

static int counts_flops(const struct sand_step_case *c)
{
    return c->stack != NULL && c->stack->counts != SAND_COUNTS_UNKNOWN &&
           positive(c, SAND_STEP_TFLOPS) > 0;
}

static void read_measured(struct sand_step_case *c)
{
    const double tokens_per_s = positive(c, SAND_STEP_TOKENS);
    const double tokens = (double)whole(c, SAND_STEP_GLOBAL_BATCH) * whole(c, SAND_STEP_SEQUENCE);
    c->measured_s = positive(c, SAND_STEP_TIME);
    if (c->measured_s == 0 && tokens_per_s > 0)
        c->measured_s = tokens / (tokens_per_s * whole(c, SAND_STEP_GPUS));
    if (!(c->measured_s > 0) && tokens_per_s > 0)
        return; // of a batch that the split tells
    if (!(c->measured_s > 0) && counts_flops(c))
        judge(c, SAND_STEP_APART, "time from %.1f TFLOP/s a GPU", positive(c, SAND_STEP_TFLOPS));
    else if (!(c->measured_s > 0))
        judge(c, SAND_STEP_SKIPPED,
              "neither a step time nor tokens per second: iter_time_s or tokens_per_s_gpu");
    else if (c->measured_s < 1e-6 || !(c->measured_s < 1e9))
        judge(c, SAND_STEP_SKIPPED, "a step of %.3g s: must be 1 us to 30 years", c->measured_s);
    if (strcasecmp(cell(c, SAND_STEP_CONFIRMED), "no") == 0)
        judge(c, SAND_STEP_ILL, "recalled, not read in the source");
}

static void check_fp(struct sand_step_case *c)
{
    const struct sand_gpu_type *gpu = c->machine->node->gpu;
    const enum sand_precision p = c->job.split.precision;
    if (((p == SAND_FP8 || p == SAND_FP8_ROW) && !(gpu->gemm_fp8_flops > 0)) ||
        (p == SAND_NVFP4 && !(gpu->gemm_fp4_flops > 0)))
        judge(c, SAND_STEP_SKIPPED, "gpu \"%s\" has no rate for \"%.40s\"", gpu->id,
              cell(c, SAND_STEP_PRECISION));
}

static void derive_measured(struct sand_step_case *c)
{
    const struct sand_split *s = &c->job.split;
    const double tokens_per_s = positive(c, SAND_STEP_TOKENS), gpus = whole(c, SAND_STEP_GPUS);
    if (tokens_per_s > 0)
        c->measured_s = (double)s->global_batch * s->sequence / (tokens_per_s * gpus);
    else
        c->measured_s =
            sand_step_rest_time(c, (uint32_t)gpus, positive(c, SAND_STEP_TFLOPS) * 1e12);
}

void sand_step_case_read(const struct sand_step_rules *rules, const struct sand_step_row *row,
                         struct sand_step_case *out)
{
    *out = (struct sand_step_case){.row = row, .class = SAND_STEP_SCORED};
    out->job = (struct sand_job_spec){
        .id = row->cell[SAND_STEP_ID], .kind = SAND_JOB_TRAIN, .model = &out->model};
    if (row->fault != NULL) {
        judge(out, SAND_STEP_SKIPPED, "%s", row->fault);
        return;
    }
    check_cells(out);
    find_rules(rules, out);
    read_measured(out);
    read_model(rules, out);
    if (out->class == SAND_STEP_SKIPPED)
        return;
    out->job.software = out->stack->software;
    read_split(rules, out);
    check_fp(out);
    if (out->class != SAND_STEP_SKIPPED && !(out->measured_s > 0))
        derive_measured(out);
    if (out->class != SAND_STEP_SKIPPED)
        build_cluster(out);
}
