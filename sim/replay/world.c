// Opens and closes the state of a replication.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include "mem.h"
#include "savetime.h"
#include "units.h"

// Most CPU time a call of a policy may take. A decision over a long queue takes milliseconds.
static const double policy_limit_s = 60;

int64_t sand_world_later(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

enum sand_rc sand_world_put(struct sand_world *w, int64_t date, enum sand_world_rank rank,
                            enum sand_world_event kind, uint32_t subject, uint64_t *token)
{
    if (token)
        *token = SAND_NO_ENTRY;
    if (date > w->end_ns)
        return SAND_OK;
    const struct sand_agenda_entry entry = {
        .date = date, .rank = (uint32_t)rank, .kind = (uint32_t)kind, .subject = subject};
    return sand_agenda_put(&w->agenda, entry, token);
}

static enum sand_rc check_experiment(const struct sand_experiment *experiment,
                                     struct sand_diag *diag)
{
    if (experiment->duration_ns <= 0)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "experiment \"%s\": its duration is %lld ns; it must be longer than 0",
                         experiment->name, (long long)experiment->duration_ns);
    if (experiment->hot_spares > experiment->cluster.n_nodes)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "experiment \"%s\": %u hot spares, but the cluster has %u nodes",
                         experiment->name, experiment->hot_spares, experiment->cluster.n_nodes);
    return SAND_OK;
}

// ---- links of the bridge ------------------------------------------------------------------------

static double positive_or_one(double Bps)
{
    return Bps > 0 ? Bps : 1.0; // a link that sand_save_flow never lets a flow use
}

static enum sand_rc open_links(struct sand_world *w)
{
    w->write_Bps = sand_savetime_servers_Bps(w->cluster, 0);
    w->read_Bps = sand_savetime_servers_Bps(w->cluster, 1);
    w->client_node_Bps = sand_savetime_node_Bps(w->cluster);
    // A job has one flow at a time, and at least a place on a node while it has one.
    const uint32_t places = w->cluster->n_nodes * w->most_tenants;
    const uint32_t n = w->source.max_savers < places ? w->source.max_savers : places;
    w->n_links = 2 + 2 * n;
    w->max_flows = n > 0 ? n : 1;
    w->link_Bps = sand_calloc(w->n_links, sizeof *w->link_Bps);
    w->free_links = sand_calloc(n, sizeof *w->free_links);
    w->flow_ends = sand_calloc(w->max_flows, sizeof *w->flow_ends);
    if (!w->link_Bps || !w->free_links || !w->flow_ends)
        return SAND_ERR_NOMEM;
    w->link_Bps[0] = positive_or_one(w->write_Bps);
    w->link_Bps[1] = positive_or_one(w->read_Bps);
    for (uint32_t i = 0; i < 2 * n; i++)
        w->link_Bps[2 + i] = 1; // whoever takes it sets it
    for (uint32_t i = n; i-- > 0;)
        w->free_links[w->n_free_links++] = 2 + 2 * i;
    return SAND_OK;
}

// ---- the rest -----------------------------------------------------------------------------------

static enum sand_rc open_ledger(struct sand_world *w)
{
    SAND_TRY(sand_ledger_open(sand_cluster_gpus(w->cluster), &w->ledger));
    SAND_TRY(sand_ledger_group(w->ledger, SAND_GPU_SPARE, &w->group_spare));
    SAND_TRY(sand_ledger_group(w->ledger, SAND_GPU_DOWN, &w->group_down));
    return sand_ledger_group(w->ledger, SAND_GPU_FRAGMENT, &w->group_fragment);
}

static enum sand_rc open_faults(struct sand_world *w)
{
    const struct sand_fault_spec *spec = &w->experiment->faults;
    w->n_days = (size_t)(w->end_ns / SAND_NS_PER_S / 86400);
    w->day_counts = sand_calloc(w->n_days, sizeof *w->day_counts);
    if (!w->day_counts)
        return SAND_ERR_NOMEM;
    if (spec->n_classes + spec->n_degradations == 0)
        return SAND_OK;
    SAND_TRY(sand_glue_open(w, &w->recover, SAND_POLICY_RECOVER, &w->experiment->recover,
                            SAND_POLICY_RECOVER));
    SAND_TRY(sand_fault_open(spec, w->cluster->n_nodes, w->gpus_per_node,
                             w->cluster->node_type->n_nics, w->rng, &w->faults, w->diag));
    return sand_ailing_open(w);
}

static enum sand_rc open_agenda(struct sand_world *w)
{
    SAND_TRY(sand_world_put(w, w->end_ns, SAND_RANK_END, SAND_EVENT_END, 0, NULL));
    if (w->experiment->mfu_window_ns <= 0 || w->experiment->mfu_window_ns >= w->end_ns)
        return SAND_OK;
    return sand_world_put(w, w->experiment->mfu_window_ns, SAND_RANK_TIMER, SAND_EVENT_WINDOW, 0,
                          NULL);
}

enum sand_rc sand_world_open(struct sand_world *w, const struct sand_experiment *experiment,
                             struct sand_oracle *oracle, const struct sand_replay_options *options,
                             const struct sand_sink *sink, struct sand_diag *diag)
{
    *w = (struct sand_world){.experiment = experiment,
                             .cluster = &experiment->cluster,
                             .oracle = oracle,
                             .options = options,
                             .sink = sink,
                             .diag = diag,
                             .rng = {experiment->seed, options->replication},
                             .end_ns = experiment->duration_ns,
                             .gpus_per_node = experiment->cluster.node_type->n_gpus,
                             .wake_ns = -1};
    SAND_TRY(check_experiment(experiment, diag));
    SAND_TRY(sand_fabric_build(w->cluster, &w->fabric, diag));
    SAND_TRY(sand_policy_watch_open(
        &w->watch, options->policy_limit_s > 0 ? options->policy_limit_s : policy_limit_s, diag));
    SAND_TRY(open_ledger(w));
    SAND_TRY(sand_pool_open(w));
    SAND_TRY(sand_slices_open(w));
    SAND_TRY(open_faults(w));
    SAND_TRY(sand_coupling_open(w));
    SAND_TRY(sand_shared_open(w));
    SAND_TRY(
        sand_glue_open(w, &w->place, SAND_POLICY_PLACE, &experiment->place, SAND_POLICY_PLACE));
    SAND_TRY(sand_glue_open(w, &w->schedule, SAND_POLICY_SCHEDULE, &experiment->schedule,
                            SAND_POLICY_SCHEDULE));
    SAND_TRY(sand_jobs_open(w));
    SAND_TRY(open_links(w));
    SAND_TRY(open_agenda(w));
    return sand_ailing_begin(w);
}

static void close_nodes(struct sand_world *w)
{
    sand_free(w->nodes);
    sand_free(w->node_views);
    sand_free(w->tenants);
    sand_free(w->n_with_free);
    sand_free(w->room);
    sand_free(w->idle);
    sand_free(w->spares);
    sand_slices_close(w);
    sand_free(w->stamp);
    sand_free(w->placement);
}

void sand_world_close(struct sand_world *w)
{
    sand_policy_watch_close(&w->watch);
    sand_glue_close(&w->schedule);
    sand_glue_close(&w->place);
    sand_glue_close(&w->recover);
    sand_jobs_close(w);
    sand_coupling_close(w);
    sand_shared_close(w);
    close_nodes(w);
    sand_free(w->incidents);
    sand_free(w->events);
    sand_free(w->day_counts);
    sand_free(w->link_Bps);
    sand_free(w->free_links);
    sand_free(w->flow_ends);
    sand_free(w->flow_jobs);
    sand_agenda_clear(&w->agenda);
    if (w->faults)
        sand_fault_close(w->faults);
    sand_ailing_close(w);
    if (w->ledger)
        sand_ledger_close(w->ledger);
    if (w->fabric)
        sand_fabric_free(w->fabric);
    *w = (struct sand_world){0};
}
