// The summary for programs: the same figures as one JSON object.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "filegate.h"
#include "json.h"
#include "summaryparts.h"

// Writes members and elements with their commas. Documents are nested three deep at most.
struct json {
    FILE *out;
    int depth;
    int first; // nothing written yet at this depth
};

static void separate(struct json *json)
{
    fputs(json->first ? "\n" : ",\n", json->out);
    fprintf(json->out, "%*s", 2 * json->depth, "");
    json->first = 0;
}

static void key(struct json *json, const char *name)
{
    separate(json);
    sand_json_string(json->out, name);
    fputs(": ", json->out);
}

static void begin(struct json *json, const char *name, char bracket)
{
    if (name != NULL)
        key(json, name);
    else if (json->depth > 0)
        separate(json);
    fputc(bracket, json->out);
    json->depth++;
    json->first = 1;
}

static void end(struct json *json, char bracket)
{
    json->depth--;
    if (!json->first)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->out);
    json->first = 0;
}

static void text(struct json *json, const char *name, const char *value)
{
    key(json, name);
    sand_json_string(json->out, value);
}

static void number(struct json *json, const char *name, double value)
{
    key(json, name);
    sand_json_number(json->out, value);
}

static void whole(struct json *json, const char *name, uint64_t value)
{
    key(json, name);
    fprintf(json->out, "%" PRIu64, value);
}

// ---- parts
// ------------------------------------------------------------------------------------------

static void put_spread(struct json *json, const char *name, const struct sand_summary *summary)
{
    begin(json, name, '{');
    number(json, "mean", summary->mean);
    number(json, "ci95", summary->ci95);
    number(json, "sd", summary->sd);
    number(json, "min", summary->min);
    number(json, "max", summary->max);
    whole(json, "n", summary->n);
    end(json, '}');
}

static void put_run(struct json *json, const struct sand_overview *overview)
{
    const struct sand_meta *const meta = overview->meta;
    text(json, "name", meta->name);
    text(json, "digest", meta->digest);
    text(json, "program_version", meta->program_version);
    text(json, "physics_version", meta->physics_version);
    whole(json, "seed", meta->seed);
    whole(json, "replications", overview->n_runs);
    number(json, "duration_s", overview->duration_s);
    number(json, "capacity_gpus", overview->capacity_gpus);
    whole(json, "jobs", overview->n_jobs);
    number(json, "jobs_a_run", overview->mean_jobs);
    whole(json, "gpus_asked", overview->gpus_asked);
    number(json, "gpus_held_a_run", overview->mean_gpus);
}

static void put_spreads(struct json *json, const struct sand_overview *overview)
{
    put_spread(json, "mfu", &overview->mfu);
    put_spread(json, "mfu_alone", &overview->mfu_alone);
    put_spread(json, "neighbours_gpu_s", &overview->neighbours_gpu_s);
    put_spread(json, "transfers_gpu_s", &overview->transfers_gpu_s);
    put_spread(json, "joint_questions", &overview->joint_questions);
    put_spread(json, "joint_known", &overview->joint_known);
    put_spread(json, "joint_jobs", &overview->joint_jobs);
    put_spread(json, "hfu", &overview->hfu);
    put_spread(json, "goodput_mfu", &overview->goodput_mfu);
    put_spread(json, "ettr_run", &overview->ettr_run);
    put_spread(json, "ettr_total", &overview->ettr_total);
    put_spread(json, "unexpected_interruptions", &overview->unexpected);
    put_spread(json, "planned_interruptions", &overview->planned);
    put_spread(json, "dispersion", &overview->dispersion);
    put_spread(json, "lost_gpu_s", &overview->lost_gpu_s);
    put_spread(json, "facility_power_W", &overview->power_W);
    put_spread(json, "facility_energy_J", &overview->energy_J);
    put_spread(json, "tokens", &overview->tokens);
    put_spread(json, "energy_per_token_J", &overview->token_energy_J);
}

static void put_splits(struct json *json, const struct sand_overview *overview)
{
    begin(json, "steps", '[');
    for (size_t i = 0; i < overview->n_splits; i++) {
        const struct sand_step_split *const split = &overview->splits[i];
        begin(json, NULL, '{');
        text(json, "job", split->job);
        if (split->alone)
            whole(json, "replication", overview->first_run);
        number(json, "gpu_s", split->gpu_s);
        number(json, "step_s", split->step_s);
        number(json, "observed_step_s", split->observed_step_s);
        number(json, "healthy_step_s", split->healthy_step_s);
        number(json, "compute_s", split->compute_s);
        number(json, "exposed_tp_s", split->exposed_tp_s);
        number(json, "exposed_cp_s", split->exposed_cp_s);
        number(json, "exposed_pp_s", split->exposed_pp_s);
        number(json, "exposed_dp_s", split->exposed_dp_s);
        number(json, "bubble_s", split->bubble_s);
        number(json, "data_stall_s", split->data_stall_s);
        number(json, "memory_B", split->memory_B);
        end(json, '}');
    }
    end(json, ']');
}

static void put_classes(struct json *json, const struct sand_overview *overview)
{
    number(json, "capacity_gpu_s", overview->capacity_gpu_s);
    number(json, "allocated_gpu_s", overview->allocated_gpu_s);
    begin(json, "gpu_time", '[');
    for (size_t i = 0; i < overview->n_classes; i++) {
        const struct sand_time_class *const class = &overview->classes[i];
        begin(json, NULL, '{');
        text(json, "class", class->name);
        key(json, "allocated");
        fputs(class->allocated ? "true" : "false", json->out);
        number(json, "gpu_s", class->gpu_s);
        number(json, "power_W", class->power_W);
        end(json, '}');
    }
    end(json, ']');
}

static void put_groups(struct json *json, const char *name, const struct sand_fault_group *groups,
                       size_t n, double runs)
{
    static const char *const planned[] = {"mixed", "no", "yes"};
    begin(json, name, '[');
    for (size_t i = 0; i < n; i++) {
        begin(json, NULL, '{');
        text(json, "name", groups[i].name);
        text(json, "planned", planned[groups[i].planned + 1]);
        number(json, "count", (double)groups[i].n / runs);
        number(json, "lost_gpu_s", groups[i].lost_gpu_s / runs);
        end(json, '}');
    }
    end(json, ']');
}

static void put_degradations(struct json *json, const struct sand_overview *overview)
{
    const double runs = (double)overview->n_runs;
    begin(json, "degradations", '[');
    for (size_t i = 0; i < overview->n_degradations; i++) {
        const struct sand_degradation_group *const group = &overview->degradations[i];
        begin(json, NULL, '{');
        text(json, "name", group->name);
        text(json, "effect", group->effect);
        number(json, "count", (double)group->n / runs);
        number(json, "unnoticed", (double)group->n_unnoticed / runs);
        number(json, "jobs", (double)group->n_jobs / runs);
        number(json, "still_s", group->still_s / runs);
        number(json, "slow_s", group->slow_s / runs);
        number(json, "lost_gpu_s", group->lost_gpu_s / runs);
        end(json, '}');
    }
    end(json, ']');
}

static void put_recovery(struct json *json, const char *name,
                         const struct sand_recovery_times *times)
{
    begin(json, name, '{');
    whole(json, "n", times->n);
    whole(json, "struck_during_recovery", times->n_children);
    whole(json, "not_over", times->n_open);
    number(json, "mean_s", times->mean_s);
    number(json, "median_s", times->median_s);
    number(json, "p95_s", times->p95_s);
    begin(json, "parts_s", '{');
    for (size_t i = 0; i < SAND_RECOVERY_PARTS; i++)
        number(json, sand_recovery_part_names[i], times->parts_s[i]);
    end(json, '}');
    end(json, '}');
}

static void put_saves(struct json *json, const struct sand_saves *saves)
{
    begin(json, "checkpoints", '{');
    put_spread(json, "durable", &saves->durable);
    put_spread(json, "cut_off", &saves->undurable);
    number(json, "interval_s", saves->interval_s);
    number(json, "stall_s", saves->stall_s);
    number(json, "to_durable_s", saves->to_durable_s);
    number(json, "share_of_allocated", saves->share);
    if (saves->slow_job) {
        begin(json, "slow", '{');
        text(json, "job", saves->slow_job);
        number(json, "to_durable_s", saves->slow_durable_s);
        number(json, "interval_s", saves->slow_interval_s);
        end(json, '}');
    }
    end(json, '}');
}

static void put_states(struct json *json, const struct sand_job_states *states)
{
    begin(json, "job_states", '{');
    whole(json, "finished", states->finished);
    whole(json, "ended_failed", states->ended_failed);
    whole(json, "ended_cancelled", states->ended_cancelled);
    whole(json, "ended_killed", states->ended_killed);
    whole(json, "running_at_the_end", states->running);
    whole(json, "unfinished", states->unfinished);
    whole(json, "waiting", states->waiting);
    whole(json, "failed", states->failed);
    whole(json, "other", states->other);
    end(json, '}');
}

static void put_job_groups(struct json *json, const struct sand_overview *overview)
{
    number(json, "utilisation", overview->use.mean);
    number(json, "utilisation_window_s", overview->window_s);
    number(json, "useful_utilisation", overview->useful_use.mean);
    number(json, "not_asked_share", overview->unasked.mean);
    number(json, "fragment_share", overview->fragment.mean);
    number(json, "no_job_share", overview->jobless.mean);
    begin(json, "job_groups", '[');
    for (size_t i = 0; i < overview->n_groups; i++) {
        const struct sand_job_group *const group = &overview->groups[i];
        begin(json, NULL, '{');
        text(json, "by", group->by);
        text(json, "name", group->name);
        text(json, "ending", group->ending);
        number(json, "jobs", group->jobs);
        number(json, "gpu_s", group->gpu_s);
        number(json, "asked_gpu_s", group->asked_gpu_s);
        number(json, "useful_gpu_s", group->useful_gpu_s);
        number(json, "wait_mean_s", group->wait_mean_s);
        number(json, "wait_p50_s", group->wait_p50_s);
        number(json, "wait_p95_s", group->wait_p95_s);
        number(json, "wait_max_s", group->wait_max_s);
        number(json, "completion_mean_s", group->completion_mean_s);
        number(json, "completion_p50_s", group->completion_p50_s);
        number(json, "completion_p95_s", group->completion_p95_s);
        number(json, "slowdown_mean", group->slowdown_mean);
        number(json, "slowdown_p50", group->slowdown_p50);
        number(json, "slowdown_p95", group->slowdown_p95);
        end(json, '}');
    }
    end(json, ']');
}

static void put_assumptions(struct json *json, const struct sand_meta *meta)
{
    begin(json, "assumptions", '[');
    for (size_t i = 0; i < meta->n_assumptions; i++) {
        separate(json);
        sand_json_string(json->out, meta->assumptions[i]);
    }
    end(json, ']');
}

static void put_overview(struct json *json, const struct sand_overview *overview)
{
    const double runs = (double)overview->n_runs;
    begin(json, NULL, '{');
    put_run(json, overview);
    put_spreads(json, overview);
    put_splits(json, overview);
    whole(json, "steps_of_more_jobs", overview->n_untold);
    put_classes(json, overview);
    put_groups(json, "causes", overview->causes, overview->n_causes, runs);
    put_groups(json, "fault_classes", overview->fault_classes, overview->n_fault_classes, runs);
    put_degradations(json, overview);
    put_recovery(json, "recovery_unexpected", &overview->recovery[0]);
    put_recovery(json, "recovery_planned", &overview->recovery[1]);
    put_saves(json, &overview->saves);
    put_states(json, &overview->states);
    if (overview->n_groups > 0)
        put_job_groups(json, overview);
    put_assumptions(json, overview->meta);
    end(json, '}');
    fputc('\n', json->out);
}

enum sand_rc sand_summary_json(struct sand_results *results, FILE *out, struct sand_diag *diag)
{
    struct sand_arena arena = {0};
    struct sand_overview overview;
    struct json json = {.out = out, .first = 1};
    enum sand_rc rc = sand_overview_make(results, &arena, &overview, diag);
    if (rc == SAND_OK) {
        put_overview(&json, &overview);
        rc = sand_stream_finish(out, "the summary", diag);
    }
    sand_arena_clear(&arena);
    return rc;
}
