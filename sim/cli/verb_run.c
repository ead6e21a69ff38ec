// sandtable run: an experiment to a results file.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "clirun.h"
#include "jobset.h"
#include "mem.h"
#include "spec.h"
#include "sweep.h"

static const char doc[] =
    "Examples:\n"
    "  sandtable run experiment.xml\n"
    "  sandtable run experiment.xml -o out/b --set \"policies/@hot_spares=32\"\n"
    "\n"
    "Simulates every replication of the experiment in processes of its own and writes "
    "DIR/results.h5 "
    "and DIR/results.run.json. An interrupted run goes on where it stopped when it is given again, "
    "of a finished one the summary is printed.";

static enum sand_rc sweep(struct sand_cli_run *run, const struct sand_experiment *experiment,
                          const struct sand_jobset *jobset, struct sand_sweep_report *report,
                          struct sand_diag *diag)
{
    struct sand_cli_progress progress;
    const uint32_t jobs = sand_cli_run_jobs(run);
    struct sand_sweep_options sweep_options = sand_cli_sweep_options(run);
    sweep_options.out_dir = run->out_dir;
    sweep_options.jobs = jobs < experiment->replications ? jobs : experiment->replications;
    sweep_options.n_replications = experiment->replications;
    sweep_options.jobset = jobset;
    sweep_options.progress = sand_cli_progress_draw;
    sweep_options.progress_self = &progress;
    sand_cli_progress_open(&progress, run->quiet);
    enum sand_rc rc = sand_sweep_run(experiment, &sweep_options, report, diag);
    sand_cli_progress_close(&progress);
    return rc;
}

// The jobs of a mix arrive until the end, so that some are always left: counted, but no failure.
static enum sand_rc finish(const struct sand_cli_run *run, const struct sand_experiment *experiment,
                           struct sand_diag *diag)
{
    struct sand_arena arena = {0};
    enum sand_rc rc = SAND_OK;
    char *path = sand_arena_printf(&arena, "%s/results.h5", run->out_dir);
    if (!path)
        rc = sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    else if (!run->quiet)
        rc = sand_cli_show(path, 0, diag);
    if (rc == SAND_OK && !run->quiet)
        fprintf(stderr, "results: %s\n", path);
    if (rc == SAND_OK && experiment->n_mixes == 0)
        rc = sand_cli_check_finished(path, diag);
    sand_arena_clear(&arena);
    return rc;
}

static enum sand_rc execute(struct sand_cli_run *run, struct sand_sweep_report *report,
                            struct sand_diag *diag)
{
    struct sand_spec *spec = NULL;
    SAND_TRY(sand_cli_load_spec(&run->load, &spec, diag));
    const struct sand_experiment *experiment = sand_spec_experiment(spec);
    struct sand_jobset *jobset = NULL;
    enum sand_rc rc = sand_cli_check(experiment, NULL, &jobset, diag);
    if (rc == SAND_OK)
        rc = sand_cli_run_dir(run, experiment->name, "", diag);
    if (rc == SAND_OK && !run->quiet)
        sand_jobset_report(jobset, stdout);
    if (rc == SAND_OK)
        rc = sweep(run, experiment, jobset, report, diag);
    if (rc == SAND_OK && report->finished && !run->quiet)
        fprintf(stderr, "this experiment is finished; --force runs it again\n");
    if (rc == SAND_OK)
        rc = finish(run, experiment, diag);
    sand_jobset_close(jobset);
    sand_spec_free(spec);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_run_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        NULL, sand_cli_pass_input, "EXPERIMENT.xml", doc, children, NULL, NULL};
    struct sand_cli_run run_options = {0};
    struct sand_sweep_report report = {0};
    struct sand_diag diag = {0};
    char *command = sand_cli_quote_command(argc, argv);
    sand_cli_parse(&argp, argc, argv, &run_options);
    enum sand_rc rc = execute(&run_options, &report, &diag);
    sand_diag_print(&diag, stderr);
    if (report.interrupted && rc != SAND_OK && command)
        fprintf(stderr, "to go on: %s\n", command);
    free(command); // open_memstream's own
    sand_diag_clear(&diag);
    sand_cli_run_clear(&run_options);
    return rc;
}

const struct sand_verb sand_verb_run = {"run", "simulate an experiment and write its results", run};
