// sandtable fabric parts: the list of parts of a fabric, priced if the cluster names a price list.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "clifabric.h"
#include "fabricparts.h"
#include "json.h"
#include "spec.h"
#include "units.h"

extern const struct sand_verb sand_verb_fabric_parts;

static const char doc[] =
    "Examples:\n"
    "  sandtable fabric parts experiment.xml\n"
    "  sandtable fabric parts experiment.xml --set cluster/@prices=sandtable:prices/ndr400-2024 "
    "--set cluster/fat_tree/@node_cable=2m\n"
    "\n"
    "Counts switches, cables and transceivers. Metres need the lengths of the cables (node_cable, "
    "leaf_cable, core_cable); watts and dollars need a price list, an entry of the catalogue that "
    "may be copied into <definitions> and edited. Exit status 3 if the fabric cannot be built.";

static void print_count(const char *label, uint64_t count)
{
    if (count > 0)
        printf("%-24s %12" PRIu64 "\n", label, count);
}

static void print_run(const char *label, const struct sand_cable_parts *run, double longest_m)
{
    if (run->cables == 0)
        return;
    printf("%-24s %12" PRIu64 "  %s", label, run->cables, run->is_copper ? "copper" : "optical");
    if (run->length_m > 0)
        printf(longest_m > run->length_m * (1 + 1e-9) ? ", %g m on average, the longest %g m"
                                                      : ", %g m each",
               run->length_m, longest_m);
    printf("\n");
}

static void print_counts(const struct sand_fabric *fabric, const struct sand_fabric_parts *parts)
{
    const struct sand_fabric_counts *c = &parts->counts;
    print_count("leaf switches", c->leaves);
    print_count("spine switches", c->spines);
    print_count("core switches", c->cores);
    if (fabric->kind == SAND_FABRIC_DRAGONFLY)
        print_count("routers", c->routers);
    print_count("optical circuit switches", c->circuit_switches);
    print_run("cables, node to switch", &parts->runs[SAND_CABLE_NODE],
              fabric->longest_m[SAND_CABLE_NODE]);
    print_run(c->leaf_spine_cables > 0 ? "cables, leaf to spine"
              : c->local_cables > 0    ? "cables in groups"
                                       : "cables in the torus",
              &parts->runs[SAND_CABLE_LEAF], fabric->longest_m[SAND_CABLE_LEAF]);
    print_run(c->spine_core_cables > 0 ? "cables, spine to core"
              : c->global_cables > 0   ? "cables between groups"
                                       : "cables to the circuits",
              &parts->runs[SAND_CABLE_CORE], fabric->longest_m[SAND_CABLE_CORE]);
    print_count("leaves of storage", parts->storage_leaves);
    print_count("cables, storage to leaf", parts->storage_cables);
    print_count("cables, its leaf to spine", parts->storage_uplinks);
    print_count("transceivers", parts->transceivers);
    if (parts->cable_m > 0)
        printf("%-24s %12.0f m (of the cables whose length is given)\n", "cable", parts->cable_m);
}

static void print_prices(const struct sand_fabric_parts *parts,
                         const struct sand_price_list *prices, uint64_t gpus)
{
    char watts[48];
    const double usd = parts->switch_usd + parts->transceiver_usd + parts->cable_usd;
    const double power_W = parts->switch_W + parts->transceiver_W;
    printf("\nprice list %s of %s\n", prices->id, prices->from.date);
    printf("  source: %s\n", prices->from.source);
    if (prices->from.assumed[0] != '\0')
        printf("  assumed: %s\n", prices->from.assumed);
    printf("%-24s %12s\n", "power of switches",
           sand_quantity_format(parts->switch_W, SAND_DIM_POWER, 4, watts, sizeof watts));
    printf("%-24s %12s\n", "power of transceivers",
           sand_quantity_format(parts->transceiver_W, SAND_DIM_POWER, 4, watts, sizeof watts));
    printf("%-24s %12s\n", "power per GPU",
           sand_quantity_format(power_W / (double)gpus, SAND_DIM_POWER, 4, watts, sizeof watts));
    printf("%-24s %12.0f USD\n", "switches", parts->switch_usd);
    printf("%-24s %12.0f USD\n", "transceivers", parts->transceiver_usd);
    printf("%-24s %12.0f USD%s\n", "cables", parts->cable_usd,
           prices->fibre_usd > 0 ? "" : " (fibre is not priced)");
    printf("%-24s %12.0f USD, %.0f a GPU\n", "together", usd, usd / (double)gpus);
}

static int parts_have_switches(const struct sand_cluster *cluster)
{
    return cluster->fabric.kind != SAND_FABRIC_TORUS;
}

static void warn_of_prices(const struct sand_cluster *cluster, struct sand_diag *diag)
{
    const struct sand_price_list *prices = cluster->prices;
    if (prices != NULL && parts_have_switches(cluster) &&
        cluster->fabric.radix != prices->switch_ports)
        sand_diag_add(diag, SAND_WARNING, NULL, 0,
                      "price list \"%s\" is for switches of %" PRIu32 " ports, the fabric's have "
                      "%" PRIu32 " (0: chassis): watts and dollars of switches do not hold",
                      prices->id, prices->switch_ports, cluster->fabric.radix);
}

static void print_number(const char *name, double value, const char *comma)
{
    printf("  \"%s\": ", name);
    sand_json_number(stdout, value);
    printf("%s\n", comma);
}

static void print_json(const struct sand_cluster *cluster, const struct sand_fabric_parts *p)
{
    static const char *const runs[] = {"node", "leaf", "core"};
    const struct sand_fabric_counts *c = &p->counts;
    printf("{\n  \"cluster\": ");
    sand_json_string(stdout, cluster->name);
    printf(",\n  \"gpus\": %" PRIu32 ",\n", sand_cluster_gpus(cluster));
    const struct {
        const char *name;
        uint64_t n;
    } counts[] = {{"leaves", c->leaves},
                  {"spines", c->spines},
                  {"cores", c->cores},
                  {"routers", c->routers},
                  {"circuit_switches", c->circuit_switches},
                  {"storage_leaves", p->storage_leaves},
                  {"storage_cables", p->storage_cables},
                  {"storage_uplinks", p->storage_uplinks},
                  {"switches", p->switches},
                  {"cables", p->cables},
                  {"transceivers", p->transceivers}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        printf("  \"%s\": %" PRIu64 ",\n", counts[i].name, counts[i].n);
    for (int run = 0; run < SAND_CABLE_RUNS; run++) {
        printf("  \"%s_cables\": {\"cables\": %" PRIu64 ", \"copper\": %s, \"length_m\": ",
               runs[run], p->runs[run].cables, p->runs[run].is_copper ? "true" : "false");
        sand_json_number(stdout, p->runs[run].length_m);
        printf("},\n");
    }
    print_number("cable_m", p->cable_m, cluster->prices ? "," : "");
    if (cluster->prices) {
        print_number("switch_W", p->switch_W, ",");
        print_number("transceiver_W", p->transceiver_W, ",");
        print_number("switch_usd", p->switch_usd, ",");
        print_number("transceiver_usd", p->transceiver_usd, ",");
        print_number("cable_usd", p->cable_usd, "");
    }
    printf("}\n");
}

static void print_text(const struct sand_cluster *cluster, const struct sand_fabric *fabric,
                       const struct sand_fabric_parts *parts)
{
    printf("%s: %" PRIu32 " nodes, %" PRIu32 " GPUs\n\n", cluster->name, cluster->n_nodes,
           sand_cluster_gpus(cluster));
    print_counts(fabric, parts);
    if (cluster->storage.n_servers > 0 && cluster->storage_ports.n_ports == 0)
        printf("storage is on a network of its own, with %" PRIu64
               " ports of nodes; its switches are "
               "not described here, and not counted\n",
               (uint64_t)cluster->n_nodes * cluster->node_type->n_storage_nics);
    if (cluster->prices != NULL)
        print_prices(parts, cluster->prices, sand_cluster_gpus(cluster));
    else
        printf("\nno price list: every cable counts as optical; for watts and dollars write "
               "prices=\"sandtable:prices/ndr400-2024\" on <cluster>\n");
}

static enum sand_rc print_parts(const struct sand_cluster *cluster, int is_json,
                                struct sand_diag *diag)
{
    struct sand_fabric *fabric = NULL;
    struct sand_fabric_parts parts;
    SAND_TRY(sand_fabric_build(cluster, &fabric, diag));
    sand_fabric_parts_list(fabric, cluster, &parts);
    warn_of_prices(cluster, diag);
    if (is_json)
        print_json(cluster, &parts);
    else
        print_text(cluster, fabric, &parts);
    sand_fabric_free(fabric);
    return SAND_OK;
}

static enum sand_rc run(int argc, char **argv)
{
    return sand_cli_run_on_cluster(argc, argv, doc, print_parts);
}

const struct sand_verb sand_verb_fabric_parts = {"parts", "switches, cables, watts, dollars", run};
