// Explains a job. SPDX-License-Identifier: GPL-2.0-or-later
// Text for people and JSON come from one table of parts.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "account.h"
#include "explaintext.h"
#include "mem.h"
#include "textout.h"
#include "units.h"

static const struct {
    const char *name, *label;
} parts[SAND_ACCOUNT_PARTS] = {
    [SAND_ACCOUNT_QUEUE] = {"queue_s", "waiting in the queue"},
    [SAND_ACCOUNT_HEALTHY] = {"healthy_s", "steps, at the healthy time"},
    [SAND_ACCOUNT_PLACEMENT] = {"placement_s", "slower by its own placement"},
    [SAND_ACCOUNT_NEIGHBOURS] = {"neighbours_s", "slower by its neighbours"},
    [SAND_ACCOUNT_FAULTS] = {"slow_parts_s", "slower by faulty parts"},
    [SAND_ACCOUNT_TRANSFERS] = {"transfers_s", "slower by saves and data"},
    [SAND_ACCOUNT_SAVES] = {"saves_s", "standing still for saves"},
    [SAND_ACCOUNT_LOST] = {"lost_steps_s", "faults: steps lost"},
    [SAND_ACCOUNT_CUT] = {"cut_steps_s", "faults: steps cut off"},
    [SAND_ACCOUNT_DETECT] = {"detect_s", "faults: detecting"},
    [SAND_ACCOUNT_DIAGNOSE] = {"diagnose_s", "faults: diagnosing"},
    [SAND_ACCOUNT_WAIT] = {"wait_nodes_s", "faults: waiting for nodes"},
    [SAND_ACCOUNT_RESTART] = {"restart_s", "faults: restarting"},
    [SAND_ACCOUNT_RESTORE] = {"restore_s", "faults: restoring"},
    [SAND_ACCOUNT_UNDER_WAY] = {"under_way_s", "a step not ended at the end"},
    [SAND_ACCOUNT_OTHER] = {"other_s", "not attributed"},
};

// ---- finding it ---------------------------------------------------------------------------------

static enum sand_rc no_such_job(const struct sand_explain_rows *rows, uint32_t replication,
                                const char *id, struct sand_diag *diag)
{
    const char **names = sand_calloc(rows->n_jobs + 1, sizeof *names);
    size_t n = 0;
    if (names == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (rows->jobs[i].replication == replication)
            names[n++] = rows->jobs[i].id.text;
    const char *nearest = sand_nearest(id, names, n);
    if (n == 0)
        sand_diag_add(diag, SAND_ERROR, NULL, 0,
                      "--replication is %" PRIu32 ": the results have no jobs of it", replication);
    else
        sand_diag_add(diag, SAND_ERROR, NULL, 0,
                      "--job is \"%s\": the results have no such job; %s \"%s\"", id,
                      nearest ? "did you mean" : "the first is", nearest ? nearest : names[0]);
    sand_free(names);
    return SAND_ERR_USAGE;
}

static const struct sand_jobs_row *find_job(const struct sand_explain_rows *rows,
                                            uint32_t replication, const char *id)
{
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (rows->jobs[i].replication == replication && strcmp(rows->jobs[i].id.text, id) == 0)
            return &rows->jobs[i];
    return NULL;
}

// ---- text ---------------------------------------------------------------------------------------

static void print_head(const struct sand_explain_output *output, const struct sand_jobs_row *job)
{
    const int ended = sand_explain_ended(job);
    FILE *out = output->out;
    sand_explain_name(output, job->id.text);
    fprintf(out, ": %s; %" PRIu32 " node%s, %" PRIu32 " GPU%s, replication %" PRIu32 "\n",
            job->state.text, job->nodes, sand_explain_plural(job->nodes), job->gpus,
            sand_explain_plural(job->gpus), job->replication);
    fprintf(out, "  submitted at %s, ", sand_explain_date(sand_s_from_ns(job->submit_ns)).s);
    if (job->start_ns >= 0)
        fprintf(out, "started at %s, ", sand_explain_date(sand_s_from_ns(job->start_ns)).s);
    fprintf(out, "%s %s\n", ended ? "ended at" : "observed until",
            sand_explain_date(sand_s_from_ns(job->end_ns)).s);
}

static void print_parts(const struct sand_explain_output *output,
                        const struct sand_account *account)
{
    const double whole_s = sand_s_from_ns(account->observed_ns);
    sand_text_heading(output->out, output->style, "WHERE THE TIME WENT", "");
    for (int part = 0; part < SAND_ACCOUNT_PARTS; part++)
        if (account->parts_ns[part] != 0 || part == SAND_ACCOUNT_PLACEMENT ||
            part == SAND_ACCOUNT_NEIGHBOURS || part == SAND_ACCOUNT_FAULTS)
            sand_explain_time(output, parts[part].label, sand_s_from_ns(account->parts_ns[part]),
                              whole_s);
    sand_explain_time(output, "observed: the sum", whole_s, 0);
}

static void print_queue(const struct sand_explain_output *output, const struct sand_jobs_row *job,
                        const struct sand_queue_story *story)
{
    FILE *out = output->out;
    const int started = job->start_ns >= 0;
    sand_text_heading(out, output->style, "WHAT IT WAITED FOR", "");
    if (job->start_ns == job->submit_ns) {
        fputs("  nothing: it started when it was submitted\n", out);
        return;
    }
    fprintf(out, "  jobs running when it was submitted: %zu, on %" PRIu64 " GPUs\n",
            story->n_running, story->gpus_running);
    fprintf(out, "  jobs submitted before it and not started: %zu, for %" PRIu64 " GPUs\n",
            story->n_ahead, story->gpus_ahead);
    fprintf(out, "  jobs started while it waited: %zu; of these submitted after it: %zu\n",
            story->n_started, story->n_overtook);
    if (!started)
        fputs("  it never started\n", out);
    else if (story->freed != NULL)
        fprintf(out, "  it started when %.40s ended, which had %" PRIu32 " GPU%s\n",
                story->freed->id.text, story->freed->gpus, sand_explain_plural(story->freed->gpus));
    else
        fputs("  it started when no job ended: nodes came back, or the policy chose the moment\n",
              out);
}

static void print_step(const struct sand_explain_output *output, const struct sand_account *account)
{
    if (account->survived == 0)
        return;
    sand_text_heading(output->out, output->style, "WHY ITS STEPS TOOK AS LONG", "");
    fprintf(output->out, "  means of the %" PRIu64 " step%s that survived\n", account->survived,
            sand_explain_plural(account->survived));
    sand_explain_time(output, "healthy step", account->healthy_s, account->step_s);
    sand_explain_time(output, "own placement", account->placement_s, account->step_s);
    sand_explain_time(output, "neighbours", account->neighbours_s, account->step_s);
    sand_explain_time(output, "faulty parts", account->faults_s, account->step_s);
    if (account->transfers_s > 0)
        sand_explain_time(output, "saves and data", account->transfers_s, account->step_s);
    sand_explain_time(output, "observed: the sum", account->step_s, 0);
}

enum { MOST_INCIDENTS = 5 };

static double cost_s(const struct sand_jobs_row *job, const struct sand_incidents_row *incident)
{
    return incident->lost_gpu_s / (double)job->gpus;
}

// The roots with the greatest cost, the earlier of equal ones first; O(most x incidents).
static size_t pick_incidents(const struct sand_explain_rows *rows, const struct sand_jobs_row *job,
                             const struct sand_incidents_row *picked[MOST_INCIDENTS])
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_incidents; i++) {
        const struct sand_incidents_row *row = &rows->incidents[i];
        if (row->replication != job->replication || row->job != job->job ||
            row->parent != UINT32_MAX)
            continue;
        size_t at = n < MOST_INCIDENTS ? n++ : MOST_INCIDENTS;
        for (; at > 0 && cost_s(job, row) > cost_s(job, picked[at - 1]); at--)
            if (at < MOST_INCIDENTS)
                picked[at] = picked[at - 1];
        if (at < MOST_INCIDENTS)
            picked[at] = row;
    }
    return n;
}

static void print_incidents(const struct sand_explain_output *output,
                            const struct sand_explain_rows *rows, const struct sand_jobs_row *job)
{
    const struct sand_incidents_row *picked[MOST_INCIDENTS];
    FILE *out = output->out;
    const size_t n = pick_incidents(rows, job, picked);
    if (n == 0)
        return;
    sand_text_heading(out, output->style, "COSTLIEST INTERRUPTIONS", "");
    fprintf(out,
            "  %" PRIu64 " unexpected, %" PRIu64
            " planned; without catch-up, with the step cut off\n",
            job->incidents, job->planned_incidents);
    for (size_t i = 0; i < n; i++) {
        char label[SAND_STR_SIZE + 16];
        snprintf(label, sizeof label, "%" PRIu32 " %s", picked[i]->incident,
                 picked[i]->fault_class.text);
        sand_explain_time(output, label, cost_s(job, picked[i]), 0);
    }
    fprintf(out, "  more on one: --incident %" PRIu32 " --replication %" PRIu32 "\n",
            picked[0]->incident, job->replication);
}

// ---- faulty parts -------------------------------------------------------------------------------

static int64_t part_ns(const struct sand_degradations_row *row)
{
    return row->still_ns + row->slow_ns;
}

// Those that cost the job most, the earlier of equal ones first.
static size_t pick_parts(const struct sand_explain_rows *rows, const struct sand_jobs_row *job,
                         const struct sand_degradations_row *picked[MOST_INCIDENTS])
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_degradations; i++) {
        const struct sand_degradations_row *row = &rows->degradations[i];
        if (row->replication != job->replication || row->job != job->job || part_ns(row) == 0)
            continue;
        size_t at = n < MOST_INCIDENTS ? n++ : MOST_INCIDENTS;
        for (; at > 0 && part_ns(row) > part_ns(picked[at - 1]); at--)
            if (at < MOST_INCIDENTS)
                picked[at] = picked[at - 1];
        if (at < MOST_INCIDENTS)
            picked[at] = row;
    }
    return n;
}

static void print_parts_at_fault(const struct sand_explain_output *output,
                                 const struct sand_explain_rows *rows,
                                 const struct sand_jobs_row *job)
{
    const struct sand_degradations_row *picked[MOST_INCIDENTS];
    const size_t n = pick_parts(rows, job, picked);
    if (n == 0)
        return;
    sand_text_heading(output->out, output->style, "COSTLIEST FAULTY PARTS", "");
    fputs("  time stood still and steps made longer, also of steps that were lost later\n",
          output->out);
    for (size_t i = 0; i < n; i++) {
        const struct sand_degradations_row *d = picked[i];
        char label[2 * SAND_STR_SIZE];
        snprintf(label, sizeof label, "%.20s, %.40s", d->fault_class.text, d->part.text);
        sand_explain_time(output, label, sand_s_from_ns(part_ns(d)), 0);
        fprintf(output->out, "    %s from %s", d->effect.text,
                sand_explain_date(sand_s_from_ns(d->fault_ns)).s);
        if (d->noticed_ns >= 0)
            fprintf(output->out, ", noticed at %s",
                    sand_explain_date(sand_s_from_ns(d->noticed_ns)).s);
        if (d->healed_ns >= 0)
            fprintf(output->out, ", over at %s", sand_explain_date(sand_s_from_ns(d->healed_ns)).s);
        if (d->downs > 0)
            fprintf(output->out, ", down %" PRIu32 " time%s", d->downs,
                    sand_explain_plural(d->downs));
        fputs("\n", output->out);
    }
}

// ---- neighbours ---------------------------------------------------------------------------------

// Those to whom it lost most, the earlier of equal ones first. *sum_ns: to all.
static size_t pick_neighbours(const struct sand_explain_rows *rows, const struct sand_jobs_row *job,
                              const struct sand_neighbours_row *picked[MOST_INCIDENTS],
                              int64_t *sum_ns)
{
    size_t n = 0;
    *sum_ns = 0;
    for (size_t i = 0; i < rows->n_neighbours; i++) {
        const struct sand_neighbours_row *row = &rows->neighbours[i];
        if (row->replication != job->replication || row->job != job->job || row->lost_ns <= 0)
            continue;
        *sum_ns += row->lost_ns;
        size_t at = n < MOST_INCIDENTS ? n++ : MOST_INCIDENTS;
        for (; at > 0 && row->lost_ns > picked[at - 1]->lost_ns; at--)
            if (at < MOST_INCIDENTS)
                picked[at] = picked[at - 1];
        if (at < MOST_INCIDENTS)
            picked[at] = row;
    }
    return n;
}

static const char *id_of(const struct sand_explain_rows *rows,
                         const struct sand_neighbours_row *neighbour)
{
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (rows->jobs[i].replication == neighbour->replication &&
            rows->jobs[i].job == neighbour->neighbour)
            return rows->jobs[i].id.text;
    return "";
}

static void print_neighbours(const struct sand_explain_output *output,
                             const struct sand_explain_rows *rows, const struct sand_jobs_row *job)
{
    const struct sand_neighbours_row *picked[MOST_INCIDENTS];
    int64_t sum_ns = 0;
    const size_t n = pick_neighbours(rows, job, picked, &sum_ns);
    if (n == 0)
        return;
    sand_text_heading(output->out, output->style, "WHO SLOWED IT", "");
    fputs("  steps made longer, also of steps that were lost later; the link where they met most\n",
          output->out);
    for (size_t i = 0; i < n; i++) {
        char label[SAND_STR_SIZE];
        snprintf(label, sizeof label, "%.26s", id_of(rows, picked[i]));
        sand_explain_time(output, label, sand_s_from_ns(picked[i]->lost_ns),
                          sand_s_from_ns(sum_ns));
        fprintf(output->out, "    on %s\n", picked[i]->link.text);
    }
}

static void put_neighbours(const struct sand_explain_output *output,
                           const struct sand_explain_rows *rows, const struct sand_jobs_row *job)
{
    const struct sand_neighbours_row *picked[MOST_INCIDENTS];
    int64_t sum_ns = 0;
    const size_t n = pick_neighbours(rows, job, picked, &sum_ns);
    fputs(", \"neighbours\": [", output->out);
    for (size_t i = 0; i < n; i++) {
        fprintf(output->out, "%s{\"index\": %" PRIu32, i > 0 ? ", " : "", picked[i]->neighbour);
        sand_explain_text(output, "job", id_of(rows, picked[i]));
        sand_explain_text(output, "link", picked[i]->link.text);
        sand_explain_number(output, "lost_s", sand_s_from_ns(picked[i]->lost_ns));
        sand_explain_number(output, "share", (double)picked[i]->lost_ns / (double)sum_ns);
        fputs("}", output->out);
    }
    fputs("]", output->out);
}

// ---- JSON ---------------------------------------------------------------------------------------

static void put_queue(const struct sand_explain_output *output,
                      const struct sand_queue_story *story)
{
    fprintf(output->out,
            ", \"queue\": {\"running\": %zu, \"running_gpus\": %" PRIu64
            ", \"ahead\": %zu, \"ahead_gpus\": %" PRIu64
            ", \"started_meanwhile\": %zu, \"overtook\": %zu",
            story->n_running, story->gpus_running, story->n_ahead, story->gpus_ahead,
            story->n_started, story->n_overtook);
    if (story->freed != NULL)
        sand_explain_text(output, "started_when_ended", story->freed->id.text);
    fputs("}", output->out);
}

static void put_json(const struct sand_explain_output *output, const struct sand_explain_rows *rows,
                     const struct sand_jobs_row *job, const struct sand_account *account,
                     const struct sand_queue_story *story)
{
    fprintf(output->out, "{\"replication\": %" PRIu32, job->replication);
    sand_explain_text(output, "job", job->id.text);
    sand_explain_text(output, "state", job->state.text);
    sand_explain_number(output, "nodes", job->nodes);
    sand_explain_number(output, "gpus", job->gpus);
    sand_explain_number(output, "observed_s", sand_s_from_ns(account->observed_ns));
    for (int part = 0; part < SAND_ACCOUNT_PARTS; part++)
        sand_explain_number(output, parts[part].name, sand_s_from_ns(account->parts_ns[part]));
    put_queue(output, story);
    put_neighbours(output, rows, job);
    fprintf(output->out, ", \"step\": {\"survived\": %" PRIu64, account->survived);
    sand_explain_number(output, "step_s", account->step_s);
    sand_explain_number(output, "healthy_s", account->healthy_s);
    sand_explain_number(output, "placement_s", account->placement_s);
    sand_explain_number(output, "neighbours_s", account->neighbours_s);
    sand_explain_number(output, "slow_parts_s", account->faults_s);
    sand_explain_number(output, "transfers_s", account->transfers_s);
    fputs("}}\n", output->out);
}

// ---- both ---------------------------------------------------------------------------------------

enum sand_rc sand_explain_job(struct sand_results *results, uint32_t replication, const char *id,
                              const struct sand_explain_output *output, struct sand_diag *diag)
{
    struct sand_explain_rows rows;
    struct sand_account account;
    struct sand_queue_story story;
    SAND_TRY(sand_explain_load(results, &rows, diag));
    const struct sand_jobs_row *job = find_job(&rows, replication, id);
    if (job == NULL)
        return no_such_job(&rows, replication, id, diag);
    sand_account_make(&rows, job, &account);
    sand_queue_story_make(&rows, job, &story);
    if (output->format == SAND_EXPLAIN_JSON) {
        put_json(output, &rows, job, &account, &story);
        return sand_explain_finish(output, diag);
    }
    print_head(output, job);
    print_parts(output, &account);
    print_queue(output, job, &story);
    print_step(output, &account);
    print_neighbours(output, &rows, job);
    print_incidents(output, &rows, job);
    print_parts_at_fault(output, &rows, job);
    return sand_explain_finish(output, diag);
}
