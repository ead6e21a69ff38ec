// Hardware as the catalogue states it. Every number has a source; none stands in C.
// Owned by the spec arena; read-only after binding.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_HARDWARE_H
#define SAND_SIM_MODEL_HARDWARE_H

#include <stdint.h>

// fp8 scales a tensor at a time (or blocks in hardware, mxfp8), fp8-row every row in software.
enum sand_precision { SAND_FP16, SAND_BF16, SAND_FP8, SAND_NVFP4, SAND_FP8_ROW };

// Where a catalogue entry comes from. `assumed` lists attributes that no source confirms,
// space-separated ("" = none); they are printed as assumed wherever the entry is used.
struct sand_provenance {
    const char *source, *date, *assumed;
};

// One GPU generation. Rates are dense, per GPU.
// A part slower than this share of its speed is no slow part but one that is down: a step that
// takes days leaves the clock of the engine no digits for a message.
#define SAND_SLOWEST 0.001

struct sand_gpu_type {
    const char *id;
    struct sand_provenance from;
    double peak_bf16_flops, peak_fp16_flops,
        peak_fp8_flops;    // data-sheet peaks; fp8 0: not supported
    double peak_fp4_flops; // 0: not supported
    double hbm_B, hbm_Bps;
    double tdp_W;                           // bounds a node's max_W from below
    double gemm_bf16_flops, gemm_fp8_flops; // sustained GEMM rate R on large aligned shapes
    double gemm_fp4_flops;                  // 0: not supported
    double attention_flops; // fused attention, causal fwd+bwd, head size 128, long sequence
    double flash2_flops;    // the same with FlashAttention-2; 0: as attention_flops
    // Of these kernels alone, as measured; 0: not known. A prior for refits, no cost.
    double kernel_bf16_flops, kernel_fp8_flops, kernel_attention_flops, kernel_flash2_flops;
    double hbm_usable;               // fraction of hbm_Bps that memory-bound kernels reach
    double gemm_tile_m, gemm_tile_n; // output tile of the GEMM kernels
    uint32_t n_sm;                   // streaming multiprocessors: tiles in one wave
};

// Costs of kernel classes that do not depend on the GPU generation.
struct sand_kernel_costs {
    const char *id;
    struct sand_provenance from;
    double gemm_overhead_s;     // per GEMM
    double gemm_quantisation;   // share of the ceil ratio's loss that is paid (0..1)
    double gemm_misaligned;     // relative penalty when N or K is no multiple of 64
    double attention_half_seq;  // tokens: fused attention runs at A*s/(s+this)
    double attention_bwd_ratio; // backward / forward FLOPs of fused attention
    double attention_head64;    // factor on the fused attention rate for head sizes up to 64
    double attention_flash1; // factor on the rate of FlashAttention-2 for FlashAttention in Triton
    double unfused_rate;     // fraction of the GEMM rate for unfused attention
    double unfused_score_B;  // bytes per score element, forward plus backward
    double norm_B;           // bytes per token, layer and hidden element, fwd+bwd
    double activation_B;     // bytes per token, layer and FFN element, fwd+bwd, times (1+gated)
    double qkv_B;            // bytes per token, layer and QKV output element, fwd+bwd
    double logit_B;          // bytes per logit
    double fp8_row_rate;     // fraction of the fp8 GEMM rate with a scale per row
    double cast_fp8_B;       // bytes per GEMM input element for fp8 casts and transposes
    double permute_B; // bytes per element of a token's copy to an expert, fwd+bwd: sorting, gating
    double expert_overhead_s; // per layer with experts and micro-batch: routing, launches
    double optimizer_B;       // bytes of traffic per locally updated parameter
    double scale_loss;        // compute slows by this share per doubling of the GPUs beyond eight
    double buffers_B;         // GPU memory for context, communicators, workspaces, fragmentation
};

// TORUS: all links of a chip, which is a place of a torus.
enum sand_link_medium {
    SAND_MEDIUM_SCALEUP,
    SAND_MEDIUM_PCIE,
    SAND_MEDIUM_NETWORK,
    SAND_MEDIUM_TORUS
};

// A link type or protocol: rate of one port and what collectives reach on it inside a step.
struct sand_link_type {
    const char *id;
    struct sand_provenance from;
    double rate_Bps;         // one port, one direction
    double usable;           // fraction of rate_Bps a collective reaches inside a training step
    double switch_latency_s; // of one of its switches, port to port, unloaded
    double metre_latency_s;  // of light or current in its cables
    int sharp;               // its switches can reduce what passes through them
    double peer_latency_s;   // more for each message that one sender starts after another
    // What collectives reach on it alone, outside a step.
    enum sand_link_medium medium; // whose latency per hop the library's kernels have on it
    double alone;                 // fraction of rate_Bps that a long ring reaches
    double multicast;          // fraction that a reduction in the switch reaches (NVLS); 0: cannot
    double multicast_channels; // that such a reduction runs on
    int ll128_as_ll;           // LL128 has the latencies of LL on it
    double ll_most_Bps;        // that kernels of protocol LL reach on it at most; 0: no bound
    double launch_s;           // latency once per collective beyond the kernels' table
    double hop_s;              // latency per hop beyond it
    int relay;                 // GPUs of a node relay all-to-all to the receiver's rail (PXN)
    double tree_channel_Bps;   // that one channel of a tree takes between two domains; 0: no bound
    double p2p_channel_Bps;    // that one channel takes from a GPU to another; 0: no bound
};

// A switch, or links from chip to chip in a torus of two or three dimensions.
enum sand_scaleup { SAND_SCALEUP_NONE, SAND_SCALEUP_NVSWITCH, SAND_SCALEUP_TORUS };

// A server: GPUs behind one scale-up domain, NICs, host link, storage NICs, power.
struct sand_node_type {
    const char *id;
    struct sand_provenance from;
    const struct sand_gpu_type *gpu;
    uint32_t n_gpus;
    enum sand_scaleup scaleup;
    // Per GPU, one direction; of a torus all links of a chip together. NULL without scale-up.
    const struct sand_link_type *scaleup_link;
    uint32_t scaleup_nodes; // nodes that share one scale-up domain (0: 1)
    uint32_t scaleup_dims;  // of a torus
    uint32_t scaleup_ring;  // shortest side of it that closes to a ring
    double socket_Bps;      // between the two halves of the GPUs, one direction; 0: no bound
    uint32_t n_nics;        // compute NICs; GPU g uses NIC g*n_nics/n_gpus
    const struct sand_link_type *nic;
    const struct sand_link_type *host_link; // GPU to host memory (PCIe), one per GPU
    uint32_t n_storage_nics;
    double storage_nic_Bps; // each
    double max_W, idle_W;   // whole server
};

// What the parts of a network cost and draw. 0 USD: not priced.
struct sand_price_list {
    const char *id;
    struct sand_provenance from;
    uint32_t switch_ports;                       // of the switch that is priced
    double switch_usd, switch_W;                 // one switch or router, without transceivers
    double circuit_switch_usd, circuit_switch_W; // optical circuit switch
    double transceiver_usd, transceiver_W;       // one end of an optical cable
    double fibre_usd, copper_usd;                // one cable
    double copper_reach_m; // cables up to this length are copper, without transceivers
    double fibre_reach_m;  // longest fibre that the transceivers drive; 0: not given
};

// A software stack: at most three fitted constants (see docs/decisions); step_overhead is assumed.
// How optimizer state is cut where it is all that the copies share out.
enum sand_state_shards {
    SAND_STATE_FLAT,   // slices of all parameters: gradients reduce-scattered, weights gathered
    SAND_STATE_TENSORS // whole tensors: gradients all-reduced, one owner after another broadcasts
};

struct sand_software {
    const char *id;
    struct sand_provenance from;
    int tp_overlap;    // tensor-parallel collectives are cut up and run beside the products
    double tp_exposed; // share of tensor- and context-parallel traffic that compute does not hide
    double dp_exposed; // share of overlapped data-parallel traffic that compute does not hide
    double ep_exposed; // share of the all-to-alls of experts that compute does not hide
    double ep_multiprocessors; // of a GPU that these occupy while they run beside compute
    int full_graph;            // whole steps run from CUDA graphs: routing waits for no host
    int gathers_tensors;       // sharded parameters one after another, again when recomputed
    int recompute_stops;       // before the last product of a layer, whose output nothing needs
    int fused_gradients; // added to those of earlier micro-batches by the product that makes them
    double layer_overhead_s; // per layer and micro-batch: launches and gaps
    double step_overhead_s;  // per step
    enum sand_state_shards state_shards;
};

#endif
