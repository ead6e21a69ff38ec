// Processes, settings and command lines of verbs that simulate experiments.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "clirun.h"

#include <sched.h>
#include <string.h>

enum { KEY_REPLICATIONS = 512, KEY_SEED, KEY_FORCE };

static const struct argp_option options[] = {
    {"output", 'o', "DIR", 0, "Directory of the results; default: out/ and the experiment's name",
     0},
    {"replications", KEY_REPLICATIONS, "N", 0, "Replications instead of the experiment's", 0},
    {"seed", KEY_SEED, "N", 0, "Seed instead of the experiment's", 0},
    {"jobs", 'j', "N", 0, "Processes at a time; default: one per processor", 0},
    {"force", KEY_FORCE, NULL, 0, "Run again, and overwrite results that exist", 0},
    {"quiet", 'q', NULL, 0, "Neither progress bar nor figures", 0},
    {0}};

// "@NAME=VALUE" as a setting.
static void set_attribute(struct sand_cli_run *run, struct argp_state *state, const char *name,
                          const char *value)
{
    const char *setting = sand_arena_printf(&run->arena, "@%s=%s", name, value);
    if (!setting)
        argp_failure(state, sand_rc_exit_status(SAND_ERR_NOMEM), 0, "out of memory");
    sand_cli_load_add(&run->load, state, setting);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sand_cli_run *run = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &run->load;
        state->child_inputs[1] = &run->cache;
        return 0;
    case 'o':
        run->out_dir = arg;
        return 0;
    case 'j':
        run->jobs = sand_cli_count(state, "--jobs", arg, 1);
        return 0;
    case 'q':
        run->quiet = 1;
        return 0;
    case KEY_REPLICATIONS:
        sand_cli_count(state, "--replications", arg, 1);
        set_attribute(run, state, "replications", arg);
        return 0;
    case KEY_SEED:
        set_attribute(run, state, "seed", arg);
        return 0;
    case KEY_FORCE:
        run->force = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {&sand_cli_load_argp, 0, NULL, 0}, {&sand_cli_cache_argp, 0, NULL, 0}, {0}};
const struct argp sand_cli_run_argp = {options, parse, NULL, NULL, children, NULL, NULL};

void sand_cli_run_clear(struct sand_cli_run *run)
{
    sand_cli_load_clear(&run->load);
    sand_arena_clear(&run->arena);
}

enum sand_rc sand_cli_run_dir(struct sand_cli_run *run, const char *name, const char *after,
                              struct sand_diag *diag)
{
    if (!run->out_dir)
        run->out_dir = sand_arena_printf(&run->arena, "out/%s%s", name, after);
    return run->out_dir ? SAND_OK : sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
}

uint32_t sand_cli_run_jobs(const struct sand_cli_run *run)
{
    cpu_set_t set;
    if (run->jobs > 0)
        return run->jobs;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

// ---- the command line
// ---------------------------------------------------------------------------

static void put_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    fputc('\'', out);
}

char *sand_cli_quote_command(int argc, char **argv)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./=@:,+%";
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs(argv[0], out);
    for (int i = 1; i < argc; i++) {
        fputc(' ', out);
        if (argv[i][0] && strspn(argv[i], plain) == strlen(argv[i]))
            fputs(argv[i], out);
        else
            put_quoted(out, argv[i]);
    }
    fclose(out);
    return text;
}

struct sand_sweep_options sand_cli_sweep_options(const struct sand_cli_run *run)
{
    struct sand_sweep_options filled = {
        .force = run->force,
        .cache = run->cache.dir,
        .cache_versions = sand_cli_cache_versions(),
        .program_version = sand_cli_version(),
    };
    filled.libraries = sand_cli_libraries(&filled.n_libraries);
    return filled;
}
