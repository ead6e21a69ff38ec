// The closed form over the whole space of splits.
// Bounds come before it: what cannot be kept any more is not worked out.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "closedform.h"

#include <math.h>

#include "mem.h"
#include "numbers.h"
#include "space.h"
#include "train.h"

// Refused splits that need more than this share of the memory are not worth a word: the next GPU
// generations of a line have had 1.25 to 1.8 times the memory of the one before (80, 141, 180, 288
// GB).
static const double WITHIN_REACH = 1.5;

struct sand_step_question closed_form_question(const struct closed_form *s)
{
    return (struct sand_step_question){.cluster = s->q->cluster,
                                       .kernels = s->q->kernels,
                                       .collectives = s->q->collectives,
                                       .fabric = s->q->fabric,
                                       .job = &s->job,
                                       .nodes = s->nodes,
                                       .folding = SAND_FOLD};
}

// ---- placements ---------------------------------------------------------------------------------

static int is_of(const struct placement *placement, const struct sand_step_question *question,
                 int rings)
{
    const struct sand_split *split = &question->job->split;
    if ((placement->split.virtual_stages > 1) != (split->virtual_stages > 1))
        return 0;
    if (rings && !sand_step_rings_alike(&placement->split, split))
        return 0;
    return sand_step_layout_suits(&placement->layout, question, rings);
}

// Of the split under way; without `rings` it may have another's.
static enum sand_rc find_layout(struct closed_form *s, int rings,
                                const struct sand_step_layout **layout)
{
    const struct sand_step_question question = closed_form_question(s);
    size_t i = 0;
    while (i < s->n_placements && i < MOST_PLACEMENTS &&
           !is_of(&s->placements[i], &question, rings))
        i++;
    const int is_new = i == s->n_placements || i == MOST_PLACEMENTS;
    struct placement *p = &s->placements[is_new ? s->n_placements % MOST_PLACEMENTS : i];
    *layout = &p->layout;
    if (!is_new)
        return SAND_OK;
    SAND_TRY(sand_step_layout_find(&question, &p->layout, s->diag));
    p->split = s->job.split;
    s->n_placements++;
    s->result->layouts++;
    return SAND_OK;
}

// ---- memory -------------------------------------------------------------------------------------

static int fits(const struct sand_memory *m)
{
    return m->total_B <= m->capacity_B;
}

static int is_within_reach(const struct sand_memory *m)
{
    return m->total_B <= WITHIN_REACH * m->capacity_B;
}

static void count_refused(struct closed_form *s, const struct sand_split *split,
                          const struct sand_memory *m)
{
    const double state_B = m->weights_B + m->gradients_B + m->optimizer_B;
    if (state_B > m->activations_B + m->buffers_B)
        s->result->too_big_state++;
    else
        s->result->too_big_activations++;
    if (s->least_B <= 0 || m->total_B < s->least_B) {
        s->least_B = m->total_B;
        s->result->nearest = (struct sand_search_candidate){.split = *split, .memory = *m};
    }
}

// ---- time ---------------------------------------------------------------------------------------

// Floors under splits of a family: one for each way to recompute, with and without sequence
// parallelism, and to reduce gradients, once a step or with every micro-batch. 0: not found yet.
struct floors {
    double compute_s, all_s;
};
enum { FLOORS = SPACE_MODES * 2 * 2 };

static struct floors *floors_under(const struct sand_split *split, struct floors *floors)
{
    return &floors[(split->recompute * 2 + (split->sequence_parallel != 0)) * 2 +
                   (sand_split_is_sharded(split) != 0)];
}

// Of this time and longer ones the split under way is of no use. Refused ones must also be faster
// than what fits.
static double ceiling_s(const struct closed_form *s, int fitting)
{
    const struct sand_split *split = &s->job.split;
    if (fitting)
        return sand_larger(best_ceiling_s(&s->overall, split), best_ceiling_s(&s->by_shape, split));
    const double of_refused_s = best_ceiling_s(&s->refused, split);
    return s->overall.n == 0 ? of_refused_s
                             : sand_smaller(of_refused_s, s->overall.list[0].estimate.step_s);
}

// Whether the split under way could still be kept.
static enum sand_rc is_worth_it(struct closed_form *s, int fitting, struct floors *floors,
                                int *worth)
{
    const double below_s = ceiling_s(s, fitting);
    const struct sand_step_question question = closed_form_question(s);
    const struct sand_step_layout *layout = NULL;
    *worth = 1;
    if (s->q->exhaustive || !isfinite(below_s))
        return SAND_OK;
    if (floors->compute_s <= 0)
        floors->compute_s = sand_step_floor(&question, NULL);
    *worth = floors->compute_s < below_s;
    if (!*worth)
        return SAND_OK;
    SAND_TRY(find_layout(s, 0, &layout));
    if (floors->all_s <= 0)
        floors->all_s = sand_step_floor(&question, layout);
    *worth = floors->all_s < below_s;
    return SAND_OK;
}

static enum sand_rc consider(struct closed_form *s, const struct sand_split *split,
                             const struct sand_memory *memory, struct floors *floors)
{
    const int fitting = fits(memory);
    const struct sand_step_layout *layout = NULL;
    struct sand_search_candidate offer = {.split = *split, .memory = *memory};
    int worth = 1;
    if (!fitting)
        count_refused(s, split, memory);
    if (!is_within_reach(memory))
        return SAND_OK; // most of the space of a large model: nobody asks how fast it were
    s->job.split = *split;
    SAND_TRY(is_worth_it(s, fitting, floors_under(split, floors), &worth));
    if (!worth) {
        s->result->ruled_out++;
        return SAND_OK;
    }
    SAND_TRY(find_layout(s, 1, &layout));
    const struct sand_step_question question = closed_form_question(s);
    sand_step_estimate(&question, layout, &offer.estimate);
    s->result->estimated++;
    if (!fitting) {
        best_offer(&s->refused, &offer);
        return SAND_OK;
    }
    best_offer(&s->overall, &offer);
    best_offer(&s->by_shape, &offer);
    return SAND_OK;
}

// ---- the space ----------------------------------------------------------------------------------

// Those of a family that break no rule. None looks at recomputation.
static size_t keep_possible(const struct closed_form *s, const struct sand_split *family, size_t n,
                            struct sand_split *possible)
{
    const size_t block = n / SPACE_MODES;
    uint8_t is_possible[SPACE_FAMILY];
    size_t n_possible = 0;
    for (size_t i = 0; i < block; i++)
        is_possible[i] = sand_split_check(s->job.model, &family[i], 0, NULL) == SAND_OK;
    for (size_t i = 0; i < n; i++)
        if (is_possible[i % block])
            possible[n_possible++] = family[i];
    return n_possible;
}

static enum sand_rc visit(void *self, const struct sand_split *family, size_t n)
{
    struct closed_form *s = self;
    struct sand_split possible[SPACE_FAMILY];
    struct sand_memory memories[SPACE_FAMILY];
    struct floors floors[FLOORS] = {{.compute_s = 0}};
    const size_t n_possible = keep_possible(s, family, n, possible);
    s->result->considered += n;
    s->result->impossible += n - n_possible;
    if (n_possible == 0)
        return SAND_OK;
    sand_memory_estimates(s->job.model, possible, n_possible, s->result->gpu, s->q->kernels,
                          memories);
    for (size_t i = 0; i < n_possible; i++)
        SAND_TRY(consider(s, &possible[i], &memories[i], floors));
    return SAND_OK;
}

enum sand_rc closed_form_of_all(struct closed_form *s, uint32_t gpus,
                                sand_search_progress *progress, void *self)
{
    struct sand_split *frames = NULL;
    size_t n = 0;
    const uint32_t domain_gpus = s->q->fabric->nodes_per_domain * s->q->fabric->gpus_per_node;
    SAND_TRY(space_frames(s->q->job, gpus, domain_gpus, &frames, &n));
    enum sand_rc rc = SAND_OK;
    for (size_t i = 0; rc == SAND_OK && i < n; i++) {
        s->n_placements = 0;
        rc = space_families(s->q->job, &frames[i], visit, s);
        if (progress)
            progress(self, 0.8 * (double)(i + 1) / (double)n);
    }
    sand_free(frames);
    return rc;
}

// ---- opening and closing ------------------------------------------------------------------------

enum sand_rc closed_form_open(struct closed_form *s)
{
    s->nodes = sand_calloc(s->job.n_nodes, sizeof *s->nodes);
    if (s->nodes == NULL)
        return SAND_ERR_NOMEM;
    SAND_TRY(best_open(&s->overall, s->q->simulate, 0));
    SAND_TRY(best_open(&s->by_shape, s->q->simulate, 1));
    return best_open(&s->refused, SAND_SEARCH_REFUSED, 1);
}

void closed_form_close(struct closed_form *s)
{
    best_close(&s->overall);
    best_close(&s->by_shape);
    best_close(&s->refused);
    sand_free(s->nodes);
}
