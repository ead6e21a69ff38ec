// One struct per table of results.def: same columns, same order (results.c asserts it).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_RESULTS_ROWS_H
#define SAND_SIM_MODEL_RESULTS_ROWS_H

struct sand_jobs_row {
    sand_cell_u32 replication;
    sand_cell_u32 job;
    sand_cell_str id;
    sand_cell_str state;
    sand_cell_u32 nodes;
    sand_cell_u32 gpus;
    sand_cell_i64 submit_ns;
    sand_cell_i64 start_ns;
    sand_cell_i64 end_ns;
    sand_cell_u64 steps_done;
    sand_cell_u64 steps_lost;
    sand_cell_u64 incidents;
    sand_cell_u64 planned_incidents;
    sand_cell_u64 checkpoints;
    sand_cell_f64 step_s;
    sand_cell_f64 healthy_step_s;
    sand_cell_f64 mfu;
    sand_cell_f64 hfu;
    sand_cell_f64 goodput_mfu;
    sand_cell_f64 ettr_run;
    sand_cell_f64 ettr_total;
    sand_cell_f64 tokens;
    sand_cell_f64 checkpoint_interval_s;
    sand_cell_f64 checkpoint_stall_s;
};
struct sand_attempts_row {
    sand_cell_u32 replication;
    sand_cell_u32 job;
    sand_cell_u32 attempt;
    sand_cell_i64 begin_ns;
    sand_cell_i64 end_ns;
    sand_cell_u64 first_step;
    sand_cell_u64 steps;
    sand_cell_u32 profile;
    sand_cell_f64 step_s;
    sand_cell_i64 steps_ns;
    sand_cell_u64 steps_lost;
    sand_cell_i64 lost_ns;
    sand_cell_i64 placement_ns;
    sand_cell_i64 neighbours_ns;
    sand_cell_i64 faults_ns;
    sand_cell_i64 transfers_ns;
};
struct sand_incidents_row {
    sand_cell_u32 replication;
    sand_cell_u32 incident;
    sand_cell_u32 parent;
    sand_cell_u32 job;
    sand_cell_str fault_class;
    sand_cell_str cause;
    sand_cell_u32 planned;
    sand_cell_u32 node;
    sand_cell_u32 component;
    sand_cell_i64 fault_ns;
    sand_cell_i64 recovered_ns;
    sand_cell_u64 steps_lost;
    sand_cell_f64 partial_step_s;
    sand_cell_f64 recovery_s;
    sand_cell_f64 detect_s;
    sand_cell_f64 diagnose_s;
    sand_cell_f64 wait_nodes_s;
    sand_cell_f64 restart_s;
    sand_cell_f64 restore_s;
    sand_cell_f64 recompute_s;
    sand_cell_f64 catch_up_s;
    sand_cell_f64 repair_s;
    sand_cell_u32 replacement;
    sand_cell_f64 lost_gpu_s;
};
struct sand_degradations_row {
    sand_cell_u32 replication;
    sand_cell_u32 degradation;
    sand_cell_u32 job;
    sand_cell_str fault_class;
    sand_cell_str cause;
    sand_cell_str effect;
    sand_cell_str part;
    sand_cell_i64 fault_ns;
    sand_cell_i64 noticed_ns;
    sand_cell_i64 healed_ns;
    sand_cell_u32 downs;
    sand_cell_i64 still_ns;
    sand_cell_i64 slow_ns;
    sand_cell_f64 lost_gpu_s;
};
struct sand_neighbours_row {
    sand_cell_u32 replication;
    sand_cell_u32 job;
    sand_cell_u32 neighbour;
    sand_cell_str link;
    sand_cell_i64 lost_ns;
    sand_cell_f64 lost_gpu_s;
};
struct sand_checkpoints_row {
    sand_cell_u32 replication;
    sand_cell_u32 job;
    sand_cell_u64 step;
    sand_cell_i64 begin_ns;
    sand_cell_i64 resume_ns;
    sand_cell_i64 durable_ns;
    sand_cell_f64 bytes;
};
struct sand_steps_row {
    sand_cell_u32 replication;
    sand_cell_u32 profile;
    sand_cell_u32 job;
    sand_cell_f64 step_s;
    sand_cell_f64 compute_s;
    sand_cell_f64 exposed_tp_s;
    sand_cell_f64 exposed_cp_s;
    sand_cell_f64 exposed_pp_s;
    sand_cell_f64 exposed_dp_s;
    sand_cell_f64 bubble_s;
    sand_cell_f64 data_stall_s;
    sand_cell_f64 tokens_per_s;
    sand_cell_f64 mfu;
    sand_cell_f64 hfu;
    sand_cell_f64 memory_B;
};
struct sand_mfu_row {
    sand_cell_u32 replication;
    sand_cell_u32 job;
    sand_cell_i64 begin_ns;
    sand_cell_i64 end_ns;
    sand_cell_f64 mfu;
    sand_cell_f64 stepping;
};
struct sand_cluster_row {
    sand_cell_u32 replication;
    sand_cell_i64 begin_ns;
    sand_cell_i64 end_ns;
    sand_cell_str gpu_class;
    sand_cell_f64 gpu_s;
    sand_cell_f64 power_W;
};
struct sand_links_row {
    sand_cell_u32 replication;
    sand_cell_u32 profile;
    sand_cell_str link_class;
    sand_cell_f64 step_B;
    sand_cell_f64 utilisation;
};
struct sand_decisions_row {
    sand_cell_u32 replication;
    sand_cell_i64 date_ns;
    sand_cell_str policy;
    sand_cell_str action;
    sand_cell_u32 job;
    sand_cell_u32 node;
    sand_cell_f64 value;
};
struct sand_replications_row {
    sand_cell_u32 replication;
    sand_cell_u64 seed;
    sand_cell_u64 incidents;
    sand_cell_u64 planned_incidents;
    sand_cell_f64 dispersion;
    sand_cell_f64 mfu;
    sand_cell_f64 mfu_alone;
    sand_cell_f64 goodput_mfu;
    sand_cell_f64 ettr_run;
    sand_cell_f64 ettr_total;
    sand_cell_f64 recovery_s;
    sand_cell_f64 lost_gpu_s;
    sand_cell_f64 tokens;
    sand_cell_f64 energy_J;
    sand_cell_f64 neighbours_gpu_s;
    sand_cell_u64 joint_questions;
    sand_cell_u64 joint_known;
    sand_cell_u64 joint_jobs;
    sand_cell_f64 transfers_gpu_s;
};
struct sand_groups_row {
    sand_cell_u32 replication;
    sand_cell_str by;
    sand_cell_str name;
    sand_cell_str ending;
    sand_cell_u64 jobs;
    sand_cell_f64 gpu_s;
    sand_cell_f64 asked_gpu_s;
    sand_cell_f64 useful_gpu_s;
    sand_cell_f64 wait_mean_s;
    sand_cell_f64 wait_p50_s;
    sand_cell_f64 wait_p95_s;
    sand_cell_f64 wait_max_s;
    sand_cell_f64 completion_mean_s;
    sand_cell_f64 completion_p50_s;
    sand_cell_f64 completion_p95_s;
    sand_cell_f64 slowdown_mean;
    sand_cell_f64 slowdown_p50;
    sand_cell_f64 slowdown_p95;
};

#endif
