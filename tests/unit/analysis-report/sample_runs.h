// Two hand-made runs of ten hours on 100 GPUs, with sums that can be done on paper.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_REPORT_SAMPLE_RUNS_H
#define SAND_TESTS_REPORT_SAMPLE_RUNS_H

#include "store.h"

// Writes a results file with n of them (0, 1 or 2) from `first` on, and opens it.
struct sand_results *open_runs(uint32_t first, size_t n_runs);
struct sand_results *open_sample(size_t n_runs); // from the first on
// Two runs in which a mix drew other jobs, on nodes that small jobs share.
struct sand_results *open_mix(void);

#endif
