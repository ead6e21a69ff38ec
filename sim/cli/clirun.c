// Processes, settings and command lines of verbs that simulate experiments.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "clirun.h"

#include <sched.h>
#include <string.h>

uint32_t sand_cli_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

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

void sand_cli_set_attribute(struct sand_cli_load *load, struct argp_state *state,
                            struct sand_arena *arena, const char *name, const char *value)
{
    const char *setting = sand_arena_printf(arena, "@%s=%s", name, value);
    if (!setting)
        argp_failure(state, sand_rc_exit_status(SAND_ERR_NOMEM), 0, "out of memory");
    sand_cli_load_add(load, state, setting);
}

struct sand_sweep_options sand_cli_sweep_options(const struct sand_cli_cache *cache)
{
    struct sand_sweep_options options = {
        .cache = cache->dir,
        .cache_versions = sand_cli_cache_versions(),
        .program_version = sand_cli_version(),
    };
    options.libraries = sand_cli_libraries(&options.n_libraries);
    return options;
}
