// sandtable validate: every problem of an experiment, without running it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "cli.h"
#include "filegate.h"
#include "jobset.h"
#include "spec.h"
#include "textout.h"

enum { KEY_ROWS = 256, KEY_FORCE };

static const char doc[] =
    "Examples:\n"
    "  sandtable validate experiment.xml\n"
    "  sandtable validate experiment.xml --set \"cluster/@nodes=4096\"\n"
    "  sandtable validate experiment.xml --trace jobs.swf --rows rows.csv\n"
    "\n"
    "Reads the experiment and the catalogue entries it uses, checks splits, "
    "memory, fabric and policies, and reports every problem with its file "
    "and line. Of traces it prints what was kept, changed and dropped, and why.";

static const struct argp_option options[] = {
    {"rows", KEY_ROWS, "FILE", 0,
     "Also write every row of the traces that is dropped, changed or worth a remark, one line per "
     "reason, as CSV",
     0},
    {"force", KEY_FORCE, NULL, 0, "Let --rows overwrite a file", 0},
    {0}};

struct validate_options {
    struct sand_cli_load load;
    struct sand_cli_output rows;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct validate_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->load;
        return 0;
    case KEY_ROWS:
        o->rows.path = arg;
        return 0;
    case KEY_FORCE:
        o->rows.force = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print(const struct validate_options *o, const struct sand_experiment *experiment,
                  const struct sand_jobset *jobset)
{
    sand_jobset_report(jobset, stdout);
    printf("%s: valid\ndigest: %s\n", o->load.file, experiment->digest);
    if (experiment->n_assumptions > 0)
        puts("assumed (no source confirms these):");
    sand_text_assumptions(stdout, experiment->assumptions, experiment->n_assumptions);
}

// Rows are written whatever else is wrong: that is when they are wanted most.
static enum sand_rc check(const struct validate_options *o,
                          const struct sand_experiment *experiment, struct sand_diag *diag)
{
    struct sand_jobset *jobset = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *rows = o->rows.path ? open_memstream(&text, &size) : NULL;
    if (o->rows.path && !rows)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", o->rows.path);
    enum sand_rc rc = sand_cli_check(experiment, rows, &jobset, diag);
    if (rc == SAND_OK)
        print(o, experiment, jobset);
    sand_jobset_close(jobset);
    if (rows && fclose(rows) != 0)
        rc = sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", o->rows.path);
    else if (rows && size > 0 && sand_file_write(o->rows.path, text, size, diag) != SAND_OK)
        rc = SAND_ERR_IO;
    free(text); // open_memstream's
    return rc;
}

static enum sand_rc validate(const struct validate_options *o, struct sand_diag *diag)
{
    struct sand_spec *spec = NULL;
    size_t n_inputs;
    SAND_TRY(sand_cli_load_spec(&o->load, &spec, diag));
    const char *const *inputs = sand_spec_inputs(spec, &n_inputs);
    enum sand_rc rc = sand_cli_check_output(&o->rows, inputs, n_inputs, diag);
    if (rc == SAND_OK)
        rc = check(o, sand_spec_experiment(spec), diag);
    sand_spec_free(spec);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_load_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options, parse, "EXPERIMENT.xml", doc, children, NULL, NULL};
    struct validate_options o = {.rows.option = "--rows"};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &o);
    enum sand_rc rc = validate(&o, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    sand_cli_load_clear(&o.load);
    return rc;
}

const struct sand_verb sand_verb_validate = {"validate", "report every problem of an experiment",
                                             run};
