// sandtable cache: what the store of simulated steps holds, and how to be rid of it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "cachestore.h"
#include "cli.h"
#include "units.h"

static const char doc[] =
    "Examples:\n"
    "  sandtable cache info\n"
    "  sandtable cache clear --cache=/tmp/sandtable\n"
    "\n"
    "Simulated training steps are kept for later runs. `info' says where, how many and how large; "
    "`clear' removes them, also while a run uses them. Results are the same with and without.";

struct cache_options {
    struct sand_cli_cache cache;
    const char *what;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct cache_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->cache;
        return 0;
    case ARGP_KEY_ARG:
        if (options->what || (strcmp(arg, "info") != 0 && strcmp(arg, "clear") != 0))
            argp_error(state, "\"%s\" is not understood: write info or clear, once", arg);
        options->what = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "say what to do: info or clear");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum sand_rc print_info(const char *dir, struct sand_diag *diag)
{
    struct sand_cachestore_info info;
    char used[64], limit[64];
    struct sand_cachestore *store = sand_cachestore_open(dir, SAND_CACHE_LIMIT_B, diag);
    if (!store)
        return SAND_ERR_IO;
    const int told = sand_cachestore_info(store, &info, diag);
    sand_cachestore_close(store, diag);
    if (!told)
        return SAND_ERR_IO;
    sand_quantity_format((double)info.used_B, SAND_DIM_BYTES, 3, used, sizeof used);
    sand_quantity_format((double)info.limit_B, SAND_DIM_BYTES, 3, limit, sizeof limit);
    printf("directory  %s\nsteps      %" PRIu64 "\nsize       %s of at most %s\n", dir,
           info.entries, used, limit);
    return SAND_OK;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_cache_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {NULL, parse, "info\nclear", doc, children, NULL, NULL};
    struct cache_options options = {0};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &options);
    enum sand_rc rc = SAND_OK;
    if (!options.cache.dir)
        puts("no cache is used");
    else if (strcmp(options.what, "info") == 0)
        rc = print_info(options.cache.dir, &diag);
    else
        rc = sand_cachestore_clear(options.cache.dir, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

const struct sand_verb sand_verb_cache = {"cache", "simulated steps kept for later runs", run};
