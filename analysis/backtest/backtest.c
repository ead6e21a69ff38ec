// Listens to the jobs on their way into a replay and to their rows on the way out.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "backtest.h"

#include <string.h>

#include "backtestgroups.h"
#include "oracle.h"
#include "replay.h"
#include "results.h"
#include "units.h"

// A source that notes what it hands on, and where the rows go.
struct listener {
    const struct sand_job_source *source;
    struct sand_backtest *backtest;
};

// ---- jobs in ------------------------------------------------------------------------------------

static const char *keep(struct sand_backtest *b, const char *text, enum sand_rc *rc)
{
    uint32_t number;
    if (!text || *rc != SAND_OK)
        return NULL;
    *rc = sand_names_add(&b->names, text, &number);
    return *rc == SAND_OK ? sand_names_text(&b->names, number) : NULL;
}

static enum sand_rc note_job(struct sand_backtest *b, const struct sand_job_spec *spec,
                             uint32_t number)
{
    enum sand_rc rc = SAND_OK;
    void *jobs = b->jobs;
    SAND_TRY(sand_grow(&jobs, &b->capacity, (size_t)number + 1, sizeof *b->jobs));
    b->jobs = jobs;
    while (b->n_jobs <= number)
        b->jobs[b->n_jobs++] = (struct sand_backtest_job){.record_ns = -1, .start_ns = -1};
    struct sand_backtest_job *job = &b->jobs[number];
    *job = (struct sand_backtest_job){.id = sand_arena_strdup(&b->arena, spec->id),
                                      .job_class = keep(b, spec->job_class, &rc),
                                      .user = keep(b, spec->user, &rc),
                                      .line = spec->row_line,
                                      .submit_ns = spec->submit_ns,
                                      .run_ns = sand_ns_from_s(spec->work_s),
                                      .record_ns = spec->has_start ? spec->record_ns : -1,
                                      .start_ns = -1,
                                      .end_ns = -1};
    return job->id ? rc : SAND_ERR_NOMEM;
}

static enum sand_rc next_job(void *self, const struct sand_job_spec **job, uint32_t *number,
                             struct sand_diag *diag)
{
    const struct listener *listener = self;
    SAND_TRY(listener->source->next(listener->source->self, job, number, diag));
    if (*job && note_job(listener->backtest, *job, *number) != SAND_OK)
        return sand_fail(diag, SAND_ERR_NOMEM, "the jobs of a backtest: out of memory");
    return SAND_OK;
}

// ---- rows out -----------------------------------------------------------------------------------

static int has_ended(const char *state)
{
    return strcmp(state, "finished") == 0 || strncmp(state, "ended ", 6) == 0;
}

static enum sand_rc take_row(void *self, enum sand_table table, const void *row)
{
    struct sand_backtest *b = ((const struct listener *)self)->backtest;
    const struct sand_jobs_row *from = row;
    enum sand_rc rc = SAND_OK;
    if (table != SAND_TABLE_jobs)
        return SAND_OK;
    if (from->job >= b->n_jobs)
        return SAND_ERR_INTERNAL;
    struct sand_backtest_job *job = &b->jobs[from->job];
    job->start_ns = from->start_ns;
    job->end_ns = has_ended(from->state.text) ? from->end_ns : -1;
    job->gpus = from->gpus;
    job->ending = keep(b, from->state.text, &rc);
    return rc;
}

// ---- the run ------------------------------------------------------------------------------------

static enum sand_rc replay(const struct sand_experiment *experiment,
                           const struct sand_job_source *source, struct sand_backtest *backtest,
                           struct sand_diag *diag)
{
    struct listener listener = {source, backtest};
    const struct sand_job_source tapped = {&listener, next_job, source->max_savers};
    const struct sand_replay_options options = {.source = &tapped};
    const struct sand_sink sink = {&listener, take_row};
    struct sand_oracle *oracle = NULL;
    SAND_TRY(sand_oracle_open(&oracle, diag));
    const enum sand_rc rc = sand_replay_run(experiment, oracle, &options, &sink, diag);
    sand_oracle_close(oracle);
    return rc;
}

int sand_backtest_compares(const struct sand_backtest_job *job)
{
    return job->record_ns >= 0 && job->start_ns >= 0 && job->end_ns >= 0;
}

static enum sand_rc count(struct sand_backtest *b, struct sand_diag *diag)
{
    for (size_t i = 0; i < b->n_jobs; i++) {
        const struct sand_backtest_job *job = &b->jobs[i];
        b->n_compared += (uint64_t)sand_backtest_compares(job);
        b->n_unrecorded += job->record_ns < 0;
        b->n_unstarted += job->record_ns >= 0 && job->start_ns < 0;
        b->n_unended += job->record_ns >= 0 && job->start_ns >= 0 && job->end_ns < 0;
    }
    if (b->n_unrecorded == b->n_jobs)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "none of %zu jobs has a recorded start; a backtest needs a trace that "
                         "says when its jobs started: the wait of an SWF, or a column map with "
                         "start= or wait=",
                         b->n_jobs);
    if (b->n_compared == 0)
        return sand_fail(diag, SAND_ERR_UNIT,
                         "none of %zu jobs with a recorded start ended in the simulation; lengthen "
                         "the experiment's duration",
                         (size_t)(b->n_jobs - b->n_unrecorded));
    return SAND_OK;
}

enum sand_rc sand_backtest_run(const struct sand_experiment *experiment,
                               const struct sand_jobset *set, struct sand_backtest *backtest,
                               struct sand_diag *diag)
{
    struct sand_jobstream *stream;
    struct sand_job_source source;
    *backtest = (struct sand_backtest){0};
    SAND_TRY(sand_jobset_stream(set, 0, &stream, &source, diag));
    enum sand_rc rc = replay(experiment, &source, backtest, diag);
    sand_jobstream_close(stream);
    if (rc == SAND_OK)
        rc = count(backtest, diag);
    if (rc == SAND_OK &&
        sand_backtest_group(backtest, sand_cluster_gpus(&experiment->cluster)) != SAND_OK)
        rc = sand_fail(diag, SAND_ERR_NOMEM, "%zu jobs of a backtest: out of memory",
                       backtest->n_jobs);
    return rc;
}

void sand_backtest_clear(struct sand_backtest *backtest)
{
    sand_free(backtest->jobs);
    sand_free(backtest->groups);
    sand_names_clear(&backtest->names);
    sand_arena_clear(&backtest->arena);
    *backtest = (struct sand_backtest){0};
}
