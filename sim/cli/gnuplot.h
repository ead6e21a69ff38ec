// Pictures by gnuplot, which is needed only when one is asked for.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_GNUPLOT_H
#define SAND_SIM_CLI_GNUPLOT_H

#include <stdio.h>

#include "diag.h"

// SAND_ERR_USAGE unless the name ends with .png, .svg or .pdf, SAND_ERR_IO if there is no gnuplot:
// to be asked before long work.
enum sand_rc sand_gnuplot_check(const char *path, struct sand_diag *diag);

// Draws what `write` writes of `data`: a script without terminal and output, which stand already.
enum sand_rc sand_gnuplot_draw(const char *path, void (*write)(const void *data, FILE *script),
                               const void *data, struct sand_diag *diag);

// A text in gnuplot's single quotes, in which only the quote is special.
void sand_gnuplot_quote(FILE *out, const char *text);

#endif
