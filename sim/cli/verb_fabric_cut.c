// sandtable fabric cut: what can cross the middle of the fabric, or from one group of nodes to
// another. SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "clifabric.h"
#include "json.h"
#include "mem.h"
#include "noderange.h"

enum { KEY_FROM = 256, KEY_TO, KEY_FORMAT };

static const char doc[] =
    "Examples:\n"
    "  sandtable fabric cut experiment.xml\n"
    "  sandtable fabric cut experiment.xml --from=0-127 --to=4096-4223\n"
    "\n"
    "Prints the minimum cut between two halves of the nodes: the first half of the pods against "
    "the "
    "second (of the leaves, with one pod), or two lists of nodes. The value is the bandwidth of "
    "one "
    "direction; NICs count with their rate, so a cut is never more than the smaller side can send.";

static const struct argp_option options[] = {
    {"from", KEY_FROM, "A-B,...", 0, "Nodes of one side, such as 0-127,256-383", 0},
    {"to", KEY_TO, "A-B,...", 0, "Nodes of the other side", 0},
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default) or json", 0},
    {0}};

struct cut_options {
    struct sand_cli_load load;
    const char *sides[2]; // --from and --to; NULL: the halves of the bisection
    int is_json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct cut_options *cut = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &cut->load;
        return 0;
    case KEY_FROM:
        cut->sides[0] = arg;
        return 0;
    case KEY_TO:
        cut->sides[1] = arg;
        return 0;
    case KEY_FORMAT:
        cut->is_json = sand_cli_is_json(state, arg);
        return 0;
    case ARGP_KEY_END:
        if ((cut->sides[0] == NULL) != (cut->sides[1] == NULL))
            argp_error(state, "--from and --to belong together");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum sand_rc mark_side(const char *option, const char *text, enum sand_side side,
                              uint32_t n_nodes, uint8_t *sides, struct sand_diag *diag)
{
    do {
        uint32_t first, last;
        SAND_TRY(sand_cli_next_nodes(option, &text, n_nodes, &first, &last, diag));
        for (uint32_t i = first; i <= last; i++) {
            if (sides[i] != SAND_SIDE_NONE && sides[i] != side)
                return sand_fail(diag, SAND_ERR_USAGE, "node %" PRIu32 " is on both sides", i);
            sides[i] = (uint8_t)side;
        }
    } while (*text != '\0');
    return SAND_OK;
}

static enum sand_rc mark_sides(const struct sand_graph *g, const struct cut_options *asked,
                               uint8_t *sides, struct sand_diag *diag)
{
    if (asked->sides[0] == NULL) {
        sand_graph_halves(g, sides);
        return SAND_OK;
    }
    SAND_TRY(mark_side("--from", asked->sides[0], SAND_SIDE_A, g->n_nodes, sides, diag));
    return mark_side("--to", asked->sides[1], SAND_SIDE_B, g->n_nodes, sides, diag);
}

static void print_text(const struct sand_graph *g, const struct sand_graph_cut *cut)
{
    char value[48], most[48], share[48];
    printf("NICs on the two sides   %" PRIu32 " and %" PRIu32 "\n", cut->endpoints[0],
           cut->endpoints[1]);
    printf("they can send           %s\n", sand_cli_bandwidth(cut->injection_Bps, most));
    if (!(cut->value_Bps > 0)) {
        printf("minimum cut             none: %s\n",
               cut->injection_Bps > 0 ? "no network joins the sides"
                                      : "no NIC of one side works, or one side has none");
        return;
    }
    printf("minimum cut             %s, %s of it\n", sand_cli_bandwidth(cut->value_Bps, value),
           sand_cli_percent(cut->value_Bps, cut->injection_Bps, share));
    printf("a least cut lies at     ");
    const char *comma = "";
    for (unsigned t = 0; t < SAND_TIERS; t++)
        if (cut->n_cut[t] > 0) {
            printf("%s%" PRIu32 " bundles above a %s", comma, cut->n_cut[t],
                   g->kind == SAND_FABRIC_DRAGONFLY || g->kind == SAND_FABRIC_TORUS
                       ? "router"
                       : sand_tier_name((enum sand_tier)t));
            comma = ", ";
        }
    if (cut->n_cut_nics > 0)
        printf("%sthe NICs of %" PRIu32 " switches", comma, cut->n_cut_nics);
    printf("\n");
}

static void print_json(const struct sand_graph_cut *cut)
{
    printf("{\"value_Bps\": ");
    sand_json_number(stdout, cut->value_Bps);
    printf(", \"injection_Bps\": ");
    sand_json_number(stdout, cut->injection_Bps);
    printf(", \"endpoints\": [%" PRIu32 ", %" PRIu32 "]}\n", cut->endpoints[0], cut->endpoints[1]);
}

static enum sand_rc cut_graph(const struct sand_experiment *experiment,
                              const struct sand_graph *graph, void *input, struct sand_diag *diag)
{
    const struct cut_options *asked = input;
    struct sand_graph_cut cut;
    (void)experiment;
    uint8_t *sides = sand_calloc(graph->n_nodes, 1);
    if (!sides)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    enum sand_rc rc = mark_sides(graph, asked, sides, diag);
    if (rc == SAND_OK)
        rc = sand_graph_cut(graph, sides, NULL, &cut, diag);
    sand_free(sides);
    if (rc == SAND_OK && asked->is_json)
        print_json(&cut);
    else if (rc == SAND_OK)
        print_text(graph, &cut);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&sand_cli_load_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options, parse, "EXPERIMENT.xml", doc, children, NULL, NULL};
    struct cut_options cut = {0};
    sand_cli_parse(&argp, argc, argv, &cut);
    enum sand_rc rc = sand_cli_with_graph(&cut.load, cut_graph, &cut);
    sand_cli_load_clear(&cut.load);
    return rc;
}

const struct sand_verb sand_verb_fabric_cut = {"cut", "the bandwidth between two halves", run};
