// What one training step takes and where the time goes.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_STEPPROFILE_H
#define SAND_SIM_MODEL_STEPPROFILE_H

#include <stdint.h>

enum sand_link_class {
    SAND_LINK_SCALEUP_OUT,
    SAND_LINK_SCALEUP_IN,
    SAND_LINK_NIC_UP,
    SAND_LINK_NIC_DOWN,
    SAND_LINK_LEAF_UP,
    SAND_LINK_LEAF_DOWN,
    SAND_LINK_SPINE_UP,
    SAND_LINK_SPINE_DOWN,
    SAND_LINK_LOCAL,  // between routers of a dragonfly's group
    SAND_LINK_GLOBAL, // between groups
    SAND_LINK_TORUS,
    SAND_LINK_CLASSES
};
// "scaleup_out", "nic_up", ...
const char *sand_link_class_name(enum sand_link_class link_class);

// Bytes that the training state takes on the fullest GPU.
struct sand_memory {
    double weights_B, gradients_B, optimizer_B, activations_B, buffers_B, total_B, capacity_B;
    double experts_B; // of weights, gradients and optimizer: what experts take
    uint32_t stage;   // the pipeline stage that needs most
};

// Times are seconds, means over the job's GPUs; the parts sum to step_s: compute (forward,
// backward, recomputation, optimizer, fixed overhead) + exposed communication by dimension + bubble
// (waiting for other stages or replicas, up to the step's end).
struct sand_step_profile {
    double step_s;
    double compute_s, recompute_s, optimizer_s, overhead_s; // the last three are parts of compute_s
    double exposed_tp_s, exposed_cp_s, exposed_pp_s, exposed_dp_s;
    double exposed_ep_s; // part of exposed_tp_s: all-to-alls of experts
    double bubble_s;
    double data_stall_s;
    uint32_t critical_stage; // the pipeline stage that computes longest
    double tokens_per_s;
    double model_flops;    // per step, see DESIGN "Results and definitions"
    double hardware_flops; // model plus recomputation
    double peak_flops;     // sum over the job's GPUs, dense peak at the GEMM precision
    double mfu, hfu;
    double link_B[SAND_LINK_CLASSES];           // bytes carried per step, all links of the class
    double link_utilisation[SAND_LINK_CLASSES]; // mean over the step of the busiest link
    struct sand_memory memory;
    // What the simulation did, for people who measure it.
    uint64_t n_flows_full, n_flows, n_links_full, n_links, n_actors_full, n_actors, n_events;
};

#endif
