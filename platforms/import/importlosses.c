// What does not work of an imported fabric.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "importtree.h"

int import_graph_has_losses(const struct import_graph *graph)
{
    for (size_t i = 0; i < graph->n_cables; i++)
        if (graph->cables[i].lost > 0)
            return 1;
    return 0;
}

void import_graph_lose(struct import_job *job, struct import_graph *graph)
{
    size_t kept = 0, n_slow = 0;
    const size_t n = graph->n_cables;
    for (size_t i = 0; i < n; i++) {
        struct import_cable *cable = &graph->cables[i];
        n_slow += cable->lost > 0 && cable->lost < 1;
        cable->Bps *= 1 - cable->lost;
        cable->lost = 0;
        if (cable->Bps > 0 || graph->switches[cable->a].is_dead ||
            graph->switches[cable->b].is_dead)
            graph->cables[kept++] = *cable;
    }
    graph->n_cables = kept;
    import_deviate(job, 0,
                   "%zu bundles of cables have the capacity that is left of them, %zu that have "
                   "none are left out",
                   n_slow, n - kept);
}

static void write_impaired(struct import_xml *xml, double left, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void write_impaired(struct import_xml *xml, double left, const char *format, ...)
{
    char part[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    fprintf(xml->out, "    <impaired");
    import_xml_attribute(xml, "part", "%s", part);
    if (left > 0)
        import_xml_attribute(xml, "speed", "%.17g", left);
    fprintf(xml->out, "/>\n");
}

void import_cluster_close(struct import_xml *xml, const struct import_graph *graph,
                          const char *const *names)
{
    for (size_t i = 0; i < graph->n_switches; i++)
        if (graph->switches[i].is_dead)
            write_impaired(xml, 0, "%s", names ? names[i] : graph->switches[i].name);
    for (size_t i = 0; i < graph->n_ports; i++) {
        const struct import_port *port = &graph->ports[i];
        for (uint32_t nic = port->nic; port->lost > 0 && nic < port->nic + port->n_nics; nic++)
            write_impaired(xml, 1 - port->lost, "node%" PRIu32 " nic%" PRIu32 " up", port->node,
                           nic);
    }
    fprintf(xml->out, "</cluster>\n");
}
