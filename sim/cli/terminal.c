// Progress bar.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

static int is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

static int is_capable(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

static const char clear_line[] = "\r\033[K";

// Ends as the signal would have, but not behind a bar.
static void clear_and_end(int number)
{
    const ssize_t written = write(STDERR_FILENO, clear_line, sizeof clear_line - 1);
    (void)written;
    signal(number, SIG_DFL);
    raise(number);
}

// Of a signal that ends the program; who handles it otherwise keeps it.
static void handle(int number, void (*from)(int), void (*to)(int))
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler == from)
        signal(number, to);
}

void sand_cli_progress_open(struct sand_cli_progress *progress, int quiet)
{
    *progress = (struct sand_cli_progress){.permille = -1, .unit = "replications"};
    progress->active = !quiet && is_capable() && !is_set("CI");
}

// Columns of the bar itself, so that the whole line fits the terminal; 0: figures only.
static int bar_width(int most)
{
    enum { TEXT = 40 }; // brackets, percentage, "of N replications"
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return most;
    const int room = size.ws_col - TEXT;
    return room > most ? most : room > 0 ? room : 0;
}

void sand_cli_progress_draw(void *self, double done, uint32_t units_done, uint32_t units)
{
    struct sand_cli_progress *progress = self;
    static const char full[] = "########################################";
    static const char empty[] = "                                        ";
    int permille = (int)(done * 1000.0);
    if (!progress->active || (permille == progress->permille && units_done == progress->units_done))
        return;
    progress->permille = permille;
    progress->units_done = units_done;
    if (!progress->shown) {
        handle(SIGINT, SIG_DFL, clear_and_end);
        handle(SIGTERM, SIG_DFL, clear_and_end);
    }
    progress->shown = 1;
    const int width = bar_width((int)sizeof full - 1), filled = (int)(done * width);
    fputc('\r', stderr);
    if (width > 0)
        fprintf(stderr, "[%.*s%.*s] ", filled, full, width - filled, empty);
    fprintf(stderr, "%5.1f%%", done * 100.0);
    if (units > 0)
        fprintf(stderr, "  %" PRIu32 " of %" PRIu32 " %s", units_done, units, progress->unit);
    fflush(stderr);
}

void sand_cli_progress_close(struct sand_cli_progress *progress)
{
    if (progress->shown) {
        fputs(clear_line, stderr);
        handle(SIGINT, clear_and_end, SIG_DFL);
        handle(SIGTERM, clear_and_end, SIG_DFL);
    }
    progress->shown = 0;
}
