// What the files of this room call of each other (private).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_JOBSET_JOBSETPARTS_H
#define SAND_WORKLOADS_JOBSET_JOBSETPARTS_H

#include "arrivals.h"
#include "jobset.h"
#include "trace.h"
#include "train.h"

struct sand_joblist {
    struct sand_job_spec *jobs;
    size_t n, capacity;
};
enum sand_rc sand_joblist_add(struct sand_joblist *list, const struct sand_job_spec *job);

struct sand_jobset {
    const struct sand_experiment *experiment;
    struct sand_joblist list; // document and traces, when there are traces
    struct sand_arena arena;  // texts of the traces
    char *report;             // of the traces; malloc's
    size_t report_size;
};

// Nodes a job can have: all but the spares.
uint32_t sand_jobset_room(const struct sand_experiment *experiment);

// Makes a job train the model on all GPUs it asks for; 0 if the split does not go onto them, and
// then the job stays as it is.
int sand_jobset_train(const struct sand_experiment *experiment,
                      const struct sand_transformer *model, const struct sand_software *software,
                      const struct sand_split *split, struct sand_job_spec *job);

// jobsettrace.c: appends a trace's jobs, prints the report of the import.
enum sand_rc sand_jobset_import(struct sand_jobset *set, const struct sand_trace_spec *trace,
                                FILE *out, struct sand_diag *diag);

// jobsetmix.c: appends the jobs of a replication; prints what replication 0 is made of.
enum sand_rc sand_jobset_mix(const struct sand_experiment *experiment, const struct sand_mix *mix,
                             uint32_t replication, struct sand_joblist *list,
                             struct sand_arena *arena, struct sand_diag *diag);
enum sand_rc sand_jobset_describe(const struct sand_experiment *experiment,
                                  const struct sand_mix *mix, FILE *out, struct sand_diag *diag);

#endif
