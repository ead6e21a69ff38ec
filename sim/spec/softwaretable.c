// Field table of the catalogue's training software stacks.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "hardware.h"
#include "spectable.h"

static const char *const state_shards[] = {
    [SAND_STATE_FLAT] = "flat", [SAND_STATE_TENSORS] = "tensors", NULL};

static const struct spec_field software_fields[] = {
    SPEC_ENTRY_HEAD(struct sand_software),
    {.name = "tp_overlap",
     SPEC_MEMBER(SPEC_YESNO, struct sand_software, tp_overlap),
     SPEC_PRESET("no"),
     .doc = "Whether it cuts tensor-parallel collectives up to run them beside the products; "
            "refits compare tp_exposed with that of its like."},
    {.name = "tp_exposed",
     SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_software, tp_exposed),
     .doc = "Share of tensor- and context-parallel traffic that compute does not hide."},
    {.name = "dp_exposed",
     SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_software, dp_exposed),
     SPEC_PRESET("0"),
     .doc = "Share of overlapped data-parallel traffic that compute does not hide all the same: "
            "the two slow each other down."},
    {.name = "ep_exposed",
     SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_software, ep_exposed),
     SPEC_PRESET("1"),
     .doc = "Share of the all-to-alls of experts that compute does not hide; more where they take "
            "longer than the compute of a micro-batch that they run beside."},
    {.name = "ep_multiprocessors",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_software, ep_multiprocessors),
     SPEC_PRESET("0"),
     .doc = "Multiprocessors of a GPU that they occupy while they run beside compute."},
    {.name = "full_graph",
     SPEC_MEMBER(SPEC_YESNO, struct sand_software, full_graph),
     SPEC_PRESET("no"),
     .doc = "Whether whole steps run from CUDA graphs, so that routing waits for no host: no "
            "expert_overhead."},
    {.name = "layer_overhead",
     SPEC_QUANTITY(SAND_DIM_TIME, struct sand_software, layer_overhead_s),
     .doc = "Launches and gaps per layer and micro-batch."},
    {.name = "step_overhead",
     SPEC_QUANTITY(SAND_DIM_TIME, struct sand_software, step_overhead_s),
     .doc = "Fixed time per step."},
    {.name = "state_shards",
     SPEC_MEMBER(SPEC_WORD, struct sand_software, state_shards),
     .words = state_shards,
     SPEC_PRESET("flat"),
     .doc = "How optimizer state is cut under sharding=\"optimizer\": flat: slices of all "
            "parameters, gradients are reduce-scattered and weights gathered (Megatron-LM, "
            "DeepSpeed); tensors: whole tensors, gradients are all-reduced and every owner "
            "broadcasts its own weights, one after another (InternEvo, PyTorch's "
            "ZeroRedundancyOptimizer)."},
    {.name = "gathers_tensors",
     SPEC_MEMBER(SPEC_YESNO, struct sand_software, gathers_tensors),
     SPEC_PRESET("no"),
     .doc = "Whether sharded parameters are gathered, and their gradients reduced, one tensor "
            "after another, and gathered a third time where a layer is recomputed whole "
            "(DeepSpeed ZeRO-3 of 2021); else a layer at a time and twice."},
    {.name = "recompute_stops",
     SPEC_MEMBER(SPEC_YESNO, struct sand_software, recompute_stops),
     SPEC_PRESET("no"),
     .doc = "Whether recomputing a layer stops at what its backward needs, which the output of its "
            "last product is not (PyTorch's checkpoint without re-entrance, early stop; JAX, whose "
            "compiler drops it); else the whole forward runs again (Megatron-LM)."},
    {.name = "fused_gradients",
     SPEC_MEMBER(SPEC_YESNO, struct sand_software, fused_gradients),
     SPEC_PRESET("yes"),
     .doc = "Whether the product that makes gradients of weights adds them to those of earlier "
            "micro-batches; else a kernel of its own does, after they have been written."},
};

const struct spec_element spec_software = {.name = "software",
                                           .key = "software",
                                           .kind = SPEC_SOFTWARE,
                                           .size = sizeof(struct sand_software),
                                           .fields = software_fields,
                                           .n_fields = SPEC_COUNT(software_fields),
                                           .doc = "A training software stack."};
