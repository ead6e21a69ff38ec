// Field tables of the experiment, its cluster and its policies.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "experiment.h"
#include "speccheck.h"
#include "spectable.h"

#define FIELDS(array) .fields = (array), .n_fields = SPEC_COUNT(array)
#define CHILDREN(array) .children = (array), .n_children = SPEC_COUNT(array)

// ---- policies ----

static const struct spec_field param_fields[] = {
    {.name = "name",
     SPEC_MEMBER(SPEC_ID, struct sand_choice_param, name),
     .doc = "A parameter that the policy declares (`sandtable policy show`)."},
    {.name = "value",
     SPEC_MEMBER(SPEC_TEXT, struct sand_choice_param, text),
     .doc = "Its value, with the unit that the policy declares."},
};

const struct spec_element spec_param = {.name = "param",
                                        .key = "param",
                                        FIELDS(param_fields),
                                        .size = sizeof(struct sand_choice_param),
                                        .addable = 1,
                                        .finish = spec_finish_param,
                                        .doc = "A parameter of a policy."};

static const struct spec_child choice_children[] = {
    {.element = &spec_param,
     .place = SPEC_ARRAY,
     .offset = offsetof(struct sand_choice, params),
     .count_offset = offsetof(struct sand_choice, n_params)},
};

#define CHOICE_FIELDS(preset_text)                                                                 \
    {                                                                                              \
        {.name = "policy",                                                                         \
         SPEC_MEMBER(SPEC_TEXT, struct sand_choice, type),                                         \
         SPEC_PRESET(preset_text),                                                                 \
         .doc = "Type of the policy, family/name."},                                               \
            SPEC_PLUGIN(struct sand_choice, plugin),                                               \
    }
#define CHOICE(element_name, text)                                                                 \
    .name = element_name, .key = element_name, CHILDREN(choice_children),                          \
    .size = sizeof(struct sand_choice), .finish = spec_finish_choice, .doc = text

static const struct spec_field schedule_fields[] = CHOICE_FIELDS("schedule/fifo");
static const struct spec_field place_fields[] = CHOICE_FIELDS("place/first-fit");
static const struct spec_field recover_fields[] = CHOICE_FIELDS("recover/spare");

const struct spec_element spec_schedule = {CHOICE("schedule", "Who starts, who is preempted."),
                                           FIELDS(schedule_fields)};
const struct spec_element spec_place_policy = {CHOICE("place", "On which nodes a job runs."),
                                               FIELDS(place_fields)};
const struct spec_element spec_recover = {CHOICE("recover", "What a job does after a fault."),
                                          FIELDS(recover_fields)};

static const char *const events[] = {
    [SAND_EVENTS_INSTANT] = "instant", [SAND_EVENTS_EACH] = "each", NULL};

static const char *const allocations[] = {
    [SAND_ALLOCATE_NODES] = "nodes", [SAND_ALLOCATE_GPUS] = "gpus", NULL};

static const struct spec_field policies_fields[] = {
    {.name = "allocation",
     SPEC_MEMBER(SPEC_WORD, struct sand_experiment, allocation),
     .words = allocations,
     SPEC_PRESET("nodes"),
     .doc =
         "What a job holds: nodes: whole nodes; gpus: a job that asks for less than a node holds "
         "just these GPUs, all on one node, beside others; larger jobs hold whole nodes."},
    {.name = "events",
     SPEC_MEMBER(SPEC_WORD, struct sand_experiment, events),
     .words = events,
     SPEC_PRESET("instant"),
     .doc = "When the schedule policy decides: instant: once all events of a date are in; each: "
            "after each of them, as some simulators do."},
    {.name = "hot_spares",
     SPEC_WHOLE(struct sand_experiment, hot_spares),
     SPEC_PRESET("0"),
     .doc = "Nodes set apart for recovery; no job starts on them."},
};

static const struct spec_child policies_children[] = {
    {.element = &spec_schedule,
     .offset = offsetof(struct sand_experiment, schedule),
     .max = 1,
     .presets = 1},
    {.element = &spec_place_policy,
     .offset = offsetof(struct sand_experiment, place),
     .max = 1,
     .presets = 1},
    {.element = &spec_recover,
     .offset = offsetof(struct sand_experiment, recover),
     .max = 1,
     .presets = 1},
};

const struct spec_element spec_policies = {.name = "policies",
                                           .key = "policies",
                                           FIELDS(policies_fields),
                                           CHILDREN(policies_children),
                                           .size = sizeof(struct sand_experiment),
                                           .doc = "The choice of policies."};

// ---- cluster ----

static const char *const storage_forms[] = {"a reference (use)", "a definition (source, servers)"};

static const struct spec_field cluster_storage_fields[] = {
    {.name = "use",
     .type = SPEC_REF,
     .kind = SPEC_STORAGE,
     .extra = 1,
     .form = 1,
     .doc = "An entry of the catalogue or of the definitions."},
    {.name = "id",
     SPEC_MEMBER(SPEC_ID, struct sand_storage_spec, id),
     SPEC_PRESET("storage"),
     .form = 2,
     .doc = "A name."},
    {.name = "source",
     SPEC_MEMBER(SPEC_TEXT, struct sand_storage_spec, from.source),
     .form = 2,
     .doc = "Where the numbers come from."},
    {.name = "date",
     SPEC_MEMBER(SPEC_DATE, struct sand_storage_spec, from.date),
     .form = 2,
     .doc = "When the source was published or read."},
    {.name = "assumed",
     SPEC_MEMBER(SPEC_NAMES, struct sand_storage_spec, from.assumed),
     SPEC_PRESET(""),
     .form = 2,
     .doc = "Attributes that no source confirms."},
    {.name = "servers",
     SPEC_SIZE(struct sand_storage_spec, n_servers),
     .form = 2,
     .doc = "Storage servers."},
    {.name = "server_write",
     SPEC_QUANTITY(SAND_DIM_BANDWIDTH, struct sand_storage_spec, server_write_Bps),
     SPEC_POSITIVE,
     .form = 2,
     .doc = "Sustained write rate of one server."},
    {.name = "server_read",
     SPEC_QUANTITY(SAND_DIM_BANDWIDTH, struct sand_storage_spec, server_read_Bps),
     SPEC_POSITIVE,
     .form = 2,
     .doc = "Sustained read rate of one server."},
};

const struct spec_element spec_cluster_storage = {
    .name = "storage",
    .key = "cluster.storage",
    FIELDS(cluster_storage_fields),
    .forms = storage_forms,
    .n_forms = 2,
    .size = sizeof(struct sand_storage_spec),
    .doc = "The cluster's storage. Without it no checkpoint can be written."};

static const char *const seats[] = {
    [SAND_STORAGE_AT_LEAVES] = "leaves", [SAND_STORAGE_AT_SPINES] = "spines", NULL};

static const struct spec_field storage_ports_fields[] = {
    {.name = "per_server",
     SPEC_SIZE(struct sand_storage_ports, n_ports),
     SPEC_PRESET("1"),
     .doc = "Ports of each storage server."},
    {.name = "rate",
     SPEC_QUANTITY(SAND_DIM_BANDWIDTH, struct sand_storage_ports, port_Bps),
     SPEC_POSITIVE,
     .doc = "Rate of one such port; a server gives what its ports and its discs allow."},
    {.name = "at",
     SPEC_MEMBER(SPEC_WORD, struct sand_storage_ports, at),
     .words = seats,
     SPEC_PRESET("leaves"),
     .doc = "leaves: on the leaves of the nodes (routers of a dragonfly or torus), whose trunks "
            "what is written comes down; spines: on leaves of their own, whose trunks never bind."},
    {.name = "leaves",
     SPEC_WHOLE(struct sand_storage_ports, n_leaves),
     SPEC_PRESET("0"),
     .doc = "Leaves that have servers, spread evenly over the fabric; 0: all."},
};

const struct spec_element spec_storage_ports = {
    .name = "storage_ports",
    .key = "storage_ports",
    FIELDS(storage_ports_fields),
    .size = sizeof(struct sand_storage_ports),
    .doc = "The storage is on the training fabric: saves, restores and training data go through "
           "the nodes' training NICs and share links with the steps of all jobs. Without it the "
           "storage has a network of its own."};

static const struct spec_field node_group_fields[] = {
    {.name = "id",
     SPEC_MEMBER(SPEC_ID, struct sand_node_group, id),
     .doc = "Name, for the attribute group of jobs."},
    {.name = "nodes", SPEC_SIZE(struct sand_node_group, n_nodes), .doc = "Nodes in the group."},
    {.name = "node",
     SPEC_REFERENCE(SPEC_NODE, struct sand_node_group, node_type),
     .doc = "What each of them is. GPUs and NICs are as many as in the cluster's own nodes."},
};

const struct spec_element spec_node_group = {
    .name = "node_group",
    .key = "node_group",
    FIELDS(node_group_fields),
    .size = sizeof(struct sand_node_group),
    .doc = "Nodes of another type on the same fabric. Groups take the cluster's nodes from the "
           "first on, in order; the others are of the cluster's own type. Leaves are wired for "
           "that one."};

static const struct spec_field cluster_fields[] = {
    {.name = "name", SPEC_MEMBER(SPEC_TEXT, struct sand_cluster, name), .doc = "Name in reports."},
    {.name = "nodes", SPEC_SIZE(struct sand_cluster, n_nodes), .doc = "Nodes in the cluster."},
    {.name = "node",
     SPEC_REFERENCE(SPEC_NODE, struct sand_cluster, node_type),
     .doc = "What each node is."},
    {.name = "nodes_per_rack",
     SPEC_SIZE(struct sand_cluster, nodes_per_rack),
     SPEC_PRESET("1"),
     .doc = "Nodes in a rack."},
    {.name = "racks_per_row",
     SPEC_WHOLE(struct sand_cluster, racks_per_row),
     SPEC_PRESET("0"),
     .doc = "Racks in a row; 0: all in one."},
    {.name = "rows_per_hall",
     SPEC_WHOLE(struct sand_cluster, rows_per_hall),
     SPEC_PRESET("0"),
     .doc = "Rows in a hall; 0: all in one."},
    {.name = "racks_per_pdu",
     SPEC_WHOLE(struct sand_cluster, racks_per_pdu),
     SPEC_PRESET("0"),
     .doc =
         "Neighbouring racks of a row that hang from one power feed and die with it; 0: power is "
         "not described, or every rack has two feeds."},
    {.name = "rack_pitch",
     SPEC_QUANTITY(SAND_DIM_LENGTH, struct sand_cluster, rack_pitch_m),
     SPEC_PRESET("0m"),
     .doc =
         "From the middle of a rack to the next one's in its row. Pitches give the cables whose "
         "length the fabric leaves out: along the row and across rows, to where switches stand."},
    {.name = "row_pitch",
     SPEC_QUANTITY(SAND_DIM_LENGTH, struct sand_cluster, row_pitch_m),
     SPEC_PRESET("0m"),
     .doc = "From one row to the next."},
    {.name = "hall_pitch",
     SPEC_QUANTITY(SAND_DIM_LENGTH, struct sand_cluster, hall_pitch_m),
     SPEC_PRESET("0m"),
     .doc = "From one hall to the next, along its rows."},
    {.name = "cable_slack",
     SPEC_QUANTITY(SAND_DIM_LENGTH, struct sand_cluster, cable_slack_m),
     SPEC_PRESET("0m"),
     .doc = "Metres of every such cable beyond the way over the floor: up, down, spare."},
    {.name = "pue",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_cluster, pue),
     SPEC_PRESET("1"),
     .range = {1, 0, 0, 0},
     .doc = "Facility power over IT power."},
    {.name = "prices",
     SPEC_REFERENCE(SPEC_PRICES, struct sand_cluster, prices),
     .need = SPEC_OPTIONAL,
     .doc = "Price list of `sandtable fabric parts`; no effect on a simulation."},
};

#define FABRIC(of, number)                                                                         \
    {                                                                                              \
        .element = &spec_##of, .offset = offsetof(struct sand_cluster, fabric), .min = 1,          \
        .max = 1, .form = (number)                                                                 \
    }

static const char *const cluster_forms[] = {
    "a <fat_tree>",  "a <rail_optimised>", "a <rail_only>", "a <dragonfly_plus>",
    "a <dragonfly>", "a <torus>",          "a <wired>"};

static const struct spec_child cluster_children[] = {
    FABRIC(fat_tree, 1),
    FABRIC(rail_optimised, 2),
    FABRIC(rail_only, 3),
    FABRIC(dragonfly_plus, 4),
    FABRIC(dragonfly, 5),
    FABRIC(torus, 6),
    FABRIC(wired, 7),
    {.element = &spec_node_group,
     .place = SPEC_ARRAY,
     .offset = offsetof(struct sand_cluster, groups),
     .count_offset = offsetof(struct sand_cluster, n_groups)},
    {.element = &spec_impaired,
     .place = SPEC_ARRAY,
     .offset = offsetof(struct sand_cluster, impaired),
     .count_offset = offsetof(struct sand_cluster, n_impaired)},
    {.element = &spec_cluster_storage, .offset = offsetof(struct sand_cluster, storage), .max = 1},
    {.element = &spec_storage_ports,
     .offset = offsetof(struct sand_cluster, storage_ports),
     .max = 1},
};

const struct spec_element spec_cluster = {
    .name = "cluster",
    .key = "cluster",
    FIELDS(cluster_fields),
    CHILDREN(cluster_children),
    .forms = cluster_forms,
    .n_forms = SPEC_COUNT(cluster_forms),
    .size = sizeof(struct sand_cluster),
    .finish = spec_finish_cluster,
    .doc = "Equal nodes, the fabric that joins them, storage, and places."};

// ---- the whole ----

#define DEFINED(of)                                                                                \
    {                                                                                              \
        .element = &spec_##of, .place = SPEC_ENTRIES                                               \
    }

static const struct spec_child definitions_children[] = {
    DEFINED(gpu),     DEFINED(link),  DEFINED(node), DEFINED(kernels), DEFINED(software),
    DEFINED(storage), DEFINED(model), DEFINED(mix),  DEFINED(prices),  DEFINED(collectives)};

const struct spec_element spec_definitions = {
    .name = "definitions",
    .key = "definitions",
    CHILDREN(definitions_children),
    .size = sizeof(struct sand_experiment),
    .doc = "Elements of the experiment's own, referred to by their bare id."};

static const struct spec_field experiment_fields[] = {
    {.name = "name",
     SPEC_MEMBER(SPEC_ID, struct sand_experiment, name),
     .doc = "Name in reports and of the default output folder."},
    {.name = "duration",
     SPEC_DATE_NS(struct sand_experiment, duration_ns),
     SPEC_POSITIVE,
     .doc = "How much time is simulated."},
    {.name = "seed",
     SPEC_MEMBER(SPEC_U64, struct sand_experiment, seed),
     .dim = SAND_DIM_COUNT,
     .range = {0, 9007199254740991.0, 0, 0},
     SPEC_PRESET("1"),
     .doc = "Key of every random draw."},
    {.name = "replications",
     SPEC_SIZE(struct sand_experiment, replications),
     SPEC_PRESET("1"),
     .doc = "Independent runs that differ only in their random draws."},
    {.name = "window",
     SPEC_DATE_NS(struct sand_experiment, mfu_window_ns),
     SPEC_POSITIVE,
     SPEC_PRESET("1d"),
     .doc = "Length of one row of the mfu and cluster tables."},
    {.name = "kernels",
     SPEC_REFERENCE(SPEC_KERNELS, struct sand_experiment, kernels),
     SPEC_PRESET("sandtable:kernels/transformer"),
     .doc = "Costs of kernel classes."},
    {.name = "collectives",
     SPEC_REFERENCE(SPEC_COLLECTIVES, struct sand_experiment, collectives),
     SPEC_PRESET("sandtable:collectives/nccl"),
     .doc = "How the library runs collectives."},
};

// The order in which they are bound: what comes first can be checked against by what follows.
static const struct spec_child experiment_children[] = {
    {.element = &spec_definitions, .max = 1},
    {.element = &spec_cluster,
     .offset = offsetof(struct sand_experiment, cluster),
     .min = 1,
     .max = 1},
    {.element = &spec_policies, .max = 1, .presets = 1},
    {.element = &spec_faults, .offset = offsetof(struct sand_experiment, faults), .max = 1},
    {.element = &spec_jobs, .min = 1, .max = 1},
};

const struct spec_element spec_experiment = {
    .name = "experiment",
    .key = "experiment",
    FIELDS(experiment_fields),
    CHILDREN(experiment_children),
    .size = sizeof(struct sand_experiment),
    .finish = spec_finish_experiment,
    .doc = "One experiment: a cluster, its jobs, faults and policies, over a time."};
