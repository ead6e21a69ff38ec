// Fits the constants of collectives to measured rows, and leaves sources out.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_COLLFIT_H
#define SAND_ANALYSIS_VALIDATE_COLLFIT_H

#include <stdio.h>

#include "collreport.h"

// Moves the model's fitted constants to the rows of `in` (1: fit to it): Gauss-Newton on the
// logarithm of the time, rows weighted by 1 / max(|error|, 3 %) so that outliers do not pull, with
// a prior around the constants as they are; constants that no row asks for stay. Deterministic.
// SAND_ERR_NOMEM.
enum sand_rc sand_coll_fit(struct sand_coll_model *model, const struct sand_coll_case *cases,
                           size_t n, const uint8_t *in);

// For every source: fits to all other scored rows, starting where the catalogue stands, then prints
// the error on the source's own; last the overall line. The catalogue's constants were fitted to
// all rows, so the priors have seen the source; `widen` times wider priors bound what that hides.
// The model is as before afterwards. SAND_ERR_NOMEM.
enum sand_rc sand_coll_leave_out(struct sand_coll_model *model, const struct sand_coll_case *cases,
                                 size_t n, FILE *out);

// What a fit changed, one line per constant: entry, attribute, before, after.
void sand_coll_fit_print(const struct sand_coll_model *before, const struct sand_coll_model *after,
                         FILE *out);

#endif
