// Traces are read once for all replications; mixes are drawn in each.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "jobset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jobsetparts.h"

// ---- the list -----------------------------------------------------------------------------------

uint32_t sand_jobset_room(const struct sand_experiment *experiment)
{
    return experiment->cluster.n_nodes - experiment->hot_spares;
}

enum sand_rc sand_joblist_add(struct sand_joblist *list, const struct sand_job_spec *job)
{
    void *jobs = list->jobs;
    if (list->n >= UINT32_MAX - 1)
        return SAND_ERR_NOMEM;
    SAND_TRY(sand_grow(&jobs, &list->capacity, list->n + 1, sizeof *list->jobs));
    list->jobs = jobs;
    list->jobs[list->n++] = *job;
    return SAND_OK;
}

int sand_jobset_train(const struct sand_experiment *experiment,
                      const struct sand_transformer *model, const struct sand_software *software,
                      const struct sand_split *split, struct sand_job_spec *job)
{
    const uint32_t gpus = sand_job_gpus(job, experiment->cluster.node_type->n_gpus);
    const double replica =
        (double)split->tp * (double)split->pp * (double)(split->cp > 0 ? split->cp : 1);
    struct sand_split laid = *split;
    if (!(replica >= 1) || replica > (double)gpus)
        return 0;
    laid.dp = gpus / (uint32_t)replica;
    if (sand_split_check(model, &laid, gpus, NULL) != SAND_OK)
        return 0;
    job->kind = SAND_JOB_TRAIN;
    job->model = model;
    job->software = software;
    job->split = laid;
    return 1;
}

// ---- opening ------------------------------------------------------------------------------------

static enum sand_rc no_memory(struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "the jobs of the experiment: out of memory");
}

static enum sand_rc add_documents(struct sand_jobset *set)
{
    for (size_t i = 0; i < set->experiment->n_jobs; i++)
        SAND_TRY(sand_joblist_add(&set->list, &set->experiment->jobs[i]));
    return SAND_OK;
}

static enum sand_rc check_mixes(const struct sand_experiment *experiment, struct sand_diag *diag)
{
    enum sand_rc rc = SAND_OK;
    for (size_t i = 0; i < experiment->n_mixes; i++) {
        const struct sand_mix *mix = experiment->mixes[i].mix;
        const enum sand_rc one = sand_mix_check(mix, diag);
        rc = rc == SAND_OK ? one : rc;
        for (size_t k = 0; k < i; k++)
            if (strcmp(experiment->mixes[k].mix->id, mix->id) == 0)
                rc = sand_fail(diag, SAND_ERR_INPUT,
                               "mix \"%s\" is used twice, which gives every job twice; write one "
                               "mix with twice its rate",
                               mix->id);
    }
    return rc;
}

static enum sand_rc fill(struct sand_jobset *set, struct sand_diag *diag)
{
    const struct sand_experiment *experiment = set->experiment;
    if (experiment->n_traces + experiment->n_mixes == 0)
        return SAND_OK;
    if (experiment->hot_spares >= experiment->cluster.n_nodes)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": all %u nodes are hot spares (hot_spares=\"%u\"), which "
                         "leaves none for jobs",
                         experiment->cluster.name, experiment->cluster.n_nodes,
                         experiment->hot_spares);
    SAND_TRY(check_mixes(experiment, diag));
    if (experiment->n_traces == 0)
        return SAND_OK;
    if (add_documents(set) != SAND_OK)
        return no_memory(diag);
    FILE *out = open_memstream(&set->report, &set->report_size);
    if (!out)
        return no_memory(diag);
    enum sand_rc rc = SAND_OK;
    for (size_t i = 0; rc == SAND_OK && i < experiment->n_traces; i++)
        rc = sand_jobset_import(set, &experiment->traces[i], out, diag);
    if (fclose(out) != 0 && rc == SAND_OK)
        rc = no_memory(diag);
    return rc;
}

enum sand_rc sand_jobset_open(const struct sand_experiment *experiment, struct sand_jobset **set,
                              struct sand_diag *diag)
{
    struct sand_jobset *opened = sand_calloc(1, sizeof *opened);
    if (!opened)
        return no_memory(diag);
    opened->experiment = experiment;
    const enum sand_rc rc = fill(opened, diag);
    if (rc != SAND_OK) {
        sand_jobset_close(opened);
        return rc;
    }
    *set = opened;
    return SAND_OK;
}

void sand_jobset_close(struct sand_jobset *set)
{
    if (!set)
        return;
    free(set->report); // open_memstream's own
    sand_free(set->list.jobs);
    sand_arena_clear(&set->arena);
    sand_free(set);
}

enum sand_rc sand_jobset_report(const struct sand_jobset *set, FILE *out, struct sand_diag *diag)
{
    if (set->report)
        fputs(set->report, out);
    for (size_t i = 0; i < set->experiment->n_mixes; i++)
        SAND_TRY(sand_jobset_describe(set->experiment, set->experiment->mixes[i].mix, out, diag));
    return SAND_OK;
}

// ---- a replication ------------------------------------------------------------------------------

static enum sand_rc draw_own(const struct sand_jobset *set, const struct sand_job_spec *shared,
                             size_t n_shared, uint32_t replication, struct sand_drawn *drawn,
                             struct sand_diag *diag)
{
    struct sand_joblist list = {0};
    enum sand_rc rc = SAND_OK;
    for (size_t i = 0; rc == SAND_OK && i < n_shared; i++)
        rc = sand_joblist_add(&list, &shared[i]);
    for (size_t i = 0; rc == SAND_OK && i < set->experiment->n_mixes; i++)
        rc = sand_jobset_mix(set->experiment, set->experiment->mixes[i].mix, replication, &list,
                             &drawn->arena, diag);
    drawn->jobs = list.jobs;
    drawn->experiment.jobs = list.jobs;
    drawn->experiment.n_jobs = list.n;
    return rc == SAND_ERR_NOMEM ? no_memory(diag) : rc;
}

enum sand_rc sand_jobset_draw(const struct sand_jobset *set, uint32_t replication,
                              struct sand_drawn *drawn, struct sand_diag *diag)
{
    const struct sand_experiment *experiment = set->experiment;
    const int listed = experiment->n_traces > 0;
    *drawn = (struct sand_drawn){.experiment = *experiment};
    if (listed) {
        drawn->experiment.jobs = set->list.jobs;
        drawn->experiment.n_jobs = set->list.n;
    }
    if (experiment->n_mixes == 0)
        return SAND_OK;
    return draw_own(set, drawn->experiment.jobs, drawn->experiment.n_jobs, replication, drawn,
                    diag);
}

void sand_drawn_clear(struct sand_drawn *drawn)
{
    sand_free(drawn->jobs);
    sand_arena_clear(&drawn->arena);
    *drawn = (struct sand_drawn){0};
}
