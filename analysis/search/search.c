// Closed form over the whole space, then the flow level on what is left.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "search.h"

#include <stdio.h>
#include <stdlib.h>

#include "closedform.h"
#include "longstep.h"
#include "mem.h"
#include "units.h"

// ---- flow level ---------------------------------------------------------------------------------

static enum sand_rc simulate(struct closed_form *s, struct sand_oracle *oracle,
                             const struct sand_search_candidate *candidate)
{
    struct sand_search_hit *hit = &s->result->hits[s->result->n_hits];
    *hit = (struct sand_search_hit){.of = *candidate};
    s->job.split = candidate->split;
    const struct sand_step_question question = closed_form_question(s);
    int shortened = 0;
    SAND_TRY(long_step(oracle, &question, &hit->profile, &shortened, s->diag));
    s->result->n_shortened += shortened != 0;
    s->result->n_hits++;
    return SAND_OK;
}

static int is_listed(const struct sand_search_result *result, const struct sand_split *split)
{
    for (size_t i = 0; i < result->n_hits; i++)
        if (best_same_shape(&result->hits[i].of.split, split))
            return 1;
    return 0;
}

// The best of all, then the best of the shapes that are not among them.
static enum sand_rc simulate_best(struct closed_form *s, struct sand_oracle *oracle,
                                  sand_search_progress *progress, void *self)
{
    const size_t n = s->overall.n + s->by_shape.n;
    s->result->hits = sand_calloc(n, sizeof *s->result->hits);
    if (s->result->hits == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const int first = i < s->overall.n;
        const struct sand_search_candidate *candidate =
            first ? &s->overall.list[i] : &s->by_shape.list[i - s->overall.n];
        if (first || !is_listed(s->result, &candidate->split))
            SAND_TRY(simulate(s, oracle, candidate));
        if (progress)
            progress(self, 0.8 + 0.2 * (double)(i + 1) / (double)n);
    }
    return SAND_OK;
}

// By simulated time; equal ones as the closed form has them, then by shape.
static int compare_hits(const void *a, const void *b)
{
    const struct sand_search_hit *one = a, *two = b;
    const struct sand_search_candidate *x = &one->of, *y = &two->of;
    const double keys[][2] = {{one->profile.step_s, two->profile.step_s},
                              {x->estimate.step_s, y->estimate.step_s},
                              {x->memory.total_B, y->memory.total_B},
                              {x->split.tp, y->split.tp},
                              {x->split.pp, y->split.pp},
                              {x->split.cp, y->split.cp},
                              {x->split.ep, y->split.ep},
                              {x->split.order, y->split.order},
                              {x->split.micro_batch, y->split.micro_batch},
                              {x->split.virtual_stages, y->split.virtual_stages},
                              {x->split.recompute, y->split.recompute},
                              {x->split.sharding, y->split.sharding},
                              {x->split.shard_group, y->split.shard_group},
                              {x->split.distributed_optimizer, y->split.distributed_optimizer},
                              {x->split.sequence_parallel, y->split.sequence_parallel}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static void rank(struct sand_search_result *result)
{
    uint32_t shapes = 0;
    qsort(result->hits, result->n_hits, sizeof *result->hits, compare_hits);
    for (size_t i = 0; i < result->n_hits; i++) {
        int seen = 0;
        for (size_t k = 0; k < i && !seen; k++)
            seen = best_same_shape(&result->hits[k].of.split, &result->hits[i].of.split);
        if (!seen)
            result->hits[i].shape_rank = ++shapes;
    }
}

// Refused splits that would win.
static void keep_refused(struct closed_form *s)
{
    const double best_s = s->overall.n > 0 ? s->overall.list[0].estimate.step_s : 0;
    for (size_t i = 0; i < s->refused.n; i++)
        if (s->overall.n == 0 || s->refused.list[i].estimate.step_s < best_s)
            s->result->refused[s->result->n_refused++] = s->refused.list[i];
}

// ---- all together -------------------------------------------------------------------------------

static enum sand_rc say_none(const struct closed_form *s, uint32_t gpus)
{
    const struct sand_split *split = &s->result->nearest.split;
    const struct sand_memory *memory = &s->result->nearest.memory;
    char need[64], have[64];
    if (s->result->considered == s->result->impossible)
        return sand_fail(s->diag, SAND_ERR_INPUT,
                         "search: none of %llu splits of \"%s\" on %u GPUs is possible: heads, "
                         "layers and global batch %u share too few divisors with the GPUs; change "
                         "--gpus or --batch",
                         (unsigned long long)s->result->considered, s->job.model->id, gpus,
                         s->q->job->split.global_batch);
    sand_quantity_format(memory->total_B, SAND_DIM_BYTES, 3, need, sizeof need);
    sand_quantity_format(memory->capacity_B, SAND_DIM_BYTES, 3, have, sizeof have);
    return sand_fail(s->diag, SAND_ERR_INPUT,
                     "search: no split of \"%s\" fits on %u GPUs of %s; the nearest (tp %u, pp %u, "
                     "cp %u, dp %u, virtual stages %u, micro-batch %u) needs %s: give more --gpus",
                     s->job.model->id, gpus, have, split->tp, split->pp, split->cp, split->dp,
                     split->virtual_stages, split->micro_batch, need);
}

static enum sand_rc run(struct closed_form *s, struct sand_oracle *oracle,
                        sand_search_progress *progress, void *self)
{
    const uint32_t gpus = s->q->job->n_nodes * s->q->fabric->gpus_per_node;
    uint32_t first, end;
    sand_cluster_group_nodes(s->q->cluster, s->job.group, &first, &end);
    for (uint32_t i = 0; i < s->job.n_nodes; i++)
        s->nodes[i] = first + i;
    s->result->gpu = sand_cluster_slowest_type(s->q->cluster, s->nodes, s->job.n_nodes)->gpu;
    SAND_TRY(closed_form_of_all(s, gpus, progress, self));
    if (s->overall.n == 0)
        return say_none(s, gpus);
    keep_refused(s);
    SAND_TRY(simulate_best(s, oracle, progress, self));
    rank(s->result);
    return SAND_OK;
}

enum sand_rc sand_search(const struct sand_search_question *question, struct sand_oracle *oracle,
                         sand_search_progress *progress, void *self,
                         struct sand_search_result *result, struct sand_diag *diag)
{
    struct closed_form s = {.q = question, .result = result, .job = *question->job, .diag = diag};
    *result = (struct sand_search_result){0};
    enum sand_rc rc = closed_form_open(&s);
    if (rc == SAND_OK)
        rc = run(&s, oracle, progress, self);
    if (rc == SAND_ERR_NOMEM)
        sand_fail(diag, rc, "search: out of memory");
    closed_form_close(&s);
    return rc;
}

void sand_search_result_clear(struct sand_search_result *result)
{
    sand_free(result->hits);
    *result = (struct sand_search_result){0};
}
