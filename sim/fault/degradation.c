// Draws of degradations. All parts of a class together are one Poisson process of the summed rate,
// and every strike picks one of them (superposition).
// SPDX-License-Identifier: GPL-2.0-or-later
#include "degradation.h"

#include "faultprocess.h"
#include "units.h"

static const struct sand_degradation_class *class_of(const struct sand_fault_process *process,
                                                     uint32_t class_index)
{
    return &process->spec->degradations[class_index];
}

int64_t sand_degradation_next_ns(const struct sand_fault_process *process, uint32_t class_index,
                                 uint64_t k, int64_t last_ns, uint64_t n_parts)
{
    const struct sand_degradation_class *c = class_of(process, class_index);
    if (c->at_s >= 0)
        return k == 0 ? sand_ns_from_s(c->at_s) : INT64_MAX;
    const double rate = c->rate_per_part_s * (double)n_parts;
    if (!(rate > 0))
        return INT64_MAX;
    const struct sand_law gap = {.kind = SAND_LAW_EXPONENTIAL, .mean_s = 1 / rate};
    const double u = sand_rng_uniform(process->rng, SAND_STREAM_DEGRADATION_GAP, class_index, k);
    int64_t date;
    return __builtin_add_overflow(last_ns, sand_ns_from_s(sand_law_quantile(&gap, u)), &date)
               ? INT64_MAX
               : date;
}

uint64_t sand_degradation_part(const struct sand_fault_process *process, uint32_t class_index,
                               uint64_t k, uint64_t n_parts)
{
    const double u = sand_rng_uniform(process->rng, SAND_STREAM_DEGRADATION_PART, class_index, k);
    const uint64_t part = (uint64_t)(u * (double)n_parts);
    return part < n_parts ? part : n_parts - 1; // u near 1 may round up
}

int64_t sand_degradation_flap_ns(const struct sand_fault_process *process, uint32_t class_index,
                                 uint64_t k, uint64_t m, int down)
{
    const struct sand_degradation_class *c = class_of(process, class_index);
    const enum sand_stream stream = down ? SAND_STREAM_FLAP_DOWN : SAND_STREAM_FLAP_UP;
    const double u = sand_rng_uniform(process->rng, stream, class_index, k << 32 | m);
    const int64_t length_ns = sand_ns_from_s(sand_law_quantile(down ? &c->down : &c->up, u));
    return length_ns > 0 ? length_ns : 1;
}

struct sand_fault sand_degradation_fault(const struct sand_fault_process *process,
                                         uint32_t class_index, uint64_t k, uint32_t node,
                                         uint32_t component)
{
    // Nodes have numbers below 2^32: no address of theirs is used.
    return (struct sand_fault){.node = node,
                               .class_index = (uint32_t)process->spec->n_classes + class_index,
                               .component = component,
                               .entity = (UINT64_C(1) << 32) + class_index,
                               .index = k};
}
