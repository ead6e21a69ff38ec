// A short sorted list. SPDX-License-Identifier: GPL-2.0-or-later
// Insertion keeps it: nearly all offers are refused at the first comparison.
#include "best.h"

#include <math.h>
#include <string.h>

#include "mem.h"
#include "numbers.h"

enum sand_rc best_open(struct best *best, size_t most, int one_per_shape)
{
    *best = (struct best){.most = most, .one_per_shape = one_per_shape};
    best->list = sand_calloc(most + 1, sizeof *best->list);
    return best->list == NULL ? SAND_ERR_NOMEM : SAND_OK;
}

void best_close(struct best *best)
{
    sand_free(best->list);
    *best = (struct best){0};
}

int best_same_shape(const struct sand_split *a, const struct sand_split *b)
{
    return a->tp == b->tp && a->cp == b->cp && a->pp == b->pp && a->dp == b->dp && a->ep == b->ep;
}

static void drop(struct best *best, size_t i)
{
    memmove(&best->list[i], &best->list[i + 1], (best->n - i - 1) * sizeof *best->list);
    best->n--;
}

double best_ceiling_s(const struct best *best, const struct sand_split *split)
{
    double ceiling_s = best->n < best->most ? INFINITY : best->list[best->n - 1].estimate.step_s;
    for (size_t i = 0; best->one_per_shape && i < best->n; i++)
        if (best_same_shape(&best->list[i].split, split))
            ceiling_s = sand_smaller(ceiling_s, best->list[i].estimate.step_s);
    return ceiling_s;
}

void best_offer(struct best *best, const struct sand_search_candidate *offer)
{
    const double step_s = offer->estimate.step_s;
    const double ceiling_s = best_ceiling_s(best, &offer->split);
    if (step_s >= ceiling_s && isfinite(ceiling_s)) // what never ends is kept while there is room
        return;
    for (size_t i = 0; best->one_per_shape && i < best->n; i++)
        if (best_same_shape(&best->list[i].split, &offer->split))
            drop(best, i);
    size_t at = best->n;
    while (at > 0 && best->list[at - 1].estimate.step_s > step_s)
        at--;
    memmove(&best->list[at + 1], &best->list[at], (best->n - at) * sizeof *best->list);
    best->list[at] = *offer;
    best->n += best->n < best->most;
}
