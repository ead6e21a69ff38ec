// sandtable cache: what the store of simulated steps holds, and how to be rid of it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "cachestore.h"
#include "cli.h"
#include "units.h"

static const char doc[] =
    "Examples:\n"
    "  sandtable cache info\n"
    "  sandtable cache clear --cache=/tmp/sandtable\n"
    "\n"
    "Simulated training steps are kept for later runs. Results are the same with and without.\v";

static const char info_doc[] = "Examples:\n"
                               "  sandtable cache info\n"
                               "  sandtable cache info --cache=/tmp/sandtable\n"
                               "\n"
                               "Says where the simulated steps are kept, how many and how large.";

static const char clear_doc[] = "Examples:\n"
                                "  sandtable cache clear\n"
                                "  sandtable cache clear --cache=/tmp/sandtable\n"
                                "\n"
                                "Removes the simulated steps, also while a run uses them.";

static enum sand_rc read_info(const char *dir, struct sand_cachestore_info *info,
                              struct sand_diag *diag)
{
    struct sand_cachestore *store = sand_cachestore_open(dir, SAND_CACHE_LIMIT_B, diag);
    if (!store)
        return SAND_ERR_IO;
    const int told = sand_cachestore_info(store, info, diag);
    sand_cachestore_close(store, diag);
    return told ? SAND_OK : SAND_ERR_IO;
}

static enum sand_rc print_info(const char *dir, struct sand_diag *diag)
{
    // Opening makes the directory; a question makes none.
    struct sand_cachestore_info info = {.limit_B = SAND_CACHE_LIMIT_B};
    char used[64], limit[64];
    const enum sand_rc rc = sand_cachestore_exists(dir) ? read_info(dir, &info, diag) : SAND_OK;
    if (rc != SAND_OK)
        return rc;
    sand_quantity_format((double)info.used_B, SAND_DIM_BYTES, 3, used, sizeof used);
    sand_quantity_format((double)info.limit_B, SAND_DIM_BYTES, 3, limit, sizeof limit);
    printf("directory  %s\nsteps      %" PRIu64 "\nsize       %s of at most %s\n", dir,
           info.entries, used, limit);
    return SAND_OK;
}

static enum sand_rc with_cache(int argc, char **argv, const char *text,
                               enum sand_rc (*work)(const char *dir, struct sand_diag *diag))
{
    static const struct argp_child children[] = {{&sand_cli_cache_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {NULL, sand_cli_pass_input, NULL, text, children, NULL, NULL};
    struct sand_cli_cache cache = {0};
    struct sand_diag diag = {0};
    enum sand_rc rc = SAND_OK;
    sand_cli_parse(&argp, argc, argv, &cache);
    if (cache.dir)
        rc = work(cache.dir, &diag);
    else
        puts("no cache is used");
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc;
}

static enum sand_rc run_info(int argc, char **argv)
{
    return with_cache(argc, argv, info_doc, print_info);
}

static enum sand_rc run_clear(int argc, char **argv)
{
    return with_cache(argc, argv, clear_doc, sand_cachestore_clear);
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct sand_verb info = {"info", "where it is, how many steps, how large",
                                          run_info},
                                  clear = {"clear", "remove the steps", run_clear};
    static const struct sand_verb *const verbs[] = {&info, &clear};
    static const struct sand_verb_group group = {
        .noun = "subcommand", .args = "SUBCOMMAND", .doc = doc, .verbs = verbs, .n_verbs = 2};
    return sand_cli_run_group(&group, argc, argv);
}

const struct sand_verb sand_verb_cache = {"cache", "simulated steps kept for later runs", run};
