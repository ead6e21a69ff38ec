// Draws a sweep: one figure over the first factor.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweepplot.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "gnuplot.h"

// Lines of a picture that can still be told apart.
enum { LINES_MOST = 12 };

static int is_of_first(const struct sand_factors *factors, uint32_t factor)
{
    return factors->factors[factor].dimension == factors->factors[0].dimension;
}

static void write_points(const struct sand_sweep_view *v, uint32_t line, uint32_t lines, FILE *out)
{
    for (uint32_t x = 0; x < v->factors->factors[0].n; x++) {
        const struct sand_summary s =
            sand_swept_summary(v->swept, x * lines + line, v->figure, NULL);
        if (!isfinite(s.mean))
            fputs("\n", out); // a gap
        else
            fprintf(out, "%" PRIu32 " %.9g %.9g\n", x, s.mean, isfinite(s.ci95) ? s.ci95 : 0.0);
    }
}

static void write_blocks(const struct sand_sweep_view *v, uint32_t lines, FILE *out)
{
    for (uint32_t line = 0; line < lines && line < LINES_MOST; line++) {
        fprintf(out, "$line%" PRIu32 " << EOD\n", line);
        write_points(v, line, lines, out);
        fputs("EOD\n", out);
    }
}

// "detect=90s", of the factors that the horizontal axis does not show.
static void name_line(const struct sand_factors *factors, uint32_t point, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < factors->n && length < size; i++)
        if (!is_of_first(factors, i))
            length +=
                (size_t)snprintf(text + length, size - length, "%s%s=%s", length ? ", " : "",
                                 factors->factors[i].label, sand_factors_value(factors, point, i));
}

static void write_curves(const struct sand_sweep_view *v, uint32_t lines, FILE *out)
{
    char name[120];
    for (uint32_t line = 0; line < lines && line < LINES_MOST; line++) {
        name_line(v->factors, line, name, sizeof name);
        fprintf(out, "%s$line%" PRIu32 " using 1:2:3 with yerrorlines linewidth 2 pointtype 7 ",
                line > 0 ? ", " : "plot ", line);
        fputs(name[0] ? "title " : "notitle", out);
        if (name[0])
            sand_gnuplot_quote(out, name);
    }
    fputc('\n', out);
}

static void write_ticks(const struct sand_factors *factors, FILE *out)
{
    const struct sand_factor *first = &factors->factors[0];
    fputs("set xtics (", out);
    for (uint32_t x = 0; x < first->n; x++) {
        fputs(x > 0 ? ", " : "", out);
        sand_gnuplot_quote(out, first->values[x]);
        fprintf(out, " %" PRIu32, x);
    }
    fprintf(out, ")\nset xrange [-0.3:%g]\nset xlabel ", first->n - 0.7);
    sand_gnuplot_quote(out, first->path);
    fputc('\n', out);
}

static void write_script(const void *data, FILE *out)
{
    const struct sand_sweep_view *v = data;
    const uint32_t lines = sand_factors_points(v->factors) / v->factors->factors[0].n;
    const char *unit, *name = sand_swept_name(v->figure);
    char text[200];
    sand_swept_summary(v->swept, 0, v->figure, &unit);
    write_blocks(v, lines, out);
    snprintf(text, sizeof text, "%.100s: %s", v->name, name);
    fputs("set title ", out);
    sand_gnuplot_quote(out, text);
    snprintf(text, sizeof text, strstr(name, unit) || !*unit ? "%s" : "%s (%s)", name, unit);
    fputs("\nset ylabel ", out);
    sand_gnuplot_quote(out, text);
    fputs("\nset grid\nset key outside top center horizontal\nset pointsize 1.2\n", out);
    write_ticks(v->factors, out);
    write_curves(v, lines, out);
}

enum sand_rc sand_sweep_plot(const struct sand_sweep_view *view, const char *path,
                             struct sand_diag *diag)
{
    if (view->factors->n == 0)
        return sand_fail(diag, SAND_ERR_USAGE, "--plot needs something that varies: see --vary");
    return sand_gnuplot_draw(path, write_script, view, diag);
}
