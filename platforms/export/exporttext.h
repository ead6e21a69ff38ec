// Text for the writers. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_EXPORT_EXPORTTEXT_H
#define SAND_PLATFORMS_EXPORT_EXPORTTEXT_H

#include "export.h"
#include "graph.h"

// Text in a quoted DOT string: what it cannot hold is an escape or a question mark.
void export_dot_text(FILE *out, const char *text);

enum sand_rc export_dot(const struct sand_cluster *cluster, const struct sand_graph *graph,
                        FILE *out, struct sand_diag *diag);
enum sand_rc export_graphml(const struct sand_cluster *cluster, const struct sand_graph *graph,
                            FILE *out, struct sand_diag *diag);
enum sand_rc export_simgrid(const struct sand_cluster *cluster, double message_s, FILE *out,
                            struct sand_diag *diag);

#endif
