// Reduction trees: the ways of all NICs to one of them, joined where they meet.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricreduce.h"

#include <inttypes.h>
#include <stdlib.h>

#include "fabricwiring.h"
#include "ids.h"
#include "mem.h"

struct grower {
    struct sand_fabric fabric; // routes as a tree does: by destination, rails apart
    // Of a vertex, index + 1 of the link that leaves it towards the first NIC, and of the one that
    // comes down to it. 0: none.
    uint32_t *leaves, *from_above;
    struct sand_reduction_tree *tree;
    size_t capacity;
};

static enum sand_rc open_grower(struct grower *g, const struct sand_fabric *fabric,
                                struct sand_reduction_tree *tree)
{
    const uint32_t n = fabric->n_endpoints + fabric->n_switches;
    *g = (struct grower){.fabric = *fabric, .tree = tree};
    g->fabric.cross_rail = SAND_CROSS_RAIL_SPINE;
    if (!sand_fabric_is_aggregate(fabric))
        g->fabric.spreading = SAND_SPREAD_STATIC;
    g->leaves = sand_calloc(n, sizeof *g->leaves);
    g->from_above = sand_calloc(n, sizeof *g->from_above);
    return g->leaves && g->from_above ? SAND_OK : SAND_ERR_NOMEM;
}

static void close_grower(struct grower *g)
{
    sand_free(g->leaves);
    sand_free(g->from_above);
}

// The choice of spine and core, from `choice` on, whose ways all work; else each NIC's own way.
static uint32_t usable_choice(const struct grower *g, const uint32_t *nics, uint32_t n,
                              uint32_t choice)
{
    const uint32_t attempts = g->fabric.wiring->attempts(&g->fabric);
    uint32_t links[SAND_ROUTE_MAX];
    for (uint32_t a = 0; a < attempts; a++) {
        const uint32_t tried = (choice + a) % attempts;
        uint32_t i = 1;
        for (int works = 1; i < n && works; i += works ? 1 : 0) {
            const uint32_t length =
                g->fabric.wiring->route(&g->fabric, nics[i], nics[0], 0, tried, links);
            works = length != SAND_NONE && fabric_route_works(&g->fabric, links, length);
        }
        if (i >= n)
            return tried;
    }
    return SAND_NONE;
}

// Adds the way of one NIC until it meets the tree.
static enum sand_rc join(struct grower *g, const uint32_t *links, uint32_t n)
{
    uint32_t ends[2];
    for (uint32_t i = 0; i < n; i++) {
        sand_fabric_ends(&g->fabric, links[i], ends);
        if (g->leaves[ends[0]] != 0)
            return SAND_OK;
        SAND_TRY(sand_grow((void **)&g->tree->links, &g->capacity, g->tree->n_links + 1,
                           sizeof *g->tree->links));
        g->tree->links[g->tree->n_links++] = links[i];
        g->leaves[ends[0]] = (uint32_t)g->tree->n_links;
        if (g->fabric.links[links[i]].link_class % 2 != 0)
            g->from_above[ends[1]] = (uint32_t)g->tree->n_links;
    }
    return SAND_OK;
}

static enum sand_rc refuse(const struct sand_fabric *f, uint32_t from, uint32_t to,
                           struct sand_diag *diag)
{
    const uint32_t per = f->nics_per_node;
    return sand_fail(diag, SAND_ERR_INPUT,
                     "no tree of switches reduces for node%" PRIu32 " nic%" PRIu32
                     " and node%" PRIu32 " nic%" PRIu32
                     ": nothing of the network that works joins them",
                     from / per, from % per, to / per, to % per);
}

static enum sand_rc grow(struct grower *g, const uint32_t *nics, uint32_t n, uint32_t choice,
                         struct sand_diag *diag)
{
    const uint32_t chosen = usable_choice(g, nics, n, choice);
    uint32_t links[SAND_ROUTE_MAX];
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t length =
            chosen == SAND_NONE
                ? sand_fabric_route(&g->fabric, nics[i], nics[0], links)
                : g->fabric.wiring->route(&g->fabric, nics[i], nics[0], 0, chosen, links);
        if (length == SAND_NONE || length == 0)
            return refuse(&g->fabric, nics[i], nics[0], diag);
        SAND_TRY(join(g, links, length));
    }
    return SAND_OK;
}

// The tree hangs from its first NIC: what comes down to that from the topmost switch is turned
// round.
static void turn_over(struct grower *g, uint32_t first_nic)
{
    uint32_t at = first_nic, ends[2];
    while (g->from_above[at] != 0) {
        const uint32_t index = g->from_above[at];
        uint32_t *link = &g->tree->links[index - 1];
        sand_fabric_ends(&g->fabric, *link, ends);
        *link = sand_fabric_reverse(&g->fabric, *link);
        g->leaves[at] = index;
        at = ends[0];
    }
    g->tree->root = at;
}

static uint32_t height_of(const struct grower *g, const uint32_t *nics, uint32_t n)
{
    uint32_t highest = 0, ends[2];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t hops = 0;
        for (uint32_t at = nics[i]; at != g->tree->root; at = ends[1], hops++)
            sand_fabric_ends(&g->fabric, g->tree->links[g->leaves[at] - 1], ends);
        highest = hops > highest ? hops : highest;
    }
    return highest;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

enum sand_rc sand_fabric_reduction_tree(const struct sand_fabric *fabric, const uint32_t *nics,
                                        uint32_t n, uint32_t tree,
                                        struct sand_reduction_tree *result, struct sand_diag *diag)
{
    struct grower g;
    *result = (struct sand_reduction_tree){.root = SAND_NONE};
    if (!fabric->sharp)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "the switches of this fabric do not reduce; write sharp=\"yes\" if they "
                         "can");
    if (n < 2)
        return sand_fail(diag, SAND_ERR_INPUT, "a reduction needs at least 2 NICs, not %" PRIu32,
                         n);
    enum sand_rc rc = open_grower(&g, fabric, result);
    if (rc == SAND_OK)
        rc = grow(&g, nics, n, tree, diag);
    if (rc == SAND_OK) {
        turn_over(&g, nics[0]);
        result->height = height_of(&g, nics, n);
        qsort(result->links, result->n_links, sizeof *result->links, by_number);
    } else {
        sand_reduction_tree_free(result);
    }
    close_grower(&g);
    return rc == SAND_ERR_NOMEM ? sand_fail(diag, rc, "no memory for a reduction tree") : rc;
}

void sand_reduction_tree_free(struct sand_reduction_tree *tree)
{
    sand_free(tree->links);
    *tree = (struct sand_reduction_tree){.root = SAND_NONE};
}
