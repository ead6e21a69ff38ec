// Sets of flows as bits; only sets that no other contains are kept.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "activity.h"

#include <string.h>

#include "mem.h"

enum sand_rc step_activity_open(struct step_activity *activity, size_t n_flows)
{
    *activity = (struct step_activity){.words = (uint32_t)((n_flows + 63) / 64)};
    // Room for four times what a solution carries, so that pruning is rare.
    activity->most = activity->words == 0 ? 0 : 4 * SAND_STEP_ACTIVITY_WORDS / activity->words;
    activity->now = sand_calloc(activity->words, sizeof *activity->now);
    activity->sets = sand_calloc(activity->most * activity->words, sizeof *activity->sets);
    activity->lost = activity->most < 4;
    return activity->now == NULL || activity->sets == NULL ? SAND_ERR_NOMEM : SAND_OK;
}

void step_activity_close(struct step_activity *activity)
{
    sand_free(activity->now);
    sand_free(activity->sets);
}

void step_activity_start(struct step_activity *activity, uint32_t flow)
{
    activity->now[flow / 64] |= (uint64_t)1 << (flow % 64);
    activity->changed = 1;
}

// A smaller set is contained in the one before: nothing to note.
void step_activity_end(struct step_activity *activity, uint32_t flow)
{
    activity->now[flow / 64] &= ~((uint64_t)1 << (flow % 64));
}

static int contains(const uint64_t *big, const uint64_t *small, uint32_t words)
{
    for (uint32_t w = 0; w < words; w++)
        if ((small[w] & ~big[w]) != 0)
            return 0;
    return 1;
}

// Removes every set that another contains (of equal ones the later). O(sets^2).
static void prune(struct step_activity *activity)
{
    size_t kept = 0;
    for (size_t i = 0; i < activity->n_sets; i++) {
        const uint64_t *set = activity->sets + i * activity->words;
        int needed = 1;
        for (size_t j = 0; j < kept && needed; j++)
            needed = !contains(activity->sets + j * activity->words, set, activity->words);
        for (size_t j = i + 1; j < activity->n_sets && needed; j++) {
            const uint64_t *other = activity->sets + j * activity->words;
            needed =
                !contains(other, set, activity->words) || contains(set, other, activity->words);
        }
        if (needed && kept++ != i)
            memcpy(activity->sets + (kept - 1) * activity->words, set,
                   activity->words * sizeof *set);
    }
    activity->n_sets = kept;
}

void step_activity_note(struct step_activity *activity)
{
    if (!activity->changed || activity->lost)
        return;
    activity->changed = 0;
    if (activity->n_sets > 0 && contains(activity->sets + (activity->n_sets - 1) * activity->words,
                                         activity->now, activity->words))
        return;
    if (activity->n_sets == activity->most) {
        prune(activity);
        activity->lost = activity->n_sets > activity->most / 2;
        if (activity->lost)
            return;
    }
    memcpy(activity->sets + activity->n_sets++ * activity->words, activity->now,
           activity->words * sizeof *activity->now);
}

void step_activity_write(struct step_activity *activity, struct sand_step_solution *solution)
{
    if (activity->lost)
        return;
    prune(activity);
    if (activity->n_sets * activity->words > SAND_STEP_ACTIVITY_WORDS)
        return;
    solution->words = activity->words;
    solution->n_sets = (uint32_t)activity->n_sets;
    memcpy(solution->activity, activity->sets,
           activity->n_sets * activity->words * sizeof *activity->sets);
}
