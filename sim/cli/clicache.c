// --cache and --no-cache: where the store of solutions is, and what its entries depend on.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "sweep.h"

enum { KEY_CACHE = 512, KEY_NO_CACHE };

static const char none[] = "none"; // wherever the directory is named

static const struct argp_option options[] = {
    {"cache", KEY_CACHE, "DIR", 0,
     "Directory of simulated steps kept for later runs; \"none\" is none, \"./none\" a directory. "
     "Default: $SANDTABLE_CACHE, else $XDG_CACHE_HOME/sandtable, else ~/.cache/sandtable. Results "
     "are the same without",
     2},
    {"no-cache", KEY_NO_CACHE, NULL, 0, "The same as --cache=none", 2},
    {0}};

static const char *below(struct sand_cli_cache *cache, const char *root, const char *rest)
{
    const int length = snprintf(cache->chosen, sizeof cache->chosen, "%s%s", root, rest);
    return length > 0 && (size_t)length < sizeof cache->chosen ? cache->chosen : NULL;
}

// The XDG base directory specification: a relative $XDG_CACHE_HOME is ignored.
static const char *default_dir(struct sand_cli_cache *cache)
{
    const char *own = getenv("SANDTABLE_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (own && own[0])
        return own;
    if (xdg && xdg[0] == '/')
        return below(cache, xdg, "/sandtable");
    if (home && home[0] == '/')
        return below(cache, home, "/.cache/sandtable");
    return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sand_cli_cache *cache = state->input;
    switch (key) {
    case KEY_CACHE:
        if (!arg[0])
            argp_error(state, "--cache is empty; name a directory, or use --no-cache");
        cache->dir = arg;
        return 0;
    case KEY_NO_CACHE:
        cache->dir = none;
        return 0;
    case ARGP_KEY_END:
        if (!cache->dir)
            cache->dir = default_dir(cache);
        if (cache->dir && strcmp(cache->dir, none) == 0)
            cache->dir = NULL;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp sand_cli_cache_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

// Which build this is: a rebuilt program has another size or date, so that no solution outlives the
// code it came from. Cheaper than a digest of the file, and only ever too careful.
static void print_build(FILE *out)
{
    struct stat status;
    if (stat("/proc/self/exe", &status) == 0)
        fprintf(out, " build %lld %lld.%09ld", (long long)status.st_size,
                (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

const char *sand_cli_cache_versions(void)
{
    static char text[512];
    size_t n;
    const struct sand_library *libraries = sand_cli_libraries(&n);
    FILE *out = fmemopen(text, sizeof text, "w");
    if (!out)
        return "";
    fprintf(out, "sandtable %s physics %s", sand_cli_version(), SAND_PHYSICS_VERSION);
    print_build(out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %s %s", libraries[i].name, libraries[i].version);
    fclose(out);
    return text;
}
