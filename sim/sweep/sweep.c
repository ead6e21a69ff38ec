// Runs the replications of an experiment in child processes and merges what they wrote.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cachestore.h"
#include "finished.h"
#include "jobset.h"
#include "mem.h"
#include "plugins.h"
#include "pool.h"
#include "replay.h"
#include "results.h"
#include "runrecord.h"
#include "shards.h"
#include "store.h"

struct sweep {
    const struct sand_experiment *experiment;
    const struct sand_sweep_options *options;
    struct sand_sweep_report *report;
    struct sand_shards shards;
    struct sand_pool pool;
    struct sand_arena arena;
    const char *results, *record; // paths
};

static enum sand_rc no_memory(struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
}

// ---- one unit, in its child
// -----------------------------------------------------------------------

static void unit_progress(void *self, int64_t now_ns, int64_t duration_ns)
{
    if (duration_ns > 0)
        sand_unit_tell_progress(self, (double)now_ns / (double)duration_ns);
}

static struct sand_cachestore *open_store(const struct sweep *sweep, struct sand_diag *diag)
{
    const char *dir = sweep->options->cache;
    return dir ? sand_cachestore_open(dir, SAND_CACHE_LIMIT_B, diag) : NULL;
}

static enum sand_rc replay_into(const struct sweep *sweep, const struct sand_experiment *experiment,
                                const struct sand_job_source *source, uint32_t replication,
                                struct sand_unit_outbox *outbox, struct sand_shard *shard,
                                struct sand_unit_answer *answer, struct sand_diag *diag)
{
    struct sand_oracle *oracle = NULL;
    struct sand_replay_options options = {.replication = replication,
                                          .progress = unit_progress,
                                          .progress_self = outbox,
                                          .source = source,
                                          .scratch = sweep->shards.dir};
    struct sand_sink sink = {shard, sand_shard_row};
    SAND_TRY(sand_oracle_open(&oracle, diag));
    struct sand_cachestore *store = open_store(sweep, diag);
    sand_oracle_use_store(oracle, store, store ? sweep->options->cache_versions : "");
    enum sand_rc rc = sand_replay_run(experiment, oracle, &options, &sink, diag);
    answer->counters = sand_oracle_counters(oracle);
    sand_oracle_close(oracle);
    sand_cachestore_close(store, diag);
    return rc;
}

// With the jobs that the replication has.
static enum sand_rc draw_and_replay(const struct sweep *sweep, uint32_t replication,
                                    struct sand_unit_outbox *outbox, struct sand_shard *shard,
                                    struct sand_unit_answer *answer, struct sand_diag *diag)
{
    const struct sand_experiment *experiment = sweep->experiment;
    struct sand_jobstream *stream;
    struct sand_job_source source;
    if (!sweep->options->jobset)
        return replay_into(sweep, experiment, NULL, replication, outbox, shard, answer, diag);
    SAND_TRY(sand_jobset_stream(sweep->options->jobset, replication, &stream, &source, diag));
    const enum sand_rc rc =
        replay_into(sweep, experiment, &source, replication, outbox, shard, answer, diag);
    sand_jobstream_close(stream);
    return rc;
}

static enum sand_rc run_unit(struct sweep *sweep, uint32_t replication,
                             struct sand_unit_outbox *outbox, struct sand_unit_answer *answer,
                             struct sand_diag *diag)
{
    struct sand_shard *shard = NULL;
    const char *path = sand_shard_path(&sweep->shards, replication);
    if (!path)
        return no_memory(diag);
    SAND_TRY(sand_shard_open(path, diag, &shard));
    enum sand_rc rc = draw_and_replay(sweep, replication, outbox, shard, answer, diag);
    if (rc == SAND_OK)
        rc = sand_shard_commit(shard);
    sand_shard_close(shard);
    return rc == SAND_OK ? sand_shard_digest(path, answer->shard, diag) : rc;
}

static void unit_body(void *self, uint32_t number, struct sand_unit_outbox *outbox,
                      struct sand_unit_answer *answer, struct sand_diag *diag)
{
    struct sweep *sweep = self;
    close(sweep->shards.lock); // the lock is the parent's
    answer->rc = run_unit(sweep, number, outbox, answer, diag);
}

// ---- the parent's part of a unit
// ------------------------------------------------------------------

static enum sand_rc unit_commit(void *self, const struct sand_unit *unit, struct sand_diag *diag)
{
    const struct sweep *sweep = self;
    return sand_shards_commit(&sweep->shards, unit->number, unit->inbox.answer.shard, diag);
}

static void tell_progress(void *self, const struct sand_pool *pool)
{
    const struct sweep *sweep = self;
    double sum = 0.0;
    uint32_t done = 0;
    for (uint32_t i = 0; i < pool->n_units; i++) {
        const struct sand_unit *unit = &pool->units[i];
        done += unit->state == SAND_UNIT_DONE;
        sum += unit->state == SAND_UNIT_DONE ? 1.0 : unit->inbox.done;
    }
    if (sweep->options->progress)
        sweep->options->progress(sweep->options->progress_self, sum / pool->n_units, done,
                                 pool->n_units);
}

// ---- preparation
// ----------------------------------------------------------------------------------

static enum sand_rc check_target(struct sweep *sweep, struct sand_diag *diag)
{
    const char *dir = sweep->options->out_dir;
    sweep->results = sand_arena_printf(&sweep->arena, "%s/results.h5", dir);
    sweep->record = sand_arena_printf(&sweep->arena, "%s/results.run.json", dir);
    if (!sweep->results || !sweep->record)
        return no_memory(diag);
    if (sweep->options->force || access(sweep->results, F_OK) != 0)
        return SAND_OK;
    SAND_TRY(sand_finished_check(sweep->results, sweep->experiment, SAND_PHYSICS_VERSION, diag));
    sweep->report->finished = 1;
    sweep->report->done = sweep->report->reused = sweep->report->units;
    return SAND_OK;
}

static enum sand_rc make_units(struct sweep *sweep, struct sand_diag *diag)
{
    uint32_t n = sweep->options->n_replications;
    sweep->pool.units = sand_calloc(n, sizeof *sweep->pool.units);
    if (!sweep->pool.units)
        return no_memory(diag);
    sweep->pool.n_units = n;
    for (uint32_t i = 0; i < n; i++) {
        sweep->pool.units[i].number = sweep->options->first_replication + i;
        sweep->pool.units[i].inbox.fd = -1;
    }
    return SAND_OK;
}

static enum sand_rc reuse_units(struct sweep *sweep, struct sand_diag *diag)
{
    uint32_t n = sweep->pool.n_units;
    unsigned char *committed = sand_calloc(n, 1);
    if (!committed)
        return no_memory(diag);
    enum sand_rc rc =
        sand_shards_reuse(&sweep->shards, sweep->options->first_replication, n, committed, diag);
    for (uint32_t i = 0; rc == SAND_OK && i < n; i++)
        if (committed[i]) {
            sweep->pool.units[i].state = SAND_UNIT_DONE;
            sweep->report->reused++;
        }
    sand_free(committed);
    return rc;
}

// ---- verdict
// --------------------------------------------------------------------------------------

static int same_message(const struct sand_message *a, const struct sand_message *b)
{
    const char *file_a = a->file ? a->file : "", *file_b = b->file ? b->file : "";
    return a->severity == b->severity && a->line == b->line && strcmp(file_a, file_b) == 0 &&
           strcmp(a->text, b->text) == 0;
}

// Warnings are the same in every replication: each is passed on once. Errors name their unit,
// unless the input is at fault.
static void pass_message(const struct sweep *sweep, const struct sand_unit *unit,
                         const struct sand_message *message, struct sand_diag *diag)
{
    if (message->severity == SAND_ERROR && unit->rc != SAND_ERR_INPUT) {
        sand_diag_add(diag, SAND_ERROR, message->file, message->line,
                      "replication %" PRIu32 " (seed %" PRIu64 "): %s", unit->number,
                      sweep->experiment->seed, message->text);
        return;
    }
    for (size_t i = 0; i < diag->n_messages; i++)
        if (same_message(&diag->messages[i], message))
            return;
    sand_diag_add(diag, message->severity, message->file, message->line, "%s", message->text);
}

// In replication order, so that --jobs does not change what is said.
static enum sand_rc gather_units(const struct sweep *sweep, struct sand_diag *diag)
{
    enum sand_rc rc = SAND_OK;
    for (uint32_t i = 0; i < sweep->pool.n_units; i++) {
        const struct sand_unit *unit = &sweep->pool.units[i];
        sweep->report->done += unit->state == SAND_UNIT_DONE;
        if (unit->state != SAND_UNIT_DONE && unit->state != SAND_UNIT_FAILED)
            continue;
        for (size_t m = 0; m < unit->inbox.diag.n_messages; m++)
            pass_message(sweep, unit, &unit->inbox.diag.messages[m], diag);
        if (unit->state == SAND_UNIT_FAILED && unit->inbox.diag.n_errors == 0)
            sand_fail(diag, unit->rc, "replication %" PRIu32 " (seed %" PRIu64 "): %s",
                      unit->number, sweep->experiment->seed, sand_rc_text(unit->rc));
        if (unit->state == SAND_UNIT_FAILED && rc == SAND_OK)
            rc = unit->rc;
    }
    return rc;
}

static enum sand_rc verdict(struct sweep *sweep, struct sand_diag *diag)
{
    enum sand_rc rc = gather_units(sweep, diag);
    sweep->report->interrupted = sweep->pool.interrupted;
    if (rc == SAND_OK && sweep->report->done < sweep->report->units)
        rc = sand_fail(diag, SAND_ERR_UNIT,
                       "interrupted with %" PRIu32 " of %" PRIu32 " replications committed in %s",
                       sweep->report->done, sweep->report->units, sweep->shards.dir);
    return rc;
}

// ---- merge
// ----------------------------------------------------------------------------------------

static struct sand_oracle_counters sum_counters(const struct sand_pool *pool)
{
    struct sand_oracle_counters sum = {0};
    for (uint32_t i = 0; i < pool->n_units; i++) {
        const struct sand_oracle_counters *one = &pool->units[i].inbox.answer.counters;
        sum.questions += one->questions;
        sum.hits += one->hits;
        sum.children += one->children;
        sum.store_hits += one->store_hits;
        sum.prepare_s += one->prepare_s;
        sum.child_s += one->child_s;
    }
    return sum;
}

static struct sand_meta make_meta(const struct sweep *sweep)
{
    const struct sand_experiment *experiment = sweep->experiment;
    return (struct sand_meta){
        .name = experiment->name,
        .canonical = experiment->canonical,
        .digest = experiment->digest,
        .program_version = sweep->options->program_version,
        .physics_version = SAND_PHYSICS_VERSION,
        .assumptions = experiment->assumptions,
        .n_assumptions = experiment->n_assumptions,
        .seed = experiment->seed,
        .replications = sweep->options->n_replications,
        .duration_ns = experiment->duration_ns,
    };
}

static enum sand_rc merge(struct sweep *sweep, struct sand_diag *diag)
{
    uint32_t n = sweep->pool.n_units;
    const char **paths = sand_calloc(n, sizeof *paths);
    if (!paths)
        return no_memory(diag);
    enum sand_rc rc = SAND_OK;
    for (uint32_t i = 0; i < n && rc == SAND_OK; i++) {
        paths[i] = sand_shard_path(&sweep->shards, sweep->pool.units[i].number);
        rc = paths[i] ? SAND_OK : no_memory(diag);
    }
    struct sand_meta meta = make_meta(sweep);
    if (rc == SAND_OK)
        rc = sand_results_merge(paths, n, &meta, sweep->results, diag);
    sand_free(paths);
    return rc;
}

// ---- the whole
// ------------------------------------------------------------------------------------

// Finished units of another experiment are somebody's work: they go only when told to.
static enum sand_rc check_foreign(const struct sweep *sweep, struct sand_diag *diag)
{
    size_t n = 0;
    SAND_TRY(sand_shards_foreign(&sweep->shards, &n, diag));
    if (n == 0 || sweep->options->force)
        return SAND_OK;
    return sand_fail(diag, SAND_ERR_USAGE,
                     "%s/units holds %zu finished replications of another experiment, or of other "
                     "settings; finish that run, choose another directory, or drop them with "
                     "--force",
                     sweep->options->out_dir, n);
}

static enum sand_rc run_sweep(struct sweep *sweep, struct sand_diag *diag)
{
    struct sand_run_start start;
    sand_run_start(&start);
    SAND_TRY(check_target(sweep, diag)); // before anything is made
    if (sweep->report->finished)
        return SAND_OK;
    SAND_TRY(sand_shards_open(&sweep->shards, sweep->options->out_dir, sweep->experiment->digest,
                              SAND_PHYSICS_VERSION, diag));
    SAND_TRY(check_foreign(sweep, diag));
    SAND_TRY(make_units(sweep, diag));
    SAND_TRY(reuse_units(sweep, diag));
    tell_progress(sweep, &sweep->pool);
    SAND_TRY(sand_pool_run(&sweep->pool, diag));
    SAND_TRY(verdict(sweep, diag));
    SAND_TRY(merge(sweep, diag));
    struct sand_oracle_counters counters = sum_counters(&sweep->pool);
    SAND_TRY(sand_run_record_write(sweep->record, &start, sweep->experiment, sweep->options,
                                   sweep->report, &counters, diag));
    sand_shards_remove(&sweep->shards);
    return SAND_OK;
}

static void clear_sweep(struct sweep *sweep)
{
    for (uint32_t i = 0; sweep->pool.units && i < sweep->pool.n_units; i++)
        sand_unit_inbox_clear(&sweep->pool.units[i].inbox);
    sand_free(sweep->pool.units);
    sand_shards_close(&sweep->shards);
    sand_arena_clear(&sweep->arena);
}

enum sand_rc sand_sweep_run(const struct sand_experiment *experiment,
                            const struct sand_sweep_options *options,
                            struct sand_sweep_report *report, struct sand_diag *diag)
{
    *report = (struct sand_sweep_report){.units = options->n_replications};
    if (options->jobs == 0 || options->n_replications == 0)
        return sand_fail(diag, SAND_ERR_USAGE, "a run needs at least one replication and one job");
    char plugins[256];
    sand_plugins_list(experiment, plugins, sizeof plugins);
    struct sweep sweep = {.experiment = experiment, .options = options, .report = report};
    sweep.shards.lock = -1;
    sweep.pool.jobs = options->jobs;
    sweep.pool.body = unit_body;
    sweep.pool.commit = unit_commit;
    sweep.pool.progress = tell_progress;
    sweep.pool.self = &sweep;
    sweep.pool.plugins = plugins;
    enum sand_rc rc = run_sweep(&sweep, diag);
    clear_sweep(&sweep);
    return rc;
}
