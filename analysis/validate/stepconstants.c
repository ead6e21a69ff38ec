// One table of the attributes that were fitted, by the entry they stand in.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepconstants.h"

#include <math.h>
#include <string.h>

#include "mem.h"

enum owner { OWNER_GPU, OWNER_SCALEUP, OWNER_NIC, OWNER_SOFTWARE, OWNER_KERNELS, OWNERS };

struct attribute {
    const char *name;
    enum owner owner;
    enum sand_step_constant_class class;
    size_t offset;
    size_t kernel_offset, peak_offset; // in the GPU: what the rate is a share of, the first that
                                       // is known; 0: none
    int is_share;                      // at most 1
};

#define GPU_RATE(name, member, class, kernel, peak)                                                \
    {                                                                                              \
        name, OWNER_GPU, class, offsetof(struct sand_gpu_type, member),                            \
            offsetof(struct sand_gpu_type, kernel), offsetof(struct sand_gpu_type, peak), 0        \
    }
#define SOFTWARE(member, class, share)                                                             \
    {                                                                                              \
#member, OWNER_SOFTWARE, class, offsetof(struct sand_software, member), 0, 0, share        \
    }
#define KERNEL(member)                                                                             \
    {                                                                                              \
#member, OWNER_KERNELS, SAND_CONSTANT_KERNEL, offsetof(struct sand_kernel_costs, member),  \
            0, 0, 0                                                                                \
    }

static const struct attribute attributes[] = {
    GPU_RATE("gemm_bf16", gemm_bf16_flops, SAND_CONSTANT_GEMM_16, kernel_bf16_flops,
             peak_bf16_flops),
    GPU_RATE("gemm_fp8", gemm_fp8_flops, SAND_CONSTANT_GEMM_8, kernel_fp8_flops, peak_fp8_flops),
    GPU_RATE("gemm_fp4", gemm_fp4_flops, SAND_CONSTANT_GEMM_4, peak_fp4_flops, peak_fp4_flops),
    GPU_RATE("attention", attention_flops, SAND_CONSTANT_ATTENTION, kernel_attention_flops,
             peak_bf16_flops),
    GPU_RATE("attention_flash2", flash2_flops, SAND_CONSTANT_ATTENTION, kernel_flash2_flops,
             peak_bf16_flops),
    {"usable", OWNER_SCALEUP, SAND_CONSTANT_SCALEUP, offsetof(struct sand_link_type, usable), 0, 0,
     1},
    {"usable", OWNER_NIC, SAND_CONSTANT_NETWORK, offsetof(struct sand_link_type, usable), 0, 0, 1},
    SOFTWARE(tp_exposed, SAND_CONSTANT_TP, 1),
    SOFTWARE(dp_exposed, SAND_CONSTANT_DP, 1),
    SOFTWARE(ep_exposed, SAND_CONSTANT_EP, 1),
    SOFTWARE(layer_overhead_s, SAND_CONSTANT_LAYER, 0),
    KERNEL(attention_head64),
    KERNEL(attention_flash1),
    KERNEL(unfused_rate),
    KERNEL(unfused_score_B),
    KERNEL(norm_B),
    KERNEL(cast_fp8_B),
    KERNEL(fp8_row_rate),
    KERNEL(permute_B),
    KERNEL(expert_overhead_s),
    KERNEL(scale_loss),
};
enum { N_ATTRIBUTES = sizeof attributes / sizeof attributes[0] };

const char *sand_step_constant_class_name(enum sand_step_constant_class constant_class)
{
    static const char *const names[] = {"16-bit GEMM rate",
                                        "8-bit GEMM rate",
                                        "4-bit GEMM rate",
                                        "attention rate",
                                        "scale-up links",
                                        "network links",
                                        "exposed TP share, overlapped",
                                        "exposed TP share",
                                        "exposed DP share",
                                        "exposed EP share",
                                        "time between layers",
                                        "kernel classes"};
    return names[constant_class];
}

// ---- owners -------------------------------------------------------------------------------------

struct owners {
    const void *entry[OWNERS]; // NULL: the case has none
    const char *id[OWNERS];
};

static struct owners owners_of(const struct sand_step_rules *rules, const struct sand_step_case *c)
{
    const struct sand_node_type *node = &c->node;
    struct owners o = {
        .entry = {node->gpu, node->scaleup_link, node->nic, c->job.software, rules->kernels},
        .id = {node->gpu->id, NULL, node->nic->id, c->job.software->id, rules->kernels->id}};
    if (node->scaleup_link)
        o.id[OWNER_SCALEUP] = node->scaleup_link->id;
    return o;
}

static double read(const void *entry, size_t offset)
{
    return *(const double *)(const void *)((const char *)entry + offset);
}

// Stacks that overlap tensor-parallel collectives have little in common with those that do not.
static enum sand_step_constant_class class_of(const struct attribute *a, const void *entry)
{
    const struct sand_software *software = entry;
    return a->class == SAND_CONSTANT_TP && !software->tp_overlap ? SAND_CONSTANT_TP_BARE : a->class;
}

static int is_constant(const struct sand_step_constant *constant, const struct attribute *a,
                       const void *entry)
{
    const double value = read(entry, a->offset);
    return constant->class == class_of(a, entry) && strcmp(constant->name, a->name) == 0 &&
           constant->value == value;
}

// The constant that gives this attribute of the entry its value; n if none.
static size_t find(const struct sand_step_constants *constants, const struct attribute *a,
                   const void *entry)
{
    size_t k = 0;
    while (k < constants->n && !is_constant(&constants->list[k], a, entry))
        k++;
    return k;
}

int sand_step_constant_applies(const struct sand_step_rules *rules, const struct sand_step_case *c,
                               const struct sand_step_constant *constant)
{
    const struct owners o = owners_of(rules, c);
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        const void *entry = o.entry[attributes[i].owner];
        if (entry && is_constant(constant, &attributes[i], entry))
            return 1;
    }
    return 0;
}

// ---- finding ------------------------------------------------------------------------------------

// What an attribute is a share of.
static double compared_with(const struct attribute *a, const void *entry)
{
    const double kernel = a->kernel_offset > 0 ? read(entry, a->kernel_offset) : 0;
    const double peak = a->peak_offset > 0 ? read(entry, a->peak_offset) : 0;
    return kernel > 0 ? kernel : peak > 0 ? peak : 1;
}

static enum sand_rc add_case(struct sand_step_constants *constants, size_t *capacity,
                             const struct owners *o)
{
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        const struct attribute *a = &attributes[i];
        const void *entry = o->entry[a->owner];
        if (!entry || !(read(entry, a->offset) > 0) || find(constants, a, entry) < constants->n)
            continue;
        SAND_TRY(sand_grow((void **)&constants->list, capacity, constants->n + 1,
                           sizeof *constants->list));
        constants->list[constants->n++] =
            (struct sand_step_constant){.name = a->name,
                                        .owner = o->id[a->owner],
                                        .class = class_of(a, entry),
                                        .value = read(entry, a->offset),
                                        .share = read(entry, a->offset) / compared_with(a, entry)};
    }
    return SAND_OK;
}

enum sand_rc sand_step_constants_find(const struct sand_step_rules *rules,
                                      const struct sand_step_case *cases, size_t n,
                                      struct sand_step_constants *constants)
{
    size_t capacity = 0;
    *constants = (struct sand_step_constants){0};
    for (size_t i = 0; i < n; i++) {
        if (cases[i].class != SAND_STEP_SCORED)
            continue;
        const struct owners o = owners_of(rules, &cases[i]);
        SAND_TRY(add_case(constants, &capacity, &o));
    }
    return SAND_OK;
}

// ---- tuning -------------------------------------------------------------------------------------

static void link_up(struct sand_step_tuned *t, const struct sand_step_case *c)
{
    t->node.gpu = &t->gpu;
    if (c->node.scaleup_link)
        t->node.scaleup_link = &t->scaleup;
    t->node.nic = &t->nic;
    t->cluster.node_type = &t->node;
    t->cluster.fabric.link = &t->nic; // what stepcase builds
    t->job.software = &t->software;
}

void sand_step_tune(const struct sand_step_rules *rules, const struct sand_step_case *c,
                    const struct sand_step_constants *constants, const double *log_factors,
                    struct sand_step_tuned *t)
{
    *t = (struct sand_step_tuned){.gpu = *c->node.gpu,
                                  .nic = *c->node.nic,
                                  .software = *c->job.software,
                                  .kernels = *rules->kernels,
                                  .node = c->node,
                                  .cluster = c->cluster,
                                  .job = c->job};
    if (c->node.scaleup_link)
        t->scaleup = *c->node.scaleup_link;
    void *const copies[OWNERS] = {&t->gpu, c->node.scaleup_link ? &t->scaleup : NULL, &t->nic,
                                  &t->software, &t->kernels};
    const struct owners o = owners_of(rules, c);
    for (size_t i = 0; constants && i < N_ATTRIBUTES; i++) {
        const struct attribute *a = &attributes[i];
        const size_t k = o.entry[a->owner] ? find(constants, a, o.entry[a->owner]) : constants->n;
        if (k == constants->n)
            continue;
        const double value = constants->list[k].value * exp(log_factors[k]);
        *(double *)(void *)((char *)copies[a->owner] + a->offset) =
            a->is_share && value > 1 ? 1 : value;
    }
    link_up(t, c);
}
