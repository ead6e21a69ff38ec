// A short sorted list. SPDX-License-Identifier: GPL-2.0-or-later
// Insertion keeps it: nearly all offers are refused at the first comparison.
#include "best.h"

#include <string.h>

#include "mem.h"

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

// Whether an offer of this time would be kept.
static int would_keep(const struct best *best, double step_s)
{
    return best->n < best->most || step_s < best->list[best->n - 1].estimate.step_s;
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

void best_offer(struct best *best, const struct sand_search_candidate *offer)
{
    const double step_s = offer->estimate.step_s;
    if (!would_keep(best, step_s))
        return;
    for (size_t i = 0; best->one_per_shape && i < best->n; i++) {
        if (!best_same_shape(&best->list[i].split, &offer->split))
            continue;
        if (best->list[i].estimate.step_s <= step_s)
            return;
        drop(best, i);
    }
    size_t at = best->n;
    while (at > 0 && best->list[at - 1].estimate.step_s > step_s)
        at--;
    memmove(&best->list[at + 1], &best->list[at], (best->n - at) * sizeof *best->list);
    best->list[at] = *offer;
    best->n += best->n < best->most;
}
