// All jobs of an experiment: those it writes out, those of its traces, those of its mixes.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_JOBSET_JOBSET_H
#define SAND_WORKLOADS_JOBSET_JOBSET_H

#include <stdint.h>
#include <stdio.h>

#include "diag.h"
#include "experiment.h"
#include "jobsource.h"

struct sand_jobset;

// Called for each job of replication 0 while the set is opened; a failure is kept, the rest goes
// on.
struct sand_job_visitor {
    void *self;
    enum sand_rc (*visit)(void *self, const struct sand_job_spec *job, struct sand_diag *diag);
    FILE *rows; // gets a CSV of every row of a trace that is dropped, changed or noted; may be NULL
};

// Reads the traces of an experiment, which must outlive the set, and draws its mixes once, to check
// and to report; keeps no job. A job that needs more nodes than the cluster has besides its spares
// is left out and counted. `visitor` may be NULL. O(rows).
enum sand_rc sand_jobset_open(const struct sand_experiment *experiment,
                              const struct sand_job_visitor *visitor, struct sand_jobset **set,
                              struct sand_diag *diag);
void sand_jobset_close(struct sand_jobset *set); // NULL is fine

// What was read, kept, changed and dropped, and for mixes what replication 0 is made of beside the
// figures of the source. Nothing when all jobs are written out.
void sand_jobset_report(const struct sand_jobset *set, FILE *out);

// The jobs of one replication, one by one, by submit date. Numbers, and the order of equal dates:
// document, traces, mixes. Traces are read again while the stream runs, each mix is drawn again,
// and all but the last are drawn once more to know how many jobs they give; nothing is kept but
// what a trace holds back to put its rows in order. Processes that read at one time do not meet.
struct sand_jobstream;
enum sand_rc sand_jobset_stream(const struct sand_jobset *set, uint32_t replication,
                                struct sand_jobstream **stream, struct sand_job_source *source,
                                struct sand_diag *diag);
void sand_jobstream_close(struct sand_jobstream *stream); // NULL is fine

#endif
