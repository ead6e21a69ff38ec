// The rows of a trace as jobs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "jobsetparts.h"
#include "units.h"

static enum sand_job_ending ending_of(enum sand_trace_status status)
{
    switch (status) {
    case SAND_TRACE_FAILED:
        return SAND_ENDS_FAILED;
    case SAND_TRACE_CANCELLED:
        return SAND_ENDS_CANCELLED;
    case SAND_TRACE_TIMEOUT:
        return SAND_ENDS_KILLED;
    default:
        return SAND_ENDS_FINISHED;
    }
}

// A trace may count more GPUs than its nodes have here; the nodes are what the job holds.
static uint32_t asked_gpus(const struct sand_jobfeed *feed, const struct sand_trace_job *row)
{
    const uint32_t per_node = feed->experiment->cluster.node_type->n_gpus;
    return row->gpus <= (uint64_t)row->nodes * per_node ? row->gpus : 0;
}

static enum sand_rc advance(struct sand_jobfeed *feed, struct sand_diag *diag)
{
    const struct sand_trace_spec *spec = feed->trace->spec;
    const struct sand_trace_job *row;
    SAND_TRY(sand_trace_next(feed->reader, &row, diag));
    feed->have = row != NULL;
    if (!row)
        return SAND_OK;
    const struct sand_trace_class *class =
        row->job_class < spec->n_classes ? &spec->classes[row->job_class] : NULL;
    feed->number = feed->next++;
    feed->job = (struct sand_job_spec){
        .id = row->id,
        .user = row->user[0] ? row->user : NULL,
        .job_class = class ? class->id : NULL,
        .ending = ending_of(row->status),
        .kind = SAND_JOB_RECORDED,
        .n_nodes = row->nodes,
        .n_gpus = asked_gpus(feed, row),
        .submit_ns = row->submit_ns,
        .work_s = sand_s_from_ns(row->run_ns),
        .walltime_s = row->request_ns > 0 ? sand_s_from_ns(row->request_ns) : 0,
        .row_line = row->line,
        .has_start = row->start_ns >= 0,
        .record_ns = row->start_ns,
    };
    if (class)
        feed->job.checkpoint = class->checkpoint;
    feed->late += row->submit_ns >= feed->experiment->duration_ns;
    if (class && class->speed == SAND_TRACE_MODEL)
        feed->unlaid += !sand_jobset_train(feed->experiment, class->model, class->software,
                                           &class->split, &feed->job);
    return SAND_OK;
}

void sand_jobtrace_report(const struct sand_jobfeed *feed, FILE *out)
{
    sand_trace_report_print(feed->reader, out);
    fprintf(out, "  sha256 %s\n", feed->trace->spec->digest);
    if (feed->late > 0)
        fprintf(out,
                "  %" PRIu64 " jobs are submitted when the experiment is over and never run; "
                "lengthen its duration\n",
                feed->late);
    if (feed->unlaid > 0)
        fprintf(out,
                "  %" PRIu64 " jobs of a class with speed=\"model\" have GPUs that its split does "
                "not go onto: they run as recorded\n",
                feed->unlaid);
}

static enum sand_rc check_classes(const struct sand_trace_spec *spec, struct sand_diag *diag)
{
    for (size_t i = 0; i < spec->n_classes; i++) {
        const struct sand_trace_class *class = &spec->classes[i];
        if (class->speed == SAND_TRACE_MODEL && class->placement &&
            strcmp(class->placement, "healthy") != 0)
            return sand_fail(diag, SAND_ERR_INPUT,
                             "class \"%s\": placement is \"%s\"; durations can be scaled from "
                             "\"healthy\", the first nodes of an empty cluster",
                             class->id, class->placement);
    }
    return SAND_OK;
}

static enum sand_rc take_columns(struct sand_jobset *set, struct sand_jobtrace *trace,
                                 struct sand_diag *diag)
{
    if (!trace->spec->columns)
        return SAND_OK;
    char *text = sand_arena_strdup(&set->arena, trace->spec->columns);
    if (!text)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", trace->spec->file);
    SAND_TRY(sand_trace_columns(text, &trace->columns, &trace->options.n_columns, diag));
    trace->options.columns = trace->columns;
    return SAND_OK;
}

enum sand_rc sand_jobtrace_open(struct sand_jobset *set, const struct sand_trace_spec *spec,
                                FILE *rows, struct sand_jobtrace *trace, struct sand_diag *diag)
{
    const char *path = spec->instead ? spec->instead : spec->file;
    trace->spec = spec;
    trace->log = (struct sand_trace_log){.out = rows, .path = path};
    trace->options = (struct sand_trace_options){
        .size = spec->size,
        .processors_per_node = spec->processors_per_node,
        .gpus_per_node = set->experiment->cluster.node_type->n_gpus,
        .shares_nodes = set->experiment->allocation == SAND_ALLOCATE_GPUS,
        .machine_nodes = sand_jobset_room(set->experiment),
        .walltime = spec->walltime,
        .walltime_factor = spec->walltime_factor,
        .walltime_limit_ns = spec->walltime_limit_ns,
        .overrun = spec->overrun,
        .drop_duplicates = spec->drop_duplicates,
        .drop_fractions = spec->drop_fractions,
        .classes = spec->classes,
        .n_classes = spec->n_classes,
        .listener = {&trace->log, rows ? sand_trace_log_note : NULL},
    };
    SAND_TRY(check_classes(spec, diag));
    SAND_TRY(take_columns(set, trace, diag));
    return sand_trace_open(path, spec->format, &trace->options, &trace->known, diag);
}

void sand_jobtrace_close(struct sand_jobtrace *trace)
{
    sand_trace_close(trace->known);
    sand_free(trace->columns);
}

enum sand_rc sand_jobtrace_feed(const struct sand_jobtrace *trace, int first,
                                struct sand_jobfeed *feed, struct sand_diag *diag)
{
    feed->trace = trace;
    feed->advance = advance;
    feed->borrowed = first;
    feed->reader = first ? trace->known : NULL;
    return first ? SAND_OK : sand_trace_again(trace->known, &feed->reader, diag);
}
