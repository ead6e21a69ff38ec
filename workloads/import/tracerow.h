// A row as its format states it, and the state of a trace being read (private to workloads/import).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_IMPORT_TRACEROW_H
#define SAND_WORKLOADS_IMPORT_TRACEROW_H

#include "agenda.h"
#include "mem.h"
#include "trace.h"
#include "tracelines.h"
#include "traceparse.h"
#include "traceset.h"

// Numbers are TRACE_UNKNOWN if the row does not state them. Sizes are in units of 1e-9, so that
// fractions show. Texts point into the line.
struct trace_raw {
    const char *id, *user, *account, *queue, *partition, *name;
    int64_t submit_ns, wait_ns, start_ns, end_ns, run_ns, request_ns;
    int64_t requested, allocated; // processors
    int64_t nodes, gpus;
    enum sand_trace_status status;
    int new_status, partial, extra_fields;
};

enum { TRACE_SIZE_ONE = 1000000000 };

// Outcome of reading or judging a row: a dropping reason, or this.
#define TRACE_KEEP SAND_TRACE_REASON_COUNT

// A judged row: what was decided, held until its turn.
struct trace_held {
    struct sand_trace_job job; // texts point into `texts`; submit and start in the file's time
    struct trace_key key;
    double asked_nodes; // what the row asks for, in nodes; not known: 0
    uint32_t reasons;   // bits of those that are not dropping ones
    size_t bytes;       // of this block
    char texts[];
};

struct trace_csv;

struct sand_trace {
    char *path;
    enum sand_trace_format format;
    struct sand_trace_options options;
    struct trace_lines *lines;
    struct trace_csv *csv; // NULL for SWF
    struct sand_trace_report report;
    uint64_t *classes;
    int counting; // the reading that reports reasons
    // Learnt in the first reading.
    int64_t first_submit_ns, lateness_ns; // lateness: most that a row is below a later submit
    uint64_t kept;
    int ids_ascend;
    // Second reading.
    int ended;
    uint64_t row, next_index, repeats; // repeats: dropped ones
    int64_t latest_ns, released_ns;    // greatest submit read, and given out
    struct sand_agenda agenda; // of struct trace_held, by submit, then in the order of the file
    size_t held_B;
    struct trace_held *given;
    struct trace_set ids, instant; // instant: keys of the rows of one submit time
};

// Reads the fields of an SWF line, which is cut up. Returns TRACE_KEEP, or the reason to drop it
// with *detail set to the offending text.
enum sand_trace_reason trace_swf_row(char *text, struct trace_raw *raw, const char **detail);
// Takes "; MaxNodes: 100" and its kin.
void trace_swf_header(const char *text, struct sand_trace_report *report);

enum sand_rc trace_csv_open(struct sand_trace *trace, struct sand_diag *diag);
void trace_csv_close(struct trace_csv *csv);
// Reads the header line and finds the columns.
enum sand_rc trace_csv_header(struct sand_trace *trace, struct sand_diag *diag);
enum sand_rc trace_csv_row(struct sand_trace *trace, const struct trace_line *line,
                           struct trace_raw *raw, enum sand_trace_reason *reason,
                           const char **detail, struct sand_diag *diag);

// Applies the options to a row. `job` has texts of `raw`. Returns TRACE_KEEP or the reason to drop
// it; *reasons gets the bits of the others, *asked_nodes what it asks for before it is rounded up
// to whole nodes.
enum sand_trace_reason trace_judge(const struct sand_trace *trace, const struct trace_raw *raw,
                                   struct sand_trace_job *job, uint32_t *reasons,
                                   double *asked_nodes);

// Counts and reports one reason of a row, if this is the second reading.
void trace_note(struct sand_trace *trace, long line, enum sand_trace_reason reason,
                const char *detail);
void trace_note_all(struct sand_trace *trace, long line, uint32_t reasons);

enum sand_rc trace_check_options(enum sand_trace_format format,
                                 const struct sand_trace_options *options, struct sand_diag *diag);

#endif
