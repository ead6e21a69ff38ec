// The split of a model over GPUs: checks, micro-batches, layers and parameters per stage.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "numbers.h"
#include "train.h"

enum sand_rank_order sand_split_order(const struct sand_split *split)
{
    if (split->order != SAND_RANKS_AUTO)
        return split->order;
    return split->ep > 1 ? SAND_RANKS_TP_CP_DP_PP : SAND_RANKS_TP_CP_PP_DP;
}

uint32_t sand_split_micro_batches(const struct sand_split *split)
{
    return (uint32_t)(split->global_batch / ((uint64_t)split->micro_batch * split->dp));
}

uint32_t sand_split_expert_tp(const struct sand_split *split)
{
    return split->expert_tp > 0 ? split->expert_tp : split->tp;
}

uint32_t sand_split_expert_copies(const struct sand_split *split)
{
    const uint64_t group = (uint64_t)(split->ep > 0 ? split->ep : 1) * sand_split_expert_tp(split);
    return (uint32_t)((uint64_t)split->tp * split->cp * split->dp / group);
}

uint32_t sand_split_shards(const struct sand_split *split)
{
    return split->shard_group > 0 ? split->shard_group : split->dp * split->cp;
}

uint32_t sand_split_expert_shards(const struct sand_split *split)
{
    const uint32_t groups = split->dp * split->cp / sand_split_shards(split);
    const uint32_t copies = sand_split_expert_copies(split);
    return copies > groups ? copies / groups : 1;
}

int sand_split_shares_out(const struct sand_split *split)
{
    return (split->distributed_optimizer || split->sharding != SAND_SHARD_OPTIMIZER) &&
           sand_split_shards(split) > 1;
}

int sand_split_is_sharded(const struct sand_split *split)
{
    return split->sharding != SAND_SHARD_OPTIMIZER && sand_split_shards(split) > 1;
}

// A step of more passes would be simulated for minutes; published runs have some thousands.
enum { MAX_CHUNK_PASSES = 65536 };

// One rule of a split: a positive size, or a divisor of another size.
struct rule {
    const char *name;
    uint32_t value;
};

static void check_positive(const struct rule *rules, size_t n, const char *what,
                           struct sand_diag *diag, size_t *n_bad)
{
    for (size_t i = 0; i < n; i++) {
        if (rules[i].value > 0)
            continue;
        (*n_bad)++;
        sand_diag_add(diag, SAND_ERROR, NULL, 0, "%s: %s is 0; it must be at least 1", what,
                      rules[i].name);
    }
}

static size_t check_sizes(const struct sand_transformer *model, const struct sand_split *split,
                          struct sand_diag *diag)
{
    const struct rule of_model[] = {
        {"layers", model->n_layers},     {"hidden", model->hidden},     {"heads", model->n_heads},
        {"kv_heads", model->n_kv_heads}, {"head_dim", model->head_dim}, {"ffn", model->ffn_hidden},
        {"vocab", model->vocab},
    };
    const struct rule of_split[] = {
        {"tp", split->tp},
        {"pp", split->pp},
        {"dp", split->dp},
        {"cp", split->cp},
        {"virtual_stages", split->virtual_stages},
        {"micro_batch", split->micro_batch},
        {"global_batch", split->global_batch},
        {"sequence", split->sequence},
        {"buckets", split->buckets},
    };
    size_t n_bad = 0;
    check_positive(of_model, sizeof of_model / sizeof of_model[0], "model", diag, &n_bad);
    check_positive(of_split, sizeof of_split / sizeof of_split[0], "split", diag, &n_bad);
    if (!(split->grad_B > 0.0)) {
        n_bad++;
        sand_diag_add(
            diag, SAND_ERROR, NULL, 0,
            "split: gradient is %g bytes; write the bytes of one gradient element, 2B or 4B",
            split->grad_B);
    }
    return n_bad;
}

static size_t check_tensor(const struct sand_transformer *model, const struct sand_split *split,
                           struct sand_diag *diag)
{
    // kv_heads below tp are replicated by the frameworks, at a cost this model does not have.
    const struct rule widths[] = {
        {"heads", model->n_heads}, {"kv_heads", model->n_kv_heads}, {"ffn", model->ffn_hidden}};
    const size_t n_widths = sand_model_has_ffn(model) ? 3 : 2;
    size_t n_bad = 0;
    for (size_t i = 0; i < n_widths; i++) {
        if (widths[i].value % split->tp == 0)
            continue;
        n_bad++;
        sand_diag_add(diag, SAND_ERROR, NULL, 0,
                      "split: tp %u does not divide the model's %s %u; the largest divisor of both "
                      "is tp %u",
                      split->tp, widths[i].name, widths[i].value,
                      sand_gcd(split->tp, widths[i].value));
    }
    if (split->sequence % split->cp != 0) {
        n_bad++;
        sand_diag_add(diag, SAND_ERROR, NULL, 0,
                      "split: cp %u does not divide sequence %u; context parallelism splits the "
                      "tokens over cp: change one of them",
                      split->cp, split->sequence);
    }
    if (split->sequence_parallel && split->sequence % split->tp != 0) {
        n_bad++;
        sand_diag_add(diag, SAND_ERROR, NULL, 0,
                      "split: tp %u does not divide sequence %u; sequence parallelism splits the "
                      "tokens over tp: change one of them or write sequence_parallel=\"no\"",
                      split->tp, split->sequence);
    }
    if (model->n_heads % model->n_kv_heads != 0) {
        n_bad++;
        sand_diag_add(
            diag, SAND_ERROR, NULL, 0,
            "model: kv_heads %u do not divide heads %u; every group of query heads shares "
            "one key and value head",
            model->n_kv_heads, model->n_heads);
    }
    return n_bad;
}

// Layers that are not of a stage whose number is given, and the chunks they go to.
static void rest_of_layers(const struct sand_transformer *model, const struct sand_split *split,
                           uint64_t *layers, uint64_t *chunks)
{
    const uint64_t given = (uint64_t)split->first_layers + split->last_layers;
    const uint32_t stages =
        (split->first_layers > 0 ? 1u : 0u) + (split->last_layers > 0 ? 1u : 0u);
    *layers = given < model->n_layers ? model->n_layers - given : 0;
    *chunks = split->pp > stages ? (uint64_t)(split->pp - stages) * split->virtual_stages : 0;
}

static size_t check_stages(const struct sand_transformer *model, const struct sand_split *split,
                           struct sand_diag *diag)
{
    const uint64_t given = (uint64_t)split->first_layers + split->last_layers;
    uint64_t layers, chunks;
    if (given == 0)
        return 0;
    rest_of_layers(model, split, &layers, &chunks);
    const int fits = chunks == 0 ? given == model->n_layers : layers >= chunks;
    if (split->pp > 1 && fits && split->first_layers % split->virtual_stages == 0 &&
        split->last_layers % split->virtual_stages == 0)
        return 0;
    sand_diag_add(diag, SAND_ERROR, NULL, 0,
                  "split: first_layers %u and last_layers %u do not go with %u layers, pp %u and "
                  "virtual_stages %u; both must be multiples of virtual_stages and leave every "
                  "other chunk a layer: leave them out for stages as even as can be",
                  split->first_layers, split->last_layers, model->n_layers, split->pp,
                  split->virtual_stages);
    return 1;
}

static size_t check_schedule(const struct sand_split *split, struct sand_diag *diag)
{
    if (split->schedule == SAND_SCHEDULE_1F1B)
        return 0;
    const char *name = split->schedule == SAND_SCHEDULE_GPIPE ? "gpipe" : "zero-bubble";
    size_t n_bad = 0;
    if (split->virtual_stages > 1) {
        n_bad++;
        sand_diag_add(diag, SAND_ERROR, NULL, 0,
                      "split: schedule \"%s\" with virtual_stages %u; only 1f1b is interleaved: "
                      "write virtual_stages=\"1\"",
                      name, split->virtual_stages);
    }
    if (split->schedule == SAND_SCHEDULE_ZERO_BUBBLE && split->sharding != SAND_SHARD_OPTIMIZER) {
        n_bad++;
        sand_diag_add(diag, SAND_ERROR, NULL, 0,
                      "split: schedule \"zero-bubble\" keeps weights and gradients on every "
                      "replica; write sharding=\"optimizer\"");
    }
    return n_bad;
}

static size_t check_pipeline(const struct sand_transformer *model, const struct sand_split *split,
                             struct sand_diag *diag)
{
    size_t n_bad = 0;
    const uint64_t n_chunks = (uint64_t)split->pp * split->virtual_stages;
    if (split->virtual_stages > 1 && split->pp == 1) {
        n_bad++;
        sand_diag_add(
            diag, SAND_ERROR, NULL, 0,
            "split: virtual_stages %u with pp 1; interleaving needs pp of 2 or more: write "
            "virtual_stages=\"1\"",
            split->virtual_stages);
    }
    // The chunks with the embedding and with the output layer may hold no transformer layer.
    const uint64_t needed = n_chunks > 2 ? n_chunks - 2 : 1;
    if (model->n_layers < needed) {
        n_bad++;
        sand_diag_add(diag, SAND_ERROR, NULL, 0,
                      "split: pp %u x virtual_stages %u make %llu chunks, but the model has %u "
                      "layers; only the first and the last chunk may be without one: lower pp or "
                      "virtual_stages",
                      split->pp, split->virtual_stages, (unsigned long long)n_chunks,
                      model->n_layers);
    }
    if (split->virtual_stages > UINT16_MAX) {
        n_bad++;
        sand_diag_add(diag, SAND_ERROR, NULL, 0, "split: virtual_stages %u is above %u",
                      split->virtual_stages, UINT16_MAX);
    }
    return n_bad + check_stages(model, split, diag) + check_schedule(split, diag);
}

static size_t check_batch(const struct sand_split *split, struct sand_diag *diag)
{
    const uint64_t per_round = (uint64_t)split->micro_batch * split->dp;
    if (split->global_batch % per_round != 0) {
        sand_diag_add(
            diag, SAND_ERROR, NULL, 0,
            "split: global_batch %u is no multiple of micro_batch %u x dp %u = %llu; every "
            "replica does the same number of micro-batches: the next one is %llu",
            split->global_batch, split->micro_batch, split->dp, (unsigned long long)per_round,
            (unsigned long long)((split->global_batch / per_round + 1) * per_round));
        return 1;
    }
    const uint32_t m = sand_split_micro_batches(split);
    if ((uint64_t)m * split->virtual_stages > MAX_CHUNK_PASSES) {
        sand_diag_add(diag, SAND_ERROR, NULL, 0,
                      "split: %u micro-batches per replica of %u chunks each are more than %d "
                      "passes a step; raise micro_batch or dp, or lower global_batch",
                      m, split->virtual_stages, MAX_CHUNK_PASSES);
        return 1;
    }
    if (split->virtual_stages > 1 && m % split->pp != 0) {
        sand_diag_add(
            diag, SAND_ERROR, NULL, 0,
            "split: %u micro-batches per replica are no multiple of pp %u; the interleaved "
            "schedule goes through them in groups of pp: change global_batch or dp, or "
            "write virtual_stages=\"1\"",
            m, split->pp);
        return 1;
    }
    return 0;
}

static size_t check_groups(const struct sand_split *split, struct sand_diag *diag)
{
    const uint64_t copies = (uint64_t)split->dp * split->cp;
    if (split->shard_group == 0 || copies % split->shard_group == 0)
        return 0;
    sand_diag_add(diag, SAND_ERROR, NULL, 0,
                  "split: shard_group %u does not divide dp %u x cp %u; every group holds a full "
                  "copy: choose a divisor",
                  split->shard_group, split->dp, split->cp);
    return 1;
}

static size_t check_gpus(const struct sand_split *split, uint32_t gpus, struct sand_diag *diag)
{
    // Three 32-bit factors can exceed 64 bits; a double is exact for every count that could match.
    const double needed = (double)split->tp * split->cp * split->pp * split->dp;
    if (gpus == 0 || needed == (double)gpus)
        return 0;
    sand_diag_add(
        diag, SAND_ERROR, NULL, 0,
        "split: tp %u x cp %u x pp %u x dp %u = %.0f GPUs, but the job has %u; the product must "
        "be equal",
        split->tp, split->cp, split->pp, split->dp, needed, gpus);
    return 1;
}

enum sand_rc sand_split_check(const struct sand_transformer *model, const struct sand_split *split,
                              uint32_t gpus, struct sand_diag *diag)
{
    // The other rules divide by these sizes.
    if (check_sizes(model, split, diag) > 0)
        return SAND_ERR_INPUT;
    const size_t n_bad = check_tensor(model, split, diag) + check_pipeline(model, split, diag) +
                         check_batch(split, diag) + check_groups(split, diag) +
                         sand_experts_check(model, split, diag) + check_gpus(split, gpus, diag);
    return n_bad > 0 ? SAND_ERR_INPUT : SAND_OK;
}

// Layers of the `index`-th of `chunks` chunks that share `layers` as evenly as can be; the ends get
// less.
static uint32_t even_layers(uint32_t layers, uint32_t chunks, uint32_t index)
{
    const uint32_t most = (layers + chunks - 1) / chunks;
    const uint32_t missing = most * chunks - layers; // below chunks
    const uint32_t from_front = (missing + 1) / 2, from_back = missing / 2;
    const int short_one = index < from_front || index >= chunks - from_back;
    return short_one ? most - 1 : most;
}

// Layers of all chunks before the `index`-th of them.
static uint32_t even_layers_before(uint32_t layers, uint32_t chunks, uint32_t index)
{
    const uint32_t most = (layers + chunks - 1) / chunks;
    const uint32_t missing = most * chunks - layers;
    const uint32_t from_front = (missing + 1) / 2, full_until = chunks - missing / 2;
    const uint32_t front = index < from_front ? index : from_front;
    return index * most - front - (index > full_until ? index - full_until : 0);
}

// Layers of the chunks before the `position`-th in the order of the model.
static uint32_t layers_before(const struct sand_transformer *model, const struct sand_split *split,
                              uint32_t position)
{
    const uint32_t of_first = (position + split->pp - 1) / split->pp,
                   of_last = position / split->pp;
    uint64_t layers, chunks;
    uint32_t given = 0, others = position;
    rest_of_layers(model, split, &layers, &chunks);
    if (split->first_layers > 0) {
        given += of_first * (split->first_layers / split->virtual_stages);
        others -= of_first;
    }
    if (split->last_layers > 0) {
        given += of_last * (split->last_layers / split->virtual_stages);
        others -= of_last;
    }
    return given +
           (chunks > 0 ? even_layers_before((uint32_t)layers, (uint32_t)chunks, others) : 0);
}

uint32_t sand_split_layers(const struct sand_transformer *model, const struct sand_split *split,
                           uint32_t stage, uint32_t chunk)
{
    if (stage == 0 && split->first_layers > 0)
        return split->first_layers / split->virtual_stages;
    if (stage + 1 == split->pp && split->last_layers > 0)
        return split->last_layers / split->virtual_stages;
    uint64_t layers, chunks;
    rest_of_layers(model, split, &layers, &chunks);
    const uint32_t width = (uint32_t)(chunks / split->virtual_stages);
    const uint32_t index = chunk * width + stage - (split->first_layers > 0 ? 1 : 0);
    return even_layers((uint32_t)layers, (uint32_t)chunks, index);
}

uint32_t sand_split_stage_layers(const struct sand_transformer *model,
                                 const struct sand_split *split, uint32_t stage)
{
    uint32_t layers = 0;
    for (uint32_t chunk = 0; chunk < split->virtual_stages; chunk++)
        layers += sand_split_layers(model, split, stage, chunk);
    return layers;
}

struct sand_layer_census sand_split_census(const struct sand_transformer *model,
                                           const struct sand_split *split, uint32_t stage,
                                           uint32_t chunk)
{
    const uint32_t n = sand_split_layers(model, split, stage, chunk);
    uint32_t first = 0;
    if (model->experts.n > 0 || model->window.tokens > 0)
        first = layers_before(model, split, chunk * split->pp + stage);
    return sand_model_census(model, first, n);
}
