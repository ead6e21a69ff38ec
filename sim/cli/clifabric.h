// The sub-verbs of `sandtable fabric`; each stands in a file of its own,
// sim/cli/verb_fabric_NAME.c. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_CLIFABRIC_H
#define SAND_SIM_CLI_CLIFABRIC_H

#include "cli.h"
#include "graph.h"

extern const struct sand_verb sand_verb_fabric_show, sand_verb_fabric_parts, sand_verb_fabric_check,
    sand_verb_fabric_cut, sand_verb_fabric_faults;

// Reads the experiment, builds the switch graph of its cluster and hands both to `work`; messages
// go to stderr.
typedef enum sand_rc sand_cli_graph_fn(const struct sand_experiment *experiment,
                                       const struct sand_graph *graph, void *input,
                                       struct sand_diag *diag);
enum sand_rc sand_cli_with_graph(const struct sand_cli_load *load, sand_cli_graph_fn *work,
                                 void *input);

// "12.8 TB/s" and "1.63 %" of a whole, "-" of nothing; the buffers hold 48 bytes.
char *sand_cli_bandwidth(double Bps, char *buffer);
char *sand_cli_percent(double part, double whole, char *buffer);

// What every sub-verb means by a bisection, in words.
extern const char sand_cli_bisection_is[];
// Why there is none.
const char *sand_cli_no_bisection(uint32_t n_nodes);

// Whether the argument of --format asks for JSON; anything but text and json ends the program.
int sand_cli_is_json(struct argp_state *state, const char *format);

// The line of a sub-verb that takes an experiment and --format. sand_cli_load_clear the load.
struct sand_cli_cluster_options {
    struct sand_cli_load load;
    int is_json;
};
void sand_cli_parse_on_cluster(int argc, char **argv, const char *doc,
                               struct sand_cli_cluster_options *asked);

// A sub-verb that takes an experiment and --format: parses the line, loads, calls `work` with the
// cluster, prints what is to be said.
typedef enum sand_rc sand_cli_cluster_fn(const struct sand_cluster *cluster, int is_json,
                                         struct sand_diag *diag);
enum sand_rc sand_cli_run_on_cluster(int argc, char **argv, const char *doc,
                                     sand_cli_cluster_fn *work);

#endif
