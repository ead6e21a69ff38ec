// Asks the policies and checks every answer: a wrong one fails the run unit in the policy's name.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "mem.h"
#include "savetime.h"
#include "units.h"

// Wakes in a row in which nothing but waking happens, and nothing is started, before the schedule
// policy is said to be turning on the spot. A policy that polls once a minute reaches it after
// 69 idle days.
#ifdef SAND_HOSTILE
enum { MAX_IDLE_WAKES = 1000 };
#else
enum { MAX_IDLE_WAKES = 100000 };
#endif

// ---- verdicts -----------------------------------------------------------------------------------

// Fails the unit in the policy's name.
__attribute__((format(printf, 2, 3))) static enum sand_rc violation(const struct sand_glue *glue,
                                                                    const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return sand_fail(glue->world->diag, SAND_ERR_PLUGIN, "policy \"%s\" at %.9g s: %s",
                     glue->policy.type, sand_s_from_ns(glue->world->now_ns), text);
}

// What a callback's return code means: fail() messages, violations noted by the host's table.
static enum sand_rc verdict(struct sand_glue *glue, int returned, const char *call)
{
    struct sand_world *w = glue->world;
    sand_policy_watch_process(&w->watch, glue->policy.type);
    if (w->inner_rc != SAND_OK)
        return w->inner_rc;
    if (w->policy_failed)
        return violation(glue, "%s", w->policy_message);
    if (returned != 0)
        return violation(glue, "%s() returned %d and gave no reason through host->fail", call,
                         returned);
    return SAND_OK;
}

// ---- opening ------------------------------------------------------------------------------------

// The create of whatever family; NULL pointers cannot be: the policy host has checked the table.
static int call_create(struct sand_glue *glue)
{
    switch (glue->policy.family) {
    case SAND_POLICY_SCHEDULE:
        return glue->policy.table.schedule->create(&glue->host, &glue->self);
    case SAND_POLICY_PLACE:
        return glue->policy.table.place->create(&glue->host, &glue->self);
    case SAND_POLICY_CHECKPOINT:
        return glue->policy.table.checkpoint->create(&glue->host, &glue->self);
    default:
        return glue->policy.table.recover->create(&glue->host, &glue->self);
    }
}

static int watched_create(struct sand_glue *glue)
{
    struct sand_policy_watch *watch = &glue->world->watch;
    const char *outer = sand_policy_watch_begin(watch, glue->policy.type);
    const int returned = call_create(glue);
    sand_policy_watch_end(watch, outer);
    return returned;
}

static void call_destroy(struct sand_glue *glue)
{
    switch (glue->policy.family) {
    case SAND_POLICY_SCHEDULE:
        glue->policy.table.schedule->destroy(glue->self);
        return;
    case SAND_POLICY_PLACE:
        glue->policy.table.place->destroy(glue->self);
        return;
    case SAND_POLICY_CHECKPOINT:
        glue->policy.table.checkpoint->destroy(glue->self);
        return;
    default:
        glue->policy.table.recover->destroy(glue->self);
    }
}

static enum sand_rc check_sharing(const struct sand_world *w, const struct sand_policy *policy)
{
    if (policy->family != SAND_POLICY_SCHEDULE || w->experiment->allocation != SAND_ALLOCATE_GPUS ||
        policy->table.schedule->shares_nodes)
        return SAND_OK;
    return sand_fail(w->diag, SAND_ERR_INPUT,
                     "policy \"%s\" counts whole nodes; write allocation=\"nodes\", or choose a "
                     "schedule policy that knows jobs of less than a node, such as schedule/easy",
                     policy->type);
}

enum sand_rc sand_glue_open(struct sand_world *w, struct sand_glue *glue,
                            enum sand_policy_family family, const struct sand_choice *choice,
                            uint32_t entity)
{
    if (!choice->type)
        return sand_fail(w->diag, SAND_ERR_INPUT,
                         "experiment \"%s\": no %s policy is chosen; every experiment needs one",
                         w->experiment->name, sand_policy_family_name(family));
    SAND_TRY(sand_policy_bind(choice, family, &glue->policy, w->diag));
    glue->bound = 1;
    SAND_TRY(check_sharing(w, &glue->policy));
    glue->world = w;
    glue->entity = entity;
    sand_glue_table(glue);
    const int returned = watched_create(glue);
    glue->created = returned == 0;
    return verdict(glue, returned, "create");
}

void sand_glue_close(struct sand_glue *glue)
{
    if (glue->created)
        call_destroy(glue);
    if (glue->bound)
        sand_policy_unbind(&glue->policy);
    *glue = (struct sand_glue){0};
}

// ---- schedule -----------------------------------------------------------------------------------

enum sand_rc sand_glue_event(struct sand_world *w, enum sandtable_event_kind kind, uint32_t job,
                             uint32_t node)
{
    w->something_happened = 1;
    if (kind != SANDTABLE_EVENT_TIMER)
        w->idle_wakes = 0;
    if (!w->schedule.policy.table.schedule->on_event)
        return SAND_OK;
    void *events = w->events;
    SAND_TRY(sand_grow(&events, &w->events_capacity, w->n_events + 1, sizeof *w->events));
    w->events = events;
    w->events[w->n_events++] = (struct sandtable_event){
        .kind = (uint32_t)kind, .job = job, .node = node, .date_ns = w->now_ns};
    return SAND_OK;
}

static enum sand_rc deliver(struct sand_world *w)
{
    const struct sandtable_schedule *schedule = w->schedule.policy.table.schedule;
    for (size_t i = 0; i < w->n_events; i++) {
        const struct sandtable_event event = w->events[i];
        const char *outer = sand_policy_watch_begin(&w->watch, w->schedule.policy.type);
        const int returned = schedule->on_event(w->schedule.self, &event);
        sand_policy_watch_end(&w->watch, outer);
        SAND_TRY(verdict(&w->schedule, returned, "on_event"));
    }
    w->n_events = 0;
    return SAND_OK;
}

enum sand_rc sand_glue_decide(struct sand_world *w)
{
    SAND_TRY(deliver(w));
    SAND_TRY(sand_jobs_forget(w)); // the ends have been told
    w->deciding = 1;
    w->started_any = 0;
    const char *outer = sand_policy_watch_begin(&w->watch, w->schedule.policy.type);
    const int returned = w->schedule.policy.table.schedule->decide(w->schedule.self);
    sand_policy_watch_end(&w->watch, outer);
    w->deciding = 0;
    SAND_TRY(verdict(&w->schedule, returned, "decide"));
    if (w->idle_wakes > MAX_IDLE_WAKES)
        return violation(&w->schedule, "asked to be woken %u times in a row and started nothing",
                         w->idle_wakes);
    return deliver(w); // the starts
}

// ---- place --------------------------------------------------------------------------------------

// Of ascending nodes those of the job's group.
static const uint32_t *of_group(const struct sand_world *w, const struct sand_world_job *j,
                                const uint32_t *nodes, size_t n, size_t *n_of_group)
{
    uint32_t first, end;
    size_t from = 0, to = n;
    if (j->spec->group && sand_cluster_group_nodes(w->cluster, j->spec->group, &first, &end)) {
        while (from < n && nodes[from] < first)
            from++;
        while (to > from && nodes[to - 1] >= end)
            to--;
    }
    *n_of_group = to - from;
    return nodes + from;
}

static int is_of_group(const struct sand_world *w, const struct sand_world_job *j, uint32_t node)
{
    size_t n;
    of_group(w, j, &node, 1, &n);
    return n == 1;
}

// `own`: the nodes must be the job's own; else have room for it.
static enum sand_rc check_nodes(const struct sand_glue *glue, const struct sand_world_job *j,
                                int own, const uint32_t *nodes)
{
    struct sand_world *w = glue->world;
    w->stamps++;
    for (uint32_t rank = 0; rank < j->spec->n_nodes; rank++) {
        const uint32_t node = nodes[rank];
        if (node >= w->cluster->n_nodes)
            return violation(glue, "gave job \"%s\" node %u; the cluster has nodes 0 to %u",
                             j->spec->id, node, w->cluster->n_nodes - 1);
        if (!is_of_group(w, j, node) ||
            (own ? !sand_pool_is_on(w, j, node) : !sand_pool_has_room(w, j, node)))
            return violation(glue, "gave job \"%s\" node %u, which is not among the allowed",
                             j->spec->id, node);
        if (w->stamp[node] == w->stamps)
            return violation(glue, "gave job \"%s\" node %u twice", j->spec->id, node);
        w->stamp[node] = w->stamps;
    }
    if (!own && sand_slices_rule(w, j) && !sand_slices_are_whole(w, j, nodes))
        return violation(glue, "gave job \"%s\" nodes that are neither part of a cube nor %s",
                         j->spec->id,
                         w->fabric->has_circuits ? "whole cubes" : "a box of whole cubes");
    return SAND_OK;
}

enum sand_rc sand_glue_check_nodes(const struct sand_glue *glue, const struct sand_world_job *j,
                                   const uint32_t *nodes)
{
    return check_nodes(glue, j, 0, nodes);
}

static enum sand_rc ask_place(struct sand_world *w, const struct sand_world_job *j,
                              const uint32_t *allowed, size_t n_allowed, uint32_t *nodes,
                              int *found)
{
    for (uint32_t rank = 0; rank < j->spec->n_nodes; rank++)
        nodes[rank] = SAND_NONE; // what the policy leaves out must not pass for an answer
    const struct sandtable_place_request request = {.job = j->index,
                                                    .n_nodes = j->spec->n_nodes,
                                                    .node_gpus = j->node_gpus,
                                                    .nodes = w->node_views,
                                                    .n_all = w->cluster->n_nodes,
                                                    .allowed = allowed,
                                                    .n_allowed = n_allowed};
    const char *outer = sand_policy_watch_begin(&w->watch, w->place.policy.type);
    const int returned = w->place.policy.table.place->place(w->place.self, &request, nodes, found);
    sand_policy_watch_end(&w->watch, outer);
    return verdict(&w->place, returned, "place");
}

enum sand_rc sand_glue_place(struct sand_world *w, const struct sand_world_job *j, uint32_t *nodes,
                             int *found)
{
    size_t n_room;
    *found = 0;
    if (!sand_pool_may_fit(w, j))
        return SAND_OK;
    size_t n_allowed;
    const uint32_t *room = sand_pool_room(w, j, &n_room);
    const uint32_t *allowed = of_group(w, j, room, n_room, &n_allowed);
    if (sand_slices_rule(w, j))
        allowed = sand_slices_room(w, j, allowed, &n_allowed);
    if (j->spec->n_nodes > n_allowed)
        return SAND_OK;
    SAND_TRY(ask_place(w, j, allowed, n_allowed, nodes, found));
    return *found ? sand_glue_check_nodes(&w->place, j, nodes) : SAND_OK;
}

static int compare_nodes(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

enum sand_rc sand_glue_order(struct sand_world *w, struct sand_world_job *j)
{
    int found = 0;
    qsort(j->nodes, j->spec->n_nodes, sizeof *j->nodes, compare_nodes);
    SAND_TRY(ask_place(w, j, j->nodes, j->spec->n_nodes, w->placement, &found));
    if (!found)
        return violation(&w->place, "found no order for the %u nodes job \"%s\" holds",
                         j->spec->n_nodes, j->spec->id);
    SAND_TRY(check_nodes(&w->place, j, 1, w->placement));
    memcpy(j->nodes, w->placement, j->spec->n_nodes * sizeof *j->nodes);
    return SAND_OK;
}

// ---- checkpoint ---------------------------------------------------------------------------------

static struct sandtable_checkpoint_context checkpoint_context(struct sand_world *w,
                                                              struct sand_world_job *j)
{
    const struct sand_checkpoint_spec *spec = &j->spec->checkpoint;
    const double share = (double)j->node_gpus / w->gpus_per_node;
    const double node_rate = sand_fault_job_rate(&w->experiment->faults, share);
    const double restore_s =
        spec->restore_s >= 0
            ? spec->restore_s
            : sand_savetime_transfer_s(w->cluster, j->spec, 1) + sand_shared_longer_s(w, j, 1);
    const int blocking = spec->mode == SAND_SAVE_BLOCKING;
    const double longer_s = blocking && spec->stall_s >= 0 ? 0 : sand_shared_longer_s(w, j, 0);
    return (struct sandtable_checkpoint_context){
        .job = j->index,
        .step_s = sand_s_from_ns(j->rate.step_ns),
        .stall_s = sand_savetime_stall_s(w->cluster, j->spec, j->gpus) + (blocking ? longer_s : 0),
        .write_s = sand_savetime_durable_s(w->cluster, j->spec, j->gpus) + longer_s,
        .restart_s = sand_fault_mean_restart_s(&w->experiment->faults) + restore_s,
        .mtbf_s = node_rate > 0 ? 1.0 / (j->spec->n_nodes * node_rate) : INFINITY};
}

static enum sand_rc note_interval(struct sand_world *w, struct sand_world_job *j)
{
    j->plans++;
    j->plans_s += j->plan.interval_s;
    if (j->plan.interval_s == j->last_interval_s)
        return SAND_OK;
    j->last_interval_s = j->plan.interval_s;
    return sand_emit_decision(w, j->checkpoint, "interval", j->index, SAND_NONE,
                              j->plan.interval_s);
}

enum sand_rc sand_glue_plan(struct sand_world *w, struct sand_world_job *j)
{
    j->plan = (struct sandtable_checkpoint_plan){0};
    if (!j->checkpoint)
        return SAND_OK;
    const struct sandtable_checkpoint_context context = checkpoint_context(w, j);
    const char *outer = sand_policy_watch_begin(&w->watch, j->checkpoint->policy.type);
    const int returned =
        j->checkpoint->policy.table.checkpoint->next(j->checkpoint->self, &context, &j->plan);
    sand_policy_watch_end(&w->watch, outer);
    SAND_TRY(verdict(j->checkpoint, returned, "next"));
    if (!j->plan.save)
        return SAND_OK;
    if (!(j->plan.interval_s > 0) || isinf(j->plan.interval_s))
        return violation(j->checkpoint,
                         "gave job \"%s\" the interval %g s; it must be above 0 and "
                         "finite (save = 0 is how to say never)",
                         j->spec->id, j->plan.interval_s);
    j->interval_ns = sand_ns_from_s(j->plan.interval_s);
    return note_interval(w, j);
}

// ---- recover ------------------------------------------------------------------------------------

static enum sand_rc check_recover(const struct sand_world *w, const struct sand_world_job *j,
                                  uint32_t failed, int must_replace,
                                  const struct sandtable_recover_plan *plan)
{
    const struct sand_glue *glue = &w->recover;
    switch (plan->action) {
    case SANDTABLE_RECOVER_SAME:
        return must_replace ? violation(glue,
                                        "keeps node %u for job \"%s\", but the node has "
                                        "left for repair",
                                        failed, j->spec->id)
                            : SAND_OK;
    case SANDTABLE_RECOVER_WAIT:
        return must_replace ? SAND_OK
                            : violation(glue,
                                        "lets job \"%s\" wait for node %u, "
                                        "which is not to be replaced",
                                        j->spec->id, failed);
    case SANDTABLE_RECOVER_REPLACE:
        break;
    default:
        return violation(glue, "gave job \"%s\" the unknown action %u", j->spec->id, plan->action);
    }
    if (plan->node >= w->cluster->n_nodes || !is_of_group(w, j, plan->node) ||
        (w->node_views[plan->node].state != SANDTABLE_NODE_SPARE &&
         !sand_pool_has_room(w, j, plan->node)))
        return violation(glue, "gave job \"%s\" node %u, neither spare nor idle", j->spec->id,
                         plan->node);
    return SAND_OK;
}

static int holds(const uint32_t *nodes, size_t n, uint32_t node)
{
    for (size_t i = 0; i < n; i++)
        if (nodes[i] == node)
            return 1;
    return 0;
}

enum sand_rc sand_glue_recover(struct sand_world *w, const struct sand_world_job *j,
                               uint32_t failed_node, int must_replace,
                               struct sandtable_recover_plan *plan)
{
    size_t n_room, n_spares, n_idle;
    const uint32_t *room = sand_pool_room(w, j, &n_room);
    const uint32_t *spares = of_group(w, j, w->spares, w->n_spares, &n_spares);
    const uint32_t *idle = of_group(w, j, room, n_room, &n_idle);
    const int has_cubes = sand_slices_rule(w, j);
    if (has_cubes && must_replace)
        sand_slices_substitutes(w, j, failed_node, &spares, &n_spares, &idle, &n_idle);
    else if (has_cubes)
        n_spares = n_idle = 0; // nothing has to go, and a node alone cannot
    const struct sandtable_recover_request request = {.job = j->index,
                                                      .failed_node = failed_node,
                                                      .must_replace = (uint32_t)must_replace,
                                                      .node_gpus = j->node_gpus,
                                                      .nodes = w->node_views,
                                                      .n_all = w->cluster->n_nodes,
                                                      .spares = spares,
                                                      .n_spares = n_spares,
                                                      .idle = idle,
                                                      .n_idle = n_idle};
    *plan = (struct sandtable_recover_plan){.node = SANDTABLE_NONE};
    const char *outer = sand_policy_watch_begin(&w->watch, w->recover.policy.type);
    const int returned = w->recover.policy.table.recover->plan(w->recover.self, &request, plan);
    sand_policy_watch_end(&w->watch, outer);
    SAND_TRY(verdict(&w->recover, returned, "plan"));
    SAND_TRY(check_recover(w, j, failed_node, must_replace, plan));
    if (has_cubes && plan->action == SANDTABLE_RECOVER_REPLACE &&
        !holds(spares, n_spares, plan->node) && !holds(idle, n_idle, plan->node))
        return violation(&w->recover,
                         "gave job \"%s\" node %u, which was not offered: its cube does "
                         "not complete the job's",
                         j->spec->id, plan->node);
    return SAND_OK;
}
