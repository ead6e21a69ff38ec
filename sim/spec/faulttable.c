// Field tables of faults: those that kill, and those that degrade a part.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "faultspec.h"
#include "speccheck.h"
#include "spectable.h"

#define FIELDS(array) .fields = (array), .n_fields = SPEC_COUNT(array)
#define CHILDREN(array) .children = (array), .n_children = SPEC_COUNT(array)

static const char *const components[] = {[SAND_COMPONENT_NODE] = "node",
                                         [SAND_COMPONENT_GPU] = "gpu",
                                         [SAND_COMPONENT_NIC] = "nic",
                                         [SAND_COMPONENT_JOB] = "job",
                                         NULL};
static const char *const remedies[] = {
    [SAND_REMEDY_RESTART] = "restart", [SAND_REMEDY_REPLACE] = "replace", NULL};
const char *const spec_laws[] = {[SAND_LAW_CONSTANT] = "constant",
                                 [SAND_LAW_EXPONENTIAL] = "exponential",
                                 [SAND_LAW_WEIBULL] = "weibull",
                                 [SAND_LAW_LOGNORMAL] = "lognormal",
                                 NULL};
static const char *const fault_forms[] = {"a rate (rate)", "an observation (count, over, nodes)"};

// The four attributes of a duration and its law.
#define LAW_OF(struct_name, text, member, what)                                                    \
    {.name = text,                                                                                 \
     SPEC_QUANTITY(SAND_DIM_TIME, struct_name, member.mean_s),                                     \
     SPEC_PRESET("0s"),                                                                            \
     .doc = what ": mean, for the lognormal law the median."},                                     \
        {.name = text "_law",                                                                      \
         SPEC_MEMBER(SPEC_WORD, struct_name, member.kind),                                         \
         .words = spec_laws,                                                                       \
         SPEC_PRESET("constant"),                                                                  \
         .doc = "Its law."},                                                                       \
        {.name = text "_shape",                                                                    \
         SPEC_QUANTITY(SAND_DIM_NUMBER, struct_name, member.shape),                                \
         SPEC_PRESET("0"),                                                                         \
         .doc = "Weibull shape, or lognormal sigma; needed with those."},                          \
    {                                                                                              \
        .name = text "_max", SPEC_QUANTITY(SAND_DIM_TIME, struct_name, member.max_s),              \
        SPEC_PRESET("0s"), .doc = "Longest; 0s: no bound."                                         \
    }
#define LAW(text, member, what) LAW_OF(struct sand_fault_class, text, member, what)

static const struct spec_field fault_fields[] = {
    {.name = "id",
     SPEC_MEMBER(SPEC_ID, struct sand_fault_class, id),
     .doc = "Name of the fault class."},
    {.name = "cause",
     SPEC_MEMBER(SPEC_TEXT, struct sand_fault_class, cause),
     .doc = "Group in reports: gpu, network, software, ..."},
    {.name = "component",
     SPEC_MEMBER(SPEC_WORD, struct sand_fault_class, component),
     .words = components,
     .doc = "What it sits on; job: software, no hardware is touched."},
    {.name = "remedy",
     SPEC_MEMBER(SPEC_WORD, struct sand_fault_class, remedy),
     .words = remedies,
     .doc = "restart: on the same nodes; replace: the node leaves for repair."},
    {.name = "planned",
     SPEC_MEMBER(SPEC_YESNO, struct sand_fault_class, planned),
     SPEC_PRESET("no"),
     .doc = "Planned interruptions are counted apart, and strike when a job that saves has "
            "saved first."},
    {.name = "rate",
     SPEC_QUANTITY(SAND_DIM_RATE, struct sand_fault_class, rate_per_node_s),
     .form = 1,
     .doc = "Faults per node and time that the node is allocated."},
    {.name = "count", SPEC_EXTRA(SAND_DIM_COUNT, 0), .form = 2, .doc = "Faults observed."},
    {.name = "over",
     SPEC_EXTRA(SAND_DIM_TIME, 1),
     SPEC_POSITIVE,
     .form = 2,
     .doc = "In this time."},
    {.name = "nodes",
     SPEC_EXTRA(SAND_DIM_COUNT, 2),
     SPEC_POSITIVE,
     .form = 2,
     .doc = "On this many allocated nodes; rate = count / (over x nodes)."},
    LAW("detect", detect, "Time until the fault is noticed"),
    LAW("diagnose", diagnose, "Time until its place is known"),
    LAW("restart", restart, "Time to start the job again, without restore"),
    LAW("repair", repair, "Time until a replaced node is back"),
};

const struct spec_element spec_fault = {
    .name = "fault",
    .key = "fault",
    FIELDS(fault_fields),
    .forms = fault_forms,
    .n_forms = 2,
    .size = sizeof(struct sand_fault_class),
    .finish = spec_finish_fault,
    .doc = "A class of faults that arrive independently at every allocated node."};

// ---- degradations ----

static const char *const kinds[] = {[SAND_KIND_GPU] = "gpu",
                                    [SAND_KIND_NIC] = "nic",
                                    [SAND_KIND_LINK] = "link",
                                    [SAND_KIND_LEAF] = "leaf",
                                    [SAND_KIND_SPINE] = "spine",
                                    [SAND_KIND_CORE] = "core",
                                    NULL};
static const char *const effects[] = {[SAND_EFFECT_SLOW] = "slow",
                                      [SAND_EFFECT_DOWN] = "down",
                                      [SAND_EFFECT_LOSS] = "loss",
                                      [SAND_EFFECT_FLAP] = "flap",
                                      NULL};
static const char *const part_remedies[] = {[SAND_PART_STAYS] = "none",
                                            [SAND_PART_DRAINED] = "drain",
                                            [SAND_PART_REPLACED] = "replace",
                                            NULL};

#define DEGRADATION struct sand_degradation_class

static const struct spec_field degradation_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, DEGRADATION, fault.id), .doc = "Name of the class."},
    {.name = "cause",
     SPEC_MEMBER(SPEC_TEXT, DEGRADATION, fault.cause),
     .doc = "Group in reports: gpu, network, ..."},
    {.name = "component",
     SPEC_MEMBER(SPEC_WORD, DEGRADATION, kind),
     .words = kinds,
     .doc = "What it strikes: a GPU; a NIC's cable to its leaf; link: a cable between switches; a "
            "switch of a tier (of a dragonfly or torus: leaf)."},
    {.name = "effect",
     SPEC_MEMBER(SPEC_WORD, DEGRADATION, effect),
     .words = effects,
     .doc = "slow: at `speed` of its rate; down; loss: loses packets; flap: goes down and comes "
            "back, again and again. GPUs are only slow, switches only go down or flap."},
    {.name = "rate",
     SPEC_QUANTITY(SAND_DIM_RATE, DEGRADATION, rate_per_part_s),
     .need = SPEC_OPTIONAL,
     .unset = -1,
     .doc = "Strikes per part of the component and time, whether a job uses it or not."},
    {.name = "at",
     SPEC_QUANTITY(SAND_DIM_TIME, DEGRADATION, at_s),
     .need = SPEC_OPTIONAL,
     .unset = -1,
     .doc = "Instead of a rate: strikes once, then."},
    {.name = "part",
     SPEC_MEMBER(SPEC_TEXT, DEGRADATION, part),
     .need = SPEC_OPTIONAL,
     .doc = "The only part struck, by its name (`sandtable fabric check`): \"spine3\", "
            "\"leaf3-spine1 up\", \"node3 nic1 up\", \"node3 gpu1\". Left out: any."},
    {.name = "speed",
     SPEC_QUANTITY(SAND_DIM_FRACTION, DEGRADATION, speed),
     .need = SPEC_OPTIONAL,
     .unset = -1,
     .doc = "What is left of a slow part: of a GPU's computing, of a cable's lanes."},
    {.name = "loss",
     SPEC_QUANTITY(SAND_DIM_FRACTION, DEGRADATION, loss),
     SPEC_BELOW_ONE,
     SPEC_PRESET("0"),
     .doc = "Packets lost on a lossy cable, beside the fabric's own; needs the fabric's "
            "loss_window."},
    LAW_OF(DEGRADATION, "down", down, "How long a flapping part is down each time"),
    LAW_OF(DEGRADATION, "up", up, "How long it is up in between"),
    {.name = "timeout",
     SPEC_QUANTITY(SAND_DIM_TIME, DEGRADATION, timeout_s),
     .need = SPEC_OPTIONAL,
     .unset = -1,
     .doc = "A job that no route serves stands still; after this long its transport gives up and "
            "it is interrupted. Left out: it waits for the part."},
    {.name = "remedy",
     SPEC_MEMBER(SPEC_WORD, DEGRADATION, remedy),
     .words = part_remedies,
     .doc = "Once it is noticed: none; drain: the cable or switch leaves service and routes avoid "
            "it; replace: the node of the GPU or NIC leaves for repair and its job restarts."},
    {.name = "planned",
     SPEC_MEMBER(SPEC_YESNO, DEGRADATION, fault.planned),
     SPEC_PRESET("no"),
     .doc = "A node is replaced when its job has saved, counted as a planned interruption."},
    LAW_OF(DEGRADATION, "detect", fault.detect, "Time until it is noticed"),
    LAW_OF(DEGRADATION, "diagnose", fault.diagnose,
           "Time until its place is known, of a job it interrupts"),
    LAW_OF(DEGRADATION, "restart", fault.restart,
           "Time to start a job it interrupts again, without restore"),
    LAW_OF(DEGRADATION, "repair", fault.repair,
           "Time until the part is as new: from the strike, of one drained or replaced from then"),
};

const struct spec_element spec_degradation = {
    .name = "degradation",
    .key = "degradation",
    FIELDS(degradation_fields),
    .size = sizeof(DEGRADATION),
    .finish = spec_finish_degradation,
    .doc = "A class of faults that do not kill: a part goes on badly, and exactly the jobs that "
           "use it step slower or stand still while new routes are found (the fabric's "
           "convergence)."};

static const struct spec_field faults_fields[] = {
    SPEC_PROVENANCE(struct sand_fault_spec),
    {.name = "node_law",
     SPEC_MEMBER(SPEC_WORD, struct sand_fault_spec, node.kind),
     .words = spec_laws,
     SPEC_PRESET("constant"),
     .doc = "How unlike nodes are: the rates of its faults are multiplied by a factor of each "
            "node's own, of mean 1, drawn by this law. constant: all alike. exponential: faults a "
            "node vary by 1 + their mean, times the mean; 400 nodes of StepFun had 1.46 each, "
            "and 2.57 for that (InfiniteHBD trace, SIGCOMM 2025). Degradations are not touched."},
    {.name = "node_shape",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_fault_spec, node.shape),
     SPEC_PRESET("0"),
     .doc = "Weibull shape, or lognormal sigma, of that; needed with those."},
};

static const struct spec_child faults_children[] = {
    {.element = &spec_fault,
     .place = SPEC_ARRAY,
     .offset = offsetof(struct sand_fault_spec, classes),
     .count_offset = offsetof(struct sand_fault_spec, n_classes)},
    {.element = &spec_degradation,
     .place = SPEC_ARRAY,
     .offset = offsetof(struct sand_fault_spec, degradations),
     .count_offset = offsetof(struct sand_fault_spec, n_degradations)},
};

const struct spec_element spec_faults = {.name = "faults",
                                         .key = "faults",
                                         FIELDS(faults_fields),
                                         CHILDREN(faults_children),
                                         .size = sizeof(struct sand_fault_spec),
                                         .finish = spec_finish_faults,
                                         .doc =
                                             "Fault classes; without the element nothing fails."};
