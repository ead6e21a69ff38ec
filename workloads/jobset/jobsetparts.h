// What the files of this room call of each other (private).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_JOBSET_JOBSETPARTS_H
#define SAND_WORKLOADS_JOBSET_JOBSETPARTS_H

#include "arrivals.h"
#include "jobset.h"
#include "mem.h"
#include "trace.h"
#include "train.h"

// A trace that has been read to its end, and how it is to be read.
struct sand_jobtrace {
    const struct sand_trace_spec *spec;
    struct sand_trace_options options;
    struct sand_trace_column *columns; // of the options
    struct sand_trace *known;
    struct sand_trace_log log;
    uint64_t kept;
};

struct sand_jobset {
    const struct sand_experiment *experiment;
    struct sand_jobtrace *traces; // as many as the experiment has
    struct sand_arena arena;      // texts of column maps
    char *report;                 // malloc's
    size_t report_size;
};

// What a mix makes of the cluster it is put on.
struct sand_jobmix_fit {
    uint64_t jobs, too_large, part_node; // part_node: of those that fit
    double asked_gpu_s, held_gpu_s;      // likewise
};

// One source of jobs, and the job it stands at.
struct sand_jobfeed {
    const struct sand_experiment *experiment;
    // The next job into `job`, with `have` set; not set after the last one.
    enum sand_rc (*advance)(struct sand_jobfeed *feed, struct sand_diag *diag);
    struct sand_job_spec job;
    int have;
    uint64_t number; // of the job
    uint64_t next;   // of the one after it
    // Those written out.
    struct sand_joblist *list;
    struct sand_job_source source;
    // A trace.
    const struct sand_jobtrace *trace;
    struct sand_trace *reader;
    int borrowed;    // the reader is the set's own
    uint64_t late;   // submitted when the experiment is over
    uint64_t unlaid; // of a model class, but the split does not go onto its GPUs
    // A mix.
    const struct sand_mix *mix;
    struct sand_arrivals *arrivals;
    char *id, *user; // of the job
    size_t room;     // of each
    struct sand_jobmix_fit fit;
    struct sand_mix_tally tally;
};

struct sand_jobstream {
    struct sand_jobfeed *feeds;
    size_t n_feeds;
    struct sand_jobfeed *given; // of the job given last
};

// Nodes a job can have: all but the spares.
uint32_t sand_jobset_room(const struct sand_experiment *experiment);

// Makes a job train the model on all GPUs it asks for; 0 if the split does not go onto them, and
// then the job stays as it is.
int sand_jobset_train(const struct sand_experiment *experiment,
                      const struct sand_transformer *model, const struct sand_software *software,
                      const struct sand_split *split, struct sand_job_spec *job);

// jobsettrace.c: opens a trace for its first reading; a feed of its rows, the first from that very
// reader, later ones from readers of their own; the report of the import, once it is read.
enum sand_rc sand_jobtrace_open(struct sand_jobset *set, const struct sand_trace_spec *spec,
                                FILE *rows, struct sand_jobtrace *trace, struct sand_diag *diag);
void sand_jobtrace_close(struct sand_jobtrace *trace);
enum sand_rc sand_jobtrace_feed(const struct sand_jobtrace *trace, int first,
                                struct sand_jobfeed *feed, struct sand_diag *diag);
void sand_jobtrace_report(const struct sand_jobfeed *feed, FILE *out);

// jobsetmix.c: a feed of the jobs of a replication; how many they are; what they are made of, once
// all have come.
enum sand_rc sand_jobmix_feed(const struct sand_mix *mix, uint32_t replication,
                              struct sand_jobfeed *feed, struct sand_diag *diag);
enum sand_rc sand_jobmix_count(const struct sand_experiment *experiment, const struct sand_mix *mix,
                               uint32_t replication, uint64_t *n, struct sand_diag *diag);
void sand_jobmix_report(const struct sand_jobfeed *feed, FILE *out);

#endif
