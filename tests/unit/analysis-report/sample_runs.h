// Two hand-made runs of ten hours on 100 GPUs, with sums that can be done on paper.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_REPORT_SAMPLE_RUNS_H
#define SAND_TESTS_REPORT_SAMPLE_RUNS_H

#include "store.h"

// Writes a results file with the first `n_runs` (0, 1 or 2) of them and opens it.
struct sand_results *open_sample(size_t n_runs);

#endif
