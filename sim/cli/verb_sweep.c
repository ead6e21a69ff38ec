// sandtable sweep: an experiment under every combination of settings.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clirun.h"
#include "factors.h"
#include "filegate.h"
#include "gnuplot.h"
#include "mem.h"
#include "sweepplot.h"
#include "sweeppoints.h"
#include "swept.h"

enum { KEY_VARY = 256, KEY_ALONG, KEY_FIGURE, KEY_PLOT };
enum { FIGURES_MOST = 16 };

struct sweep_verb {
    struct sand_cli_run run;
    struct sand_factors factors;
    const char *csv, *plot;
    size_t figures[FIGURES_MOST], n_figures;
};

static const char doc[] =
    "Examples:\n"
    "  sandtable sweep experiment.xml --vary \"policies/@hot_spares=0,8,32\"\n"
    "  sandtable sweep experiment.xml --vary \"faults/fault[*]/@detect=90s,20min\" \\\n"
    "      --vary \"policies/@hot_spares=0,8\" --plot detect.svg\n"
    "\n"
    "Runs the experiment once for every combination of the values, each in a process and in a "
    "directory of its own in DIR (out/NAME-sweep), which is named after its values and holds what "
    "`sandtable run` "
    "writes. Prints the figures of all of them side by side, and writes every figure of every "
    "replication to DIR/sweep.csv. Given again, it goes on where it stopped; values that are added "
    "are run beside those that are there.";

static const struct argp_option options[] = {
    {"vary", KEY_VARY, "PATH=V,V,...", 0,
     "A path of --set and its values; with several every combination is run. \"\\,\" is a comma in "
     "a value",
     0},
    {"along", KEY_ALONG, "PATH=V,V,...", 0,
     "Goes along with the path before it: the first value with its first, and so on", 0},
    {"figure", KEY_FIGURE, "NAME", 0,
     "Print this figure, called as `sandtable compare' does; may be given more than once. Default: "
     "of the usual ones those that differ",
     0},
    {"plot", KEY_PLOT, "FILE", 0,
     "Draw the first figure over the first path: .png, .svg or .pdf, by gnuplot", 0},
    {0}};

// Errors of rooms that know no argp.
static void or_leave(struct argp_state *state, enum sand_rc rc, struct sand_diag *diag)
{
    const char *text = diag->n_messages > 0 ? diag->messages[0].text : sand_rc_text(rc);
    if (rc == SAND_ERR_USAGE)
        argp_error(state, "%s", text);
    if (rc != SAND_OK)
        argp_failure(state, sand_rc_exit_status(rc), 0, "%s", text);
    sand_diag_clear(diag);
}

static void add_figure(struct sweep_verb *o, struct argp_state *state, const char *name)
{
    struct sand_diag diag = {0};
    if (o->n_figures == FIGURES_MOST)
        argp_error(state, "at most %d figures are printed; DIR/sweep.csv has all", FIGURES_MOST);
    or_leave(state, sand_swept_find(name, &o->figures[o->n_figures++], &diag), &diag);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sweep_verb *o = state->input;
    struct sand_diag diag = {0};
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->run;
        return 0;
    case KEY_VARY:
    case KEY_ALONG:
        or_leave(state, sand_factors_add(&o->factors, arg, key == KEY_ALONG, &diag), &diag);
        return 0;
    case KEY_FIGURE:
        add_figure(o, state, arg);
        return 0;
    case KEY_PLOT:
        or_leave(state, sand_gnuplot_check(arg, &diag), &diag);
        o->plot = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->factors.n == 0)
            argp_error(state, "nothing varies; name a path and its values, e.g. --vary "
                              "\"policies/@hot_spares=8,16\"");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- results
// ------------------------------------------------------------------------------------

static enum sand_rc take_point(const struct sand_sweep_point *point, struct sand_swept_point *swept,
                               struct sand_arena *arena, struct sand_diag *diag)
{
    struct sand_results *results = NULL;
    SAND_TRY(sand_results_open(point->results, &results, diag));
    const enum sand_rc rc = sand_swept_take(swept, results, arena, diag);
    sand_results_close(results);
    return rc;
}

static enum sand_rc name_levels(const struct sand_factors *factors, uint32_t point,
                                struct sand_swept_point *swept, struct sand_arena *arena)
{
    const char **levels = sand_arena_alloc(arena, factors->n + 1, sizeof *levels);
    if (!levels)
        return SAND_ERR_NOMEM;
    for (uint32_t i = 0; i < factors->n; i++)
        levels[i] = sand_factors_value(factors, point, i);
    swept->levels = levels;
    return SAND_OK;
}

// Of the points that are done; the others have no runs.
static enum sand_rc take_all(struct sweep_verb *o, const struct sand_sweep_points *points,
                             struct sand_swept *swept, struct sand_diag *diag)
{
    const char **columns = sand_arena_alloc(&o->run.arena, o->factors.n + 1, sizeof *columns);
    swept->points = sand_arena_alloc(&o->run.arena, points->n, sizeof *swept->points);
    if (!columns || !swept->points)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < o->factors.n; i++)
        columns[i] = o->factors.factors[i].path;
    swept->columns = columns;
    swept->n_columns = o->factors.n;
    swept->n_points = points->n;
    for (uint32_t i = 0; i < points->n; i++) {
        swept->points[i].name = points->points[i].name;
        if (name_levels(&o->factors, i, &swept->points[i], &o->run.arena) != SAND_OK)
            return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
        if (points->points[i].rc == SAND_OK)
            SAND_TRY(take_point(&points->points[i], &swept->points[i], &o->run.arena, diag));
    }
    return SAND_OK;
}

// DIR/sweep.csv, unless somebody else's file has that name.
static enum sand_rc choose_csv(struct sweep_verb *o, struct sand_diag *diag)
{
    char head[7] = "";
    o->csv = sand_arena_printf(&o->run.arena, "%s/sweep.csv", o->run.out_dir);
    if (!o->csv)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    FILE *file = o->run.force ? NULL : fopen(o->csv, "r");
    if (!file)
        return SAND_OK;
    const size_t n = fread(head, 1, sizeof head - 1, file);
    fclose(file);
    if (n == sizeof head - 1 && strcmp(head, "point,") == 0)
        return SAND_OK;
    return sand_fail(diag, SAND_ERR_USAGE,
                     "%s: exists and is no table of a sweep; overwrite it with --force, or choose "
                     "another directory with -o",
                     o->csv);
}

static enum sand_rc write_csv(struct sweep_verb *o, const struct sand_swept *swept,
                              struct sand_diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    enum sand_rc rc = sand_swept_csv(swept, out, diag);
    fclose(out);
    if (rc == SAND_OK)
        rc = sand_file_write(o->csv, text, size, diag);
    if (rc == SAND_OK && !o->run.quiet)
        fprintf(stderr, "every figure: %s\n", o->csv);
    free(text); // open_memstream's own
    return rc;
}

static int any_done(const struct sand_sweep_points *points)
{
    for (uint32_t i = 0; i < points->n; i++)
        if (points->points[i].rc == SAND_OK)
            return 1;
    return 0;
}

static enum sand_rc report(struct sweep_verb *o, const struct sand_sweep_points *points,
                           const char *name, struct sand_diag *diag)
{
    struct sand_swept swept = {0};
    if (!any_done(points)) // then the errors say all there is
        return SAND_OK;
    SAND_TRY(take_all(o, points, &swept, diag));
    if (o->n_figures == 0)
        o->n_figures = sand_swept_usual(&swept, o->figures, FIGURES_MOST);
    if (!o->run.quiet)
        SAND_TRY(sand_swept_print(&swept, o->figures, o->n_figures, sand_style_of(stdout), stdout,
                                  diag));
    SAND_TRY(write_csv(o, &swept, diag));
    const struct sand_sweep_view view = {name, &o->factors, &swept, o->figures[0]};
    return o->plot ? sand_sweep_plot(&view, o->plot, diag) : SAND_OK;
}

// ---- the whole
// ----------------------------------------------------------------------------------

// The experiment's name, from the first point that is one: whoever misspelt a path need not wait
// for every point to say so.
static enum sand_rc name_experiment(struct sweep_verb *o, const char **name, struct sand_diag *diag)
{
    struct sand_sweep_points points = {0};
    struct sand_spec *spec = NULL;
    enum sand_rc rc = sand_sweep_points_make(&o->factors, &o->run.load, "", &points, diag),
                 first = rc;
    struct sand_diag later = {0}; // the first point's errors are enough
    for (uint32_t i = 0; first == SAND_OK && i < points.n && !spec; i++)
        rc = sand_cli_load_spec(&points.points[i].load, &spec, i == 0 ? diag : &later);
    if (spec) {
        sand_diag_clear(diag); // the point says it again when it is run
        *name = sand_arena_strdup(&o->run.arena, sand_spec_experiment(spec)->name);
        rc = *name ? SAND_OK : sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    }
    sand_spec_free(spec);
    sand_diag_clear(&later);
    sand_sweep_points_clear(&points);
    return rc;
}

static enum sand_rc execute(struct sweep_verb *o, int *interrupted, struct sand_diag *diag)
{
    const char *name = NULL;
    SAND_TRY(name_experiment(o, &name, diag));
    SAND_TRY(sand_cli_run_dir(&o->run, name, "-sweep", diag));
    SAND_TRY(choose_csv(o, diag));
    struct sand_sweep_points points = {.run = &o->run};
    enum sand_rc rc =
        sand_sweep_points_make(&o->factors, &o->run.load, o->run.out_dir, &points, diag);
    if (rc == SAND_OK)
        rc = sand_dir_make(o->run.out_dir, diag);
    if (rc == SAND_OK) {
        rc = sand_sweep_points_run(&points, diag);
        *interrupted = points.interrupted;
    }
    if (points.interrupted == 0 && rc != SAND_ERR_IO && rc != SAND_ERR_NOMEM) {
        const enum sand_rc told = report(o, &points, name, diag);
        rc = rc == SAND_OK ? told : rc;
    }
    sand_sweep_points_clear(&points);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_run_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options, parse, "EXPERIMENT.xml", doc, children, NULL, NULL};
    struct sweep_verb o = {0};
    struct sand_diag diag = {0};
    int interrupted = 0;
    char *command = sand_cli_quote_command(argc, argv);
    sand_cli_parse(&argp, argc, argv, &o);
    const enum sand_rc rc = execute(&o, &interrupted, &diag);
    sand_diag_print(&diag, stderr);
    if (interrupted && command)
        fprintf(stderr, "to go on: %s\n", command);
    free(command); // open_memstream's own
    sand_diag_clear(&diag);
    sand_cli_run_clear(&o.run);
    sand_factors_clear(&o.factors);
    return rc;
}

const struct sand_verb sand_verb_sweep = {"sweep", "run every combination of some settings", run};
