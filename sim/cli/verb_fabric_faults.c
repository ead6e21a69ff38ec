// sandtable fabric faults: what is lost when a switch, a rack, a row or a hall dies.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "clifabric.h"
#include "faultdomain.h"
#include "mem.h"

enum { KEY_OF = 256 };

static const char doc[] =
    "Examples:\n"
    "  sandtable fabric faults experiment.xml\n"
    "  sandtable fabric faults experiment.xml --of=rack12 --of=leaf3\n"
    "\n"
    "Prints for every fault domain the nodes that die with it, the living ones it cuts off, those "
    "that lose some of their NICs, and the bisection that is left. Domains that look alike (same "
    "kind, "
    "size, uplinks and side of the bisection) are one line, computed for the first of them. Where "
    "switches stand is not described: a leaf is in a rack, row or hall if all its nodes are, a "
    "spine "
    "if all leaves of its pod are, a core in none. Power feeds (PDUs) are not described yet.";

static const struct argp_option options[] = {
    {"of", KEY_OF, "NAME", 0,
     "Only this switch, node, rack, row or hall; may be given more than once", 0},
    {0}};

struct fault_options {
    struct sand_cli_load load;
    const char **names;
    size_t n, capacity;
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
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_header(double healthy_Bps)
{
    char value[48];
    printf("bisection, healthy: %s\n", sand_cli_bandwidth(healthy_Bps, value));
    printf("%-24s %7s %9s %8s %8s %8s %12s %9s\n", "domain", "alike", "switches", "dead", "cut off",
           "slower", "bisection", "of whole");
}

static void print_domain(const struct sand_graph *g, const struct sand_fault_domain *d,
                         double healthy_Bps)
{
    char name[48], value[48], share[48];
    printf("%-24s %7" PRIu32 " %9" PRIu32 " %8" PRIu32 " %8" PRIu32 " %8" PRIu32 " %12s %9s\n",
           sand_fault_domain_name(g, d, name, sizeof name), d->n_alike, d->n_switches,
           d->effect.nodes_dead, d->effect.nodes_cut, d->effect.nodes_slow,
           sand_cli_bandwidth(d->effect.bisection_Bps, value),
           sand_cli_percent(d->effect.bisection_Bps, healthy_Bps, share));
}

static enum sand_rc print_named(const struct sand_experiment *experiment,
                                const struct sand_graph *graph, const struct fault_options *faults,
                                double healthy_Bps, struct sand_diag *diag)
{
    for (size_t i = 0; i < faults->n; i++) {
        struct sand_fault_domain domain;
        SAND_TRY(
            sand_fault_domain_find(graph, &experiment->cluster, faults->names[i], &domain, diag));
        if (i == 0)
            print_header(healthy_Bps);
        print_domain(graph, &domain, healthy_Bps);
    }
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
    if (faults->n > 0)
        return print_named(experiment, graph, faults, healthy.value_Bps, diag);
    SAND_TRY(sand_fault_domains(graph, &experiment->cluster, &domains, &n, diag));
    print_header(healthy.value_Bps);
    for (unsigned kind = 0; kind < SAND_DOMAIN_KINDS; kind++)
        for (size_t i = 0; i < n; i++)
            if (domains[i].kind == (enum sand_domain_kind)kind)
                print_domain(graph, &domains[i], healthy.value_Bps);
    sand_free(domains);
    return SAND_OK;
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
