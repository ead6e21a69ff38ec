// Fields that several fabrics have, and how a fabric's element is told from the others.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SPEC_FABRICFIELDS_H
#define SAND_SIM_SPEC_FABRICFIELDS_H

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

static const char *const latencies[] = {
    [SAND_LATENCY_LINK] = "link", [SAND_LATENCY_ROUTE] = "route", NULL};

#define RADIX                                                                                      \
    {                                                                                              \
        .name = "radix", SPEC_WHOLE(struct sand_fabric_spec, radix), SPEC_PRESET("0"),             \
        .doc = "Ports of every switch; 0: unlimited (chassis)."                                    \
    }

#define BREAKOUT                                                                                   \
    {                                                                                              \
        .name = "breakout", SPEC_WHOLE(struct sand_fabric_spec, breakout), SPEC_PRESET("0"),       \
        .doc = "Node ports that share one switch port over a split cable, none faster than its "   \
               "part; 0: with planes as many as fit, else one."                                    \
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

static inline int is_kind(const void *model, enum sand_fabric_kind kind)
{
    const struct sand_fabric_spec *fabric = model;
    return fabric->kind == kind && fabric->link != NULL;
}

#define ELEMENT(element)                                                                           \
    .name = #element, .key = #element, FIELDS(element##_fields), .present = is_##element,          \
    .size = sizeof(struct sand_fabric_spec), .finish = spec_finish_##element

#endif
