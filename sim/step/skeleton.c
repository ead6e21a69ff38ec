// Plays a skeleton: stages work, set messages out, wait for some.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "skeleton.h"

#include "ids.h"

// Sets out on the flow of a send, or on all rings of a collective's stage.
static enum sand_rc set_out(struct step_run *run, uint32_t m)
{
    struct step_message *message = &run->skeleton->messages[m];
    const struct step_stage *stage = &run->problem->stages[message->stage];
    message->begun = run->engine->now;
    message->arrived = 0;
    if (message->flow != SAND_NONE)
        return run_flow_put(run, message->flow, message->bytes, 0, RUN_REPLAYED, m);
    message->pending = stage->n_rings;
    for (uint32_t i = 0; i < stage->n_rings; i++)
        SAND_TRY(run_flow_put(run, run->problem->rings[stage->first_ring + i], message->bytes,
                              message->latency_s, RUN_REPLAYED, m));
    return SAND_OK;
}

double step_skeleton_delay_s(const struct step_skeleton *skeleton)
{
    if (!(skeleton->n_sends > 0))
        return 0;
    const double more_s = (skeleton->sends_s - skeleton->alone_sends_s) / skeleton->n_sends;
    return more_s > 0 ? skeleton->response * more_s : 0;
}

static enum sand_rc stage_done(struct step_run *run)
{
    struct step_skeleton *skeleton = run->skeleton;
    if (++skeleton->n_done < skeleton->n_stages)
        return SAND_OK;
    return run_timer(run, step_skeleton_delay_s(skeleton), TIMER_STEP_END, 0);
}

// Works towards the next item, or the end.
static enum sand_rc work_on(struct step_run *run, uint32_t s)
{
    const struct step_skeleton_stage *stage = &run->skeleton->stages[s];
    const double work_s = stage->next < stage->n_items
                              ? run->skeleton->items[stage->first_item + stage->next].work_s
                              : stage->tail_s;
    return run_timer(run, work_s, TIMER_REPLAY, s);
}

// Goes through the items that take no time; stops at a wait, or at the next work.
static enum sand_rc pass_items(struct step_run *run, uint32_t s)
{
    struct step_skeleton *skeleton = run->skeleton;
    struct step_skeleton_stage *stage = &skeleton->stages[s];
    while (stage->next < stage->n_items) {
        const struct step_item *item = &skeleton->items[stage->first_item + stage->next];
        if (item->kind == STEP_ITEM_START) {
            SAND_TRY(set_out(run, item->message));
        } else if (!skeleton->messages[item->message].arrived) {
            stage->waiting = item->message;
            return SAND_OK;
        }
        stage->next++;
        if (stage->next < stage->n_items &&
            !(skeleton->items[stage->first_item + stage->next].work_s > 0))
            continue;
        return work_on(run, s);
    }
    return stage_done(run);
}

enum sand_rc step_skeleton_begin(struct step_run *run)
{
    struct step_skeleton *skeleton = run->skeleton;
    skeleton->n_done = 0;
    skeleton->sends_s = 0;
    for (uint32_t s = 0; s < skeleton->n_stages; s++) {
        skeleton->stages[s].next = 0;
        skeleton->stages[s].waiting = SAND_NONE;
        SAND_TRY(work_on(run, s));
    }
    return SAND_OK;
}

enum sand_rc step_skeleton_go_on(struct step_run *run, uint32_t stage)
{
    return pass_items(run, stage);
}

enum sand_rc step_skeleton_arrived(struct step_run *run, uint32_t m)
{
    struct step_message *message = &run->skeleton->messages[m];
    if (message->flow != SAND_NONE) {
        run->skeleton->sends_s += run_seconds(run->engine->now - message->begun);
        return SAND_OK;
    }
    if (--message->pending > 0)
        return SAND_OK;
    message->arrived = 1;
    struct step_skeleton_stage *stage = &run->skeleton->stages[message->stage];
    if (stage->waiting != m)
        return SAND_OK;
    stage->waiting = SAND_NONE;
    stage->next++;
    if (stage->next < stage->n_items &&
        !(run->skeleton->items[stage->first_item + stage->next].work_s > 0))
        return pass_items(run, message->stage);
    return work_on(run, message->stage);
}
