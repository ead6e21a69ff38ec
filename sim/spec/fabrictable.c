// Field tables of the fabrics: one element per way of wiring, all into struct sand_fabric_spec.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricfields.h"

// What the builder of dragonflies takes of each.
enum { MOST = 65536 };

// ---- trees ----

static const struct spec_field fat_tree_fields[] = {
    {.name = "tiers",
     SPEC_MEMBER(SPEC_U32, struct sand_fabric_spec, n_tiers),
     .dim = SAND_DIM_COUNT,
     .range = {2, 3, 0, 0},
     .doc = "2 (leaf, spine) or 3 (leaf, spine, core)."},
    RADIX,
    BREAKOUT,
    {.name = "endpoints_per_leaf",
     SPEC_SIZE(struct sand_fabric_spec, endpoints_per_leaf),
     .doc = "Node ports below one leaf switch."},
    LEAF_OVERSUBSCRIPTION,
    {.name = "leaves_per_pod",
     SPEC_WHOLE(struct sand_fabric_spec, leaves_per_pod),
     SPEC_PRESET("0"),
     .doc = "Leaves in a pod; needed with 3 tiers, 0 with 2."},
    POD_OVERSUBSCRIPTION,
    SPINES("Spine switches, with 3 tiers per pod; 0: from the radix."),
    CORES,
    PLANES,
    SPREADING("even"),
    ADAPTIVE,
    HASH,
    LOSS,
    CONVERGENCE,
    SHARP,
    LATENCY,
    TIER_LATENCIES,
    CABLES,
    LINK,
};

static const struct spec_field rail_optimised_fields[] = {
    {.name = "tiers",
     SPEC_MEMBER(SPEC_U32, struct sand_fabric_spec, n_tiers),
     .dim = SAND_DIM_COUNT,
     .range = {2, 3, 0, 0},
     .doc = "2 (leaf, spine) or 3 (leaf, spine, core)."},
    {.name = "nodes_per_unit",
     SPEC_SIZE(struct sand_fabric_spec, nodes_per_unit),
     .doc = "Nodes of a scalable unit; its leaf j serves port j of every one."},
    RADIX,
    BREAKOUT,
    LEAF_OVERSUBSCRIPTION,
    {.name = "units_per_pod",
     SPEC_WHOLE(struct sand_fabric_spec, units_per_pod),
     SPEC_PRESET("0"),
     .doc = "Scalable units in a pod; needed with 3 tiers, 0 with 2."},
    POD_OVERSUBSCRIPTION,
    SPINES("Spine switches, with 3 tiers per pod; 0: from the radix."),
    CORES,
    PLANES,
    {.name = "cross_rail",
     SPEC_MEMBER(SPEC_WORD, struct sand_fabric_spec, cross_rail),
     .words = cross_rails,
     SPEC_PRESET("scaleup"),
     .doc = "Traffic between two rails: over the sender's scale-up domain to its port on the "
            "receiver's rail (NCCL's PXN; nodes without a domain use the spines), or over the "
            "spines."},
    SPREADING("even"),
    ADAPTIVE,
    HASH,
    LOSS,
    CONVERGENCE,
    SHARP,
    LATENCY,
    TIER_LATENCIES,
    CABLES,
    LINK,
};

static const struct spec_field rail_only_fields[] = {
    {.name = "tiers",
     SPEC_MEMBER(SPEC_U32, struct sand_fabric_spec, n_tiers),
     .dim = SAND_DIM_COUNT,
     .range = {1, 2, 0, 0},
     .doc = "Of every rail: 1 (one leaf) or 2 (leaves and spines of its own)."},
    {.name = "nodes_per_unit",
     SPEC_SIZE(struct sand_fabric_spec, nodes_per_unit),
     .doc = "Nodes below one leaf of every rail."},
    RADIX,
    BREAKOUT,
    LEAF_OVERSUBSCRIPTION,
    SPINES("Spine switches of a rail, 2 tiers; 0: from the radix."),
    PLANES,
    SPREADING("even"),
    ADAPTIVE,
    HASH,
    LOSS,
    CONVERGENCE,
    SHARP,
    LATENCY,
    TIER_LATENCIES,
    CABLES,
    LINK,
};

static const struct spec_field leaf_group_fields[] = {
    {.name = "nodes",
     SPEC_SIZE(struct sand_leaf_group, n_nodes),
     .doc = "Nodes below each of these leaves; of rails: in each of these units."},
    {.name = "leaves",
     SPEC_SIZE(struct sand_leaf_group, n_leaves),
     SPEC_PRESET("1"),
     .doc = "How many follow each other; of rails: units."},
};

const struct spec_element spec_leaf_group = {
    .name = "leaf_group",
    .key = "leaf_group",
    FIELDS(leaf_group_fields),
    .size = sizeof(struct sand_leaf_group),
    .doc = "Leaves with fewer nodes than they are wired for, in order. With any of these, they "
           "list every leaf of the tree. A leaf keeps the uplinks of a full one."};

static const struct spec_child tree_children[] = {
    {.element = &spec_leaf_group,
     .place = SPEC_ARRAY,
     .offset = offsetof(struct sand_fabric_spec, leaf_groups),
     .count_offset = offsetof(struct sand_fabric_spec, n_leaf_groups)},
};

static int is_fat_tree(const void *model)
{
    return is_kind(model, SAND_FABRIC_FAT_TREE);
}

static int is_rail_optimised(const void *model)
{
    return is_kind(model, SAND_FABRIC_RAIL_OPTIMISED);
}

static int is_rail_only(const void *model)
{
    return is_kind(model, SAND_FABRIC_RAIL_ONLY);
}

const struct spec_element spec_fat_tree = {
    ELEMENT(fat_tree), .children = tree_children, .n_children = SPEC_COUNT(tree_children),
    .doc = "A fat tree of two or three tiers. Oversubscription is down:up and cumulative, as "
           "operators state it."};

const struct spec_element spec_rail_optimised = {
    ELEMENT(rail_optimised), .children = tree_children, .n_children = SPEC_COUNT(tree_children),
    .doc = "A tree whose leaves are rails: in every scalable unit leaf j serves port j of all "
           "nodes. Traffic of a rail inside a unit crosses one switch."};

const struct spec_element spec_rail_only = {
    ELEMENT(rail_only), .children = tree_children, .n_children = SPEC_COUNT(tree_children),
    .doc = "Every rail is a network of its own: nothing but the nodes' scale-up domains joins "
           "two rails."};

// ---- direct networks ----

// Of both kinds of dragonfly.
#define NONMINIMAL                                                                                 \
    {                                                                                              \
        .name = "nonminimal",                                                                      \
        SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_fabric_spec, nonminimal), SPEC_PRESET("0"),   \
        .doc = "Share of the flows (hash: of the queue pairs) between two groups that go over a "  \
               "third one, picked by a hash: 0: minimal routing; 1: Valiant's; between: what "     \
               "adaptive routing was seen, or is assumed, to divert. Not with aggregated paths."   \
    }

static const struct spec_field dragonfly_plus_fields[] = {
    {.name = "global_links",
     SPEC_WITHIN(1, MOST, struct sand_fabric_spec, global_links),
     .doc = "Links of a spine to other groups, h."},
    {.name = "spines",
     SPEC_WITHIN(0, MOST, struct sand_fabric_spec, spines),
     SPEC_PRESET("0"),
     .doc = "Spines of a group; 0: h (balanced)."},
    {.name = "leaves",
     SPEC_WITHIN(0, MOST, struct sand_fabric_spec, leaves_per_pod),
     SPEC_PRESET("0"),
     .doc = "Leaves of a group, each joined to every spine of it; 0: h (balanced)."},
    {.name = "endpoints_per_leaf",
     SPEC_WITHIN(0, MOST, struct sand_fabric_spec, endpoints_per_leaf),
     SPEC_PRESET("0"),
     .doc = "Node ports below a leaf; 0: h (balanced)."},
    {.name = "leaf_links",
     SPEC_WITHIN(1, MOST, struct sand_fabric_spec, leaf_links),
     SPEC_PRESET("1"),
     .doc = "Cables between a leaf and a spine."},
    {.name = "groups",
     SPEC_WITHIN(0, MOST, struct sand_fabric_spec, groups),
     SPEC_PRESET("0"),
     .doc = "Groups, all joined by spines x h / (groups - 1) cables, rounded down; 0: spines x h + "
            "1, the most, or 65536."},
    RADIX,
    BREAKOUT,
    SPREADING("even"),
    ADAPTIVE,
    HASH,
    NONMINIMAL,
    LOSS,
    CONVERGENCE,
    LATENCY,
    TIER_LATENCIES,
    CABLES,
    LINK,
};

static const struct spec_field dragonfly_fields[] = {
    {.name = "global_links",
     SPEC_WITHIN(1, MOST, struct sand_fabric_spec, global_links),
     .doc = "Links of a router to other groups, h."},
    {.name = "routers",
     SPEC_WITHIN(0, MOST, struct sand_fabric_spec, routers),
     SPEC_PRESET("0"),
     .doc = "Routers of a group, all joined, a; 0: 2h (balanced), at most 65536."},
    {.name = "endpoints_per_router",
     SPEC_WITHIN(0, MOST, struct sand_fabric_spec, endpoints_per_router),
     SPEC_PRESET("0"),
     .doc = "Node ports of a router, p; 0: h (balanced)."},
    {.name = "groups",
     SPEC_WITHIN(0, MOST, struct sand_fabric_spec, groups),
     SPEC_PRESET("0"),
     .doc = "Groups, all joined by ah / (groups - 1) cables, rounded down; 0: ah + 1, "
            "the most, or 65536."},
    RADIX,
    BREAKOUT,
    SPREADING("static"),
    HASH,
    NONMINIMAL,
    LOSS,
    CONVERGENCE,
    LATENCY,
    CABLES,
    LINK,
};

// The longest way, half of each side rounded down, has at most 118 links (SAND_ROUTE_MAX and what a
// way around a failure takes); the ranges are what that leaves to a side.
static const struct spec_field torus_fields[] = {
    {.name = "x",
     SPEC_WITHIN(2, 235, struct sand_fabric_spec, size[0]),
     .doc = "Places in the first dimension."},
    {.name = "y",
     SPEC_WITHIN(2, 235, struct sand_fabric_spec, size[1]),
     .doc = "Places in the second."},
    {.name = "z",
     SPEC_WITHIN(1, 233, struct sand_fabric_spec, size[2]),
     SPEC_PRESET("1"),
     .doc = "Places in the third; 1: a torus of two dimensions."},
    {.name = "block",
     SPEC_WITHIN(0, 79, struct sand_fabric_spec, block),
     SPEC_PRESET("0"),
     .doc = "Side of the cubes that the torus is made of, numbered cube after cube (TPU v4: 4); 0: "
            "none. A job takes whole cubes, or part of one."},
    {.name = "circuits",
     SPEC_MEMBER(SPEC_YESNO, struct sand_fabric_spec, circuits),
     SPEC_PRESET("yes"),
     .doc =
         "Optical circuit switches join the cubes' faces: a job's cubes, wherever they stand, are "
         "a torus of its own, and a cube that fails is switched for another. no: cables join "
         "them as they stand, and a job takes neighbours that form a box."},
    {.name = "twisted",
     SPEC_MEMBER(SPEC_YESNO, struct sand_fabric_spec, twisted),
     SPEC_PRESET("no"),
     .doc = "Sides of n and 2n (4x4x8, 4x8x8): what closes a ring of n also leads n places on in "
            "every dimension of 2n, which shortens the ways and doubles the bisection (TPU v4: "
            "Jouppi et al., ISCA 2023). With circuits every job's torus is, whose shape allows it; "
            "without, the torus as described, which must."},
    {.name = "switching",
     SPEC_QUANTITY(SAND_DIM_TIME, struct sand_fabric_spec, switching_s),
     .need = SPEC_OPTIONAL,
     .unset = -1,
     .doc = "From the decision to bring another cube into a job's torus until its circuits carry "
            "traffic; added to the restart. Needed with circuits where nodes fail in time, without "
            "a default."},
    LOSS,
    CONVERGENCE,
    LATENCY,
    CABLES,
    LINK,
};

static int is_dragonfly_plus(const void *model)
{
    return is_kind(model, SAND_FABRIC_DRAGONFLY_PLUS);
}

static int is_dragonfly(const void *model)
{
    return is_kind(model, SAND_FABRIC_DRAGONFLY);
}

static int is_torus(const void *model)
{
    return is_kind(model, SAND_FABRIC_TORUS);
}

const struct spec_element spec_dragonfly_plus = {
    ELEMENT(dragonfly_plus),
    .doc = "Groups that are two-level trees, all joined by their spines (dragonfly+, megafly)."};

const struct spec_element spec_dragonfly = {
    ELEMENT(dragonfly),
    .doc = "Groups of routers that are all joined; routing static or hashed over the cables "
           "between two groups."};

const struct spec_element spec_torus = {
    ELEMENT(torus),
    .doc = "Every node port is a place of a torus (x fastest) with two links per dimension; "
           "routes go dimension after dimension, the short way round. The longest has at most 118 "
           "links: half of each side, rounded down."};

// ---- what is broken ----

static const struct spec_field impaired_fields[] = {
    {.name = "part",
     SPEC_MEMBER(SPEC_TEXT, struct sand_impaired, part),
     .doc =
         "A switch (leaf3, spine3, core3, router3: numbered plane after plane), or one direction "
         "of a link as messages name it (node3 nic1 up, leaf3 up, leaf3-spine1 up), which "
         "stands for both."},
    {.name = "speed",
     SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_impaired, speed),
     SPEC_PRESET("0"),
     .doc = "Share of the link's rate that is left (degraded lanes); 0: down."},
    {.name = "loss",
     SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_impaired, loss),
     SPEC_BELOW_ONE,
     SPEC_PRESET("0"),
     .doc = "Packets lost on the link, beside the fabric's own loss; needs the fabric's "
            "loss_window."},
};

const struct spec_element spec_impaired = {
    .name = "impaired",
    .key = "impaired",
    FIELDS(impaired_fields),
    .size = sizeof(struct sand_impaired),
    .doc = "A switch or link that is down, slow or lossy for the whole experiment. Routes avoid "
           "what is down."};
