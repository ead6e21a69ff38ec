// Runs the points of a sweep.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweeppoints.h"

#include <inttypes.h>
#include <string.h>

#include "jobset.h"

static enum sand_rc no_memory(struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
}

// ---- points
// -------------------------------------------------------------------------------------

static enum sand_rc make_point(const struct sand_factors *factors, uint32_t number,
                               const struct sand_cli_load *load, const char *out_dir,
                               struct sand_sweep_points *points)
{
    struct sand_sweep_point *point = &points->points[number];
    struct sand_arena *arena = &points->arena;
    const size_t n = load->n_settings + factors->n;
    const char **settings = sand_arena_alloc(arena, n + 1, sizeof *settings);
    if (!settings)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < load->n_settings; i++)
        settings[i] = load->settings[i];
    for (uint32_t i = 0; i < factors->n; i++) {
        char *setting = sand_arena_printf(arena, "%s=%s", factors->factors[i].path,
                                          sand_factors_value(factors, number, i));
        if (!setting)
            return SAND_ERR_NOMEM;
        settings[load->n_settings + i] = setting;
    }
    point->load = *load;
    point->load.settings = settings;
    point->load.n_settings = n;
    point->name = sand_factors_name(factors, number, arena);
    point->dir = point->name ? sand_arena_printf(arena, "%s/%s", out_dir, point->name) : NULL;
    point->results = point->dir ? sand_arena_printf(arena, "%s/results.h5", point->dir) : NULL;
    return point->results ? SAND_OK : SAND_ERR_NOMEM;
}

enum sand_rc sand_sweep_points_make(const struct sand_factors *factors,
                                    const struct sand_cli_load *load, const char *out_dir,
                                    struct sand_sweep_points *points, struct sand_diag *diag)
{
    points->n = sand_factors_points(factors);
    points->points = sand_arena_alloc(&points->arena, points->n, sizeof *points->points);
    if (!points->points)
        return no_memory(diag);
    for (uint32_t i = 0; i < points->n; i++)
        if (make_point(factors, i, load, out_dir, points) != SAND_OK)
            return no_memory(diag);
    return SAND_OK;
}

void sand_sweep_points_clear(struct sand_sweep_points *points)
{
    sand_arena_clear(&points->arena);
}

// What the pool hands to all it calls.
struct running {
    const struct sand_sweep_points *points;
    struct sand_cli_progress *progress;
};

// ---- one point, in its process
// ------------------------------------------------------------------

static void point_progress(void *self, double done, uint32_t units_done, uint32_t units)
{
    (void)units_done;
    (void)units;
    sand_unit_tell_progress(self, done);
}

// Processes are shared out where there are more of them than points.
static uint32_t jobs_of_point(const struct sand_sweep_points *points, uint32_t replications)
{
    const uint32_t jobs = sand_cli_run_jobs(points->run);
    const uint32_t share = jobs > points->n ? jobs / points->n : 1;
    return share < replications ? share : replications;
}

static enum sand_rc run_experiment(const struct sand_sweep_points *points,
                                   const struct sand_sweep_point *point,
                                   const struct sand_experiment *experiment,
                                   struct sand_unit_outbox *outbox, struct sand_diag *diag)
{
    struct sand_jobset *jobset = NULL;
    struct sand_sweep_report report;
    SAND_TRY(sand_cli_check(experiment, NULL, &jobset, diag));
    struct sand_sweep_options options = sand_cli_sweep_options(points->run);
    options.out_dir = point->dir;
    options.n_replications = experiment->replications;
    options.jobs = jobs_of_point(points, experiment->replications);
    options.jobset = jobset;
    options.progress = point_progress;
    options.progress_self = outbox;
    const enum sand_rc rc = sand_sweep_run(experiment, &options, &report, diag);
    sand_jobset_close(jobset);
    return rc;
}

static void point_body(void *self, uint32_t number, struct sand_unit_outbox *outbox,
                       struct sand_unit_answer *answer, struct sand_diag *diag)
{
    const struct sand_sweep_points *points = ((const struct running *)self)->points;
    const struct sand_sweep_point *point = &points->points[number];
    struct sand_spec *spec = NULL;
    answer->rc = sand_cli_load_spec(&point->load, &spec, diag);
    if (answer->rc == SAND_OK)
        answer->rc = run_experiment(points, point, sand_spec_experiment(spec), outbox, diag);
    sand_spec_free(spec);
}

// ---- all
// ----------------------------------------------------------------------------------------

// A point's results are whole or not there: nothing is left to do.
static enum sand_rc point_commit(void *self, const struct sand_unit *unit, struct sand_diag *diag)
{
    (void)self;
    (void)unit;
    (void)diag;
    return SAND_OK;
}

static void draw_progress(void *self, const struct sand_pool *pool)
{
    const struct running *running = self;
    double sum = 0.0;
    uint32_t done = 0;
    for (uint32_t i = 0; i < pool->n_units; i++) {
        const int over =
            pool->units[i].state == SAND_UNIT_DONE || pool->units[i].state == SAND_UNIT_FAILED;
        done += over ? 1 : 0;
        sum += over ? 1.0 : pool->units[i].inbox.done;
    }
    sand_cli_progress_draw(running->progress, sum / pool->n_units, done, pool->n_units);
}

static int is_said(const struct sand_diag *diag, const char *text)
{
    for (size_t i = 0; i < diag->n_messages; i++)
        if (strcmp(diag->messages[i].text, text) == 0)
            return 1;
    return 0;
}

static void pass_messages(const struct sand_sweep_point *point, const struct sand_unit *unit,
                          struct sand_diag *diag)
{
    const struct sand_diag *heard = &unit->inbox.diag;
    for (size_t i = 0; i < heard->n_messages; i++) {
        const struct sand_message *m = &heard->messages[i];
        if (m->severity != SAND_WARNING)
            sand_diag_add(diag, m->severity, m->file, m->line, "%s: %s", point->name, m->text);
        else if (!is_said(diag, m->text))
            sand_diag_add(diag, m->severity, m->file, m->line, "%s", m->text);
    }
    if (unit->state == SAND_UNIT_FAILED && heard->n_errors == 0)
        sand_fail(diag, unit->rc, "%s: %s", point->name, sand_rc_text(unit->rc));
}

// In the order of the points, so that --jobs does not change what is said.
static enum sand_rc gather(struct sand_sweep_points *points, const struct sand_pool *pool,
                           struct sand_diag *diag)
{
    enum sand_rc rc = SAND_OK;
    uint32_t done = 0;
    for (uint32_t i = 0; i < points->n; i++) {
        const struct sand_unit *unit = &pool->units[i];
        struct sand_sweep_point *point = &points->points[i];
        point->rc = unit->state == SAND_UNIT_DONE     ? SAND_OK
                    : unit->state == SAND_UNIT_FAILED ? unit->rc
                                                      : SAND_ERR_UNIT;
        done += unit->state == SAND_UNIT_DONE;
        pass_messages(point, unit, diag);
        if (rc == SAND_OK && unit->state == SAND_UNIT_FAILED)
            rc = unit->rc;
    }
    if (pool->interrupted)
        rc = sand_fail(diag, SAND_ERR_UNIT,
                       "interrupted with %" PRIu32 " of %" PRIu32 " points done", done, points->n);
    return rc;
}

enum sand_rc sand_sweep_points_run(struct sand_sweep_points *points, struct sand_diag *diag)
{
    struct sand_cli_progress progress;
    struct running running = {points, &progress};
    const uint32_t jobs = sand_cli_run_jobs(points->run);
    struct sand_pool pool = {.n_units = points->n,
                             .jobs = jobs < points->n ? jobs : points->n,
                             .body = point_body,
                             .commit = point_commit,
                             .progress = draw_progress,
                             .self = &running,
                             .keeps_going = 1};
    pool.units = sand_calloc(points->n, sizeof *pool.units);
    if (!pool.units)
        return no_memory(diag);
    for (uint32_t i = 0; i < points->n; i++) {
        pool.units[i].number = i;
        pool.units[i].inbox.fd = -1;
    }
    sand_cli_progress_open(&progress, points->run->quiet);
    progress.unit = "points";
    draw_progress(&running, &pool);
    enum sand_rc rc = sand_pool_run(&pool, diag);
    sand_cli_progress_close(&progress);
    points->interrupted = pool.interrupted;
    if (rc == SAND_OK)
        rc = gather(points, &pool, diag);
    for (uint32_t i = 0; i < points->n; i++)
        sand_unit_inbox_clear(&pool.units[i].inbox);
    sand_free(pool.units);
    return rc;
}
