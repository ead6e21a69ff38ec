// Tables of `sandtable collective`, and their plot.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_COLLECTIVEPRINT_H
#define SAND_SIM_CLI_COLLECTIVEPRINT_H

#include <stdio.h>

#include "collcost.h"

// One collective over message sizes: terms[i] is that of bytes[i].
struct sand_collective_view {
    const char *cluster;
    const struct sand_fabric *fabric; // whose links the terms name
    const struct sand_collectives *constants;
    const struct sand_comm *comm;
    enum sand_collective_kind kind;
    const double *bytes;
    const struct sand_coll_terms *terms;
    size_t n;
};

// The columns of nccl-tests, then algorithm and protocol.
void sand_collective_print_text(const struct sand_collective_view *view, FILE *out);
void sand_collective_print_csv(const struct sand_collective_view *view, FILE *out);
void sand_collective_print_json(const struct sand_collective_view *view, FILE *out);

// The terms of every size, as an equation that can be redone by hand.
void sand_collective_explain(const struct sand_collective_view *view, FILE *out);

// Bus bandwidth over size as PNG, SVG or PDF, by the ending of `path`. SAND_ERR_USAGE for another
// ending, SAND_ERR_IO if gnuplot is not there or fails.
enum sand_rc sand_collective_plot(const struct sand_collective_view *view, const char *path,
                                  struct sand_diag *diag);

#endif
