// All jobs of an experiment: those it writes out, those of its traces, those of its mixes.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_JOBSET_JOBSET_H
#define SAND_WORKLOADS_JOBSET_JOBSET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "diag.h"
#include "experiment.h"
#include "mem.h"

struct sand_jobset;

// Reads the traces of an experiment, which must outlive the set, and checks its mixes. A job that
// needs more nodes than the cluster has besides its spares is left out and counted. O(rows).
enum sand_rc sand_jobset_open(const struct sand_experiment *experiment, struct sand_jobset **set,
                              struct sand_diag *diag);
void sand_jobset_close(struct sand_jobset *set); // NULL is fine

// What was read, kept, changed and dropped, and for mixes what replication 0 is made of beside the
// figures of the source. Nothing when all jobs are written out.
enum sand_rc sand_jobset_report(const struct sand_jobset *set, FILE *out, struct sand_diag *diag);

// The experiment with the jobs of one replication in place: document, traces, mixes, in this order,
// which is that of equal submit times. Valid while the set is; clear it.
struct sand_drawn {
    struct sand_experiment experiment;
    struct sand_job_spec *jobs; // its own, or NULL where all replications share them
    size_t n, capacity;
    struct sand_arena arena;
};
enum sand_rc sand_jobset_draw(const struct sand_jobset *set, uint32_t replication,
                              struct sand_drawn *drawn, struct sand_diag *diag);
void sand_drawn_clear(struct sand_drawn *drawn);

#endif
