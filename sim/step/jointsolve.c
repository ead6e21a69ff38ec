// Phase averages: every job's step over and over, from many start offsets, on common links.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "jointplay.h"
#include "mem.h"

// Of one that is asked for: more offsets to begin with, but fewer steps of the others at least.
enum { FIRST_OFFSETS = 4, FIRST_OF_ONE = 8, STEPS = 8, LEAST_STEPS = 4, LEAST_OF_OTHERS = 2 };
static const double enough_error = 0.005;

// ---- engine and runs
// --------------------------------------------------------------------------------

static enum sand_rc number_links(struct joint *j)
{
    const struct sand_joint_problem *p = j->problem;
    j->n_links = (uint32_t)p->n_links;
    for (uint32_t i = 0; i < p->n; i++)
        j->n_links += (uint32_t)p->parts[i]->n_links;
    j->first_own = j->n_links;
    j->n_links += (uint32_t)p->n_transfers;
    j->link_Bps = sand_calloc(j->n_links, sizeof *j->link_Bps);
    j->own_links = sand_calloc(p->n, sizeof *j->own_links);
    if (j->link_Bps == NULL || j->own_links == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t l = 0; l < p->n_links; l++)
        j->link_Bps[l] = p->link_Bps[l];
    for (uint32_t t = 0; t < p->n_transfers; t++)
        j->link_Bps[j->first_own + t] = p->transfers[t].stream_Bps;
    uint32_t next = (uint32_t)p->n_links;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct sand_step_problem *part = p->parts[i];
        j->own_links[i] = sand_calloc(part->n_links, sizeof **j->own_links);
        if (j->own_links[i] == NULL)
            return SAND_ERR_NOMEM;
        for (size_t l = 0; l < part->n_links; l++, next++) {
            j->link_Bps[next] = part->link_Bps[l];
            j->own_links[i][l] = part->link_coupled[l] == SAND_NONE ? next : part->link_coupled[l];
        }
    }
    return SAND_OK;
}

static enum sand_rc open_runs(struct joint *j)
{
    const struct sand_joint_problem *p = j->problem;
    uint32_t max_flows = (uint32_t)p->n_transfers;
    for (uint32_t i = 0; i < p->n; i++)
        max_flows += (uint32_t)p->parts[i]->n_flows;
    SAND_TRY(run_engine_open(&j->engine, max_flows));
    j->full = sand_calloc(p->n, sizeof *j->full);
    j->bones = sand_calloc(p->n, sizeof *j->bones);
    j->all = sand_calloc(2 * (size_t)p->n, sizeof *j->all);
    j->skeletons = sand_calloc(p->n, sizeof *j->skeletons);
    j->period_s = sand_calloc(p->n, sizeof *j->period_s);
    j->means = sand_calloc((size_t)SAND_JOINT_OFFSETS * p->n, sizeof *j->means);
    j->measured = sand_calloc(p->n, sizeof *j->measured);
    j->stream_Bps = sand_calloc(p->n_transfers, sizeof *j->stream_Bps);
    if (!j->full || !j->bones || !j->all || !j->skeletons || !j->period_s || !j->means ||
        !j->measured || !j->stream_Bps)
        return SAND_ERR_NOMEM;
    SAND_TRY(joint_flows_open(&j->flows, &j->engine, p, j->first_own));
    for (uint32_t i = 0; i < p->n; i++) {
        SAND_TRY(step_run_open(&j->full[i], &j->engine, p->parts[i], j->own_links[i]));
        SAND_TRY(step_run_open(&j->bones[i], &j->engine, p->parts[i], j->own_links[i]));
        j->full[i].index = i;
        j->bones[i].index = p->n + i;
        j->all[i] = &j->full[i];
        j->all[p->n + i] = &j->bones[i];
    }
    j->engine.runs = j->all;
    j->engine.n_runs = 2 * p->n;
    return SAND_OK;
}

static void joint_close(struct joint *j)
{
    for (uint32_t i = 0; i < j->problem->n; i++) {
        if (j->full)
            step_run_close(&j->full[i]);
        if (j->bones)
            step_run_close(&j->bones[i]);
        if (j->skeletons)
            step_skeleton_free(&j->skeletons[i]);
        if (j->own_links)
            sand_free(j->own_links[i]);
    }
    sand_free(j->full);
    sand_free(j->bones);
    sand_free(j->all);
    sand_free(j->skeletons);
    sand_free(j->period_s);
    sand_free(j->means);
    sand_free(j->measured);
    sand_free(j->stream_Bps);
    joint_flows_close(&j->flows);
    sand_free(j->link_Bps);
    sand_free(j->own_links);
    run_engine_close(&j->engine);
}

// ---- each job alone
// ---------------------------------------------------------------------------------

static enum sand_rc stop(void *self, struct step_run *run)
{
    (void)self;
    run->engine->stopped = 1;
    return SAND_OK;
}

// One step of the pipeline, nobody else running. *step_s: how long it takes.
static enum sand_rc play_once(struct joint *j, struct step_run *run, double *step_s)
{
    j->engine.step_end = stop;
    SAND_TRY(step_run_begin(run));
    SAND_TRY(run_engine_go(&j->engine));
    *step_s = run_seconds(j->engine.now - run->step_begun);
    return SAND_OK;
}

static enum sand_rc record(struct joint *j, uint32_t i)
{
    struct step_recorder recorder = {0};
    struct step_run *run = &j->full[i];
    enum sand_rc rc = step_recorder_open(&recorder, run);
    run->recorder = &recorder;
    if (rc == SAND_OK)
        rc = play_once(j, run, &j->period_s[i]);
    run->recorder = NULL;
    if (rc == SAND_OK)
        rc = step_skeleton_make(&recorder, &j->skeletons[i]);
    j->bones[i].skeleton = &j->skeletons[i];
    step_recorder_close(&recorder);
    return rc;
}

// The skeleton alone: what it leaves out is the difference to the pipeline.
static enum sand_rc play_bones_alone(struct joint *j, uint32_t i)
{
    return play_once(j, &j->bones[i], &j->skeletons[i].alone_s);
}

// ---- all together
// -----------------------------------------------------------------------------------

static struct step_run *run_of(struct joint *j, uint32_t i)
{
    return j->problem->pipelines ? &j->full[i] : &j->bones[i];
}

static int have_all_steps(const struct joint *j)
{
    for (uint32_t i = 0; i < j->problem->n; i++)
        if (j->measured[i].n < j->measured[i].wanted)
            return 0;
    return 1;
}

static int all_closed(const struct joint *j)
{
    for (uint32_t i = 0; i < j->problem->n; i++)
        if (!j->measured[i].closed)
            return 0;
    return 1;
}

// A step of anybody is over. It counts from the first that began when all were running to the one
// that was under way when all had their steps: what is under way takes longer than others do.
static enum sand_rc count_step(void *self, struct step_run *run)
{
    struct joint *j = self;
    struct joint_measured *m = &j->measured[run->index % j->problem->n];
    if (!j->flows.is_open && run->engine->now >= j->all_begun)
        joint_flows_measure(&j->flows);
    if (m->n == 0)
        m->from = run->step_begun;
    if (m->from >= j->all_begun && !m->closed) {
        m->last = run->engine->now;
        m->n++;
    }
    if (j->all_had == INT64_MAX && have_all_steps(j))
        j->all_had = run->engine->now;
    m->closed |= run->engine->now >= j->all_had;
    if (!all_closed(j))
        return step_run_begin(run);
    run->engine->stopped = 1;
    return SAND_OK;
}

// The base-2 radical inverse: 2^m points of it are spread evenly (van der Corput 1935).
static double radical_inverse(uint32_t k)
{
    double at = 0, digit = 0.5;
    for (; k > 0; k >>= 1, digit /= 2)
        at += (k & 1) * digit;
    return at;
}

// Two jobs are spread evenly, more by the additive recurrence of the generalised golden ratio
// (x^(d+1) = x + 1), of low discrepancy in d dimensions for every number of points.
double joint_ratio(uint32_t n)
{
    double x = 2;
    for (int step = 0; step < 64; step++)
        x = pow(1 + x, 1.0 / n);
    return 1 / x;
}

double joint_share(double ratio, uint32_t i, uint32_t k)
{
    const double at = (k + 0.5) * pow(ratio, i);
    return at - floor(at);
}

// Of the job with the shortest period `STEPS`; one with a longer period meets as much in fewer, but
// who slows whom settles only over some steps of it (of those that are not asked for, over two).
static uint32_t wanted_steps(const struct joint *j, uint32_t i)
{
    double shortest_s = j->period_s[i];
    if (j->problem->n_steps > 0)
        return j->problem->n_steps;
    for (uint32_t k = 0; k < j->problem->n; k++)
        shortest_s = fmin(shortest_s, j->period_s[k]);
    const double steps = ceil(STEPS * shortest_s / j->period_s[i]);
    const uint32_t asked = j->problem->asked;
    const int is_other = asked < j->problem->n && asked != i;
    return (uint32_t)fmax(steps, is_other ? LEAST_OF_OTHERS : LEAST_STEPS);
}

static uint32_t longest_job(const struct joint *j)
{
    uint32_t longest = 0;
    for (uint32_t i = 1; i < j->problem->n; i++)
        if (j->period_s[i] > j->period_s[longest])
            longest = i;
    return longest;
}

// Where in its period each job is when the first one starts: what counts is how they lie to it. The
// job with the longest period starts last, when every other has been in its first step for its
// share of it: so no more time is played than that job needs.
static enum sand_rc begin_all(struct joint *j, uint32_t k)
{
    const uint32_t n = j->problem->n, longest = longest_job(j);
    const double ratio = joint_ratio(n);
    double into_s[SAND_JOINT_JOBS] = {0}, most_s = 0;
    j->engine.step_end = count_step;
    j->engine.self = j;
    memset(j->measured, 0, n * sizeof *j->measured);
    for (uint32_t i = 0, other = 1; i < n; i++) {
        if (i != longest)
            into_s[i] =
                j->period_s[i] * (n == 2 ? radical_inverse(k) : joint_share(ratio, other++, k));
        most_s = fmax(most_s, into_s[i]);
    }
    j->all_begun = j->engine.now + run_ticks(most_s);
    j->all_had = INT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        step_run_reset(run_of(j, i));
        j->measured[i].wanted = wanted_steps(j, i);
        SAND_TRY(run_timer(run_of(j, i), most_s - into_s[i], TIMER_STEP_BEGIN, 0));
    }
    return SAND_OK;
}

// All jobs from the k-th offsets until all have their steps. The means of their steps are kept.
static enum sand_rc play_offset(struct joint *j, uint32_t k)
{
    const uint32_t n = j->problem->n;
    SAND_TRY(begin_all(j, k));
    SAND_TRY(joint_flows_begin(&j->flows, j->problem, j->period_s[longest_job(j)]));
    SAND_TRY(run_engine_go(&j->engine));
    joint_flows_add(&j->flows, j->stream_Bps);
    for (uint32_t i = 0; i < n; i++) {
        const struct joint_measured *m = &j->measured[i];
        double step_s = run_seconds(m->last - m->from) / m->n;
        if (!j->problem->pipelines)
            step_s += j->skeletons[i].step_s - j->skeletons[i].alone_s;
        j->means[(size_t)k * n + i] = step_s;
    }
    return run_engine_clear(&j->engine);
}

static double mean_s(const struct joint *j, uint32_t i, uint32_t n_offsets)
{
    double sum = 0;
    for (uint32_t k = 0; k < n_offsets; k++)
        sum += j->means[(size_t)k * j->problem->n + i];
    return sum / n_offsets;
}

// How far the second half of the offsets moved the mean of the job that is asked for, or of any.
static double moved(const struct joint *j, uint32_t n_offsets)
{
    const uint32_t asked = j->problem->asked;
    double most = 0;
    for (uint32_t i = 0; i < j->problem->n; i++) {
        if (asked < j->problem->n && i != asked)
            continue;
        const double now_s = mean_s(j, i, n_offsets);
        most = fmax(most, fabs(now_s - mean_s(j, i, n_offsets / 2)) / now_s);
    }
    return most;
}

static enum sand_rc play_offsets(struct joint *j, struct sand_joint_solution *solution)
{
    const uint32_t fixed = j->problem->n == 1 ? 1 : j->problem->n_offsets;
    // One mean of four may stand still by chance.
    const uint32_t first = j->problem->asked < j->problem->n ? FIRST_OF_ONE : FIRST_OFFSETS;
    uint32_t next = 0, n = fixed > 0 ? fixed : first;
    for (;;) {
        for (; next < n; next++)
            SAND_TRY(play_offset(j, next));
        solution->n_offsets = n;
        solution->error = n > 1 ? moved(j, n) : 0;
        if (fixed > 0 || solution->error <= enough_error || n == SAND_JOINT_OFFSETS)
            return SAND_OK;
        n *= 2;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Mean, and the 5th and 95th percentiles over the offsets (nearest rank).
static void fill_part(struct joint *j, uint32_t i, uint32_t n_offsets, struct sand_joint_part *part)
{
    double sorted[SAND_JOINT_OFFSETS];
    part->step_s = mean_s(j, i, n_offsets);
    for (uint32_t k = 0; k < n_offsets; k++)
        sorted[k] = j->means[(size_t)k * j->problem->n + i];
    qsort(sorted, n_offsets, sizeof *sorted, compare_doubles);
    const uint32_t cut = (uint32_t)(0.05 * n_offsets);
    part->low_s = sorted[cut];
    part->high_s = sorted[n_offsets - 1 - cut];
}

struct pumped {
    struct joint *joint;
    struct sand_joint_solution *solution;
};

// No steps: transfers share links evenly all the time.
static enum sand_rc solve_transfers(struct joint *j)
{
    uint32_t n_ended = 0;
    SAND_TRY(joint_flows_begin(&j->flows, j->problem, 1)); // of a second alone
    joint_flows_measure(&j->flows);
    SAND_TRY(sand_bridge_wait(j->engine.bridge, 0.5, j->engine.ends, &n_ended));
    joint_flows_add(&j->flows, j->stream_Bps);
    return SAND_OK;
}

// Nobody else: one step of the pipeline on what the links have left.
static enum sand_rc solve_one(struct joint *j, struct sand_joint_solution *solution)
{
    double step_s = 0;
    SAND_TRY(play_once(j, &j->full[0], &step_s));
    solution->n_offsets = 1;
    solution->parts[0] = (struct sand_joint_part){step_s, step_s, step_s};
    return SAND_OK;
}

static enum sand_rc solve_all(struct joint *j, struct sand_joint_solution *solution)
{
    for (uint32_t i = 0; i < j->problem->n; i++)
        SAND_TRY(record(j, i));
    int is_answered = 0;
    if (!j->problem->together)
        SAND_TRY(joint_fluid(j, solution, &is_answered));
    if (is_answered)
        return SAND_OK;
    for (uint32_t i = 0; i < j->problem->n && !j->problem->pipelines; i++)
        SAND_TRY(play_bones_alone(j, i));
    SAND_TRY(play_offsets(j, solution));
    for (uint32_t i = 0; i < j->problem->n; i++)
        fill_part(j, i, solution->n_offsets, &solution->parts[i]);
    for (uint32_t t = 0; t < j->problem->n_transfers; t++)
        j->stream_Bps[t] /= solution->n_offsets;
    return SAND_OK;
}

static enum sand_rc pump(struct sand_bridge *bridge, void *argument)
{
    const struct pumped *pumped = argument;
    struct joint *j = pumped->joint;
    j->engine.bridge = bridge;
    if (j->problem->n == 0)
        SAND_TRY(solve_transfers(j));
    else if (j->problem->n == 1 && j->problem->n_transfers == 0)
        SAND_TRY(solve_one(j, pumped->solution));
    else
        SAND_TRY(solve_all(j, pumped->solution));
    memcpy(pumped->solution->stream_Bps, j->stream_Bps,
           j->problem->n_transfers * sizeof *j->stream_Bps);
    pumped->solution->n_transfers = (uint32_t)j->problem->n_transfers;
    pumped->solution->n = j->problem->n;
    pumped->solution->n_events = j->engine.n_events;
    return SAND_OK;
}

enum sand_rc sand_joint_solve(const struct sand_joint_problem *problem,
                              struct sand_joint_solution *solution, struct sand_diag *diag)
{
    struct joint j = {.problem = problem};
    memset(solution, 0, sizeof *solution);
    enum sand_rc rc = number_links(&j);
    if (rc == SAND_OK)
        rc = open_runs(&j);
    if (rc == SAND_OK) {
        const struct sand_bridge_platform platform = {
            .link_Bps = j.link_Bps, .n_links = j.n_links, .max_flows = j.engine.max_flows};
        struct pumped pumped = {&j, solution};
        j.engine.diag = diag;
        rc = sand_bridge_run(&platform, pump, &pumped, diag);
    } else {
        sand_fail(diag, rc, "steps of %u jobs: %s", problem->n, sand_rc_text(rc));
    }
    joint_close(&j);
    return rc;
}
