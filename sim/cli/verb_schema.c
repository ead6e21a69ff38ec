// sandtable schema: the schema of experiments, the format page, the --set paths.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli.h"
#include "filegate.h"
#include "spec.h"

enum { KEY_FORMAT = 256, KEY_PATHS };

static const char doc[] = "Examples:\n"
                          "  sandtable schema > sandtable.rng\n"
                          "  sandtable schema --paths | grep spares\n"
                          "\n"
                          "Writes the RELAX NG schema of experiments and catalogue entries, for "
                          "editors and xmllint.";

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, NULL, 0, "The format page (Markdown) instead", 0},
    {"paths", KEY_PATHS, NULL, 0, "The paths that --set takes instead", 0},
    {0}};

typedef enum sand_rc writer_fn(FILE *out);

static error_t parse(int key, char *arg, struct argp_state *state)
{
    writer_fn **writer = state->input;
    switch (key) {
    case KEY_FORMAT:
        *writer = sand_spec_write_format;
        return 0;
    case KEY_PATHS:
        *writer = sand_spec_write_paths;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "there is nothing to do with \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "", doc, NULL, NULL, NULL};
    writer_fn *writer = sand_spec_write_schema;
    sand_cli_parse(&argp, argc, argv, &writer);
    struct sand_diag diag = {0};
    enum sand_rc rc = writer(stdout);
    if (rc == SAND_ERR_IO)
        sand_stream_finish(stdout, "the schema", &diag);
    else if (rc != SAND_OK)
        sand_fail(&diag, rc, "%s", sand_rc_text(rc));
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

const struct sand_verb sand_verb_schema = {"schema", "write the schema of experiments", run};
