// Field tables of collective kernels and of the rules that say what measured collectives mean.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "collspec.h"
#include "spectable.h"

#define FIELDS(array) .fields = (array), .n_fields = SPEC_COUNT(array)
#define CHILDREN(array) .children = (array), .n_children = SPEC_COUNT(array)

static const char *const algorithms[] = {[SAND_ALG_RING] = "ring",
                                         [SAND_ALG_TREE] = "tree",
                                         [SAND_ALG_NVLS] = "nvls",
                                         [SAND_ALG_NVLSTREE] = "nvlstree",
                                         [SAND_ALG_SHARP] = "sharp",
                                         [SAND_ALG_SYMMETRIC] = "symmetric",
                                         [SAND_ALG_PAIRWISE] = "pairwise",
                                         [SAND_ALG_PXN] = "pxn",
                                         [SAND_ALG_HIERARCHICAL] = "hierarchical",
                                         NULL};
static const char *const protocols[] = {
    [SAND_PROTO_LL] = "LL", [SAND_PROTO_LL128] = "LL128", [SAND_PROTO_SIMPLE] = "Simple", NULL};

#define KERNEL(dimension, member) SPEC_QUANTITY(dimension, struct sand_coll_kernel, member)

static const struct spec_field kernel_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, struct sand_coll_kernel, id), .doc = "Name in messages."},
    {.name = "algorithm",
     SPEC_MEMBER(SPEC_WORD, struct sand_coll_kernel, algorithm),
     .words = algorithms,
     .doc = "Who sends to whom."},
    {.name = "protocol",
     SPEC_MEMBER(SPEC_WORD, struct sand_coll_kernel, protocol),
     .words = protocols,
     .doc = "How a receiver learns that data has come: LL with every 4 bytes, LL128 with every "
            "120, Simple by a counter."},
    {.name = "base", KERNEL(SAND_DIM_TIME, base_s), .doc = "Latency paid once."},
    {.name = "scaleup_hop",
     KERNEL(SAND_DIM_TIME, scaleup_s),
     .doc = "Latency of a hop between GPUs on NVLink or its like."},
    {.name = "pcie_hop",
     KERNEL(SAND_DIM_TIME, pcie_s),
     .doc = "Latency of a hop between GPUs over PCI Express."},
    {.name = "network_hop",
     KERNEL(SAND_DIM_TIME, network_s),
     .doc = "Latency of a hop over the network."},
    {.name = "rate",
     KERNEL(SAND_DIM_FRACTION, rate),
     SPEC_POSITIVE,
     SPEC_PRESET("1"),
     .doc = "Payload over bytes moved."},
    {.name = "chunk",
     KERNEL(SAND_DIM_BYTES, chunk_B),
     SPEC_PRESET("0B"),
     .doc = "Bytes of each rank that a channel works on before its pipeline runs."},
    {.name = "chunk_latency",
     KERNEL(SAND_DIM_TIME, chunk_s),
     SPEC_PRESET("0s"),
     .doc = "In a scale-up switch that reduces: what a channel loses on each chunk, beside the "
            "link's `hop_latency`."},
    {.name = "chunk_least",
     KERNEL(SAND_DIM_BYTES, chunk_least_B),
     SPEC_PRESET("0B"),
     .doc = "Size of these chunks where messages are short. It doubles about where NCCL doubles "
            "it: from 64 KiB, 512 KiB and 8 MiB of a channel and rank on."},
    {.name = "chunk_most",
     KERNEL(SAND_DIM_BYTES, chunk_most_B),
     SPEC_PRESET("0B"),
     .doc = "Size of these chunks at most."},
    {.name = "network_most",
     KERNEL(SAND_DIM_BANDWIDTH, network_most_Bps),
     SPEC_PRESET("0B/s"),
     .doc = "Bus bandwidth that its kernels reach at most where the network is crossed; 0B/s: no "
            "bound."},
    {.name = "on_request",
     SPEC_MEMBER(SPEC_YESNO, struct sand_coll_kernel, on_request),
     SPEC_PRESET("no"),
     .doc = "Of another library: only when it is asked for by name."},
};

const struct spec_element spec_coll_kernel = {.name = "kernel",
                                              .key = "collective_kernel",
                                              FIELDS(kernel_fields),
                                              .size = sizeof(struct sand_coll_kernel),
                                              .doc = "An algorithm under a protocol."};

#define MATCH(text_name, struct_name, member, text)                                                \
    {                                                                                              \
        .name = (text_name), SPEC_MEMBER(SPEC_TEXT, struct_name, member), .need = SPEC_OPTIONAL,   \
        .doc = (text)                                                                              \
    }

static const struct spec_field machine_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, struct sand_coll_machine, id), .doc = "Name in reports."},
    MATCH("gpu", struct sand_coll_machine, gpu, "Text that the row's gpu begins with."),
    MATCH("platform", struct sand_coll_machine, platform,
          "Text that the row's platform contains; the first machine that fits counts."),
    MATCH("network", struct sand_coll_machine, network, "Text that the row's network contains."),
    {.name = "node",
     SPEC_REFERENCE(SPEC_NODE, struct sand_coll_machine, node),
     .doc = "The node; a collective may use part of its GPUs."},
};

const struct spec_element spec_coll_machine = {.name = "machine",
                                               .key = "collective_machine",
                                               FIELDS(machine_fields),
                                               .size = sizeof(struct sand_coll_machine),
                                               .doc =
                                                   "Which rows were measured on a kind of node."};

static const struct spec_field network_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, struct sand_coll_network, id), .doc = "Name in reports."},
    MATCH("contains", struct sand_coll_network, contains,
          "Text that the row's network contains; the first network that fits counts."),
    MATCH("platform", struct sand_coll_network, platform, "Text that the row's platform contains."),
    {.name = "link",
     SPEC_REFERENCE(SPEC_LINK, struct sand_coll_network, link),
     .doc = "Its link; the row may state another rate."},
    {.name = "ports",
     SPEC_WHOLE(struct sand_coll_network, ports),
     SPEC_PRESET("0"),
     .doc = "Ports of a node where the row does not say; 0: as the node has."},
    {.name = "rate",
     SPEC_QUANTITY(SAND_DIM_BANDWIDTH, struct sand_coll_network, rate_Bps),
     SPEC_PRESET("0B/s"),
     .doc = "Rate of a port where the row does not say; 0B/s: the link's."},
};

const struct spec_element spec_coll_network = {.name = "network",
                                               .key = "collective_network",
                                               FIELDS(network_fields),
                                               .size = sizeof(struct sand_coll_network),
                                               .doc = "Which rows went over a kind of link."};

static const struct spec_field flag_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, struct sand_coll_flag, id), .doc = "Name in messages."},
    MATCH("source", struct sand_coll_flag, source, "Text that the row's source contains."),
    MATCH("row", struct sand_coll_flag, row, "The row's id."),
    {.name = "why", SPEC_MEMBER(SPEC_TEXT, struct sand_coll_flag, why), .doc = "The reason."},
};

const struct spec_element spec_coll_flag = {
    .name = "flag",
    .key = "collective_flag",
    FIELDS(flag_fields),
    .size = sizeof(struct sand_coll_flag),
    .doc = "Rows that are listed without score: no healthy system, or no plain collective."};

#define NUMBER(member) SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_collectives, member)
#define SHARE(member) SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_collectives, member)

static const struct spec_field collectives_fields[] = {
    SPEC_ENTRY_HEAD(struct sand_collectives),
    {.name = "tier_sharpness",
     NUMBER(tier_sharpness),
     SPEC_POSITIVE,
     .doc = "The exponent s of (a^s + b^s)^(1/s), the time of a pipeline through two tiers that "
            "take a and b alone."},
    {.name = "channels",
     NUMBER(channels),
     SPEC_POSITIVE,
     .doc = "Channels of a collective; over the network at most two a port."},
    {.name = "tree_depth",
     SHARE(tree_depth),
     .doc = "Share of a tree's network hops that the first chunk has to pass one by one."},
    {.name = "p2p_rate",
     SHARE(p2p_rate),
     SPEC_POSITIVE,
     .doc = "Rate of point-to-point traffic in a scale-up domain over that of a ring."},
    {.name = "p2p_channels",
     NUMBER(p2p_channels),
     SPEC_PRESET("0"),
     .doc = "Channels on which a rank sends to another of its domain at most; 0: no bound."},
    {.name = "p2p_part",
     SPEC_QUANTITY(SAND_DIM_BYTES, struct sand_collectives, p2p_part_B),
     SPEC_PRESET("0B"),
     .doc = "A message that would put more than this on one of its channels takes twice as many."},
    {.name = "incast",
     SHARE(incast),
     .doc = "Relative loss of a network port for every other rank that sends to it at a time."},
    {.name = "incast_peers",
     NUMBER(incast_peers),
     .doc = "Ranks that send to a port at a time, at most."},
};

#define LIST(of, owner, member)                                                                    \
    {                                                                                              \
        .element = &spec_coll_##of, .place = SPEC_ARRAY, .offset = offsetof(struct owner, member), \
        .count_offset = offsetof(struct owner, n_##member)                                         \
    }

static const struct spec_child collectives_children[] = {LIST(kernel, sand_collectives, kernels)};

const struct spec_element spec_collectives = {.name = "collectives",
                                              .key = "collectives",
                                              .kind = SPEC_COLLECTIVES,
                                              FIELDS(collectives_fields),
                                              CHILDREN(collectives_children),
                                              .size = sizeof(struct sand_collectives),
                                              .doc = "How a library runs collectives."};

static const struct spec_field coll_rules_fields[] = {
    SPEC_ENTRY_HEAD(struct sand_coll_rules),
    {.name = "collectives",
     SPEC_REFERENCE(SPEC_COLLECTIVES, struct sand_coll_rules, collectives),
     SPEC_PRESET("sandtable:collectives/nccl"),
     .doc = "How the library that was measured runs collectives."},
};

static const struct spec_child coll_rules_children[] = {LIST(machine, sand_coll_rules, machines),
                                                        LIST(network, sand_coll_rules, networks),
                                                        LIST(flag, sand_coll_rules, flags)};

const struct spec_element spec_coll_rules = {
    .name = "collective_rules",
    .key = "collective_rules",
    FIELDS(coll_rules_fields),
    CHILDREN(coll_rules_children),
    .size = sizeof(struct sand_coll_rules),
    .doc = "What rows of measured collectives mean, for `sandtable validate-collectives`."};
