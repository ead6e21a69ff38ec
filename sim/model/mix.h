// A mix: classes of synthetic jobs, when they arrive, how large and long they are and how they end.
// SPDX-License-Identifier: GPL-2.0-or-later
// Shipped files: workloads/mixes/ID.xml. What the binder leaves to sand_mix_check()
// (workloads/arrivals): shares of classes and of ends sum to 1, ids differ, weights are not all
// zero, laws are positive.
#ifndef SAND_SIM_MODEL_MIX_H
#define SAND_SIM_MODEL_MIX_H

#include <stddef.h>
#include <stdint.h>

#include "hardware.h"
#include "law.h"
#include "tracejob.h"
#include "workload.h"

enum sand_mix_outcome { SAND_MIX_COMPLETE, SAND_MIX_CANCEL, SAND_MIX_FAIL, SAND_MIX_OUTCOMES };

// Relative number of arrivals in an hour of the day or a day of the week; those not named weigh 1.
struct sand_mix_weight {
    uint32_t at;
    double weight;
};

struct sand_mix_size {
    uint32_t gpus;
    double weight; // relative
};

// One way in which jobs of a class end, and how long those jobs run.
struct sand_mix_end {
    enum sand_mix_outcome outcome;
    double share; // of the class's jobs
    struct sand_law run;
};

struct sand_mix_class {
    const char *id;
    double share; // of the mix's jobs
    double cycle; // 0: arrivals at a constant rate, 1: by the mix's weights, between: in proportion
    uint32_t users; // jobs are shared evenly by so many users; 0: not told apart
    // Requested time = request_factor times the run that this job would have needed to complete, at
    // most limit_ns, at least its run. Factor 0: limit_ns itself. Both 0: none.
    double request_factor;
    int64_t limit_ns;
    const struct sand_mix_size *sizes;
    size_t n_sizes;
    const struct sand_mix_end *ends;
    size_t n_ends;
    // SAND_TRACE_MODEL: the drawn run is what the job takes at its healthy step time on the best
    // placement; split.dp is replaced by gpus / (tp * pp).
    enum sand_trace_speed speed;
    const struct sand_transformer *model;
    const struct sand_software *software;
    struct sand_split split;
    struct sand_checkpoint_spec checkpoint; // likewise
};

// Figures of a source that a mix is fitted to; they are printed beside what was generated.
// X(name, text). Times in s, shares as fractions.
#define SAND_MIX_QUANTITIES(X)                                                                     \
    X(mean_gpus, "mean GPUs of a job")                                                             \
    X(median_gpus, "median GPUs of a job")                                                         \
    X(mean_run, "mean run time, s")                                                                \
    X(median_run, "median run time, s")                                                            \
    X(mean_gpu_s, "mean GPU-seconds of a job")                                                     \
    X(complete_rate, "share of jobs that complete")                                                \
    X(cancel_rate, "share of jobs that are cancelled")                                             \
    X(fail_rate, "share of jobs that fail")                                                        \
    X(complete_time, "share of GPU time in completed jobs")                                        \
    X(cancel_time, "share of GPU time in cancelled jobs")                                          \
    X(fail_time, "share of GPU time in failed jobs")                                               \
    X(one_gpu, "share of jobs with one GPU")                                                       \
    X(large_time, "share of GPU time in jobs of 256 GPUs or more")
#define SAND_MIX_QUANTITY_ENUM(name, text) SAND_MIX_##name,
enum sand_mix_quantity { SAND_MIX_QUANTITIES(SAND_MIX_QUANTITY_ENUM) SAND_MIX_QUANTITY_COUNT };
#undef SAND_MIX_QUANTITY_ENUM

struct sand_mix_figure {
    enum sand_mix_quantity quantity;
    double value;  // of the source
    double within; // relative: how near the mix's own expectation is meant to be
};

// Time 0 is Monday, 0:00.
struct sand_mix {
    const char *id;
    struct sand_provenance from;
    double jobs_per_s; // mean over a week, all classes
    const struct sand_mix_weight *hours, *days;
    size_t n_hours, n_days;
    const struct sand_mix_class *classes;
    size_t n_classes;
    const struct sand_mix_figure *figures;
    size_t n_figures;
};

// <mix use="..."/> among the jobs of an experiment.
struct sand_mix_use {
    const struct sand_mix *mix;
};

#endif
