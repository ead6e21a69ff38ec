// Chooses the writer, and writes text safely.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "export.h"

#include "exporttext.h"

static int is_plain(unsigned char c)
{
    return c >= ' ' && c != 127;
}

void export_dot_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(is_plain((unsigned char)*text) ? *text : '?', out);
    }
}

static enum sand_rc write_graph(enum sand_export_format format, const struct sand_cluster *cluster,
                                FILE *out, struct sand_diag *diag)
{
    struct sand_graph *graph = NULL;
    SAND_TRY(sand_graph_build(cluster, &graph, diag));
    enum sand_rc rc = format == SAND_EXPORT_DOT ? export_dot(cluster, graph, out, diag)
                                                : export_graphml(cluster, graph, out, diag);
    sand_graph_free(graph);
    return rc;
}

enum sand_rc sand_export_fabric(enum sand_export_format format, const struct sand_cluster *cluster,
                                double message_s, FILE *out, struct sand_diag *diag)
{
    SAND_TRY(format == SAND_EXPORT_SIMGRID ? export_simgrid(cluster, message_s, out, diag)
                                           : write_graph(format, cluster, out, diag));
    if (ferror(out) || fflush(out) != 0)
        return sand_fail(diag, SAND_ERR_IO, "cluster \"%s\": its fabric could not be written",
                         cluster->name);
    return SAND_OK;
}
