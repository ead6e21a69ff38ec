// Fault processes on exposure clocks, and the durations of recovery.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// All classes of a node together are one Poisson process of the summed rate over the node's
// allocated time; the class of a fault is drawn in proportion to the rates (superposition). A
// draw's address is (stream, node, k-th fault of the node), so nothing a policy does moves another
// draw.
#include "fault.h"

#include <math.h>

#include "faultprocess.h"
#include "ids.h"
#include "mem.h"
#include "units.h"

struct node_clock {
    uint64_t index;   // of the next fault
    int64_t next_ns;  // exposure at which it comes; INT64_MAX: never
    int64_t age_ns;   // exposure when the clock was last started or stopped
    int64_t since_ns; // date it was started
    double factor;    // on its rates; of mean 1 over the nodes
    int running;
};

int sand_fault_hits_one_gpu(const struct sand_fault_class *fault_class)
{
    return fault_class->remedy == SAND_REMEDY_RESTART &&
           (fault_class->component == SAND_COMPONENT_JOB ||
            fault_class->component == SAND_COMPONENT_GPU);
}

double sand_fault_job_rate(const struct sand_fault_spec *spec, double share)
{
    double rate = 0;
    for (size_t i = 0; i < spec->n_classes; i++)
        rate += spec->classes[i].rate_per_node_s *
                (sand_fault_hits_one_gpu(&spec->classes[i]) ? share : 1);
    return rate;
}

double sand_fault_mean_restart_s(const struct sand_fault_spec *spec)
{
    double rate = 0, weighted = 0;
    for (size_t i = 0; i < spec->n_classes; i++) {
        const struct sand_fault_class *c = &spec->classes[i];
        double mean_s =
            sand_law_mean(&c->detect) + sand_law_mean(&c->diagnose) + sand_law_mean(&c->restart);
        rate += c->rate_per_node_s;
        weighted += c->rate_per_node_s * mean_s;
    }
    return rate > 0 ? weighted / rate : 0;
}

// ---- opening ----

static int is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

static void check_law(const struct sand_fault_class *c, const char *what,
                      const struct sand_law *law, struct sand_diag *diag, int *n_wrong)
{
    int shape_ok = law->kind == SAND_LAW_WEIBULL     ? isfinite(law->shape) && law->shape > 0
                   : law->kind == SAND_LAW_LOGNORMAL ? is_amount(law->shape)
                                                     : 1;
    if (!is_amount(law->mean_s)) {
        sand_fail(diag, SAND_ERR_INPUT,
                  "fault class \"%s\": %s time %g s must be finite and at least 0", c->id, what,
                  law->mean_s);
        ++*n_wrong;
    }
    if (!shape_ok) {
        sand_fail(diag, SAND_ERR_INPUT,
                  "fault class \"%s\": %s shape %g must be above 0 (Weibull k) or at least 0 "
                  "(lognormal sigma)",
                  c->id, what, law->shape);
        ++*n_wrong;
    }
    if (!is_amount(law->max_s)) {
        sand_fail(diag, SAND_ERR_INPUT,
                  "fault class \"%s\": %s bound %g s must be finite and at least 0 (0: no bound)",
                  c->id, what, law->max_s);
        ++*n_wrong;
    }
}

static void check_component(const struct sand_fault_class *c, enum sand_component component,
                            uint32_t count, const char *what, struct sand_diag *diag, int *n_wrong)
{
    if (c->component != component || count > 0)
        return;
    sand_fail(diag, SAND_ERR_INPUT,
              "fault class \"%s\" strikes a %s, but the nodes have none; give it another component",
              c->id, what);
    ++*n_wrong;
}

static void check_class(const struct sand_fault_class *c, uint32_t gpus, uint32_t nics,
                        struct sand_diag *diag, int *n_wrong)
{
    if (!is_amount(c->rate_per_node_s)) {
        sand_fail(diag, SAND_ERR_INPUT,
                  "fault class \"%s\": rate %g /s must be finite and at least 0", c->id,
                  c->rate_per_node_s);
        ++*n_wrong;
    }
    check_component(c, SAND_COMPONENT_GPU, gpus, "GPU", diag, n_wrong);
    check_component(c, SAND_COMPONENT_NIC, nics, "NIC", diag, n_wrong);
    check_law(c, "detection", &c->detect, diag, n_wrong);
    check_law(c, "diagnosis", &c->diagnose, diag, n_wrong);
    check_law(c, "restart", &c->restart, diag, n_wrong);
    check_law(c, "repair", &c->repair, diag, n_wrong);
}

static int64_t later(int64_t date_ns, int64_t by_ns)
{
    return by_ns > INT64_MAX - date_ns ? INT64_MAX : date_ns + by_ns;
}

// Exposure between fault k - 1 and fault k of a node.
static int64_t gap_ns(const struct sand_fault_process *process, uint32_t node, uint64_t k)
{
    const double rate = process->rate * process->nodes[node].factor;
    if (!(rate > 0) || !isfinite(1 / rate))
        return INT64_MAX;
    struct sand_law law = {.kind = SAND_LAW_EXPONENTIAL, .mean_s = 1 / rate};
    double u = sand_rng_uniform(process->rng, SAND_STREAM_FAULT_GAP, node, k);
    return sand_ns_from_s(sand_law_quantile(&law, u));
}

// How prone a node is beside the mean of all: the same at every setting of the rates.
static double factor_of(const struct sand_fault_process *process, uint32_t node)
{
    struct sand_law law = process->spec->node;
    if (law.kind == SAND_LAW_CONSTANT)
        return 1;
    law.mean_s = 1;
    const double u = sand_rng_uniform(process->rng, SAND_STREAM_FAULT_NODE, node, 0);
    return sand_law_quantile(&law, u) / sand_law_mean(&law);
}

static void start_clocks(struct sand_fault_process *process)
{
    for (size_t i = 0; i < process->spec->n_classes; i++) {
        process->rate += process->spec->classes[i].rate_per_node_s;
        process->rate_until[i] = process->rate;
    }
    for (uint32_t node = 0; node < process->n_nodes; node++) {
        process->nodes[node].factor = factor_of(process, node);
        process->nodes[node].next_ns = gap_ns(process, node, 0);
    }
}

enum sand_rc sand_fault_open(const struct sand_fault_spec *spec, uint32_t n_nodes,
                             uint32_t gpus_per_node, uint32_t nics_per_node, struct sand_rng rng,
                             struct sand_fault_process **process, struct sand_diag *diag)
{
    int n_wrong = 0;
    for (size_t i = 0; i < spec->n_classes; i++)
        check_class(&spec->classes[i], gpus_per_node, nics_per_node, diag, &n_wrong);
    if (n_wrong > 0)
        return SAND_ERR_INPUT;
    struct sand_fault_process *opened = sand_calloc(1, sizeof *opened);
    if (opened == NULL)
        goto out;
    *opened = (struct sand_fault_process){.spec = spec,
                                          .n_nodes = n_nodes,
                                          .gpus_per_node = gpus_per_node,
                                          .nics_per_node = nics_per_node,
                                          .rng = rng};
    opened->rate_until = sand_calloc(spec->n_classes + 1, sizeof *opened->rate_until);
    opened->nodes = sand_calloc(n_nodes, sizeof *opened->nodes);
    if (opened->rate_until == NULL || opened->nodes == NULL)
        goto out;
    start_clocks(opened);
    *process = opened;
    return SAND_OK;
out:
    sand_fault_close(opened);
    return sand_fail(diag, SAND_ERR_NOMEM, "no memory for the fault clocks of %u nodes", n_nodes);
}

void sand_fault_close(struct sand_fault_process *process)
{
    if (process == NULL)
        return;
    sand_free(process->rate_until);
    sand_free(process->nodes);
    sand_free(process);
}

// ---- exposure ----

static int64_t due_ns(const struct node_clock *clock)
{
    if (!clock->running || clock->next_ns == INT64_MAX)
        return INT64_MAX;
    return later(clock->since_ns, clock->next_ns - clock->age_ns);
}

static int64_t age_at(const struct node_clock *clock, int64_t now_ns)
{
    if (!clock->running || now_ns <= clock->since_ns)
        return clock->age_ns;
    int64_t age_ns = later(clock->age_ns, now_ns - clock->since_ns);
    return age_ns < clock->next_ns ? age_ns : clock->next_ns;
}

int64_t sand_fault_expose(struct sand_fault_process *process, uint32_t node, int64_t now_ns)
{
    struct node_clock *clock = &process->nodes[node];
    if (!clock->running) {
        clock->running = 1;
        clock->since_ns = now_ns;
    }
    return due_ns(clock);
}

void sand_fault_rest(struct sand_fault_process *process, uint32_t node, int64_t now_ns)
{
    struct node_clock *clock = &process->nodes[node];
    clock->age_ns = age_at(clock, now_ns);
    clock->running = 0;
}

int64_t sand_fault_exposure_ns(const struct sand_fault_process *process, uint32_t node,
                               int64_t now_ns)
{
    return age_at(&process->nodes[node], now_ns);
}

// ---- what strikes ----

// The class whose share of the summed rate holds u. Classes of rate 0 never strike.
static uint32_t class_of(const struct sand_fault_process *process, double u)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < process->spec->n_classes; i++) {
        if (!(process->spec->classes[i].rate_per_node_s > 0))
            continue;
        last = i;
        if (u * process->rate < process->rate_until[i])
            break;
    }
    return last;
}

static uint32_t part_of(uint32_t count, double u)
{
    const uint32_t index = (uint32_t)(u * count);
    return index < count ? index : count - 1; // u near 1 may round up
}

static uint32_t component_of(const struct sand_fault_process *process, uint32_t class_index,
                             double u)
{
    uint32_t count = 0;
    switch (process->spec->classes[class_index].component) {
    case SAND_COMPONENT_GPU:
        count = process->gpus_per_node;
        break;
    case SAND_COMPONENT_NIC:
        count = process->nics_per_node;
        break;
    default:
        return SAND_NONE;
    }
    return part_of(count, u);
}

uint32_t sand_fault_gpu(const struct sand_fault_process *process, const struct sand_fault *fault)
{
    const double u =
        sand_rng_uniform(process->rng, SAND_STREAM_FAULT_COMPONENT, fault->node, fault->index);
    return part_of(process->gpus_per_node, u);
}

struct sand_fault sand_fault_take(struct sand_fault_process *process, uint32_t node,
                                  int64_t *next_ns)
{
    struct node_clock *clock = &process->nodes[node];
    struct sand_fault fault = {
        .node = node, .component = SAND_NONE, .entity = node, .index = clock->index};
    *next_ns = INT64_MAX;
    if (clock->next_ns == INT64_MAX)
        return fault;
    double u = sand_rng_uniform(process->rng, SAND_STREAM_FAULT_CLASS, node, fault.index);
    fault.class_index = class_of(process, u);
    u = sand_rng_uniform(process->rng, SAND_STREAM_FAULT_COMPONENT, node, fault.index);
    fault.component = component_of(process, fault.class_index, u);
    clock->since_ns = due_ns(clock);
    clock->age_ns = clock->next_ns;
    clock->index++;
    clock->next_ns = later(clock->next_ns, gap_ns(process, node, clock->index));
    *next_ns = due_ns(clock);
    return fault;
}

// ---- how long it takes ----

static int64_t draw_ns(const struct sand_fault_process *process, const struct sand_law *law,
                       enum sand_stream stream, const struct sand_fault *fault, uint32_t attempt)
{
    // A node has fewer than 2^32 faults (a fault a second for 136 years): attempts get the high
    // half.
    uint64_t address = fault->index + ((uint64_t)attempt << 32);
    return sand_ns_from_s(
        sand_law_quantile(law, sand_rng_uniform(process->rng, stream, fault->entity, address)));
}

int64_t sand_fault_detect_ns(const struct sand_fault_process *process,
                             const struct sand_fault *fault)
{
    const struct sand_law *law = &sand_fault_class_at(process->spec, fault->class_index)->detect;
    return draw_ns(process, law, SAND_STREAM_DETECT, fault, 0);
}

int64_t sand_fault_diagnose_ns(const struct sand_fault_process *process,
                               const struct sand_fault *fault)
{
    const struct sand_law *law = &sand_fault_class_at(process->spec, fault->class_index)->diagnose;
    return draw_ns(process, law, SAND_STREAM_DIAGNOSE, fault, 0);
}

int64_t sand_fault_restart_ns(const struct sand_fault_process *process,
                              const struct sand_fault *fault, uint32_t attempt)
{
    const struct sand_law *law = &sand_fault_class_at(process->spec, fault->class_index)->restart;
    return draw_ns(process, law, SAND_STREAM_RESTART, fault, attempt);
}

int64_t sand_fault_repair_ns(const struct sand_fault_process *process,
                             const struct sand_fault *fault)
{
    const struct sand_law *law = &sand_fault_class_at(process->spec, fault->class_index)->repair;
    return draw_ns(process, law, SAND_STREAM_REPAIR, fault, 0);
}
