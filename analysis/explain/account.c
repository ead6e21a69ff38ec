// Splits a job's time. An attempt holds steps and the saves between them; between attempts a job
// recovers, and every nanosecond of that is in exactly one part of the root of its open incidents.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "account.h"

#include <math.h>
#include <string.h>

#include "units.h"

#define NO_INDEX UINT32_MAX

enum sand_rc sand_explain_load(struct sand_results *results, struct sand_explain_rows *rows,
                               struct sand_diag *diag)
{
    const void *data;
#define LOAD(table)                                                                                \
    SAND_TRY(sand_results_table(results, SAND_TABLE_##table, &data, &rows->n_##table, diag));      \
    rows->table = data;
    LOAD(jobs)
    LOAD(attempts)
    LOAD(incidents)
    LOAD(checkpoints)
    LOAD(steps)
    LOAD(links)
    LOAD(decisions)
#undef LOAD
    return SAND_OK;
}

int sand_explain_ended(const struct sand_jobs_row *job)
{
    return strcmp(job->state.text, "finished") == 0 || strncmp(job->state.text, "ended", 5) == 0;
}

// ---- an attempt ---------------------------------------------------------------------------------

struct attempt {
    int64_t stall_ns, cut_ns, under_way_ns, stepping_ns;
    int64_t own_ns; // the step on these nodes, without neighbours
    uint64_t steps, lost;
};

// A save that a fault ended stood still until then.
static int64_t stall_ns(const struct sand_explain_rows *rows, const struct sand_attempts_row *row)
{
    int64_t sum = 0;
    for (size_t i = 0; i < rows->n_checkpoints; i++) {
        const struct sand_checkpoints_row *save = &rows->checkpoints[i];
        if (save->replication != row->replication || save->job != row->job ||
            save->begin_ns < row->begin_ns || save->begin_ns >= row->end_ns)
            continue;
        sum += (save->resume_ns >= 0 ? save->resume_ns : row->end_ns) - save->begin_ns;
    }
    return sum;
}

// What the faults that ended the attempt cut off and undid. Returns whether there was one.
static int take_faults(const struct sand_explain_rows *rows, const struct sand_attempts_row *row,
                       struct attempt *attempt)
{
    int struck = 0;
    for (size_t i = 0; i < rows->n_incidents; i++) {
        const struct sand_incidents_row *fault = &rows->incidents[i];
        if (fault->replication != row->replication || fault->job != row->job ||
            fault->fault_ns != row->end_ns)
            continue;
        struck = 1;
        attempt->cut_ns += sand_ns_from_s(fault->partial_step_s);
        attempt->lost += fault->steps_lost;
    }
    if (attempt->lost > attempt->steps)
        attempt->lost = attempt->steps;
    return struck;
}

static int64_t own_step_ns(const struct sand_explain_rows *rows,
                           const struct sand_attempts_row *row)
{
    for (size_t i = 0; i < rows->n_steps && row->profile != NO_INDEX; i++)
        if (rows->steps[i].replication == row->replication &&
            rows->steps[i].profile == row->profile)
            return sand_ns_from_s(rows->steps[i].step_s);
    return sand_ns_from_s(row->step_s); // a recorded job
}

static struct attempt split_attempt(const struct sand_explain_rows *rows,
                                    const struct sand_attempts_row *row, int ended)
{
    struct attempt a = {.steps = row->steps};
    const int struck = take_faults(rows, row, &a);
    a.stall_ns = stall_ns(rows, row);
    a.own_ns = own_step_ns(rows, row);
    a.stepping_ns = row->end_ns - row->begin_ns - a.stall_ns - a.cut_ns;
    const int64_t whole_ns = (int64_t)row->steps * sand_ns_from_s(row->step_s);
    if (!struck && !ended && a.stepping_ns > whole_ns) { // the experiment's end
        a.under_way_ns = a.stepping_ns - whole_ns;
        a.stepping_ns = whole_ns;
    }
    return a;
}

static void add_attempt(const struct attempt *a, int64_t healthy_ns, struct sand_account *account)
{
    int64_t *parts = account->parts_ns;
    const int64_t survived = (int64_t)(a->steps - a->lost);
    // Neighbours by difference: what was observed beyond the step on these nodes alone.
    const int64_t lost_ns =
        a->steps > 0 ? (int64_t)((long double)a->stepping_ns * a->lost / a->steps + 0.5L) : 0;
    parts[SAND_ACCOUNT_SAVES] += a->stall_ns;
    parts[SAND_ACCOUNT_CUT] += a->cut_ns;
    parts[SAND_ACCOUNT_UNDER_WAY] += a->under_way_ns;
    if (a->steps == 0)
        return;
    parts[SAND_ACCOUNT_LOST] += lost_ns;
    parts[SAND_ACCOUNT_HEALTHY] += survived * healthy_ns;
    parts[SAND_ACCOUNT_PLACEMENT] += survived * (a->own_ns - healthy_ns);
    parts[SAND_ACCOUNT_NEIGHBOURS] += a->stepping_ns - lost_ns - survived * a->own_ns;
    account->executed += a->steps;
    account->step_s += sand_s_from_ns(a->stepping_ns);
    account->placement_s += (double)a->steps * sand_s_from_ns(a->own_ns - healthy_ns);
    account->neighbours_s += sand_s_from_ns(a->stepping_ns - (int64_t)a->steps * a->own_ns);
}

// ---- recoveries ---------------------------------------------------------------------------------

static void add_recovery(const struct sand_incidents_row *root, struct sand_account *account)
{
    account->parts_ns[SAND_ACCOUNT_DETECT] += sand_ns_from_s(root->detect_s);
    account->parts_ns[SAND_ACCOUNT_DIAGNOSE] += sand_ns_from_s(root->diagnose_s);
    account->parts_ns[SAND_ACCOUNT_WAIT] += sand_ns_from_s(root->wait_nodes_s);
    account->parts_ns[SAND_ACCOUNT_RESTART] += sand_ns_from_s(root->restart_s);
    account->parts_ns[SAND_ACCOUNT_RESTORE] += sand_ns_from_s(root->restore_s);
}

// ---- the job ------------------------------------------------------------------------------------

static void finish(struct sand_account *account, double healthy_s)
{
    int64_t sum = 0;
    for (int part = 0; part < SAND_ACCOUNT_OTHER; part++)
        sum += account->parts_ns[part];
    account->parts_ns[SAND_ACCOUNT_OTHER] = account->observed_ns - sum;
    const double n = account->executed > 0 ? (double)account->executed : (double)NAN;
    account->step_s /= n;
    account->placement_s /= n;
    account->neighbours_s /= n;
    account->healthy_s = account->executed > 0 ? healthy_s : (double)NAN;
}

void sand_account_make(const struct sand_explain_rows *rows, const struct sand_jobs_row *job,
                       struct sand_account *account)
{
    *account = (struct sand_account){.observed_ns = job->end_ns - job->submit_ns};
    const int started = job->start_ns >= 0;
    const int ended = sand_explain_ended(job);
    account->parts_ns[SAND_ACCOUNT_QUEUE] =
        (started ? job->start_ns : job->end_ns) - job->submit_ns;
    for (size_t i = 0; i < rows->n_attempts; i++) {
        const struct sand_attempts_row *row = &rows->attempts[i];
        if (row->replication != job->replication || row->job != job->job)
            continue;
        const struct attempt a = split_attempt(rows, row, ended && row->end_ns == job->end_ns);
        add_attempt(&a, sand_ns_from_s(job->healthy_step_s), account);
    }
    for (size_t i = 0; i < rows->n_incidents; i++) {
        const struct sand_incidents_row *fault = &rows->incidents[i];
        if (fault->replication == job->replication && fault->job == job->job &&
            fault->parent == NO_INDEX)
            add_recovery(fault, account);
    }
    finish(account, job->healthy_step_s);
}

// ---- the queue ----------------------------------------------------------------------------------

static int submitted_before(const struct sand_jobs_row *a, const struct sand_jobs_row *b)
{
    return a->submit_ns < b->submit_ns || (a->submit_ns == b->submit_ns && a->job < b->job);
}

static void add_other(const struct sand_jobs_row *other, const struct sand_jobs_row *job,
                      struct sand_queue_story *story)
{
    const int started = other->start_ns >= 0;
    if (started && other->start_ns <= job->submit_ns && other->end_ns > job->submit_ns) {
        story->n_running++;
        story->nodes_running += other->nodes;
    }
    if (submitted_before(other, job) && (!started || other->start_ns > job->submit_ns)) {
        story->n_ahead++;
        story->nodes_ahead += other->nodes;
    }
    if (started && job->start_ns > job->submit_ns && other->end_ns == job->start_ns &&
        (story->freed == NULL || other->nodes > story->freed->nodes))
        story->freed = other;
}

static const struct sand_jobs_row *find_job(const struct sand_explain_rows *rows,
                                            uint32_t replication, uint32_t job)
{
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (rows->jobs[i].replication == replication && rows->jobs[i].job == job)
            return &rows->jobs[i];
    return NULL;
}

void sand_queue_story_make(const struct sand_explain_rows *rows, const struct sand_jobs_row *job,
                           struct sand_queue_story *story)
{
    *story = (struct sand_queue_story){0};
    const int64_t until = job->start_ns >= 0 ? job->start_ns : job->end_ns;
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (rows->jobs[i].replication == job->replication && rows->jobs[i].job != job->job)
            add_other(&rows->jobs[i], job, story);
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct sand_decisions_row *d = &rows->decisions[i];
        if (d->replication != job->replication || d->job == job->job ||
            strcmp(d->action.text, "start") != 0 || d->date_ns < job->submit_ns ||
            d->date_ns >= until)
            continue;
        const struct sand_jobs_row *other = find_job(rows, d->replication, d->job);
        story->n_started++;
        story->n_overtook += other != NULL && submitted_before(job, other);
    }
}
