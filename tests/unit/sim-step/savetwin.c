// SPDX-License-Identifier: GPL-2.0-or-later
#include "savetwin.h"

#include <string.h>

#include "ids.h"
#include "mem.h"
#include "run.h"

struct saver {
    struct step_run run;
    uint32_t *links, *route;
    uint32_t n_route, steps, saves, flow;
    int64_t first, last, begun;
    double saved_s;
    int saving, full;
};

struct twin {
    const struct save_twin *asked;
    struct save_twin_seen *seen;
    struct run_engine engine;
    struct saver savers[TWIN_JOBS];
    struct step_run *runs[TWIN_JOBS];
    double *link_Bps;
    uint32_t n_links;
    double period_s[TWIN_JOBS];
};

static uint32_t job_of(const struct twin *t, const struct saver *s)
{
    return t->asked->job[s - t->savers];
}

// Coupled links, each part's own, then one a transfer.
static enum sand_rc number_links(struct twin *t)
{
    const struct sand_joint_problem *p = t->asked->problem;
    uint32_t next = (uint32_t)p->n_links;
    for (uint32_t i = 0; i < TWIN_JOBS; i++)
        next += (uint32_t)p->parts[i]->n_links;
    t->n_links = next + TWIN_JOBS;
    t->link_Bps = sand_calloc(t->n_links, sizeof *t->link_Bps);
    memcpy(t->link_Bps, p->link_Bps, p->n_links * sizeof *t->link_Bps);
    next = (uint32_t)p->n_links;
    for (uint32_t i = 0; i < TWIN_JOBS; i++) {
        const struct sand_step_problem *part = p->parts[i];
        t->savers[i].links = sand_calloc(part->n_links, sizeof(uint32_t));
        for (size_t l = 0; l < part->n_links; l++, next++) {
            t->link_Bps[next] = part->link_Bps[l];
            t->savers[i].links[l] =
                part->link_coupled[l] == SAND_NONE ? next : part->link_coupled[l];
        }
    }
    for (uint32_t i = 0; i < TWIN_JOBS; i++)
        t->link_Bps[next + i] = p->transfers[i].stream_Bps;
    return SAND_OK;
}

static void write_route(struct twin *t, uint32_t i)
{
    const struct sand_joint_problem *p = t->asked->problem;
    struct saver *s = &t->savers[i];
    const struct joint_transfer *transfer = &p->transfers[job_of(t, s)];
    s->route = sand_calloc(4096, sizeof *s->route);
    s->route[s->n_route++] = t->n_links - TWIN_JOBS + job_of(t, s);
    for (uint32_t u = transfer->first; u < transfer->first + transfer->n; u++)
        for (uint32_t k = 0; k < p->uses[u].streams; k++)
            s->route[s->n_route++] = p->uses[u].link;
}

static enum sand_rc begin_save(struct twin *t, struct saver *s)
{
    if (s->saving)
        return SAND_ERR_INTERNAL; // the next is due before it is written: no such case
    s->saving = 1;
    s->begun = t->engine.now;
    SAND_TRY(sand_bridge_flow_start(t->engine.bridge, s->route, s->n_route,
                                    t->asked->save_B[job_of(t, s)], &s->flow));
    t->engine.handles[s->flow] = (struct run_handle){RUN_NOBODYS, (uint32_t)(s - t->savers)};
    t->engine.n_live++;
    return SAND_OK;
}

static enum sand_rc save_ended(void *self, uint32_t i)
{
    struct twin *t = self;
    struct saver *s = &t->savers[i];
    s->saving = 0;
    if (!s->full) {
        s->saves++;
        s->saved_s += run_seconds(t->engine.now - s->begun);
    }
    return t->asked->blocking ? step_run_begin(&s->run) : SAND_OK;
}

static enum sand_rc step_ended(void *self, struct step_run *run)
{
    struct twin *t = self;
    struct saver *s = &t->savers[run->index];
    s->steps++;
    if (s->steps == t->asked->n_steps) {
        s->last = t->engine.now;
        s->full = 1;
    }
    if (t->savers[0].full && t->savers[1].full) {
        t->engine.stopped = 1;
        return SAND_OK;
    }
    if (s->steps % t->asked->every == 0)
        SAND_TRY(begin_save(t, s));
    return t->asked->blocking && s->saving ? SAND_OK : step_run_begin(run);
}

static enum sand_rc stop(void *self, struct step_run *run)
{
    (void)self;
    run->engine->stopped = 1;
    return SAND_OK;
}

static enum sand_rc find_period(struct twin *t, uint32_t i)
{
    t->engine.step_end = stop;
    const int64_t begun = t->engine.now;
    SAND_TRY(step_run_begin(&t->savers[i].run));
    SAND_TRY(run_engine_go(&t->engine));
    t->period_s[i] = run_seconds(t->engine.now - begun);
    return SAND_OK;
}

static enum sand_rc play(struct twin *t, uint32_t k)
{
    t->engine.step_end = step_ended;
    t->engine.self = t;
    for (uint32_t i = 0; i < TWIN_JOBS; i++) {
        struct saver *s = &t->savers[i];
        const double wait_s =
            job_of(t, s) == 0 ? 0 : (t->asked->every + 1) * t->period_s[i] * k / TWIN_OFFSETS;
        step_run_reset(&s->run);
        s->steps = s->saves = 0;
        s->saved_s = 0;
        s->saving = s->full = 0;
        s->first = t->engine.now + run_ticks(wait_s);
        SAND_TRY(run_timer(&s->run, wait_s, TIMER_STEP_BEGIN, 0));
    }
    SAND_TRY(run_engine_go(&t->engine));
    for (uint32_t i = 0; i < TWIN_JOBS; i++) {
        const struct saver *s = &t->savers[i];
        t->seen->job_s[k][job_of(t, s)] = run_seconds(s->last - s->first);
        t->seen->save_s[k][job_of(t, s)] = s->saved_s / s->saves;
    }
    return run_engine_clear(&t->engine);
}

static enum sand_rc pump(struct sand_bridge *bridge, void *argument)
{
    struct twin *t = argument;
    t->engine.bridge = bridge;
    for (uint32_t i = 0; i < TWIN_JOBS; i++)
        SAND_TRY(find_period(t, i));
    for (uint32_t k = 0; k < TWIN_OFFSETS; k++)
        SAND_TRY(play(t, k));
    return SAND_OK;
}

enum sand_rc save_twin_run(const void *asked, void *seen, struct sand_diag *diag)
{
    struct twin t = {.asked = asked, .seen = seen};
    const struct sand_joint_problem *p = t.asked->problem;
    uint32_t max_flows = TWIN_JOBS;
    SAND_TRY(number_links(&t));
    for (uint32_t i = 0; i < TWIN_JOBS; i++)
        max_flows += (uint32_t)p->parts[i]->n_flows;
    SAND_TRY(run_engine_open(&t.engine, max_flows));
    for (uint32_t i = 0; i < TWIN_JOBS; i++) {
        SAND_TRY(step_run_open(&t.savers[i].run, &t.engine, p->parts[i], t.savers[i].links));
        t.savers[i].run.index = i;
        t.runs[i] = &t.savers[i].run;
        write_route(&t, i);
    }
    t.engine.runs = t.runs;
    t.engine.n_runs = TWIN_JOBS;
    t.engine.diag = diag;
    t.engine.other_flow_end = save_ended;
    t.engine.others = &t;
    const struct sand_bridge_platform platform = {
        .link_Bps = t.link_Bps, .n_links = t.n_links, .max_flows = max_flows};
    return sand_bridge_run(&platform, pump, &t, diag); // the child ends: nothing is freed
}
