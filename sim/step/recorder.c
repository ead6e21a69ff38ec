// What happens in one step of a pipeline, and the skeleton made of it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "mem.h"
#include "skeleton.h"

enum { MOST_SENDS = 32 }; // of a flow in a skeleton's step: more are merged

static size_t count_inputs(const struct step_run *run)
{
    const struct step_header *h = &run->problem->header;
    return 2 * run->problem->n_actors * h->chunks * h->micro_batches;
}

enum sand_rc step_recorder_open(struct step_recorder *r, const struct step_run *run)
{
    const size_t n = (size_t)RUN_LISTS * run->n_collectives;
    *r = (struct step_recorder){.run = run};
    r->number = sand_calloc(n, sizeof *r->number);
    r->waits = sand_calloc(run->problem->n_actors, sizeof *r->waits);
    r->inputs = sand_calloc(count_inputs(run), sizeof *r->inputs);
    if (r->number == NULL || r->waits == NULL || r->inputs == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        r->number[i] = SAND_NONE;
    for (size_t a = 0; a < run->problem->n_actors; a++)
        r->waits[a] = SAND_NONE;
    for (size_t i = 0; i < count_inputs(run); i++)
        r->inputs[i].wanted = -1;
    return SAND_OK;
}

void step_recorder_close(struct step_recorder *r)
{
    sand_free(r->events);
    sand_free(r->messages);
    sand_free(r->number);
    sand_free(r->waits);
    sand_free(r->inputs);
    *r = (struct step_recorder){0};
}

static int64_t now_of(const struct step_recorder *r)
{
    return r->run->engine->now - r->run->step_begun;
}

static enum sand_rc add_message(struct step_recorder *r, struct step_message message)
{
    SAND_TRY(sand_grow((void **)&r->messages, &r->message_capacity, r->n_messages + 1,
                       sizeof *r->messages));
    message.merged_into = (uint32_t)r->n_messages;
    message.is_last = 1;
    r->messages[r->n_messages++] = message;
    return SAND_OK;
}

static enum sand_rc add_event(struct step_recorder *r, enum step_item_kind kind, uint32_t actor,
                              uint32_t message, int64_t date)
{
    SAND_TRY(
        sand_grow((void **)&r->events, &r->event_capacity, r->n_events + 1, sizeof *r->events));
    r->events[r->n_events] = (struct step_event){.date = date,
                                                 .went_on = date,
                                                 .order = (uint32_t)r->n_events,
                                                 .actor = actor,
                                                 .message = message,
                                                 .kind = kind};
    r->n_events++;
    return SAND_OK;
}

// ---- collectives --------------------------------------------------------------------------------

// The collective's number here; SAND_NONE if it is over or not on coupled links.
static enum sand_rc find_collective(struct step_recorder *r, enum run_purpose purpose,
                                    uint32_t index, uint32_t *number)
{
    const struct run_collective *c = &run_list(r->run, purpose)[index];
    uint32_t *known = &r->number[(size_t)(purpose - RUN_GATHER) * r->run->n_collectives + index];
    if (*known == SAND_NONE && !c->done && run_legs_any(r->run, c->stage, &c->legs, 1)) {
        *known = (uint32_t)r->n_messages;
        SAND_TRY(add_message(
            r, (struct step_message){.legs = c->legs,
                                     .stage = c->stage,
                                     .flow = SAND_NONE,
                                     .parts = r->run->problem->stages[c->stage].n_actors}));
    }
    *number = *known;
    return SAND_OK;
}

enum sand_rc step_record_join(struct step_recorder *r, uint32_t actor, enum run_purpose purpose,
                              uint32_t index)
{
    uint32_t number;
    SAND_TRY(find_collective(r, purpose, index, &number));
    return number == SAND_NONE ? SAND_OK : add_event(r, STEP_ITEM_JOIN, actor, number, now_of(r));
}

enum sand_rc step_record_wait(struct step_recorder *r, uint32_t actor, enum run_purpose purpose,
                              uint32_t index)
{
    uint32_t number;
    SAND_TRY(find_collective(r, purpose, index, &number));
    if (number == SAND_NONE)
        return SAND_OK;
    if (r->waits[actor] == SAND_NONE)
        r->waits[actor] = (uint32_t)r->n_events;
    return add_event(r, STEP_ITEM_WAIT, actor, number, now_of(r));
}

void step_record_go_on(struct step_recorder *r, uint32_t actor)
{
    for (size_t e = r->waits[actor]; e != SAND_NONE && e < r->n_events; e++)
        if (r->events[e].actor == actor && r->events[e].kind == STEP_ITEM_WAIT)
            r->events[e].went_on = now_of(r);
    r->waits[actor] = SAND_NONE;
}

// ---- sends --------------------------------------------------------------------------------------

enum sand_rc step_record_send(struct step_recorder *r, uint32_t actor, uint32_t flow, double bytes,
                              double latency_s, uint32_t input)
{
    if (!r->run->coupled[flow])
        return SAND_OK;
    const uint32_t number = (uint32_t)r->n_messages;
    SAND_TRY(add_message(r, (struct step_message){.bytes = bytes,
                                                  .latency_s = latency_s,
                                                  .stage = r->run->problem->actors[actor].stage,
                                                  .flow = flow,
                                                  .parts = 1}));
    SAND_TRY(add_event(r, STEP_ITEM_JOIN, actor, number, now_of(r)));
    if (input != SAND_NONE) {
        if (r->inputs[input].n++ == 0)
            r->inputs[input].first = number;
        return SAND_OK;
    }
    if (r->waits[actor] == SAND_NONE)
        r->waits[actor] = (uint32_t)r->n_events;
    return add_event(r, STEP_ITEM_WAIT, actor, number, now_of(r));
}

void step_record_want(struct step_recorder *r, uint32_t input)
{
    if (r->inputs[input].wanted < 0)
        r->inputs[input].wanted = now_of(r);
}

// Its messages are one after another: they set out at one instant.
enum sand_rc step_record_take(struct step_recorder *r, uint32_t actor, uint32_t input)
{
    const struct step_input_record *record = &r->inputs[input];
    for (uint32_t i = 0; i < record->n; i++) {
        SAND_TRY(add_event(r, STEP_ITEM_WAIT, actor, record->first + i, record->wanted));
        r->events[r->n_events - 1].went_on = now_of(r);
    }
    return SAND_OK;
}

// ---- the skeleton -------------------------------------------------------------------------------

// Joins runs of equally many sends of a flow: the first carries the bytes of all, the last is
// waited for.
static enum sand_rc merge_sends(struct step_recorder *r)
{
    const size_t n = r->run->problem->n_flows;
    uint32_t *count = sand_calloc(n, sizeof *count), *seen = sand_calloc(n, sizeof *seen);
    uint32_t *last = sand_calloc(n, sizeof *last);
    const enum sand_rc rc =
        count == NULL || seen == NULL || last == NULL ? SAND_ERR_NOMEM : SAND_OK;
    for (size_t m = 0; rc == SAND_OK && m < r->n_messages; m++)
        if (r->messages[m].flow != SAND_NONE)
            count[r->messages[m].flow]++;
    for (size_t m = 0; rc == SAND_OK && m < r->n_messages; m++) {
        struct step_message *message = &r->messages[m];
        if (message->flow == SAND_NONE)
            continue;
        const uint32_t size = (count[message->flow] + MOST_SENDS - 1) / MOST_SENDS;
        if (seen[message->flow]++ % size > 0) {
            struct step_message *before = &r->messages[last[message->flow]];
            before->is_last = 0;
            message->merged_into = before->merged_into;
            r->messages[message->merged_into].bytes += message->bytes;
        }
        last[message->flow] = (uint32_t)m;
    }
    sand_free(count);
    sand_free(seen);
    sand_free(last);
    return rc;
}

static int is_needed(const struct step_recorder *r, const struct step_event *event)
{
    const struct step_message *message = &r->messages[event->message];
    return event->kind == STEP_ITEM_JOIN ? message->merged_into == event->message
                                         : message->is_last;
}

// By actor and date; at one date what sets out goes before what is waited for.
static int compare_events(const void *a, const void *b)
{
    const struct step_event *x = a, *y = b;
    if (x->actor != y->actor)
        return x->actor < y->actor ? -1 : 1;
    if (x->date != y->date)
        return x->date < y->date ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

// Walks along the events of an actor; what lies between two is work.
static void write_program(const struct step_recorder *r, struct step_skeleton *made, uint32_t a,
                          size_t *next)
{
    struct step_program *program = &made->programs[a];
    int64_t now = 0;
    program->first_item = made->n_items;
    for (; *next < r->n_events && r->events[*next].actor == a; ++*next) {
        const struct step_event *event = &r->events[*next];
        if (!is_needed(r, event))
            continue;
        const int64_t gap = event->date > now ? event->date - now : 0;
        made->items[made->n_items++] = (struct step_item){run_seconds(gap), event->kind,
                                                          r->messages[event->message].merged_into};
        now += gap;
        if (event->kind == STEP_ITEM_WAIT && event->went_on > now)
            now = event->went_on;
    }
    program->n_items = made->n_items - program->first_item;
    const int64_t end = r->run->actors[a].end - r->run->step_begun;
    program->tail_s = run_seconds(end > now ? end - now : 0);
}

enum sand_rc step_skeleton_make(struct step_recorder *r, struct step_skeleton *made)
{
    const struct sand_step_problem *p = r->run->problem;
    *made = (struct step_skeleton){.n_messages = (uint32_t)r->n_messages,
                                   .n_programs = (uint32_t)p->n_actors};
    SAND_TRY(merge_sends(r));
    if (r->n_events > 0)
        qsort(r->events, r->n_events, sizeof *r->events, compare_events);
    made->items = sand_calloc(r->n_events, sizeof *made->items);
    made->messages = sand_calloc(r->n_messages, sizeof *made->messages);
    made->programs = sand_calloc(made->n_programs, sizeof *made->programs);
    if (made->items == NULL || made->messages == NULL || made->programs == NULL)
        return SAND_ERR_NOMEM;
    if (r->n_messages > 0)
        memcpy(made->messages, r->messages, r->n_messages * sizeof *made->messages);
    size_t next = 0;
    for (uint32_t a = 0; a < made->n_programs; a++)
        write_program(r, made, a, &next);
    made->step_s = run_seconds(r->run->engine->now - r->run->step_begun);
    return SAND_OK;
}

void step_skeleton_free(struct step_skeleton *skeleton)
{
    sand_free(skeleton->items);
    sand_free(skeleton->messages);
    sand_free(skeleton->programs);
    *skeleton = (struct step_skeleton){0};
}
