// Bus bandwidth over message size, drawn by gnuplot.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectiveprint.h"

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

// A text in gnuplot's single quotes, in which only the quote is special.
static void write_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputc('\'', out);
}

static int is_first_of_kernel(const struct sand_collective_view *v, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (v->terms[k].kernel == v->terms[i].kernel)
            return 0;
    return 1;
}

// A line over all sizes, and on it the points of each kernel in a colour of their own.
static void write_curves(const struct sand_collective_view *v, FILE *out)
{
    fputs("plot $data using 1:2 with lines linecolor rgb '#a0a0a0' notitle", out);
    for (size_t i = 0; i < v->n; i++)
        if (v->terms[i].kernel != NULL && is_first_of_kernel(v, i)) {
            fprintf(out,
                    ", $data using 1:(strcol(3) eq '%s' ? $2 : NaN) with points pointtype 7 title "
                    "'%s, %s'",
                    v->terms[i].kernel->id, sand_algorithm_name(v->terms[i].kernel->algorithm),
                    sand_protocol_name(v->terms[i].kernel->protocol));
        }
    fputc('\n', out);
}

static void write_script(const struct sand_collective_view *v, const char *path,
                         const char *terminal, FILE *out)
{
    const double factor = sand_collective_bus_factor(v->kind, v->comm->ranks);
    fputs("$data << EOD\n", out);
    for (size_t i = 0; i < v->n; i++)
        fprintf(out, "%.17g %.9g %s\n", v->bytes[i],
                v->terms[i].time_s > 0 ? 1e-9 * factor * v->bytes[i] / v->terms[i].time_s : 0,
                v->terms[i].kernel != NULL ? v->terms[i].kernel->id : "-");
    fprintf(out, "EOD\nset terminal %s noenhanced\nset output ", terminal);
    write_quoted(out, path);
    fputs("\nset title ", out);
    char title[160];
    snprintf(title, sizeof title, "%s over %u GPUs of %.80s, %u scale-up domain%s",
             sand_collective_name(v->kind), v->comm->ranks, v->cluster, v->comm->domains,
             v->comm->domains == 1 ? "" : "s");
    write_quoted(out, title);
    fputs("\nset key left top Left reverse opaque\nset pointsize 1.3\nset logscale x 2\nset format "
          "x '%.0b%BB'\nset grid\n"
          "set yrange [0:*]\nset xlabel 'message size'\nset ylabel 'bus bandwidth (GB/s)'\n",
          out);
    write_curves(v, out);
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
        return sand_fail(diag, SAND_ERR_IO,
                         "--plot needs gnuplot, which cannot be started: %s; install it, or plot "
                         "--format=csv yourself",
                         strerror(error));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? SAND_OK
               : sand_fail(diag, SAND_ERR_IO, "gnuplot failed; what it said stands above");
}

enum sand_rc sand_collective_plot(const struct sand_collective_view *view, const char *path,
                                  struct sand_diag *diag)
{
    const char *terminal = find_terminal(path);
    if (terminal == NULL)
        return sand_fail(diag, SAND_ERR_USAGE, "--plot is \"%s\": must end with .png, .svg or .pdf",
                         path);
    FILE *script = tmpfile();
    if (script == NULL)
        return sand_fail(diag, SAND_ERR_IO, "no temporary file for gnuplot: %s", strerror(errno));
    write_script(view, path, terminal, script);
    const int bad = fflush(script) != 0 || ferror(script) || lseek(fileno(script), 0, SEEK_SET) < 0;
    const enum sand_rc rc =
        bad ? sand_fail(diag, SAND_ERR_IO, "cannot write for gnuplot: %s", strerror(errno))
            : run_gnuplot(fileno(script), diag);
    fclose(script);
    return rc;
}
