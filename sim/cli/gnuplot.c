// Starts gnuplot with a script of ours.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *find_terminal(const char *path)
{
    static const char *const pairs[][2] = {{".png", "png size 900,600"},
                                           {".svg", "svg size 900,600"},
                                           {".pdf", "pdfcairo size 9in,6in"}};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (length > 4 && strcmp(path + length - 4, pairs[i][0]) == 0)
            return pairs[i][1];
    return NULL;
}

void sand_gnuplot_quote(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputc('\'', out);
}

static enum sand_rc run_gnuplot(int script, struct sand_diag *diag)
{
    char name[] = "gnuplot";
    char *const argv[] = {name, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 0;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return SAND_ERR_NOMEM;
    int error = posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
    if (error == 0)
        error = posix_spawnp(&pid, name, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return sand_fail(diag, SAND_ERR_IO, "--plot needs gnuplot, which cannot be started: %s",
                         strerror(error));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? SAND_OK
               : sand_fail(diag, SAND_ERR_IO, "gnuplot failed; what it said stands above");
}

static int is_installed(void)
{
    const char *dirs = getenv("PATH");
    char path[4096];
    while (dirs && *dirs) {
        const int length = (int)strcspn(dirs, ":");
        const int n = snprintf(path, sizeof path, "%.*s/gnuplot", length, dirs);
        if (n > 0 && (size_t)n < sizeof path && access(path, X_OK) == 0)
            return 1;
        dirs += length + (dirs[length] == ':');
    }
    return 0;
}

enum sand_rc sand_gnuplot_check(const char *path, struct sand_diag *diag)
{
    if (!find_terminal(path))
        return sand_fail(diag, SAND_ERR_USAGE, "--plot is \"%s\": must end with .png, .svg or .pdf",
                         path);
    return is_installed() ? SAND_OK
                          : sand_fail(diag, SAND_ERR_IO,
                                      "--plot needs gnuplot, which is in no directory of PATH; "
                                      "install it, or plot the figures yourself");
}

enum sand_rc sand_gnuplot_draw(const char *path, void (*write)(const void *data, FILE *script),
                               const void *data, struct sand_diag *diag)
{
    SAND_TRY(sand_gnuplot_check(path, diag));
    FILE *script = tmpfile();
    if (script == NULL)
        return sand_fail(diag, SAND_ERR_IO, "no temporary file for gnuplot: %s", strerror(errno));
    fprintf(script, "set terminal %s noenhanced\nset output ", find_terminal(path));
    sand_gnuplot_quote(script, path);
    fputc('\n', script);
    write(data, script);
    const int bad = fflush(script) != 0 || ferror(script) || lseek(fileno(script), 0, SEEK_SET) < 0;
    const enum sand_rc rc =
        bad ? sand_fail(diag, SAND_ERR_IO, "cannot write for gnuplot: %s", strerror(errno))
            : run_gnuplot(fileno(script), diag);
    fclose(script);
    return rc;
}
