// Reads a cluster's job trace as a stream of jobs in submit order, and reports every row that was
// changed, dropped or worth a remark. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_IMPORT_TRACE_H
#define SAND_WORKLOADS_IMPORT_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "diag.h"
#include "tracejob.h"

// What is said about rows. DROPPED: the row is not in the trace that is read; CHANGED: it is, with
// a value other than the file's; NOTED: it is, as it stands. X(name, effect, text after "line 7 ")
#define SAND_TRACE_REASONS(X)                                                                      \
    X(BINARY, DROPPED, "holds control characters or is no text")                                   \
    X(TOO_LONG, DROPPED, "is longer than 64 KiB or has more than 1,024 columns")                   \
    X(QUOTING, DROPPED, "has a quote inside a field or one that the line does not close")          \
    X(FEW_FIELDS, DROPPED, "has too few fields")                                                   \
    X(BAD_NUMBER, DROPPED, "has a field that is no number of that column's kind")                  \
    X(BAD_SUBMIT, DROPPED, "has no submit time")                                                   \
    X(PARTIAL, DROPPED,                                                                            \
      "is a part of a job that has a row of its own (status 2, 3 or 4, or a step of Slurm)")       \
    X(NEVER_RAN, DROPPED, "was cancelled before it started")                                       \
    X(NO_RUN, DROPPED, "has a run time that is unknown, zero or negative")                         \
    X(NO_SIZE, DROPPED, "has no processors, nodes or GPUs")                                        \
    X(FRACTION_DROPPED, DROPPED, "asks for a fraction (fractions=drop)")                           \
    X(TOO_LARGE, DROPPED, "is larger than the machine")                                            \
    X(DUPLICATE_DROPPED, DROPPED, "repeats an earlier row exactly (duplicates=drop)")              \
    X(FRACTION_UP, CHANGED, "asks for a fraction: rounded up")                                     \
    X(OTHER_SIZE, CHANGED, "lacks the chosen kind of processors: the other kind taken")            \
    X(REQUEST_RULE, CHANGED, "has no requested time: set by the walltime rule")                    \
    X(RUN_CUT, CHANGED, "ran longer than requested: run time cut (overrun=cut)")                   \
    X(REQUEST_RAISED, CHANGED, "ran longer than requested: request raised (overrun=raise)")        \
    X(BAD_START, CHANGED, "started before it was submitted: start taken as unknown")               \
    X(START_ROUNDED, CHANGED,                                                                      \
      "started less than 1 ms before it was submitted: start taken as the submit")                 \
    X(UNSORTED, NOTED, "stands below a row that was submitted later: moved to its place")          \
    X(DUPLICATE, NOTED, "repeats an earlier row exactly: kept")                                    \
    X(SAME_ID, NOTED, "has the job id of an earlier row: kept")                                    \
    X(EXTRA_FIELDS, NOTED, "has more fields than the format: ignored")                             \
    X(NO_NEWLINE, NOTED, "ends the file without a line end: read as a whole line")                 \
    X(OVERRUN, NOTED, "ran longer than requested: kept as recorded")                               \
    X(NO_REQUEST, NOTED, "has no requested time, and no walltime rule is set")                     \
    X(NO_START, NOTED, "has no recorded start")                                                    \
    X(PART_NODE, NOTED, "does not fill its last node: that node is counted whole")                 \
    X(NEW_STATUS, NOTED, "has a status of unknown meaning")                                        \
    X(NO_CLASS, NOTED, "has no class")

#define SAND_TRACE_REASON_ENUM(name, effect, text) SAND_TRACE_##name,
enum sand_trace_reason { SAND_TRACE_REASONS(SAND_TRACE_REASON_ENUM) SAND_TRACE_REASON_COUNT };
#undef SAND_TRACE_REASON_ENUM

enum sand_trace_effect { SAND_TRACE_DROPPED, SAND_TRACE_CHANGED, SAND_TRACE_NOTED };

// Effect, name ("NO_RUN") and text of a reason; never NULL.
enum sand_trace_effect sand_trace_reason_effect(enum sand_trace_reason reason);
const char *sand_trace_reason_name(enum sand_trace_reason reason);
const char *sand_trace_reason_text(enum sand_trace_reason reason);

enum sand_trace_fields {
    SAND_TRACE_FIELD_ID,
    SAND_TRACE_FIELD_USER,
    SAND_TRACE_FIELD_ACCOUNT,
    SAND_TRACE_FIELD_QUEUE,
    SAND_TRACE_FIELD_PARTITION,
    SAND_TRACE_FIELD_NAME,
    SAND_TRACE_FIELD_STATUS,
    SAND_TRACE_FIELD_SUBMIT,
    SAND_TRACE_FIELD_WAIT,
    SAND_TRACE_FIELD_START,
    SAND_TRACE_FIELD_END,
    SAND_TRACE_FIELD_RUN,
    SAND_TRACE_FIELD_REQUEST,
    SAND_TRACE_FIELD_PROCESSORS,
    SAND_TRACE_FIELD_NODES,
    SAND_TRACE_FIELD_GPUS,
    SAND_TRACE_FIELD_COUNT
};

// Which column of a CSV holds a field. Units of times: ns us ms s min h d, for submit, start and
// end also "date" (YYYY-MM-DD HH:MM:SS), for the others "clock" (D-HH:MM:SS); of sizes: "1",
// "milli" or "tres" (gres/gpu=8,node=1,cpu=96). NULL: s, 1.
struct sand_trace_column {
    enum sand_trace_fields field;
    const char *column, *unit;
};

// Called for every row that is dropped, changed or noted, once per reason, in the order of the file
// (duplicates: in submit order). `detail` may be "".
struct sand_trace_listener {
    void *self;
    void (*note)(void *self, long line, enum sand_trace_reason reason, const char *detail);
};

// A listener's note() that writes each as a line of CSV: trace, line, effect, reason, text, detail;
// `self` is a struct sand_trace_log.
struct sand_trace_log {
    FILE *out;
    const char *path; // of the trace
};
void sand_trace_log_head(FILE *out);
void sand_trace_log_note(void *self, long line, enum sand_trace_reason reason, const char *detail);

// What the caller chooses; zeros are the defaults. Everything pointed to must outlive the trace.
struct sand_trace_options {
    enum sand_trace_size size;
    uint32_t processors_per_node; // nodes = ceil(processors / this); 0: 1
    int shares_nodes;             // rows of less than a node hold just their GPUs
    uint32_t gpus_per_node;       // > 0: nodes = ceil(gpus / this), or gpus = nodes * this
    uint32_t machine_nodes;       // larger jobs are dropped; 0: no bound of nodes
    uint32_t machine_gpus;        // likewise. SWF: jobs above the header's MaxProcs are dropped too
    enum sand_trace_walltime walltime;
    double walltime_factor;    // SAND_TRACE_WALLTIME_FACTOR: >= 1
    int64_t walltime_limit_ns; // SAND_TRACE_WALLTIME_LIMIT
    enum sand_trace_overrun overrun;
    int drop_duplicates;  // rows equal to an earlier one byte by byte
    int drop_fractions;   // else a fraction of a GPU or processor is rounded up
    int32_t utc_offset_s; // of dates that state none; 0: UTC
    char delimiter;       // CSV; 0: ',', or the '|', tab or ';' of a header line without one
    const struct sand_trace_column *columns;
    size_t n_columns;
    const struct sand_trace_class *classes;
    size_t n_classes;
    struct sand_trace_listener listener;
};

enum { SAND_TRACE_FIRST_LINES = 5 };

struct sand_trace_tally {
    uint64_t rows;
    long lines[SAND_TRACE_FIRST_LINES]; // of the first rows
    char detail[64];                    // of the first row
};

// What a report adds to "held whole" where jobs of less than a node share one.
#define SAND_TRACE_SHARED_NODES " (jobs of less than a node share one and are not among them)"

// Complete when sand_trace_next has given the last job. rows = kept + dropped.
struct sand_trace_report {
    uint64_t rows, kept, changed, dropped; // changed: kept rows with at least one changed value
    struct sand_trace_tally reasons[SAND_TRACE_REASON_COUNT];
    uint64_t statuses[SAND_TRACE_STATUSES]; // of kept rows
    const uint64_t *classes;                // kept rows by class, n_classes of them
    int64_t first_submit_ns;                // in the file's own time
    int64_t last_submit_ns;                 // from the first
    double node_s, gpu_s;                   // sums of size times run time of kept rows
    uint64_t part_node;                     // kept rows that do not fill their last node
    double asked_node_s;        // as node_s, before sizes were rounded up to whole nodes
    uint64_t held_rows, held_B; // most rows held back at one time to sort, and their bytes
    // SWF header; -1: not stated. zone_s: seconds east of Greenwich; INT32_MIN: not stated.
    int64_t max_nodes, max_procs, max_jobs, unix_start_s, zone_s;
};

struct sand_trace;

// Opens `path` (plain, .xz or .gz by content, not by name) and reads it once to learn whether it is
// sorted. Refused with a message: no regular file, binary data, a broken archive, missing columns,
// unusable options, and a file without a single usable row. O(rows), memory as below.
enum sand_rc sand_trace_open(const char *path, enum sand_trace_format format,
                             const struct sand_trace_options *options, struct sand_trace **trace,
                             struct sand_diag *diag);

// A trace of its own over the file of one that was opened before, which must outlive it: what was
// learnt then holds, so it is read once, and its rows are neither noted nor counted by reason.
// SAND_ERR_IO from next when the file was changed in between. O(1).
enum sand_rc sand_trace_again(const struct sand_trace *known, struct sand_trace **trace,
                              struct sand_diag *diag);

// The next job by submit time, equal times in the order of the file; *job is NULL after the last
// one and otherwise valid until the next call. Memory: only rows that stand above one submitted
// earlier are held (report: held_rows), 16 bytes a row more if the ids do not ascend. O(log held).
enum sand_rc sand_trace_next(struct sand_trace *trace, const struct sand_trace_job **job,
                             struct sand_diag *diag);

const struct sand_trace_report *sand_trace_report(const struct sand_trace *trace);

// Prints what was read with which options, then each reason with its first lines.
void sand_trace_report_print(const struct sand_trace *trace, FILE *out);

void sand_trace_close(struct sand_trace *trace); // NULL is fine

// Reads a column map "submit=timestamp:date,run=duration:s,gpus=num_gpus" into *columns (sand_free
// it; its texts point into `text`, which is cut up).
enum sand_rc sand_trace_columns(char *text, struct sand_trace_column **columns, size_t *n_columns,
                                struct sand_diag *diag);

// Index of the first class that matches, or SAND_NONE. O(classes).
uint32_t sand_trace_classify(const struct sand_trace_class *classes, size_t n_classes,
                             const struct sand_trace_job *job);

#endif
