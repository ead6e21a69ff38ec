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
    *rows = (struct sand_explain_rows){0};
#define LOAD(table)                                                                                \
    SAND_TRY(sand_results_table(results, SAND_TABLE_##table, &data, &rows->n_##table, diag));      \
    rows->table = data;
    LOAD(jobs)
    LOAD(attempts)
    LOAD(incidents)
    LOAD(degradations)
    if (sand_results_has(results, SAND_TABLE_neighbours)) { // since 2026-12
        LOAD(neighbours)
    }
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

// The time in the step that a fault cut off. Returns whether a fault ended the attempt.
static int take_cut(const struct sand_explain_rows *rows, const struct sand_attempts_row *row,
                    int64_t *cut_ns)
{
    int struck = 0;
    for (size_t i = 0; i < rows->n_incidents; i++) {
        const struct sand_incidents_row *fault = &rows->incidents[i];
        if (fault->replication != row->replication || fault->job != row->job ||
            fault->fault_ns != row->end_ns)
            continue;
        struck = 1;
        *cut_ns += sand_ns_from_s(fault->partial_step_s);
    }
    return struck;
}

// Healthy by difference: the causes are shares of the time the steps took.
static void add_attempt(const struct sand_explain_rows *rows, const struct sand_attempts_row *row,
                        int ended, struct sand_account *account)
{
    int64_t *parts = account->parts_ns, cut_ns = 0;
    const int64_t survived_ns = row->steps_ns - row->lost_ns;
    const int64_t saves_ns = stall_ns(rows, row);
    const int struck = take_cut(rows, row, &cut_ns);
    if (!struck && !ended) // the experiment's end
        parts[SAND_ACCOUNT_UNDER_WAY] += row->end_ns - row->begin_ns - saves_ns - row->steps_ns;
    parts[SAND_ACCOUNT_SAVES] += saves_ns;
    parts[SAND_ACCOUNT_CUT] += cut_ns;
    parts[SAND_ACCOUNT_LOST] += row->lost_ns;
    parts[SAND_ACCOUNT_PLACEMENT] += row->placement_ns;
    parts[SAND_ACCOUNT_NEIGHBOURS] += row->neighbours_ns;
    parts[SAND_ACCOUNT_FAULTS] += row->faults_ns;
    parts[SAND_ACCOUNT_TRANSFERS] += row->transfers_ns;
    parts[SAND_ACCOUNT_HEALTHY] +=
        survived_ns - row->placement_ns - row->neighbours_ns - row->faults_ns - row->transfers_ns;
    account->survived += row->steps - row->steps_lost;
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

static void finish(struct sand_account *account)
{
    int64_t sum = 0;
    const int64_t *parts = account->parts_ns;
    for (int part = 0; part < SAND_ACCOUNT_OTHER; part++)
        sum += parts[part];
    account->parts_ns[SAND_ACCOUNT_OTHER] = account->observed_ns - sum;
    const double n = account->survived > 0 ? (double)account->survived : (double)NAN;
    account->healthy_s = sand_s_from_ns(parts[SAND_ACCOUNT_HEALTHY]) / n;
    account->placement_s = sand_s_from_ns(parts[SAND_ACCOUNT_PLACEMENT]) / n;
    account->neighbours_s = sand_s_from_ns(parts[SAND_ACCOUNT_NEIGHBOURS]) / n;
    account->faults_s = sand_s_from_ns(parts[SAND_ACCOUNT_FAULTS]) / n;
    account->transfers_s = sand_s_from_ns(parts[SAND_ACCOUNT_TRANSFERS]) / n;
    account->step_s = account->healthy_s + account->placement_s + account->neighbours_s +
                      account->faults_s + account->transfers_s;
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
        add_attempt(rows, row, ended && row->end_ns == job->end_ns, account);
    }
    for (size_t i = 0; i < rows->n_incidents; i++) {
        const struct sand_incidents_row *fault = &rows->incidents[i];
        if (fault->replication == job->replication && fault->job == job->job &&
            fault->parent == NO_INDEX)
            add_recovery(fault, account);
    }
    finish(account);
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
        story->gpus_running += other->gpus;
    }
    if (submitted_before(other, job) && (!started || other->start_ns > job->submit_ns)) {
        story->n_ahead++;
        story->gpus_ahead += other->gpus;
    }
    if (started && job->start_ns > job->submit_ns && other->end_ns == job->start_ns &&
        (story->freed == NULL || other->gpus > story->freed->gpus))
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
