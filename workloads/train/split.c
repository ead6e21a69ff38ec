// The split of a model over GPUs: checks, micro-batches, layers and parameters per stage.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "train.h"

uint32_t sand_split_micro_batches(const struct sand_split *split)
{
    return (uint32_t)(split->global_batch / ((uint64_t)split->micro_batch * split->dp));
}

// One rule of a split: a positive size, or a divisor of another size.
// A step of more passes would be simulated for minutes; published runs have some thousands.
enum { MAX_CHUNK_PASSES = 65536 };

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

static uint32_t greatest_common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static size_t check_tensor(const struct sand_transformer *model, const struct sand_split *split,
                           struct sand_diag *diag)
{
    // kv_heads below tp are replicated by the frameworks, at a cost this model does not have.
    const struct rule widths[] = {
        {"heads", model->n_heads}, {"kv_heads", model->n_kv_heads}, {"ffn", model->ffn_hidden}};
    size_t n_bad = 0;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        if (widths[i].value % split->tp == 0)
            continue;
        n_bad++;
        sand_diag_add(diag, SAND_ERROR, NULL, 0,
                      "split: tp %u does not divide the model's %s %u; the largest divisor of both "
                      "is tp %u",
                      split->tp, widths[i].name, widths[i].value,
                      greatest_common_divisor(split->tp, widths[i].value));
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
    return n_bad;
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
                         check_batch(split, diag) + check_gpus(split, gpus, diag);
    return n_bad > 0 ? SAND_ERR_INPUT : SAND_OK;
}

uint32_t sand_split_layers(const struct sand_transformer *model, const struct sand_split *split,
                           uint32_t stage, uint32_t chunk)
{
    const uint32_t n_chunks = split->pp * split->virtual_stages;
    const uint32_t most = (model->n_layers + n_chunks - 1) / n_chunks;
    const uint32_t missing = most * n_chunks - model->n_layers; // below n_chunks
    const uint32_t index = chunk * split->pp + stage;
    const uint32_t from_front = (missing + 1) / 2, from_back = missing / 2;
    const int short_one = index < from_front || index >= n_chunks - from_back;
    return short_one ? most - 1 : most;
}

uint32_t sand_split_stage_layers(const struct sand_transformer *model,
                                 const struct sand_split *split, uint32_t stage)
{
    uint32_t layers = 0;
    for (uint32_t chunk = 0; chunk < split->virtual_stages; chunk++)
        layers += sand_split_layers(model, split, stage, chunk);
    return layers;
}
