// Field tables of the fabrics: one element per way of wiring, all into struct sand_fabric_spec.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster.h"
#include "speccheck.h"
#include "spectable.h"

#define FIELDS(array) .fields = (array), .n_fields = SPEC_COUNT(array)

static const char *const spreadings[] = {[SAND_SPREAD_EVEN] = "even",
                                         [SAND_SPREAD_STATIC] = "static",
                                         [SAND_SPREAD_ADAPTIVE] = "adaptive",
                                         [SAND_SPREAD_HASH] = "hash",
                                         NULL};
static const char *const cross_rails[] = {
    [SAND_CROSS_RAIL_SCALEUP] = "scaleup", [SAND_CROSS_RAIL_SPINE] = "spine", NULL};

// What the builder of dragonflies takes of each.
enum { MOST = 65536 };

static const char *const latencies[] = {
    [SAND_LATENCY_LINK] = "link", [SAND_LATENCY_ROUTE] = "route", NULL};

// ---- what several have ----

#define RADIX                                                                                      \
    {                                                                                              \
        .name = "radix", SPEC_WHOLE(struct sand_fabric_spec, radix), SPEC_PRESET("0"),             \
        .doc = "Ports of every switch; 0: unlimited (chassis)."                                    \
    }

#define LEAF_OVERSUBSCRIPTION                                                                      \
    {                                                                                              \
        .name = "leaf_oversubscription",                                                           \
        SPEC_QUANTITY(SAND_DIM_RATIO, struct sand_fabric_spec, leaf_oversubscription),             \
        SPEC_POSITIVE, SPEC_PRESET("1"),                                                           \
        .doc = "Bandwidth of the node ports below a leaf over that of its uplinks."                \
    }

#define POD_OVERSUBSCRIPTION                                                                       \
    {                                                                                              \
        .name = "pod_oversubscription",                                                            \
        SPEC_QUANTITY(SAND_DIM_RATIO, struct sand_fabric_spec, pod_oversubscription),              \
        SPEC_POSITIVE, SPEC_PRESET("1"),                                                           \
        .doc = "Bandwidth of the node ports in a pod over that of its uplinks; 3 tiers."           \
    }

#define SPINES(text)                                                                               \
    {                                                                                              \
        .name = "spines", SPEC_WHOLE(struct sand_fabric_spec, spines), SPEC_PRESET("0"),           \
        .doc = text                                                                                \
    }

#define CORES                                                                                      \
    {                                                                                              \
        .name = "cores", SPEC_WHOLE(struct sand_fabric_spec, cores), SPEC_PRESET("0"),             \
        .doc = "Core switches, 3 tiers; 0: from the radix."                                        \
    }

#define PLANES                                                                                     \
    {                                                                                              \
        .name = "planes", SPEC_SIZE(struct sand_fabric_spec, planes), SPEC_PRESET("1"),            \
        .doc =                                                                                     \
            "Copies of the tree: a port of the node has 1/planes of its rate in each. The other "  \
            "attributes describe one plane."                                                       \
    }

#define SPREADING(preset_text)                                                                     \
    {                                                                                              \
        .name = "spreading", SPEC_MEMBER(SPEC_WORD, struct sand_fabric_spec, spreading),           \
        .words = spreadings, SPEC_PRESET(preset_text),                                             \
        .doc = "How flows use equal-cost paths: evenly; each by its destination's index; "         \
               "adaptively, "                                                                      \
               "at an efficiency; or every queue pair by a hash."                                  \
    }

#define ADAPTIVE                                                                                   \
    {                                                                                              \
        .name = "adaptive_efficiency",                                                             \
        SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_fabric_spec, adaptive_efficiency),            \
        .need = SPEC_OPTIONAL, SPEC_POSITIVE,                                                      \
        .doc =                                                                                     \
            "Share of the capacity between switches that adaptive routing reaches; needed with "   \
            "spreading=\"adaptive\", without a default."                                           \
    }

#define HASH                                                                                       \
    {.name = "hash_seed",                                                                          \
     SPEC_WHOLE(struct sand_fabric_spec, hash_seed),                                               \
     SPEC_PRESET("0"),                                                                             \
     .doc = "Seed of the switches' hash."},                                                        \
        {.name = "queue_pairs",                                                                    \
         SPEC_WITHIN(0, 4096, struct sand_fabric_spec, queue_pairs),                               \
         SPEC_PRESET("0"),                                                                         \
         .doc = "Queue pairs that share a flow evenly, each on its own path; needed with "         \
                "spreading=\"hash\"."},                                                            \
    {                                                                                              \
        .name = "hash_polarised",                                                                  \
        SPEC_MEMBER(SPEC_YESNO, struct sand_fabric_spec, hash_polarised), SPEC_PRESET("no"),       \
        .doc = "Every tier hashes alike, so that tiers choose together."                           \
    }

#define LOSS                                                                                       \
    {.name = "loss",                                                                               \
     SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_fabric_spec, loss),                              \
     SPEC_BELOW_ONE,                                                                               \
     SPEC_PRESET("0"),                                                                             \
     .doc = "Packets lost on every network link; its goodput falls to (1-p)/(1-p+pW) by "          \
            "go-back-N."},                                                                         \
    {                                                                                              \
        .name = "loss_window",                                                                     \
        SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_fabric_spec, loss_window), SPEC_PRESET("0"),    \
        .doc = "Packets in flight, W = rate x round trip / packet size; needed with a loss."       \
    }

#define LATENCY                                                                                    \
    {                                                                                              \
        .name = "latency", SPEC_MEMBER(SPEC_WORD, struct sand_fabric_spec, latency),               \
        .words = latencies, SPEC_PRESET("link"),                                                   \
        .doc = "Latency of a way: link: what the ports' link type measured, wherever it goes; "    \
               "route: beyond that, every switch after the first (the link's switch_latency) and " \
               "every metre of cable (its metre_latency)."                                         \
    }

#define TIER_LATENCIES                                                                             \
    {.name = "spine_latency",                                                                      \
     SPEC_QUANTITY(SAND_DIM_TIME, struct sand_fabric_spec, spine_latency_s),                       \
     SPEC_PRESET("0s"),                                                                            \
     .doc = "Time in a spine beyond that of the link's switches: deep buffers, distance."},        \
    {                                                                                              \
        .name = "core_latency",                                                                    \
        SPEC_QUANTITY(SAND_DIM_TIME, struct sand_fabric_spec, core_latency_s), SPEC_PRESET("0s"),  \
        .doc = "The same in a core."                                                               \
    }

#define CONVERGENCE                                                                                \
    {                                                                                              \
        .name = "convergence",                                                                     \
        SPEC_QUANTITY(SAND_DIM_TIME, struct sand_fabric_spec, convergence_s),                      \
        .need = SPEC_OPTIONAL, .unset = -1,                                                        \
        .doc = "From a failure to routes that avoid it; until then what is on its way waits. "     \
               "Needed where links fail in time, without a default."                               \
    }

#define SHARP                                                                                      \
    {                                                                                              \
        .name = "sharp", SPEC_MEMBER(SPEC_YESNO, struct sand_fabric_spec, sharp),                  \
        SPEC_PRESET("no"),                                                                         \
        .doc = "The switches reduce: an all-reduce sends its buffer once up a tree of switches "   \
               "and once down. Needs a link whose switches can."                                   \
    }

#define CABLES                                                                                     \
    {.name = "node_cable",                                                                         \
     SPEC_QUANTITY(SAND_DIM_LENGTH, struct sand_fabric_spec, node_cable_m),                        \
     SPEC_PRESET("0m"),                                                                            \
     .doc = "Mean length of a cable from node to switch; 0m: not given. Lengths count for the "    \
            "list of parts."},                                                                     \
        {.name = "leaf_cable",                                                                     \
         SPEC_QUANTITY(SAND_DIM_LENGTH, struct sand_fabric_spec, leaf_cable_m),                    \
         SPEC_PRESET("0m"),                                                                        \
         .doc = "Mean length of a cable from leaf to spine, inside a group or a cube."},           \
    {                                                                                              \
        .name = "core_cable",                                                                      \
        SPEC_QUANTITY(SAND_DIM_LENGTH, struct sand_fabric_spec, core_cable_m), SPEC_PRESET("0m"),  \
        .doc = "Mean length of a cable from spine to core, between groups, or to a circuit "       \
               "switch."                                                                           \
    }

#define LINK                                                                                       \
    {.name = "link",                                                                               \
     SPEC_REFERENCE(SPEC_LINK, struct sand_fabric_spec, link),                                     \
     .doc = "Link between switches."},                                                             \
    {                                                                                              \
        .name = "link_rate", SPEC_EXTRA(SAND_DIM_BANDWIDTH, 0), .need = SPEC_OPTIONAL,             \
        SPEC_POSITIVE, .doc = "Replaces the rate of that link."                                    \
    }

// ---- trees ----

static const struct spec_field fat_tree_fields[] = {
    {.name = "tiers",
     SPEC_MEMBER(SPEC_U32, struct sand_fabric_spec, n_tiers),
     .dim = SAND_DIM_COUNT,
     .range = {2, 3, 0, 0},
     .doc = "2 (leaf, spine) or 3 (leaf, spine, core)."},
    RADIX,
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

static int is_kind(const void *model, enum sand_fabric_kind kind)
{
    const struct sand_fabric_spec *fabric = model;
    return fabric->kind == kind && fabric->link != NULL;
}

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

#define ELEMENT(element)                                                                           \
    .name = #element, .key = #element, FIELDS(element##_fields), .present = is_##element,          \
    .size = sizeof(struct sand_fabric_spec), .finish = spec_finish_##element

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
    SPREADING("static"),
    HASH,
    NONMINIMAL,
    LOSS,
    CONVERGENCE,
    LATENCY,
    CABLES,
    LINK,
};

// The longest way, half of each side rounded down, has at most 54 links (SAND_ROUTE_MAX and what a
// way around a failure takes); the ranges are what that leaves to a side.
static const struct spec_field torus_fields[] = {
    {.name = "x",
     SPEC_WITHIN(2, 107, struct sand_fabric_spec, size[0]),
     .doc = "Places in the first dimension."},
    {.name = "y",
     SPEC_WITHIN(2, 107, struct sand_fabric_spec, size[1]),
     .doc = "Places in the second."},
    {.name = "z",
     SPEC_WITHIN(1, 105, struct sand_fabric_spec, size[2]),
     SPEC_PRESET("1"),
     .doc = "Places in the third; 1: a torus of two dimensions."},
    {.name = "block",
     SPEC_WITHIN(0, 37, struct sand_fabric_spec, block),
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
           "routes go dimension after dimension, the short way round. The longest has at most 54 "
           "links: half of each side, rounded down."};

// ---- any network ----

static const char *const tiers[] = {[SAND_SWITCH_FOUND] = "found",
                                    [SAND_SWITCH_LEAF] = "leaf",
                                    [SAND_SWITCH_SPINE] = "spine",
                                    [SAND_SWITCH_CORE] = "core",
                                    NULL};

static const struct spec_field switch_fields[] = {
    {.name = "id",
     SPEC_MEMBER(SPEC_ID, struct sand_wired_switch, id),
     .doc = "Name, at most 24 characters."},
    {.name = "tier",
     SPEC_MEMBER(SPEC_WORD, struct sand_wired_switch, tier),
     .words = tiers,
     SPEC_PRESET("found"),
     .doc = "Where it stands; found: a leaf if nodes hang from it, else by its distance from such. "
            "For names, counts, pictures and cable lengths; ways do not depend on it."},
    {.name = "pod",
     SPEC_WITHIN(0, 1048575, struct sand_wired_switch, pod),
     SPEC_PRESET("0"),
     .doc = "Part of the fabric, for placement and halves."},
};

static const struct spec_field port_fields[] = {
    {.name = "to", SPEC_MEMBER(SPEC_TEXT, struct sand_wired_port, to), .doc = "The switch."},
    {.name = "first", SPEC_WHOLE(struct sand_wired_port, first), .doc = "The first node, from 0."},
    {.name = "nodes",
     SPEC_SIZE(struct sand_wired_port, n_nodes),
     SPEC_PRESET("1"),
     .doc = "How many follow each other."},
    {.name = "nic",
     SPEC_WHOLE(struct sand_wired_port, nic),
     SPEC_PRESET("0"),
     .doc = "The first NIC of each of these nodes, from 0."},
    {.name = "nics",
     SPEC_SIZE(struct sand_wired_port, n_nics),
     SPEC_PRESET("1"),
     .doc = "How many of them."},
};

static const struct spec_field cable_fields[] = {
    {.name = "from", SPEC_MEMBER(SPEC_TEXT, struct sand_wired_cable, from), .doc = "A switch."},
    {.name = "to", SPEC_MEMBER(SPEC_TEXT, struct sand_wired_cable, to), .doc = "Another."},
    {.name = "cables",
     SPEC_WITHIN(1, 65536, struct sand_wired_cable, n_cables),
     SPEC_PRESET("1"),
     .doc = "How many join them."},
    {.name = "capacity",
     SPEC_QUANTITY(SAND_DIM_BANDWIDTH, struct sand_wired_cable, capacity_Bps),
     .need = SPEC_OPTIONAL,
     SPEC_POSITIVE,
     .doc = "Of all of these cables together, one way; left out: the rate of the fabric's link "
            "each."},
    {.name = "length",
     SPEC_QUANTITY(SAND_DIM_LENGTH, struct sand_wired_cable, length_m),
     SPEC_PRESET("0m"),
     .doc = "Of each; 0m: as the fabric's others."},
};

#define PART(part, text)                                                                           \
    .name = #part, .key = #part, FIELDS(part##_fields), .size = sizeof(struct sand_wired_##part),  \
    .doc = text

const struct spec_element spec_switch = {PART(switch, "A switch of a wired fabric.")};
const struct spec_element spec_port = {
    PART(port, "Which NICs hang from a switch. A NIC in several ports has an equal part of its "
               "rate in each; the k-th is in plane k.")};
const struct spec_element spec_cable = {PART(cable, "Cables between two switches.")};

#define WIRED_CHILD(part, array, count)                                                            \
    {                                                                                              \
        .element = &spec_##part, .place = SPEC_ARRAY,                                              \
        .offset = offsetof(struct sand_fabric_spec, array),                                        \
        .count_offset = offsetof(struct sand_fabric_spec, count)                                   \
    }

static const struct spec_child wired_children[] = {WIRED_CHILD(switch, switches, n_switches),
                                                   WIRED_CHILD(port, ports, n_ports),
                                                   WIRED_CHILD(cable, cables, n_cables)};

static const struct spec_field wired_fields[] = {
    RADIX,
    {.name = "rails",
     SPEC_MEMBER(SPEC_YESNO, struct sand_fabric_spec, rails),
     SPEC_PRESET("no"),
     .doc = "NIC j of every node is of rail j; cross_rail says how traffic between rails goes."},
    {.name = "cross_rail",
     SPEC_MEMBER(SPEC_WORD, struct sand_fabric_spec, cross_rail),
     .words = cross_rails,
     SPEC_PRESET("scaleup"),
     .doc = "With rails: over the sender's scale-up domain to its port on the receiver's rail, or "
            "through the network."},
    SPREADING("even"),
    ADAPTIVE,
    HASH,
    LOSS,
    CONVERGENCE,
    LATENCY,
    TIER_LATENCIES,
    CABLES,
    LINK,
};

static int is_wired(const void *model)
{
    return is_kind(model, SAND_FABRIC_WIRED);
}

const struct spec_element spec_wired = {
    ELEMENT(wired), .children = wired_children, .n_children = SPEC_COUNT(wired_children),
    .doc = "Any switches and cables, each written down, as `sandtable import` does; routes are "
           "shortest ways."};

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
