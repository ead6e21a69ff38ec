// The jobs of a mix.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "jobsetparts.h"
#include "units.h"

// What a mix makes of the cluster it is put on.
struct fit {
    uint64_t jobs, too_large, part_node; // part_node: of those that fit
    double asked_gpu_s, held_gpu_s;      // likewise
};

static uint32_t nodes_of(const struct sand_experiment *experiment, uint32_t gpus)
{
    const uint32_t per_node = experiment->cluster.node_type->n_gpus;
    return gpus / per_node + (gpus % per_node != 0);
}

static int fits(const struct sand_experiment *experiment, const struct sand_mix_job *drawn,
                struct fit *fit)
{
    const uint32_t nodes = nodes_of(experiment, drawn->gpus);
    fit->jobs++;
    const uint32_t per_node = experiment->cluster.node_type->n_gpus;
    const double run_s = sand_s_from_ns(drawn->run_ns);
    if (nodes > sand_jobset_room(experiment)) {
        fit->too_large++;
        return 0;
    }
    const int shares = experiment->allocation == SAND_ALLOCATE_GPUS && drawn->gpus < per_node;
    fit->part_node += drawn->gpus % per_node != 0 && !shares;
    fit->asked_gpu_s += drawn->gpus * run_s;
    fit->held_gpu_s += (shares ? drawn->gpus : (double)nodes * per_node) * run_s;
    return 1;
}

static enum sand_job_ending ending_of(enum sand_mix_outcome outcome)
{
    switch (outcome) {
    case SAND_MIX_CANCEL:
        return SAND_ENDS_CANCELLED;
    case SAND_MIX_FAIL:
        return SAND_ENDS_FAILED;
    default:
        return SAND_ENDS_FINISHED;
    }
}

static enum sand_rc add_job(const struct sand_experiment *experiment, const struct sand_mix *mix,
                            const struct sand_mix_job *drawn, struct sand_joblist *list,
                            struct sand_arena *arena)
{
    const struct sand_mix_class *class = &mix->classes[drawn->mix_class];
    struct sand_job_spec job = {
        .id = sand_arena_printf(arena, "%s-%" PRIu64, class->id, drawn->class_rank),
        .job_class = class->id,
        .ending = ending_of(drawn->outcome),
        .kind = SAND_JOB_RECORDED,
        .n_nodes = nodes_of(experiment, drawn->gpus),
        .n_gpus = drawn->gpus,
        .submit_ns = drawn->submit_ns,
        .work_s = sand_s_from_ns(drawn->run_ns),
        .walltime_s = drawn->request_ns > 0 ? sand_s_from_ns(drawn->request_ns) : 0,
    };
    if (class->users > 0) {
        job.user = sand_arena_printf(arena, "%s-user-%" PRIu32, class->id, drawn->user);
        if (!job.user)
            return SAND_ERR_NOMEM;
    }
    if (!job.id)
        return SAND_ERR_NOMEM;
    if (class->speed == SAND_TRACE_MODEL)
        sand_jobset_train(experiment, class->model, class->software, &class->split, &job);
    return sand_joblist_add(list, &job);
}

enum sand_rc sand_jobset_mix(const struct sand_experiment *experiment, const struct sand_mix *mix,
                             uint32_t replication, struct sand_joblist *list,
                             struct sand_arena *arena, struct sand_diag *diag)
{
    struct sand_arrivals *arrivals = NULL;
    const struct sand_rng rng = {experiment->seed, replication};
    struct sand_mix_job drawn;
    struct fit fit = {0};
    SAND_TRY(sand_arrivals_open(mix, rng, experiment->duration_ns, &arrivals, diag));
    enum sand_rc rc = SAND_OK;
    while (rc == SAND_OK && sand_arrivals_next(arrivals, &drawn))
        if (fits(experiment, &drawn, &fit))
            rc = add_job(experiment, mix, &drawn, list, arena);
    sand_arrivals_close(arrivals);
    return rc;
}

enum sand_rc sand_jobset_describe(const struct sand_experiment *experiment,
                                  const struct sand_mix *mix, FILE *out, struct sand_diag *diag)
{
    struct sand_arrivals *arrivals = NULL;
    const struct sand_rng rng = {experiment->seed, 0};
    struct sand_mix_tally tally = {0};
    struct sand_mix_job drawn;
    struct fit fit = {0};
    SAND_TRY(sand_arrivals_open(mix, rng, experiment->duration_ns, &arrivals, diag));
    while (sand_arrivals_next(arrivals, &drawn)) {
        sand_mix_count(&tally, mix, &drawn);
        fits(experiment, &drawn, &fit);
    }
    sand_arrivals_close(arrivals);
    fprintf(out, "mix %s: %" PRIu64 " jobs in replication 0\n", mix->id, fit.jobs);
    if (fit.jobs > 0)
        sand_mix_print(mix, &tally, out);
    if (fit.too_large > 0)
        fprintf(out, "  %" PRIu64 " jobs need more nodes than the cluster has: left out\n",
                fit.too_large);
    if (fit.jobs > fit.too_large)
        fprintf(out,
                "  %" PRIu64 " of %" PRIu64 " jobs do not fill their last node, which is held "
                "whole: %.6g GPU-hours asked for, %.6g held\n",
                fit.part_node, fit.jobs - fit.too_large, fit.asked_gpu_s / 3600,
                fit.held_gpu_s / 3600);
    return SAND_OK;
}
