// sandtable validate: every problem of an experiment, without running it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli.h"
#include "jobset.h"
#include "spec.h"

static const char doc[] = "Examples:\n"
                          "  sandtable validate experiment.xml\n"
                          "  sandtable validate experiment.xml --set \"cluster/@nodes=4096\"\n"
                          "\n"
                          "Reads the experiment and the catalogue entries it uses, checks splits, "
                          "memory, fabric and policies, and reports every problem with its file "
                          "and line.";

static enum sand_rc validate(const struct sand_cli_load *load, struct sand_diag *diag)
{
    struct sand_spec *spec = NULL;
    SAND_TRY(sand_cli_load_spec(load, &spec, diag));
    const struct sand_experiment *experiment = sand_spec_experiment(spec);
    struct sand_jobset *jobset = NULL;
    enum sand_rc rc = sand_cli_check(experiment, &jobset, diag);
    if (rc == SAND_OK) {
        sand_jobset_report(jobset, stdout);
        printf("%s: valid\ndigest: %s\n", load->file, experiment->digest);
        sand_cli_print_assumptions(experiment, stdout);
    }
    sand_jobset_close(jobset);
    sand_spec_free(spec);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_load_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        NULL, sand_cli_pass_input, "EXPERIMENT.xml", doc, children, NULL, NULL};
    struct sand_cli_load load = {0};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &load);
    enum sand_rc rc = validate(&load, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    sand_cli_load_clear(&load);
    return rc;
}

const struct sand_verb sand_verb_validate = {"validate", "report every problem of an experiment",
                                             run};
