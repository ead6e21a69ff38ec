// Field tables of fabrics that are wired switch by switch.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricfields.h"

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
