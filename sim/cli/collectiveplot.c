// Bus bandwidth over message size, drawn by gnuplot.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "collectiveprint.h"
#include "gnuplot.h"

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

static void write_script(const void *data, FILE *out)
{
    const struct sand_collective_view *v = data;
    const double factor = sand_collective_bus_factor(v->kind, v->comm->ranks);
    fputs("$data << EOD\n", out);
    for (size_t i = 0; i < v->n; i++)
        fprintf(out, "%.17g %.9g %s\n", v->bytes[i],
                v->terms[i].time_s > 0 ? 1e-9 * factor * v->bytes[i] / v->terms[i].time_s : 0,
                v->terms[i].kernel != NULL ? v->terms[i].kernel->id : "-");
    fputs("EOD\nset title ", out);
    char title[160];
    snprintf(title, sizeof title, "%s over %u GPUs of %.80s, %u scale-up domain%s",
             sand_collective_name(v->kind), v->comm->ranks, v->cluster, v->comm->domains,
             v->comm->domains == 1 ? "" : "s");
    sand_gnuplot_quote(out, title);
    fputs("\nset key left top Left reverse opaque\nset pointsize 1.3\nset logscale x 2\nset format "
          "x '%.0b%BB'\nset grid\n"
          "set yrange [0:*]\nset xlabel 'message size'\nset ylabel 'bus bandwidth (GB/s)'\n",
          out);
    write_curves(v, out);
}

enum sand_rc sand_collective_plot(const struct sand_collective_view *view, const char *path,
                                  struct sand_diag *diag)
{
    return sand_gnuplot_draw(path, write_script, view, diag);
}
