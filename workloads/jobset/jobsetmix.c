// The jobs of a mix.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "jobsetparts.h"
#include "units.h"

static uint32_t nodes_of(const struct sand_experiment *experiment, uint32_t gpus)
{
    const uint32_t per_node = experiment->cluster.node_type->n_gpus;
    return gpus / per_node + (gpus % per_node != 0);
}

static int fits(const struct sand_experiment *experiment, const struct sand_mix_job *drawn,
                struct sand_jobmix_fit *fit)
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

static void take(struct sand_jobfeed *feed, const struct sand_mix_job *drawn)
{
    const struct sand_experiment *experiment = feed->experiment;
    const struct sand_mix_class *class = &feed->mix->classes[drawn->mix_class];
    feed->number = feed->next++;
    snprintf(feed->id, feed->room, "%s-%" PRIu64, class->id, drawn->class_rank);
    snprintf(feed->user, feed->room, "%s-user-%" PRIu32, class->id, drawn->user);
    feed->job = (struct sand_job_spec){
        .id = feed->id,
        .user = class->users > 0 ? feed->user : NULL,
        .job_class = class->id,
        .ending = ending_of(drawn->outcome),
        .kind = SAND_JOB_RECORDED,
        .n_nodes = nodes_of(experiment, drawn->gpus),
        .n_gpus = drawn->gpus,
        .submit_ns = drawn->submit_ns,
        .work_s = sand_s_from_ns(drawn->run_ns),
        .walltime_s = drawn->request_ns > 0 ? sand_s_from_ns(drawn->request_ns) : 0,
    };
    if (class->speed == SAND_TRACE_RECORDED ||
        sand_jobset_train(experiment, class->model, class->software, &class->split, &feed->job))
        feed->job.checkpoint = class->checkpoint;
}

static enum sand_rc advance(struct sand_jobfeed *feed, struct sand_diag *diag)
{
    struct sand_mix_job drawn;
    (void)diag;
    feed->have = 0;
    while (!feed->have && sand_arrivals_next(feed->arrivals, &drawn)) {
        sand_mix_count(&feed->tally, feed->mix, &drawn);
        feed->have = fits(feed->experiment, &drawn, &feed->fit);
    }
    if (feed->have)
        take(feed, &drawn);
    return SAND_OK;
}

// Room for the longest class id and two numbers.
static size_t name_room(const struct sand_mix *mix)
{
    size_t room = 0;
    for (size_t i = 0; i < mix->n_classes; i++)
        if (strlen(mix->classes[i].id) > room)
            room = strlen(mix->classes[i].id);
    return room + 40;
}

static enum sand_rc open_arrivals(const struct sand_experiment *experiment,
                                  const struct sand_mix *mix, uint32_t replication,
                                  struct sand_arrivals **arrivals, struct sand_diag *diag)
{
    const struct sand_rng rng = {experiment->seed, replication};
    return sand_arrivals_open(mix, rng, experiment->duration_ns, arrivals, diag);
}

enum sand_rc sand_jobmix_feed(const struct sand_mix *mix, uint32_t replication,
                              struct sand_jobfeed *feed, struct sand_diag *diag)
{
    feed->mix = mix;
    feed->advance = advance;
    feed->room = name_room(mix);
    feed->id = sand_calloc(feed->room, 1);
    feed->user = sand_calloc(feed->room, 1);
    if (!feed->id || !feed->user)
        return sand_fail(diag, SAND_ERR_NOMEM, "mix \"%s\": out of memory", mix->id);
    return open_arrivals(feed->experiment, mix, replication, &feed->arrivals, diag);
}

enum sand_rc sand_jobmix_count(const struct sand_experiment *experiment, const struct sand_mix *mix,
                               uint32_t replication, uint64_t *n, struct sand_diag *diag)
{
    struct sand_arrivals *arrivals = NULL;
    struct sand_jobmix_fit fit = {0};
    struct sand_mix_job drawn;
    SAND_TRY(open_arrivals(experiment, mix, replication, &arrivals, diag));
    while (sand_arrivals_next(arrivals, &drawn))
        fits(experiment, &drawn, &fit);
    sand_arrivals_close(arrivals);
    *n = fit.jobs - fit.too_large;
    return SAND_OK;
}

void sand_jobmix_report(const struct sand_jobfeed *feed, FILE *out)
{
    const struct sand_jobmix_fit fit = feed->fit;
    fprintf(out, "mix %s: %" PRIu64 " jobs in replication 0\n", feed->mix->id, fit.jobs);
    if (fit.jobs > 0)
        sand_mix_print(feed->mix, &feed->tally, out);
    if (fit.too_large > 0)
        fprintf(out, "  %" PRIu64 " jobs need more nodes than the cluster has: left out\n",
                fit.too_large);
    if (fit.jobs > fit.too_large)
        fprintf(out,
                "  %" PRIu64 " of %" PRIu64 " jobs do not fill their last node, which is held "
                "whole%s: %.6g GPU-hours asked for, %.6g held\n",
                fit.part_node, fit.jobs - fit.too_large,
                feed->experiment->allocation == SAND_ALLOCATE_GPUS ? SAND_TRACE_SHARED_NODES : "",
                fit.asked_gpu_s / 3600, fit.held_gpu_s / 3600);
}
