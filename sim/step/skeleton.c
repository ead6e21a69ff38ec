// Plays a skeleton: actors work, join messages, wait for some.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "skeleton.h"

#include "ids.h"

// The last who has a part in it has come: it sets out on its flow, or on rings of its stage.
static enum sand_rc join(struct step_run *run, uint32_t m)
{
    struct step_message *message = &run->skeleton->messages[m];
    if (++message->joined < message->parts)
        return SAND_OK;
    message->pending = 1;
    if (message->flow != SAND_NONE)
        return run_flow_put(run, message->flow, message->bytes, message->latency_s, RUN_REPLAYED,
                            m);
    message->legs.ring = 0;
    return run_leg(run, message->stage, &message->legs, RUN_REPLAYED, m, &message->pending);
}

// Works towards the next item, or the end. What takes no time is not put off.
static int has_work(const struct step_skeleton *skeleton, const struct step_program *program)
{
    return program->next == program->n_items ||
           skeleton->items[program->first_item + program->next].work_s > 0;
}

static enum sand_rc work_on(struct step_run *run, uint32_t a)
{
    const struct step_program *program = &run->skeleton->programs[a];
    const double work_s = program->next < program->n_items
                              ? run->skeleton->items[program->first_item + program->next].work_s
                              : program->tail_s;
    return run_timer(run, work_s, TIMER_REPLAY, a);
}

// The work before the next item is over: goes on to the next work, or stops at a wait.
enum sand_rc step_skeleton_go_on(struct step_run *run, uint32_t a)
{
    struct step_skeleton *skeleton = run->skeleton;
    struct step_program *program = &skeleton->programs[a];
    while (program->next < program->n_items) {
        const struct step_item *item = &skeleton->items[program->first_item + program->next];
        if (item->kind == STEP_ITEM_JOIN) {
            SAND_TRY(join(run, item->message));
        } else if (!skeleton->messages[item->message].arrived) {
            program->waiting = item->message;
            return SAND_OK;
        }
        program->next++;
        if (has_work(skeleton, program))
            return work_on(run, a);
    }
    return ++skeleton->n_done < skeleton->n_programs ? SAND_OK
                                                     : run_timer(run, 0, TIMER_STEP_END, 0);
}

enum sand_rc step_skeleton_begin(struct step_run *run)
{
    struct step_skeleton *skeleton = run->skeleton;
    skeleton->n_done = 0;
    for (uint32_t m = 0; m < skeleton->n_messages; m++) {
        skeleton->messages[m].joined = 0;
        skeleton->messages[m].arrived = 0;
    }
    for (uint32_t a = 0; a < skeleton->n_programs; a++) {
        skeleton->programs[a].next = 0;
        skeleton->programs[a].waiting = SAND_NONE;
        SAND_TRY(work_on(run, a));
    }
    return SAND_OK;
}

enum sand_rc step_skeleton_arrived(struct step_run *run, uint32_t m)
{
    struct step_skeleton *skeleton = run->skeleton;
    struct step_message *message = &skeleton->messages[m];
    if (--message->pending > 0)
        return SAND_OK;
    if (message->flow == SAND_NONE)
        SAND_TRY(run_leg(run, message->stage, &message->legs, RUN_REPLAYED, m, &message->pending));
    if (message->pending > 0)
        return SAND_OK;
    message->arrived = 1;
    for (uint32_t a = 0; a < skeleton->n_programs; a++) {
        struct step_program *program = &skeleton->programs[a];
        if (program->waiting != m)
            continue;
        program->waiting = SAND_NONE;
        program->next++;
        SAND_TRY(has_work(skeleton, program) ? work_on(run, a) : step_skeleton_go_on(run, a));
    }
    return SAND_OK;
}
