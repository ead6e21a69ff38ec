// Saves and the one transfer a job may have: to the storage, or back from it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>

#include "mem.h"
#include "savetime.h"
#include "units.h"

// ---- links --------------------------------------------------------------------------------------

enum sand_rc sand_save_take_links(struct sand_world *w, struct sand_world_job *j)
{
    const double Bps = j->spec->n_nodes * w->client_node_Bps;
    if (!(j->bytes > 0))
        return SAND_OK;
    if (w->n_free_links == 0)
        return sand_fail(w->diag, SAND_ERR_INTERNAL,
                         "job \"%s\": more jobs save than were announced", j->spec->id);
    j->client_link = w->free_links[--w->n_free_links];
    for (uint32_t way = 0; Bps > 0 && way < 2; way++) // without: sand_save_flow refuses
        SAND_TRY(sand_bridge_link_set(w->bridge, j->client_link + way, Bps));
    return SAND_OK;
}

void sand_save_give_links(struct sand_world *w, struct sand_world_job *j)
{
    if (j->client_link != SAND_NONE)
        w->free_links[w->n_free_links++] = j->client_link;
    j->client_link = SAND_NONE;
}

// ---- flows --------------------------------------------------------------------------------------

static enum sand_rc check_way(const struct sand_world *w, const struct sand_world_job *j,
                              int reading)
{
    if (!(j->bytes > 0))
        return sand_fail(w->diag, SAND_ERR_INPUT,
                         "job \"%s\": the size of its checkpoints is not known; give it a model "
                         "and bytes_per_param, or the times stall and restore",
                         j->spec->id);
    if (!(sand_savetime_Bps(w->cluster, j->spec, reading) > 0))
        return sand_fail(w->diag, SAND_ERR_INPUT,
                         "job \"%s\": no way for its checkpoints %s the storage: clients reach "
                         "%g B/s, the storage %g B/s; both must be above 0",
                         j->spec->id, reading ? "from" : "to",
                         j->spec->n_nodes * w->client_node_Bps,
                         reading ? w->read_Bps : w->write_Bps);
    return SAND_OK;
}

static enum sand_rc remember_flow(struct sand_world *w, struct sand_world_job *j)
{
    void *jobs = w->flow_jobs;
    SAND_TRY(sand_grow(&jobs, &w->flow_capacity, (size_t)j->flow + 1, sizeof *w->flow_jobs));
    w->flow_jobs = jobs;
    w->flow_jobs[j->flow] = j;
    return SAND_OK;
}

enum sand_rc sand_save_flow(struct sand_world *w, struct sand_world_job *j, int reading)
{
    SAND_TRY(check_way(w, j, reading));
    const uint32_t links[2] = {reading ? 1 : 0, j->client_link + (uint32_t)reading};
    const enum sand_rc rc = sand_bridge_flow_start(w->bridge, links, 2, j->bytes, &j->flow);
    if (rc != SAND_OK)
        return sand_fail(w->diag, rc, "job \"%s\": its transfer did not start", j->spec->id);
    sand_shared_note(w);
    return remember_flow(w, j);
}

enum sand_rc sand_save_cancel_flow(struct sand_world *w, struct sand_world_job *j)
{
    j->flow_token = SAND_NO_ENTRY;
    if (j->flow == SAND_NONE)
        return SAND_OK;
    double remaining_B;
    const uint32_t flow = j->flow;
    j->flow = SAND_NONE;
    sand_shared_note(w);
    return sand_bridge_flow_cancel(w->bridge, flow, &remaining_B);
}

// ---- saves --------------------------------------------------------------------------------------

static enum sand_rc check_copy(const struct sand_world *w, const struct sand_world_job *j)
{
    const struct sand_link_type *link = w->cluster->node_type->host_link;
    if (j->spec->checkpoint.stall_s >= 0 || (link && link->rate_Bps > 0))
        return SAND_OK;
    return sand_fail(w->diag, SAND_ERR_INPUT,
                     "job \"%s\": the copy of a save to host memory has no link: node type \"%s\" "
                     "states no host link; give one, or the save's stall",
                     j->spec->id, w->cluster->node_type->id);
}

// At a step boundary: training stops.
enum sand_rc sand_save_begin(struct sand_world *w, struct sand_world_job *j)
{
    const int blocking = j->spec->checkpoint.mode == SAND_SAVE_BLOCKING;
    sand_life_pause(w, j);
    sand_life_phase(w, j, SAND_PHASE_SAVING);
    j->save = (struct sand_save){.active = 1,
                                 .step = j->done,
                                 .spent = j->progress.spent,
                                 .begin_ns = w->now_ns,
                                 .resume_ns = -1};
    if (blocking && j->spec->checkpoint.stall_s < 0)
        return sand_save_flow(w, j, 0);
    if (!blocking)
        SAND_TRY(check_way(w, j, 0));
    SAND_TRY(check_copy(w, j));
    const int64_t stall_ns = sand_ns_from_s(sand_savetime_stall_s(w->cluster, j->spec, j->gpus));
    return sand_world_put(w, sand_world_later(w->now_ns, stall_ns),
                          blocking ? SAND_RANK_COMMIT : SAND_RANK_TIMER, SAND_EVENT_JOB, j->slot,
                          &j->token);
}

// Training goes on after standing still, or is stopped as announced.
static enum sand_rc resume(struct sand_world *w, struct sand_world_job *j)
{
    j->stalls++;
    j->stall_ns += w->now_ns - j->save.begin_ns;
    if (j->n_announced > 0)
        return sand_recovery_announced(w, j);
    SAND_TRY(sand_glue_plan(w, j));
    return sand_life_step(w, j);
}

enum sand_rc sand_save_stalled(struct sand_world *w, struct sand_world_job *j)
{
    j->token = SAND_NO_ENTRY;
    if (j->spec->checkpoint.mode == SAND_SAVE_BLOCKING)
        return sand_save_durable(w, j);
    SAND_TRY(sand_save_flow(w, j, 0));
    if (j->n_announced > 0) // more steps would be lost when the job is stopped
        return SAND_OK;
    j->save.resume_ns = w->now_ns;
    return resume(w, j);
}

enum sand_rc sand_save_durable(struct sand_world *w, struct sand_world_job *j)
{
    sand_life_make_useful(w, j, &j->save.spent);
    j->checkpoints++;
    const int was_standing = j->phase == SAND_PHASE_SAVING;
    SAND_TRY(sand_emit_checkpoint(w, j, was_standing ? w->now_ns : j->save.resume_ns, w->now_ns));
    j->save.active = 0;
    SAND_TRY(sand_glue_event(w, SANDTABLE_EVENT_CHECKPOINT_DURABLE, j->index, SANDTABLE_NONE));
    if (was_standing)
        return resume(w, j);
    return sand_life_plan(w, j); // a save that waited for this one may be due
}

enum sand_rc sand_save_abort(struct sand_world *w, struct sand_world_job *j)
{
    if (!j->save.active)
        return SAND_OK;
    SAND_TRY(sand_save_cancel_flow(w, j));
    SAND_TRY(sand_emit_checkpoint(w, j, j->save.resume_ns, -1));
    j->save.active = 0;
    return SAND_OK;
}
