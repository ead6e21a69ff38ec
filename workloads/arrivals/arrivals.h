// Synthetic jobs from a mix: a stream of any length in constant memory, each draw a function of its
// address, and the mix's own expectations. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_ARRIVALS_ARRIVALS_H
#define SAND_WORKLOADS_ARRIVALS_ARRIVALS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "diag.h"
#include "mix.h"
#include "rng.h"

struct sand_mix_job {
    uint64_t index;      // in the stream, by submit time
    uint32_t mix_class;  // index into the mix's classes
    uint64_t class_rank; // k: this is the k-th job of its class, from 0
    int64_t submit_ns;
    int64_t run_ns;     // > 0
    int64_t request_ns; // >= run_ns; -1: none
    uint32_t gpus;
    uint32_t user; // within the class; 0 if its users are not told apart
    enum sand_mix_outcome outcome;
};

// Reports all problems of a mix, then SAND_ERR_INPUT.
enum sand_rc sand_mix_check(const struct sand_mix *mix, struct sand_diag *diag);

// Everything of job k of a class but `index` and `submit_ns`. Each property has a uniform of its
// own, addressed by (seed, replication, SAND_STREAM_ARRIVAL, class id and property, k): jobs of one
// class are the same whatever other classes there are, and a change of one property leaves the
// others. O(sizes of the class).
void sand_mix_draw(const struct sand_mix *mix, struct sand_rng rng, uint32_t mix_class, uint64_t k,
                   struct sand_mix_job *job);

struct sand_arrivals;

// A stream of the jobs submitted before duration_ns (0: without end). Arrivals of a class are a
// Poisson process with the class's weekly cycle, by inversion of its cumulative intensity: one
// uniform a job, none rejected, so that other rates stretch the same jobs. `mix` must be checked
// and outlive the stream. Memory: 3 kB a class, whatever the length.
enum sand_rc sand_arrivals_open(const struct sand_mix *mix, struct sand_rng rng,
                                int64_t duration_ns, struct sand_arrivals **arrivals,
                                struct sand_diag *diag);

// The next job by submit time, equal times by class; 0 after the last one. O(classes + sizes).
int sand_arrivals_next(struct sand_arrivals *arrivals, struct sand_mix_job *job);

void sand_arrivals_close(struct sand_arrivals *arrivals); // NULL is fine

// "mean_gpus"; never NULL.
const char *sand_mix_quantity_name(enum sand_mix_quantity quantity);

// What the mix's laws give on average, in closed form. Of a median: the median itself. O(classes x
// (sizes + ends)); medians take some hundred evaluations of that.
double sand_mix_expect(const struct sand_mix *mix, enum sand_mix_quantity quantity);

// Sums over generated jobs; zero-initialise. Constant memory: of medians it keeps the share of jobs
// at or below the mix's own one.
struct sand_mix_tally {
    double n;
    double median_gpus, median_run; // set by the first job
    // For each quantity, generated value = sum y / sum x (x = 1: a mean; x = GPU time: a share of
    // it).
    double y[SAND_MIX_QUANTITY_COUNT], yy[SAND_MIX_QUANTITY_COUNT], xy[SAND_MIX_QUANTITY_COUNT];
    double x, xx; // GPU time
};

void sand_mix_count(struct sand_mix_tally *tally, const struct sand_mix *mix,
                    const struct sand_mix_job *job);

// The generated value (of a median: the share of jobs at or below the expected one) and its
// standard error (for shares of GPU time that of a ratio of means, to first order).
double sand_mix_generated(const struct sand_mix_tally *tally, enum sand_mix_quantity quantity,
                          double *standard_error);

// Prints one line a figure: generated, standard error, the mix's expectation, the source's value;
// then what is assumed.
void sand_mix_print(const struct sand_mix *mix, const struct sand_mix_tally *tally, FILE *out);

#endif
