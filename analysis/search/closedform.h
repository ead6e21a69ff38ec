// The closed form over the whole space of splits. Internal to analysis/search.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_SEARCH_CLOSEDFORM_H
#define SAND_ANALYSIS_SEARCH_CLOSEDFORM_H

#include "best.h"
#include "search.h"

// Placements of a frame: without and with virtual stages, whose last stage sends to the first; with
// the rings that what is shared out needs; with trees or rings, as messages are short or long.
struct placement {
    struct sand_step_layout layout;
    struct sand_split split; // one that it is of
};
enum { MOST_PLACEMENTS = 24 };

struct closed_form {
    const struct sand_search_question *q;
    struct sand_search_result *result;
    struct sand_job_spec job; // the split under way
    uint32_t *nodes;
    struct best overall, by_shape, refused;
    struct placement placements[MOST_PLACEMENTS];
    size_t n_placements; // ever found of the frame; of more than fit the first make room
    double least_B;      // memory of result->nearest
    struct sand_diag *diag;
};

// q, result, job and diag are the caller's. Close it in any case.
enum sand_rc closed_form_open(struct closed_form *s);
void closed_form_close(struct closed_form *s);

// The step of the split under way.
struct sand_step_question closed_form_question(const struct closed_form *s);

// Fills the lists and the result's counts. The lists are those of working out every split: one is
// passed over only when a floor under its time says that no list would keep it.
enum sand_rc closed_form_of_all(struct closed_form *s, uint32_t gpus,
                                sand_search_progress *progress, void *self);

#endif
