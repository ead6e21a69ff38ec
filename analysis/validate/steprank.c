// Compares every row with those after it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "steprank.h"

#include <string.h>

enum column_part { PART_INPUT, PART_LAYOUT, PART_OTHER };

static enum column_part part_of(enum sand_step_column column)
{
    switch (column) {
    case SAND_STEP_TP:
    case SAND_STEP_PP:
    case SAND_STEP_VP:
    case SAND_STEP_CP:
    case SAND_STEP_SHARDING:
    case SAND_STEP_MICRO_BATCH:
    case SAND_STEP_RECOMPUTE:
    case SAND_STEP_SEQUENCE_PARALLEL:
        return PART_LAYOUT;
    case SAND_STEP_ID:
    case SAND_STEP_SOURCE:
    case SAND_STEP_CONFIRMED:
    case SAND_STEP_MODEL:
    case SAND_STEP_NODES:
    case SAND_STEP_NETWORK:
    case SAND_STEP_TIME:
    case SAND_STEP_TOKENS:
    case SAND_STEP_TFLOPS:
        return PART_OTHER;
    default:
        return PART_INPUT;
    }
}

static int is_pair(const struct sand_step_case *a, const struct sand_step_case *b)
{
    int differs = 0;
    if (a->stack != b->stack || a->machine != b->machine)
        return 0;
    for (int i = 0; i < SAND_STEP_COLUMNS; i++) {
        const enum column_part part = part_of((enum sand_step_column)i);
        if (part == PART_OTHER || strcmp(a->row->cell[i], b->row->cell[i]) == 0)
            continue;
        if (part == PART_INPUT)
            return 0;
        differs = 1;
    }
    return differs;
}

static void count_pair(const struct sand_step_results *r, size_t i, size_t k, double threshold,
                       struct sand_step_ranking *ranking)
{
    const double a_s = r->cases[i].measured_s, b_s = r->cases[k].measured_s;
    const double shorter_s = a_s < b_s ? a_s : b_s, longer_s = a_s < b_s ? b_s : a_s;
    if (!(longer_s > shorter_s * (1 + threshold)))
        return;
    const double predicted_s = r->predictions[i].step_s - r->predictions[k].step_s;
    ranking->n_pairs++;
    ranking->n_right += a_s < b_s ? predicted_s < 0 : predicted_s > 0;
}

struct sand_step_ranking sand_step_rank(const struct sand_step_results *r,
                                        const struct sand_step_stack *stack, double threshold)
{
    struct sand_step_ranking ranking = {0};
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = i + 1; k < r->n && sand_step_is_scored(r, i); k++)
            if ((stack == NULL || r->cases[i].stack == stack) && sand_step_is_scored(r, k) &&
                is_pair(&r->cases[i], &r->cases[k]))
                count_pair(r, i, k, threshold, &ranking);
    return ranking;
}
