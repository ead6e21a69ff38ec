// `sandtable step --search`: asks analysis/search about the job's model on the experiment's
// cluster. SPDX-License-Identifier: GPL-2.0-or-later
#include "stepsearch.h"

#include <inttypes.h>

#include "cachestore.h"
#include "fabric.h"
#include "oracle.h"

static enum sand_rc check_size(const struct sand_experiment *experiment,
                               const struct sand_job_spec *job, uint32_t gpus,
                               struct sand_diag *diag)
{
    uint32_t first, end;
    const uint32_t per_node = experiment->cluster.node_type->n_gpus;
    if (gpus % per_node != 0)
        return sand_fail(diag, SAND_ERR_USAGE,
                         "--gpus is %" PRIu32 ": jobs take whole nodes of %" PRIu32
                         " GPUs; the next multiple is %" PRIu32,
                         gpus, per_node, (gpus / per_node + 1) * per_node);
    sand_cluster_group_nodes(&experiment->cluster, job->group, &first, &end);
    if (gpus / per_node > end - first)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "the search is on %" PRIu32 " GPUs, the cluster has %" PRIu32 "%s", gpus,
                         (end - first) * per_node, job->group ? " in the job's group" : "");
    return SAND_OK;
}

static void draw(void *self, double done)
{
    sand_cli_progress_draw(self, done, 0, 0);
}

static enum sand_rc ask(const struct sand_step_search *search,
                        const struct sand_search_question *question, struct sand_diag *diag)
{
    struct sand_oracle *oracle = NULL;
    struct sand_search_result result = {0};
    struct sand_cli_progress progress;
    SAND_TRY(sand_oracle_open(&oracle, diag));
    struct sand_cachestore *store =
        search->cache ? sand_cachestore_open(search->cache, SAND_CACHE_LIMIT_B, diag) : NULL;
    sand_oracle_use_store(oracle, store, sand_cli_cache_versions());
    sand_cli_progress_open(&progress, 0);
    const enum sand_rc rc = sand_search(question, oracle, draw, &progress, &result, diag);
    sand_cli_progress_close(&progress);
    sand_oracle_close(oracle);
    sand_cachestore_close(store, diag);
    const struct sand_search_view view = {question, &result, search->top};
    if (rc == SAND_OK)
        search->print(&view, stdout);
    sand_search_result_clear(&result);
    return rc;
}

enum sand_rc sand_cli_step_search(const struct sand_step_search *search,
                                  const struct sand_experiment *experiment,
                                  const struct sand_job_spec *job, struct sand_diag *diag)
{
    struct sand_job_spec asked = *job;
    struct sand_fabric *fabric = NULL;
    const uint32_t per_node = experiment->cluster.node_type->n_gpus;
    const uint32_t gpus = search->gpus > 0 ? search->gpus : job->n_nodes * per_node;
    SAND_TRY(check_size(experiment, job, gpus, diag));
    asked.n_nodes = gpus / per_node;
    if (search->batch > 0)
        asked.split.global_batch = search->batch;
    SAND_TRY(sand_fabric_build(&experiment->cluster, &fabric, diag));
    const struct sand_search_question question = {.cluster = &experiment->cluster,
                                                  .kernels = experiment->kernels,
                                                  .collectives = experiment->collectives,
                                                  .fabric = fabric,
                                                  .job = &asked,
                                                  .simulate = search->simulate};
    const enum sand_rc rc = ask(search, &question, diag);
    sand_fabric_free(fabric);
    return rc;
}
