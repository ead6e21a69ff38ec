// What happens in one step of a pipeline, and the skeleton made of it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "mem.h"
#include "skeleton.h"

enum { MOST_SENDS = 16 }; // of a flow in a skeleton's step: more are merged

enum sand_rc step_recorder_open(struct step_recorder *r, const struct step_run *run)
{
    *r = (struct step_recorder){.run = run};
    r->number = sand_calloc((size_t)RUN_LISTS * run->n_collectives, sizeof *r->number);
    if (r->number == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < (size_t)RUN_LISTS * run->n_collectives; i++)
        r->number[i] = SAND_NONE;
    return SAND_OK;
}

void step_recorder_close(struct step_recorder *r)
{
    sand_free(r->events);
    sand_free(r->messages);
    sand_free(r->number);
    *r = (struct step_recorder){0};
}

static enum sand_rc add_message(struct step_recorder *r, struct step_message message)
{
    SAND_TRY(sand_grow((void **)&r->messages, &r->message_capacity, r->n_messages + 1,
                       sizeof *r->messages));
    r->messages[r->n_messages++] = message;
    return SAND_OK;
}

static enum sand_rc add_event(struct step_recorder *r, enum step_item_kind kind, uint32_t stage,
                              uint32_t message)
{
    SAND_TRY(
        sand_grow((void **)&r->events, &r->event_capacity, r->n_events + 1, sizeof *r->events));
    r->events[r->n_events] = (struct step_event){.date = r->run->engine->now - r->run->step_begun,
                                                 .order = (uint32_t)r->n_events,
                                                 .stage = stage,
                                                 .message = message,
                                                 .kind = kind};
    r->n_events++;
    return SAND_OK;
}

static int rings_are_coupled(const struct step_run *run, uint32_t stage)
{
    const struct step_stage *st = &run->problem->stages[stage];
    for (uint32_t i = 0; i < st->n_rings; i++)
        if (run->coupled[run->problem->rings[st->first_ring + i]])
            return 1;
    return 0;
}

static uint32_t *number_of(struct step_recorder *r, enum run_purpose purpose, uint32_t index)
{
    return &r->number[(size_t)(purpose - RUN_GATHER) * r->run->n_collectives + index];
}

// The collective's number here; SAND_NONE if it is not on coupled links.
static enum sand_rc find_collective(struct step_recorder *r, enum run_purpose purpose,
                                    uint32_t index, uint32_t *number)
{
    const struct run_collective *c = &run_list(r->run, purpose)[index];
    uint32_t *known = number_of(r, purpose, index);
    if (*known == SAND_NONE && !c->done && rings_are_coupled(r->run, c->stage)) {
        *known = (uint32_t)r->n_messages;
        SAND_TRY(add_message(r, (struct step_message){.bytes = c->bytes,
                                                      .latency_s = c->latency_s,
                                                      .stage = c->stage,
                                                      .flow = SAND_NONE,
                                                      .last_wait = SAND_NONE}));
    }
    *number = *known;
    return SAND_OK;
}

enum sand_rc step_record_start(struct step_recorder *r, enum run_purpose purpose, uint32_t index)
{
    uint32_t number;
    SAND_TRY(find_collective(r, purpose, index, &number));
    return number == SAND_NONE ? SAND_OK
                               : add_event(r, STEP_ITEM_START, r->messages[number].stage, number);
}

// Of several actors of a stage the last to come counts.
enum sand_rc step_record_wait(struct step_recorder *r, enum run_purpose purpose, uint32_t index)
{
    uint32_t number;
    SAND_TRY(find_collective(r, purpose, index, &number));
    if (number == SAND_NONE)
        return SAND_OK;
    struct step_message *message = &r->messages[number];
    if (message->last_wait != SAND_NONE)
        r->events[message->last_wait].message = SAND_NONE;
    message->last_wait = (uint32_t)r->n_events;
    return add_event(r, STEP_ITEM_WAIT, message->stage, number);
}

void step_record_go_on(struct step_recorder *r, enum run_purpose purpose, uint32_t index)
{
    const uint32_t number = *number_of(r, purpose, index);
    if (number != SAND_NONE)
        r->messages[number].went_on = r->run->engine->now - r->run->step_begun;
}

enum sand_rc step_record_send(struct step_recorder *r, uint32_t stage, uint32_t flow, double bytes)
{
    if (!r->run->coupled[flow])
        return SAND_OK;
    SAND_TRY(add_message(r, (struct step_message){.bytes = bytes,
                                                  .stage = stage,
                                                  .flow = flow,
                                                  .stands_for = 1,
                                                  .last_wait = SAND_NONE}));
    return add_event(r, STEP_ITEM_START, stage, (uint32_t)r->n_messages - 1);
}

// ---- the skeleton -------------------------------------------------------------------------------

// Joins runs of equally many sends of a flow: the first carries the bytes of all.
static enum sand_rc merge_sends(struct step_recorder *r)
{
    const size_t n = r->run->problem->n_flows;
    uint32_t *count = sand_calloc(n, sizeof *count), *seen = sand_calloc(n, sizeof *seen);
    uint32_t *first = sand_calloc(n, sizeof *first);
    const enum sand_rc rc =
        count == NULL || seen == NULL || first == NULL ? SAND_ERR_NOMEM : SAND_OK;
    for (size_t m = 0; rc == SAND_OK && m < r->n_messages; m++)
        if (r->messages[m].flow != SAND_NONE)
            count[r->messages[m].flow]++;
    for (size_t m = 0; rc == SAND_OK && m < r->n_messages; m++) {
        struct step_message *message = &r->messages[m];
        if (message->flow == SAND_NONE)
            continue;
        const uint32_t size = (count[message->flow] + MOST_SENDS - 1) / MOST_SENDS;
        if (seen[message->flow]++ % size == 0) {
            first[message->flow] = (uint32_t)m;
            continue;
        }
        r->messages[first[message->flow]].bytes += message->bytes;
        r->messages[first[message->flow]].stands_for += 1;
        message->stands_for = 0;
    }
    sand_free(count);
    sand_free(seen);
    sand_free(first);
    return rc;
}

static int is_needed(const struct step_recorder *r, const struct step_event *event)
{
    return event->message != SAND_NONE && (r->messages[event->message].flow == SAND_NONE ||
                                           r->messages[event->message].stands_for > 0);
}

// By stage and date; at one date what starts goes before what is waited for.
static int compare_events(const void *a, const void *b)
{
    const struct step_event *x = a, *y = b;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    if (x->date != y->date)
        return x->date < y->date ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int64_t stage_end(const struct step_run *run, uint32_t stage)
{
    int64_t end = 0;
    for (size_t a = 0; a < run->problem->n_actors; a++)
        if (run->problem->actors[a].stage == stage && run->actors[a].end > end)
            end = run->actors[a].end;
    return end - run->step_begun;
}

// Walks along the events of a stage; what lies between two is work.
static void write_stage(const struct step_recorder *r, struct step_skeleton *made, uint32_t stage,
                        size_t *next)
{
    struct step_skeleton_stage *st = &made->stages[stage];
    int64_t now = 0;
    st->first_item = made->n_items;
    for (; *next < r->n_events && r->events[*next].stage == stage; ++*next) {
        const struct step_event *event = &r->events[*next];
        if (!is_needed(r, event))
            continue;
        const int64_t gap = event->date > now ? event->date - now : 0;
        made->items[made->n_items++] =
            (struct step_item){run_seconds(gap), event->kind, event->message};
        now += gap;
        if (event->kind == STEP_ITEM_WAIT && r->messages[event->message].went_on > now)
            now = r->messages[event->message].went_on;
    }
    st->n_items = made->n_items - st->first_item;
    const int64_t end = stage_end(r->run, stage);
    st->tail_s = run_seconds(end > now ? end - now : 0);
}

enum sand_rc step_skeleton_make(struct step_recorder *r, struct step_skeleton *made)
{
    *made = (struct step_skeleton){.n_messages = (uint32_t)r->n_messages,
                                   .n_stages = r->run->problem->header.pp};
    SAND_TRY(merge_sends(r));
    if (r->n_events > 0)
        qsort(r->events, r->n_events, sizeof *r->events, compare_events);
    made->items = sand_calloc(r->n_events, sizeof *made->items);
    made->messages = sand_calloc(r->n_messages, sizeof *made->messages);
    made->stages = sand_calloc(made->n_stages, sizeof *made->stages);
    if (made->items == NULL || made->messages == NULL || made->stages == NULL)
        return SAND_ERR_NOMEM;
    if (r->n_messages > 0)
        memcpy(made->messages, r->messages, r->n_messages * sizeof *made->messages);
    size_t next = 0;
    int64_t end = 0;
    for (uint32_t s = 0; s < made->n_stages; s++) {
        write_stage(r, made, s, &next);
        end = stage_end(r->run, s) > end ? stage_end(r->run, s) : end;
    }
    for (size_t m = 0; m < r->n_messages; m++)
        made->n_sends += r->messages[m].stands_for;
    made->step_s = run_seconds(end);
    return SAND_OK;
}

void step_skeleton_free(struct step_skeleton *skeleton)
{
    sand_free(skeleton->items);
    sand_free(skeleton->messages);
    sand_free(skeleton->stages);
    *skeleton = (struct step_skeleton){0};
}
