// schedule/recorded: every job starts when its record says it started.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Replays what a trace recorded, as the thing to compare with: what else differs from the record
// (utilisation, power, faults, step times of a model) then does not come from the schedule.
#include "sandtable/policy.h"

#include <stdlib.h>
#include <string.h>

enum when_full { FULL_FAIL, FULL_WAIT };

struct due {
    int64_t start_ns;
    uint32_t job;
};

struct recorded {
    const struct sandtable_host *host;
    enum when_full when_full;
    struct due *jobs; // waiting, by start, equal starts in queue order
    size_t n, capacity;
};

static int recorded_create(const struct sandtable_host *host, void **self)
{
    struct recorded *recorded = calloc(1, sizeof *recorded);
    if (recorded == NULL)
        return host->fail(host, "out of memory");
    recorded->host = host;
    recorded->when_full = (enum when_full)host->param(host, "when_full");
    *self = recorded;
    return 0;
}

// The place behind all that start no later.
static size_t place_of(const struct recorded *recorded, int64_t start_ns)
{
    size_t low = 0, high = recorded->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (recorded->jobs[middle].start_ns <= start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert(struct recorded *recorded, struct due due)
{
    if (recorded->n == recorded->capacity) {
        const size_t capacity = recorded->capacity > 0 ? 2 * recorded->capacity : 64;
        struct due *jobs = realloc(recorded->jobs, capacity * sizeof *jobs);
        if (jobs == NULL)
            return recorded->host->fail(recorded->host, "out of memory");
        recorded->jobs = jobs;
        recorded->capacity = capacity;
    }
    const size_t place = place_of(recorded, due.start_ns);
    memmove(&recorded->jobs[place + 1], &recorded->jobs[place],
            (recorded->n - place) * sizeof *recorded->jobs);
    recorded->jobs[place] = due;
    recorded->n++;
    return 0;
}

static int recorded_on_event(void *self, const struct sandtable_event *event)
{
    struct recorded *recorded = self;
    const struct sandtable_host *host = recorded->host;
    if (event->kind != SANDTABLE_EVENT_JOB_ARRIVED)
        return 0;
    const int64_t start_ns = host->recorded_start_ns(host, event->job);
    if (start_ns < 0)
        return host->fail_job(host, event->job,
                              "has no recorded start; drop the row, give it a start or wait time, "
                              "or choose another schedule policy");
    if (start_ns < event->date_ns)
        return host->fail_job(host, event->job,
                              "has a recorded start before its submit; correct or drop the row");
    return insert(recorded, (struct due){start_ns, event->job});
}

static int refuse(const struct recorded *recorded, uint32_t job)
{
    return recorded->host->fail_job(
        recorded->host, job,
        "cannot start now, as recorded: not enough is free. Enlarge the cluster, correct or drop "
        "the row, or set when_full=\"wait\" to start it as soon as it fits");
}

// Starts what is due; a job that finds no place does not hold up those recorded after it.
static int recorded_decide(void *self)
{
    struct recorded *recorded = self;
    const struct sandtable_host *host = recorded->host;
    const size_t n_due = place_of(recorded, host->now_ns(host));
    size_t kept = 0;
    for (size_t i = 0; i < n_due; i++) {
        const struct due due = recorded->jobs[i];
        const int answer = host->start(host, due.job);
        if (answer == 1 && recorded->when_full == FULL_FAIL)
            return refuse(recorded, due.job);
        if (answer != 0 && answer != 1)
            return answer;
        if (answer == 1)
            recorded->jobs[kept++] = due;
    }
    memmove(&recorded->jobs[kept], &recorded->jobs[n_due],
            (recorded->n - n_due) * sizeof *recorded->jobs);
    recorded->n -= n_due - kept;
    return kept < recorded->n ? host->wake_at(host, recorded->jobs[kept].start_ns) : 0;
}

static void recorded_destroy(void *self)
{
    struct recorded *recorded = self;
    if (recorded == NULL)
        return;
    free(recorded->jobs);
    free(recorded);
}

static const char *const when_full_words[] = {"fail", "wait", NULL};

static const struct sandtable_param recorded_params[] = {
    {.name = "when_full",
     .dim = SANDTABLE_WORD,
     .default_value = FULL_FAIL,
     .words = when_full_words,
     .doc = "what becomes of a job that finds no place at its recorded start: the run fails and "
            "names its row, or it starts as soon as it fits"},
};

const struct sandtable_schedule sand_schedule_recorded = {
    .struct_size = sizeof(struct sandtable_schedule),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "schedule/recorded",
    .version = "1.0",
    .summary = "every job starts when its trace says it started",
    .params = recorded_params,
    .n_params = sizeof recorded_params / sizeof recorded_params[0],
    .create = recorded_create,
    .on_event = recorded_on_event,
    .decide = recorded_decide,
    .destroy = recorded_destroy,
    .shares_nodes = 1,
};
