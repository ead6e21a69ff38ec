// The series: GPU time by class, power, and each job's MFU, window by window.
// Corrections (at risk to useful or lost) stand in the window in which they were decided; they move
// time between classes of equal power, so the energy of a window is what it drew.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>

#include "power.h"
#include "units.h"

static enum sand_power_state power_state(enum sand_gpu_class gpu_class)
{
    switch (gpu_class) {
    case SAND_GPU_USEFUL:
    case SAND_GPU_SLOWDOWN:
    case SAND_GPU_AT_RISK:
    case SAND_GPU_LOST:
    case SAND_GPU_DATA_STALL:
        return SAND_POWER_STEPPING;
    case SAND_GPU_DOWN:
    case SAND_GPU_UNDELIVERED:
        return SAND_POWER_OFF;
    default:
        return SAND_POWER_IDLE;
    }
}

// Share of a job's step on its own in which its GPUs compute, their mean. Where the step time was
// given, the time its FLOPs take at the sustained GEMM rate stands in for it; a recorded job counts
// as fully active.
static double own_activity(const struct sand_world *w, const struct sand_world_job *j)
{
    const struct sand_step_profile *p = j->profile;
    if (!p)
        return 1.0;
    if (!isnan(p->compute_s))
        return p->compute_s / p->step_s;
    const double rate = w->cluster->node_type->gpu->gemm_bf16_flops * (double)j->gpus;
    const double share = p->hardware_flops / (rate * p->step_s);
    return isnan(share) || share > 1.0 ? 1.0 : share;
}

// What makes a step longer than on its own keeps GPUs waiting.
static double activity_of(const struct sand_world *w, const struct sand_world_job *j)
{
    const int64_t own_ns = j->rate.healthy_ns + j->rate.by_ns[SAND_SLOW_PLACEMENT];
    return own_activity(w, j) * ((double)own_ns / (double)j->rate.step_ns);
}

void sand_window_weigh(const struct sand_world *w, struct sand_world_job *j)
{
    const int64_t stepping_ns = j->window.stepping_ns - j->window.weighed_ns;
    if (stepping_ns == 0)
        return;
    j->window.active_ns += (double)stepping_ns * activity_of(w, j);
    j->window.weighed_ns = j->window.stepping_ns;
}

// Activity of the window's stepping GPU time, all jobs.
static double mean_activity(const struct sand_world *w)
{
    const double full = (double)w->window_full_gpu_ns;
    double weighted = full, weight = full;
    for (const struct sand_world_job *j = w->first_active; j; j = j->active_after) {
        const struct sand_job_window *window = &j->window;
        const double rest_ns = (double)(window->stepping_ns - window->weighed_ns);
        const double gpus = (double)j->gpus;
        weighted += rest_ns * gpus * activity_of(w, j) + window->active_ns * gpus;
        weight += (double)window->stepping_ns * gpus;
    }
    return weight > 0 ? weighted / weight : 1.0;
}

// A GPU's share of its server's power; of several generations the mean over their nodes.
static double gpu_power_W(const struct sand_cluster *cluster, enum sand_power_state state,
                          double activity)
{
    const uint32_t gpus = cluster->node_type->n_gpus; // of every group
    uint32_t own = cluster->n_nodes;
    double sum_W = 0;
    for (size_t i = 0; i < cluster->n_groups; i++) {
        const struct sand_node_group *group = &cluster->groups[i];
        own -= group->n_nodes;
        sum_W += group->n_nodes * sand_power_node_W(group->node_type, state, activity);
    }
    sum_W += own * sand_power_node_W(cluster->node_type, state, activity);
    return sum_W / ((double)cluster->n_nodes * gpus);
}

static enum sand_rc emit_class(struct sand_world *w, enum sand_gpu_class gpu_class,
                               sand_gpu_ns amount, double activity)
{
    const double gpu_W =
        gpu_power_W(w->cluster, power_state(gpu_class), activity) * w->cluster->pue;
    const double energy_J = sand_gpu_s(amount) * gpu_W;
    w->energy_J += energy_J;
    struct sand_cluster_row row = {.replication = w->options->replication,
                                   .begin_ns = w->window_begin_ns,
                                   .end_ns = w->now_ns,
                                   .gpu_s = sand_gpu_s(amount),
                                   .power_W =
                                       energy_J / sand_s_from_ns(w->now_ns - w->window_begin_ns)};
    sand_cell_set(&row.gpu_class, sand_gpu_class_name(gpu_class));
    return sand_emit_row(w, SAND_TABLE_cluster, &row);
}

// Classes in which nothing was booked have no row.
static enum sand_rc emit_cluster(struct sand_world *w)
{
    const double activity = mean_activity(w);
    sand_ledger_settle(w->ledger, w->now_ns);
    for (int c = 0; c < SAND_GPU_N_CLASSES; c++) {
        const sand_gpu_ns booked = sand_ledger_booked(w->ledger, (enum sand_gpu_class)c);
        const sand_gpu_ns amount = booked - w->window_booked[c];
        w->window_booked[c] = booked;
        if (amount != 0)
            SAND_TRY(emit_class(w, (enum sand_gpu_class)c, amount, activity));
    }
    return SAND_OK;
}

static enum sand_rc emit_job(struct sand_world *w, const struct sand_world_job *j)
{
    const double window_ns = (double)(w->now_ns - w->window_begin_ns);
    const double held_s = sand_gpu_s(j->window.held_gpu_ns) / (double)j->gpus; // all its GPUs
    const struct sand_mfu_row row = {.replication = w->options->replication,
                                     .job = j->index,
                                     .begin_ns = w->window_begin_ns,
                                     .end_ns = w->now_ns,
                                     .mfu = j->window.flops / (j->peak_flops * held_s),
                                     .stepping = (double)j->window.stepping_ns / window_ns};
    return sand_emit_row(w, SAND_TABLE_mfu, &row);
}

// A recorded job has no FLOPs to relate to a peak, and there may be very many of them.
static enum sand_rc emit_jobs(struct sand_world *w)
{
    for (const struct sand_world_job *j = w->first_active; j; j = j->active_after) {
        if (j->window.held_gpu_ns > 0 && !sand_job_is_record(j->spec))
            SAND_TRY(emit_job(w, j));
    }
    return SAND_OK;
}

// Jobs that stayed for this window's rows leave.
static void begin_window(struct sand_world *w)
{
    struct sand_world_job *next;
    for (struct sand_world_job *j = w->first_active; j; j = next) {
        next = j->active_after;
        j->window = (struct sand_job_window){0};
        if (!j->forgotten)
            continue;
        sand_jobs_deactivate(w, j);
        sand_jobs_release(w, j);
    }
    w->window_full_gpu_ns = 0;
    w->window_begin_ns = w->now_ns;
}

enum sand_rc sand_window_close(struct sand_world *w)
{
    for (struct sand_world_job *j = w->first_active; j; j = j->active_after) {
        if (j->phase != SAND_PHASE_ENDED)
            sand_life_settle(w, j);
    }
    SAND_TRY(emit_cluster(w));
    SAND_TRY(emit_jobs(w));
    begin_window(w);
    return SAND_OK;
}
