// What becomes of a row under the caller's options: kept, changed or dropped, each with its reason.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <fnmatch.h>
#include <math.h>

#include "ids.h"
#include "tracerow.h"

static uint32_t bit(enum sand_trace_reason reason)
{
    return (uint32_t)1 << reason;
}
_Static_assert(SAND_TRACE_REASON_COUNT <= 32, "a reason is a bit");

static int matches(const char *pattern, const char *text)
{
    return !pattern || fnmatch(pattern, text, 0) == 0;
}

uint32_t sand_trace_classify(const struct sand_trace_class *classes, size_t n_classes,
                             const struct sand_trace_job *job)
{
    for (size_t i = 0; i < n_classes; i++) {
        const struct sand_trace_class *c = &classes[i];
        if (job->gpus >= c->min_gpus && (c->max_gpus == 0 || job->gpus <= c->max_gpus) &&
            matches(c->account, job->account) && matches(c->user, job->user) &&
            matches(c->queue, job->queue) && matches(c->partition, job->partition) &&
            matches(c->name, job->name))
            return (uint32_t)i;
    }
    return SAND_NONE;
}

// ---- sizes
// ---------------------------------------------------------------------------------------

// Whole number from units of 1e-9; -1 if nothing is asked, -2 if a fraction is to be dropped, -3 if
// it is too large for any machine.
enum { NOTHING = -1, FRACTION = -2, HUGE_SIZE = -3 };

static int64_t whole(const struct sand_trace *trace, int64_t size, uint32_t *reasons)
{
    if (size == TRACE_UNKNOWN || size <= 0)
        return NOTHING;
    int64_t floor = size / TRACE_SIZE_ONE;
    if (floor >= INT32_MAX)
        return HUGE_SIZE;
    if (size % TRACE_SIZE_ONE == 0)
        return floor;
    if (trace->options.drop_fractions)
        return FRACTION;
    *reasons |= bit(SAND_TRACE_FRACTION_UP);
    return floor + 1;
}

static uint32_t share_up(int64_t total, uint32_t per)
{
    return (uint32_t)((total + per - 1) / per);
}

static int64_t processors_of(const struct sand_trace *trace, const struct trace_raw *raw,
                             uint32_t *reasons)
{
    int allocated = trace->options.size == SAND_TRACE_ALLOCATED;
    int64_t chosen = allocated ? raw->allocated : raw->requested;
    if (chosen == TRACE_UNKNOWN) {
        chosen = allocated ? raw->requested : raw->allocated;
        if (chosen != TRACE_UNKNOWN)
            *reasons |= bit(SAND_TRACE_OTHER_SIZE);
    }
    return whole(trace, chosen, reasons);
}

static enum sand_trace_reason bad_size(int64_t size)
{
    return size == FRACTION    ? SAND_TRACE_FRACTION_DROPPED
           : size == HUGE_SIZE ? SAND_TRACE_TOO_LARGE
                               : SAND_TRACE_NO_SIZE;
}

static enum sand_trace_reason size_by_processors(const struct sand_trace *trace,
                                                 const struct trace_raw *raw,
                                                 struct sand_trace_job *job, uint32_t *reasons,
                                                 double *asked_nodes)
{
    uint32_t per = trace->options.processors_per_node ? trace->options.processors_per_node : 1;
    int64_t processors = processors_of(trace, raw, reasons);
    if (processors < 0)
        return bad_size(processors);
    if (trace->report.max_procs > 0 && processors > trace->report.max_procs)
        return SAND_TRACE_TOO_LARGE;
    if (processors % per != 0)
        *reasons |= bit(SAND_TRACE_PART_NODE);
    job->nodes = share_up(processors, per);
    *asked_nodes = (double)processors / per;
    return TRACE_KEEP;
}

// A job holds whole nodes, however few of their GPUs it asks for, unless it may share its only one.
static void count_asked_gpus(const struct sand_trace *trace, const struct sand_trace_job *job,
                             uint32_t *reasons, double *asked_nodes)
{
    const uint32_t per = trace->options.gpus_per_node;
    const int shares = trace->options.shares_nodes && job->nodes == 1;
    *asked_nodes = (double)job->gpus / per;
    if (job->gpus < (uint64_t)job->nodes * per && !shares)
        *reasons |= bit(SAND_TRACE_PART_NODE);
}

// GPUs say most, then nodes, then processors.
static enum sand_trace_reason set_size(const struct sand_trace *trace, const struct trace_raw *raw,
                                       struct sand_trace_job *job, uint32_t *reasons,
                                       double *asked_nodes)
{
    const struct sand_trace_options *options = &trace->options;
    uint32_t per = options->gpus_per_node;
    int64_t nodes = raw->nodes != TRACE_UNKNOWN ? whole(trace, raw->nodes, reasons) : 0;
    int64_t gpus = raw->gpus != TRACE_UNKNOWN ? whole(trace, raw->gpus, reasons) : 0;
    if (nodes < 0 || gpus < 0)
        return bad_size(gpus < 0 ? gpus : nodes);
    job->nodes = (uint32_t)nodes;
    job->gpus = (uint32_t)gpus;
    *asked_nodes = (double)nodes;
    if (nodes == 0 && gpus == 0) {
        enum sand_trace_reason reason = size_by_processors(trace, raw, job, reasons, asked_nodes);
        if (reason != TRACE_KEEP)
            return reason;
    }
    if (job->nodes == 0 && per > 0)
        job->nodes = share_up(gpus, per);
    if (job->gpus > 0 && per > 0)
        count_asked_gpus(trace, job, reasons, asked_nodes);
    if (job->gpus == 0 && per > 0) {
        if ((uint64_t)job->nodes * per > INT32_MAX)
            return SAND_TRACE_TOO_LARGE;
        job->gpus = job->nodes * per;
    }
    int large = (options->machine_nodes > 0 && job->nodes > options->machine_nodes) ||
                (options->machine_gpus > 0 && job->gpus > options->machine_gpus);
    return large ? SAND_TRACE_TOO_LARGE : TRACE_KEEP;
}

// ---- times
// ---------------------------------------------------------------------------------------

static int known_sum(int64_t a, int64_t b, int64_t *sum)
{
    return a != TRACE_UNKNOWN && b != TRACE_UNKNOWN && !__builtin_add_overflow(a, b, sum);
}

static int known_difference(int64_t a, int64_t b, int64_t *difference)
{
    return a != TRACE_UNKNOWN && b != TRACE_UNKNOWN && !__builtin_sub_overflow(a, b, difference);
}

// Writers round start and submit differently; a start this little before the submit is the submit.
static const int64_t rounding_ns = 1000000;

// Start in the file's time, TRACE_UNKNOWN until the trace shifts it.
static void set_start(const struct trace_raw *raw, struct sand_trace_job *job, uint32_t *reasons)
{
    int64_t early, start = raw->start_ns;
    if (start == TRACE_UNKNOWN && !known_sum(raw->submit_ns, raw->wait_ns, &start))
        start = TRACE_UNKNOWN;
    if (start == TRACE_UNKNOWN) {
        *reasons |= bit(SAND_TRACE_NO_START);
    } else if (start < raw->submit_ns) {
        int near = known_difference(raw->submit_ns, start, &early) && early < rounding_ns;
        *reasons |= bit(near ? SAND_TRACE_START_ROUNDED : SAND_TRACE_BAD_START);
        start = near ? raw->submit_ns : TRACE_UNKNOWN;
    }
    job->start_ns = start;
}

static enum sand_trace_reason set_times(const struct trace_raw *raw, struct sand_trace_job *job,
                                        uint32_t *reasons)
{
    int64_t run = raw->run_ns;
    if (run == TRACE_UNKNOWN && !known_difference(raw->end_ns, raw->start_ns, &run))
        run = TRACE_UNKNOWN;
    if (raw->submit_ns == TRACE_UNKNOWN)
        return SAND_TRACE_BAD_SUBMIT;
    if (run == TRACE_UNKNOWN || run <= 0)
        return raw->status == SAND_TRACE_CANCELLED ? SAND_TRACE_NEVER_RAN : SAND_TRACE_NO_RUN;
    job->submit_ns = raw->submit_ns;
    job->run_ns = run;
    job->request_ns = raw->request_ns == TRACE_UNKNOWN ? -1 : raw->request_ns;
    set_start(raw, job, reasons);
    return TRACE_KEEP;
}

static int64_t limit_of(const struct sand_trace *trace, const struct sand_trace_job *job)
{
    const struct sand_trace_options *options = &trace->options;
    if (job->job_class != SAND_NONE && options->classes[job->job_class].limit_ns > 0)
        return options->classes[job->job_class].limit_ns;
    return options->walltime_limit_ns > 0 ? options->walltime_limit_ns : -1;
}

static void set_request(const struct sand_trace *trace, struct sand_trace_job *job,
                        uint32_t *reasons)
{
    if (job->request_ns >= 0)
        return;
    double product;
    switch (trace->options.walltime) {
    case SAND_TRACE_WALLTIME_NONE:
        break;
    case SAND_TRACE_WALLTIME_EXACT:
        job->request_ns = job->run_ns;
        break;
    case SAND_TRACE_WALLTIME_FACTOR:
        product = trace->options.walltime_factor * (double)job->run_ns;
        job->request_ns = product < 9e18 ? (int64_t)ceil(product) : INT64_MAX;
        break;
    case SAND_TRACE_WALLTIME_LIMIT:
        job->request_ns = limit_of(trace, job);
        break;
    }
    *reasons |= bit(job->request_ns < 0 ? SAND_TRACE_NO_REQUEST : SAND_TRACE_REQUEST_RULE);
}

static void settle_overrun(const struct sand_trace *trace, struct sand_trace_job *job,
                           uint32_t *reasons)
{
    if (job->request_ns < 0 || job->run_ns <= job->request_ns)
        return;
    switch (trace->options.overrun) {
    case SAND_TRACE_OVERRUN_KEEP:
        *reasons |= bit(SAND_TRACE_OVERRUN);
        break;
    case SAND_TRACE_OVERRUN_CUT:
        job->run_ns = job->request_ns;
        *reasons |= bit(SAND_TRACE_RUN_CUT);
        break;
    case SAND_TRACE_OVERRUN_RAISE:
        job->request_ns = job->run_ns;
        *reasons |= bit(SAND_TRACE_REQUEST_RAISED);
        break;
    }
}

enum sand_trace_reason trace_judge(const struct sand_trace *trace, const struct trace_raw *raw,
                                   struct sand_trace_job *job, uint32_t *reasons,
                                   double *asked_nodes)
{
    *job = (struct sand_trace_job){.id = raw->id,
                                   .user = raw->user,
                                   .account = raw->account,
                                   .queue = raw->queue,
                                   .partition = raw->partition,
                                   .name = raw->name,
                                   .status = raw->status};
    *reasons = 0;
    *asked_nodes = 0;
    if (raw->partial)
        return SAND_TRACE_PARTIAL;
    enum sand_trace_reason reason = set_times(raw, job, reasons);
    if (reason == TRACE_KEEP)
        reason = set_size(trace, raw, job, reasons, asked_nodes);
    if (reason != TRACE_KEEP)
        return reason;
    job->job_class = sand_trace_classify(trace->options.classes, trace->options.n_classes, job);
    if (job->job_class == SAND_NONE && trace->options.n_classes > 0)
        *reasons |= bit(SAND_TRACE_NO_CLASS);
    set_request(trace, job, reasons);
    settle_overrun(trace, job, reasons);
    if (raw->extra_fields)
        *reasons |= bit(SAND_TRACE_EXTRA_FIELDS);
    if (raw->new_status)
        *reasons |= bit(SAND_TRACE_NEW_STATUS);
    return TRACE_KEEP;
}
