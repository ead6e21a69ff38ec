// The rows of a trace as jobs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "jobsetparts.h"
#include "units.h"

struct import {
    struct sand_jobset *set;
    const struct sand_trace_spec *spec;
    uint64_t late;    // submitted when the experiment is over
    uint64_t unlaid;  // of a model class, but the split does not go onto its GPUs
    const char *user; // of the last job: traces name the same one again and again
};

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

static const char *keep_user(struct import *import, const char *user)
{
    if (!user[0])
        return NULL;
    if (!import->user || strcmp(import->user, user) != 0)
        import->user = sand_arena_strdup(&import->set->arena, user);
    return import->user;
}

// A trace may count more GPUs than its nodes have here; the nodes are what the job holds.
static uint32_t asked_gpus(const struct import *import, const struct sand_trace_job *row)
{
    const uint32_t per_node = import->set->experiment->cluster.node_type->n_gpus;
    return row->gpus <= (uint64_t)row->nodes * per_node ? row->gpus : 0;
}

static enum sand_rc add_job(struct import *import, const struct sand_trace_job *row)
{
    struct sand_jobset *set = import->set;
    const struct sand_trace_class *class =
        row->job_class < import->spec->n_classes ? &import->spec->classes[row->job_class] : NULL;
    struct sand_job_spec job = {
        .id = sand_arena_strdup(&set->arena, row->id),
        .user = keep_user(import, row->user),
        .job_class = class ? class->id : NULL,
        .ending = ending_of(row->status),
        .kind = SAND_JOB_RECORDED,
        .n_nodes = row->nodes,
        .n_gpus = asked_gpus(import, row),
        .submit_ns = row->submit_ns,
        .work_s = sand_s_from_ns(row->run_ns),
        .walltime_s = row->request_ns > 0 ? sand_s_from_ns(row->request_ns) : 0,
    };
    if (!job.id || (row->user[0] && !job.user))
        return SAND_ERR_NOMEM;
    import->late += job.submit_ns >= set->experiment->duration_ns;
    if (class && class->speed == SAND_TRACE_MODEL)
        import->unlaid +=
            !sand_jobset_train(set->experiment, class->model, class->software, &class->split, &job);
    return sand_joblist_add(&set->list, &job);
}

static enum sand_rc add_jobs(struct import *import, struct sand_trace *reader,
                             struct sand_diag *diag)
{
    const struct sand_trace_job *row;
    for (;;) {
        SAND_TRY(sand_trace_next(reader, &row, diag));
        if (!row)
            return SAND_OK;
        if (add_job(import, row) != SAND_OK)
            return sand_fail(diag, SAND_ERR_NOMEM, "a trace with %zu jobs: out of memory",
                             import->set->list.n);
    }
}

static void print_rest(const struct import *import, FILE *out)
{
    fprintf(out, "  sha256 %s\n", import->spec->digest);
    if (import->late > 0)
        fprintf(out,
                "  %" PRIu64 " jobs are submitted when the experiment is over and never run; "
                "lengthen its duration\n",
                import->late);
    if (import->unlaid > 0)
        fprintf(out,
                "  %" PRIu64 " jobs of a class with speed=\"model\" have GPUs that its split does "
                "not go onto: they run as recorded\n",
                import->unlaid);
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

static enum sand_rc read_all(struct import *import, const struct sand_trace_options *options,
                             FILE *out, struct sand_diag *diag)
{
    const struct sand_trace_spec *spec = import->spec;
    struct sand_trace *reader = NULL;
    SAND_TRY(sand_trace_open(spec->instead ? spec->instead : spec->file, spec->format, options,
                             &reader, diag));
    const enum sand_rc rc = add_jobs(import, reader, diag);
    if (rc == SAND_OK) {
        sand_trace_report_print(reader, out);
        print_rest(import, out);
    }
    sand_trace_close(reader);
    return rc;
}

enum sand_rc sand_jobset_import(struct sand_jobset *set, const struct sand_trace_spec *spec,
                                FILE *out, struct sand_diag *diag)
{
    struct import import = {.set = set, .spec = spec};
    struct sand_trace_column *columns = NULL;
    struct sand_trace_options options = {
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
    };
    SAND_TRY(check_classes(spec, diag));
    if (spec->columns) {
        char *text = sand_arena_strdup(&set->arena, spec->columns);
        if (!text)
            return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", spec->file);
        SAND_TRY(sand_trace_columns(text, &columns, &options.n_columns, diag));
        options.columns = columns;
    }
    const enum sand_rc rc = read_all(&import, &options, out, diag);
    sand_free(columns);
    return rc;
}
