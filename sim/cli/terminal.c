// Progress bar and colour.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static int is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

static int is_capable(FILE *out)
{
    const char *term = getenv("TERM");
    return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

void sand_cli_progress_open(struct sand_cli_progress *progress, int quiet)
{
    *progress = (struct sand_cli_progress){.permille = -1};
    progress->active = !quiet && is_capable(stderr) && !is_set("CI");
}

void sand_cli_progress_draw(void *self, double done, uint32_t units_done, uint32_t units)
{
    struct sand_cli_progress *progress = self;
    static const char full[] = "########################################";
    static const char empty[] = "                                        ";
    enum { WIDTH = sizeof full - 1 };
    int permille = (int)(done * 1000.0);
    if (!progress->active || (permille == progress->permille && units_done == progress->units_done))
        return;
    progress->permille = permille;
    progress->units_done = units_done;
    progress->shown = 1;
    int filled = (int)(done * WIDTH);
    fprintf(stderr, "\r[%.*s%.*s] %5.1f%%  %" PRIu32 " of %" PRIu32 " replications", filled, full,
            WIDTH - filled, empty, done * 100.0, units_done, units);
}

void sand_cli_progress_close(struct sand_cli_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = 0;
}

enum sand_style sand_cli_style(FILE *out)
{
    return is_capable(out) && !is_set("NO_COLOR") ? SAND_STYLE_COLOUR : SAND_STYLE_PLAIN;
}
