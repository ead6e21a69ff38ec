// Closed form over the whole space, then the flow level on what is left.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "search.h"

#include <stdio.h>
#include <stdlib.h>

#include "best.h"
#include "longstep.h"
#include "mem.h"
#include "space.h"
#include "train.h"
#include "units.h"

// ---- closed form --------------------------------------------------------------------------------

// Refused splits that need more than this share of the memory are not worth a word: the next GPU
// generations of a line have had 1.25 to 1.8 times the memory of the one before (80, 141, 180, 288
// GB).
static const double WITHIN_REACH = 1.5;

// Placements of a frame: without and with virtual stages, whose last stage sends to the first; and
// with the rings that what is shared out needs.
struct placement {
    struct sand_step_layout layout;
    struct sand_split split; // one that it is of
};
enum { MOST_PLACEMENTS = 8 };

struct search {
    const struct sand_search_question *q;
    struct sand_search_result *result;
    struct sand_job_spec job; // the split under way
    uint32_t *nodes;
    struct best overall, by_shape, refused;
    struct placement placements[MOST_PLACEMENTS];
    size_t n_placements;
    double least_B; // memory of result->nearest
    struct sand_diag *diag;
};

static struct sand_step_question ask_about(const struct search *s)
{
    return (struct sand_step_question){.cluster = s->q->cluster,
                                       .kernels = s->q->kernels,
                                       .collectives = s->q->collectives,
                                       .fabric = s->q->fabric,
                                       .job = &s->job,
                                       .nodes = s->nodes,
                                       .folding = SAND_FOLD};
}

static int is_of(const struct placement *placement, const struct sand_split *split)
{
    return (placement->split.virtual_stages > 1) == (split->virtual_stages > 1) &&
           sand_step_rings_alike(&placement->split, split);
}

static enum sand_rc find_layout(struct search *s, const struct sand_step_layout **layout)
{
    const struct sand_split *split = &s->job.split;
    size_t i = 0;
    while (i < s->n_placements && !is_of(&s->placements[i], split))
        i++;
    struct placement *p = &s->placements[i < MOST_PLACEMENTS ? i : 0]; // the first makes room
    *layout = &p->layout;
    if (i < s->n_placements)
        return SAND_OK;
    const struct sand_step_question question = ask_about(s);
    SAND_TRY(sand_step_layout_find(&question, &p->layout, s->diag));
    p->split = *split;
    s->n_placements += i < MOST_PLACEMENTS;
    s->result->layouts++;
    return SAND_OK;
}

static int is_within_reach(const struct sand_memory *m)
{
    return m->total_B <= WITHIN_REACH * m->capacity_B;
}

static void count_refused(struct search *s, const struct sand_search_candidate *offer)
{
    const struct sand_memory *m = &offer->memory;
    const double state_B = m->weights_B + m->gradients_B + m->optimizer_B;
    if (state_B > m->activations_B + m->buffers_B)
        s->result->too_big_state++;
    else
        s->result->too_big_activations++;
    if (s->least_B <= 0 || m->total_B < s->least_B) {
        s->least_B = m->total_B;
        s->result->nearest = *offer;
    }
}

static enum sand_rc visit(void *self, const struct sand_split *split)
{
    struct search *s = self;
    const struct sand_step_layout *layout = NULL;
    struct sand_search_candidate offer = {.split = *split};
    s->result->considered++;
    if (sand_split_check(s->job.model, split, 0, NULL) != SAND_OK) {
        s->result->impossible++;
        return SAND_OK;
    }
    sand_memory_estimate(s->job.model, split, s->result->gpu, s->q->kernels, &offer.memory);
    const int fits = offer.memory.total_B <= offer.memory.capacity_B;
    if (!fits)
        count_refused(s, &offer);
    if (!fits && !is_within_reach(&offer.memory))
        return SAND_OK; // most of the space of a large model: nobody asks how fast it were
    s->job.split = *split;
    SAND_TRY(find_layout(s, &layout));
    const struct sand_step_question question = ask_about(s);
    sand_step_estimate(&question, layout, &offer.estimate);
    if (!fits) {
        best_offer(&s->refused, &offer);
        return SAND_OK;
    }
    best_offer(&s->overall, &offer);
    best_offer(&s->by_shape, &offer);
    return SAND_OK;
}

static enum sand_rc visit_all(struct search *s, uint32_t gpus, sand_search_progress *progress,
                              void *self)
{
    struct sand_split *frames = NULL;
    size_t n = 0;
    const uint32_t domain_gpus = s->q->fabric->nodes_per_domain * s->q->fabric->gpus_per_node;
    SAND_TRY(space_frames(s->q->job, gpus, domain_gpus, &frames, &n));
    enum sand_rc rc = SAND_OK;
    for (size_t i = 0; rc == SAND_OK && i < n; i++) {
        s->n_placements = 0;
        rc = space_variants(s->q->job, &frames[i], visit, s);
        if (progress)
            progress(self, 0.8 * (double)(i + 1) / (double)n);
    }
    sand_free(frames);
    return rc;
}

// ---- flow level ---------------------------------------------------------------------------------

static enum sand_rc simulate(struct search *s, struct sand_oracle *oracle,
                             const struct sand_search_candidate *candidate)
{
    struct sand_search_hit *hit = &s->result->hits[s->result->n_hits];
    *hit = (struct sand_search_hit){.of = *candidate};
    s->job.split = candidate->split;
    const struct sand_step_question question = ask_about(s);
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
static enum sand_rc simulate_best(struct search *s, struct sand_oracle *oracle,
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
static void keep_refused(struct search *s)
{
    const double best_s = s->overall.n > 0 ? s->overall.list[0].estimate.step_s : 0;
    for (size_t i = 0; i < s->refused.n; i++)
        if (s->overall.n == 0 || s->refused.list[i].estimate.step_s < best_s)
            s->result->refused[s->result->n_refused++] = s->refused.list[i];
}

// ---- all together -------------------------------------------------------------------------------

static enum sand_rc say_none(const struct search *s, uint32_t gpus)
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

static enum sand_rc run(struct search *s, struct sand_oracle *oracle,
                        sand_search_progress *progress, void *self)
{
    const uint32_t gpus = s->q->job->n_nodes * s->q->fabric->gpus_per_node;
    uint32_t first, end;
    sand_cluster_group_nodes(s->q->cluster, s->job.group, &first, &end);
    for (uint32_t i = 0; i < s->job.n_nodes; i++)
        s->nodes[i] = first + i;
    s->result->gpu = sand_cluster_slowest_type(s->q->cluster, s->nodes, s->job.n_nodes)->gpu;
    SAND_TRY(visit_all(s, gpus, progress, self));
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
    struct search s = {.q = question, .result = result, .job = *question->job, .diag = diag};
    *result = (struct sand_search_result){0};
    s.nodes = sand_calloc(question->job->n_nodes, sizeof *s.nodes);
    enum sand_rc rc = s.nodes == NULL ? SAND_ERR_NOMEM : SAND_OK;
    if (rc == SAND_OK)
        rc = best_open(&s.overall, question->simulate, 0);
    if (rc == SAND_OK)
        rc = best_open(&s.by_shape, question->simulate, 1);
    if (rc == SAND_OK)
        rc = best_open(&s.refused, SAND_SEARCH_REFUSED, 1);
    if (rc == SAND_OK)
        rc = run(&s, oracle, progress, self);
    if (rc == SAND_ERR_NOMEM)
        sand_fail(diag, rc, "search: out of memory");
    best_close(&s.overall);
    best_close(&s.by_shape);
    best_close(&s.refused);
    sand_free(s.nodes);
    return rc;
}

void sand_search_result_clear(struct sand_search_result *result)
{
    sand_free(result->hits);
    *result = (struct sand_search_result){0};
}
