// sandtable fabric faults: what is lost when a switch, a rack, a power feed, a row or a hall dies.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>

#include "clifabric.h"
#include "faultdomain.h"
#include "json.h"
#include "mem.h"

enum { KEY_OF = 256, KEY_FORMAT };

static const char doc[] =
    "Examples:\n"
    "  sandtable fabric faults experiment.xml\n"
    "  sandtable fabric faults experiment.xml --of=rack12 --of=leaf3\n"
    "\n"
    "Prints for every fault domain the nodes that die with it, the living ones it cuts off, those "
    "that lose some of their NICs, the bisection that is left, and what the others still reach of "
    "the "
    "storage where that hangs from the fabric (storage_ports). Domains that look alike (same "
    "kind, "
    "size, uplinks, NICs of its pod and side of the bisection) are one line, computed for the one "
    "of them that has "
    "most cables to the other side. Where "
    "switches stand is not described: a leaf is in a rack, row or hall if all its nodes are, a "
    "spine "
    "if all leaves of its pod are, a core in none. Power feeds (pdu0, ...) need racks_per_pdu of "
    "the cluster.";

static const struct argp_option options[] = {
    {"of", KEY_OF, "NAME", 0,
     "Only this switch, node, rack, pdu, row or hall; may be given more than once", 0},
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default) or json", 0},
    {0}};

struct fault_options {
    struct sand_cli_load load;
    const char **names;
    size_t n, capacity;
    int is_json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct fault_options *faults = state->input;
    void *names = faults->names;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &faults->load;
        return 0;
    case KEY_OF:
        if (sand_grow(&names, &faults->capacity, faults->n + 1, sizeof *faults->names) != SAND_OK)
            argp_failure(state, sand_rc_exit_status(SAND_ERR_NOMEM), 0, "out of memory");
        faults->names = names;
        faults->names[faults->n++] = arg;
        return 0;
    case KEY_FORMAT:
        faults->is_json = sand_cli_is_json(state, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_header(double healthy_Bps, double storage_Bps, const struct sand_cluster *cluster)
{
    char value[48];
    if (healthy_Bps > 0)
        printf("bisection: %s (%s%s)\n", sand_cli_bandwidth(healthy_Bps, value),
               sand_cli_bisection_is, cluster->n_impaired > 0 ? "; as impaired as described" : "");
    else
        printf("bisection: none: %s\n", sand_cli_no_bisection(cluster->n_nodes));
    if (storage_Bps > 0)
        printf("ports of storage: %s\n", sand_cli_bandwidth(storage_Bps, value));
    printf("%-24s %7s %9s %8s %8s %8s %12s %9s%s\n", "domain", "alike", "switches", "dead",
           "cut off", "slower", "bisection", "of whole", storage_Bps > 0 ? "   storage" : "");
}

static void print_domain(const struct sand_graph *g, const struct sand_fault_domain *d,
                         double healthy_Bps)
{
    char name[48], value[48], share[48];
    const double storage_Bps = sand_graph_storage_Bps(g);
    printf("%-24s %7" PRIu32 " %9" PRIu32 " %8" PRIu32 " %8" PRIu32 " %8" PRIu32 " %12s %9s",
           sand_fault_domain_name(g, d, name, sizeof name), d->n_alike, d->n_switches,
           d->effect.nodes_dead, d->effect.nodes_cut, d->effect.nodes_slow,
           sand_cli_bandwidth(d->effect.bisection_Bps, value),
           sand_cli_percent(d->effect.bisection_Bps, healthy_Bps, share));
    if (storage_Bps > 0)
        printf(" %9s", sand_cli_percent(d->effect.storage_Bps, storage_Bps, share));
    printf("\n");
}

static void print_domain_json(const struct sand_graph *g, const struct sand_fault_domain *d,
                              const char *comma)
{
    char name[48];
    printf("%s\n    {\"domain\": ", comma);
    sand_json_string(stdout, sand_fault_domain_name(g, d, name, sizeof name));
    printf(", \"kind\": \"%s\", \"alike\": %" PRIu32 ", \"switches\": %" PRIu32
           ", \"nodes_dead\": %" PRIu32 ", \"nodes_cut\": %" PRIu32 ", \"nodes_slower\": %" PRIu32
           ", \"bisection_Bps\": ",
           sand_domain_kind_name(d->kind), d->n_alike, d->n_switches, d->effect.nodes_dead,
           d->effect.nodes_cut, d->effect.nodes_slow);
    sand_json_number(stdout, d->effect.bisection_Bps);
    printf(", \"storage_Bps\": ");
    if (g->storage_Bps != NULL)
        sand_json_number(stdout, d->effect.storage_Bps);
    else
        printf("null");
    printf("}");
}

static void print_all(const struct sand_cluster *cluster, const struct sand_graph *g,
                      const struct sand_fault_domain *domains, size_t n, double healthy_Bps,
                      int is_json)
{
    if (!is_json) {
        print_header(healthy_Bps, sand_graph_storage_Bps(g), cluster);
        for (size_t i = 0; i < n; i++)
            print_domain(g, &domains[i], healthy_Bps);
        return;
    }
    printf("{\n  \"bisection_Bps\": ");
    sand_json_number(stdout, healthy_Bps);
    printf(",\n  \"domains\": [");
    for (size_t i = 0; i < n; i++)
        print_domain_json(g, &domains[i], i > 0 ? "," : "");
    printf("\n  ]\n}\n");
}

static int compare_domains(const void *a, const void *b)
{
    const struct sand_fault_domain *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

// The domains asked for, or one of every group that looks alike, kind after kind.
static enum sand_rc find_domains(const struct sand_experiment *experiment,
                                 const struct sand_graph *graph, const struct fault_options *faults,
                                 struct sand_fault_domain **domains, size_t *n,
                                 struct sand_diag *diag)
{
    if (faults->n == 0) {
        SAND_TRY(sand_fault_domains(graph, &experiment->cluster, domains, n, diag));
        qsort(*domains, *n, sizeof **domains, compare_domains);
        return SAND_OK;
    }
    *n = faults->n;
    *domains = sand_calloc(faults->n, sizeof **domains);
    if (!*domains)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < faults->n; i++)
        SAND_TRY(sand_fault_domain_find(graph, &experiment->cluster, faults->names[i],
                                        &(*domains)[i], diag));
    return SAND_OK;
}

static enum sand_rc print_faults(const struct sand_experiment *experiment,
                                 const struct sand_graph *graph, void *input,
                                 struct sand_diag *diag)
{
    const struct fault_options *faults = input;
    struct sand_graph_cut healthy;
    struct sand_fault_domain *domains = NULL;
    size_t n = 0;
    SAND_TRY(sand_graph_bisection(graph, NULL, &healthy, diag));
    const enum sand_rc rc = find_domains(experiment, graph, faults, &domains, &n, diag);
    if (rc == SAND_OK)
        print_all(&experiment->cluster, graph, domains, n, healthy.value_Bps, faults->is_json);
    sand_free(domains);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_load_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options, parse, "EXPERIMENT.xml", doc, children, NULL, NULL};
    struct fault_options faults = {0};
    sand_cli_parse(&argp, argc, argv, &faults);
    enum sand_rc rc = sand_cli_with_graph(&faults.load, print_faults, &faults);
    sand_free(faults.names);
    sand_cli_load_clear(&faults.load);
    return rc;
}

const struct sand_verb sand_verb_fabric_faults = {"faults", "what is lost when a part dies", run};
