// The loop over dates and flow ends, for all runs of an engine.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "runengine.h"

#include <math.h>

#include "ids.h"
#include "mem.h"
#include "run.h"

double run_seconds(int64_t ticks)
{
    return (double)ticks / STEP_TICKS_PER_S;
}

int64_t run_ticks(double s)
{
    return (int64_t)llround(s * STEP_TICKS_PER_S);
}

static enum sand_rc too_long(const struct run_engine *engine)
{
    return sand_fail(engine->diag, SAND_ERR_INPUT,
                     "a training step takes longer than %.3g s, which no job waits for; check the "
                     "model's sizes, sequence and global_batch, and the rates of GPUs and links",
                     STEP_MOST_S);
}

enum sand_rc run_check_date(const struct run_engine *engine, int64_t begun, double date_s)
{
    return date_s - run_seconds(begun) <= STEP_MOST_S && date_s <= STEP_ENGINE_MOST_S
               ? SAND_OK
               : too_long(engine);
}

enum sand_rc run_engine_open(struct run_engine *engine, uint32_t max_flows)
{
    *engine = (struct run_engine){.max_flows = max_flows};
    engine->handles = sand_calloc(max_flows, sizeof *engine->handles);
    engine->ended = sand_calloc(max_flows, sizeof *engine->ended);
    engine->ends = sand_calloc(max_flows, sizeof *engine->ends);
    for (uint32_t i = 0; engine->handles != NULL && i < max_flows; i++)
        engine->handles[i].run = SAND_NONE;
    return engine->handles == NULL || engine->ended == NULL || engine->ends == NULL ? SAND_ERR_NOMEM
                                                                                    : SAND_OK;
}

void run_engine_close(struct run_engine *engine)
{
    sand_free(engine->handles);
    sand_free(engine->ended);
    sand_free(engine->ends);
    sand_agenda_clear(&engine->agenda);
}

enum sand_rc run_engine_clear(struct run_engine *engine)
{
    struct sand_agenda_entry entry;
    while (sand_agenda_take(&engine->agenda, &entry))
        continue;
    for (uint32_t i = 0; i < engine->max_flows; i++) {
        if (engine->handles[i].run == SAND_NONE)
            continue;
        engine->handles[i].run = SAND_NONE;
        engine->n_live--;
        SAND_TRY(sand_bridge_flow_cancel(engine->bridge, i, NULL));
    }
    return SAND_OK;
}

static enum sand_rc handle(struct run_engine *engine, const struct sand_agenda_entry *entry)
{
    struct step_run *run = engine->runs[entry->subject >> 32];
    const enum run_timer_kind kind = (enum run_timer_kind)entry->kind;
    if (kind == TIMER_STEP_END)
        return engine->step_end(engine->self, run);
    if (kind == TIMER_STEP_BEGIN)
        return step_run_begin(run);
    engine->n_events++;
    return step_run_handle(run, kind, (uint32_t)entry->subject);
}

static enum sand_rc end_flow(struct run_engine *engine, const struct run_handle *ended)
{
    if (ended->run == RUN_NOBODYS)
        return engine->other_flow_end(engine->others, ended->flow);
    return step_run_flow_done(engine->runs[ended->run], ended->flow);
}

// Lets time pass to the next date or the next end of a flow.
static enum sand_rc advance(struct run_engine *engine)
{
    const struct sand_agenda_entry *next = sand_agenda_peek(&engine->agenda);
    double wait_s = INFINITY;
    if (next != NULL)
        wait_s = fmax(0, run_seconds(next->date) - sand_bridge_now_s(engine->bridge));
    uint32_t n = 0;
    SAND_TRY(sand_bridge_wait(engine->bridge, wait_s, engine->ends, &n));
    if (n == 0 && next != NULL) {
        engine->now = next->date;
        return SAND_OK;
    }
    const double clock_s = sand_bridge_now_s(engine->bridge);
    if (clock_s > STEP_ENGINE_MOST_S)
        return too_long(engine);
    const int64_t clock = run_ticks(clock_s);
    engine->now = next != NULL && clock > next->date ? next->date
                  : clock > engine->now              ? clock
                                                     : engine->now;
    engine->n_live -= n;
    // All numbers are read before the first is used again by what follows from an end.
    for (uint32_t i = 0; i < n; i++) {
        engine->ended[i] = engine->handles[engine->ends[i].flow];
        engine->handles[engine->ends[i].flow].run = SAND_NONE;
    }
    for (uint32_t i = 0; i < n; i++)
        SAND_TRY(end_flow(engine, &engine->ended[i]));
    return SAND_OK;
}

enum sand_rc run_engine_go(struct run_engine *engine)
{
    engine->stopped = 0;
    while (!engine->stopped) {
        const struct sand_agenda_entry *next = sand_agenda_peek(&engine->agenda);
        struct sand_agenda_entry entry;
        if (next == NULL && engine->n_live == 0)
            return step_run_stuck(engine->runs[0]);
        if (next == NULL || next->date > engine->now) {
            for (uint32_t i = 0; i < engine->n_runs; i++)
                step_activity_note(&engine->runs[i]->activity);
            SAND_TRY(advance(engine));
        } else if (sand_agenda_take(&engine->agenda, &entry)) {
            SAND_TRY(handle(engine, &entry));
        }
    }
    return SAND_OK;
}
