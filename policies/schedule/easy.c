// schedule/easy: EASY backfilling as the textbooks have it, on counted nodes and requested times.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// D. A. Lifka, The ANL/IBM SP scheduling system, JSSPP 1995; A. W. Mu'alem and D. G. Feitelson,
// IEEE TPDS 12(6), 2001. Jobs start in queue order while the head fits. Then the head gets a
// reservation at the shadow time, the earliest date at which the running jobs' requests leave it
// enough nodes; a later job may start now if it ends by then, or if it needs no more than the extra
// nodes that the head leaves. All is planned anew at every instant at which something happened. The
// profile is the general form of that rule: with one reservation nodes are short at the shadow time
// only, and what is free there beside the head are the extra nodes. Where jobs share nodes or ask
// for groups of them, counts do not tell whether a job fits: easyshared.c applies the rule node by
// node.
#include "sandtable/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "easyshared.h"
#include "profile.h"
#include "waitlist.h"

enum order { ORDER_SUBMIT, ORDER_SHORTEST, ORDER_SMALLEST_AREA };

// A running job and when its request ends.
struct release {
    int64_t end_ns;
    uint32_t job, n_nodes;
};

struct easy {
    const struct sandtable_host *host;
    enum order order;
    size_t queue_depth, reservation_depth; // queue_depth 0: all
    int by_node; // jobs share nodes or ask for groups of them: counts tell too little
    struct sand_easy_shared by_node_plan;
    struct sand_waitlist waiting;
    struct release *running; // by end, then in the order of their starts
    size_t n_running, capacity;
    struct sand_profile profile;
    int64_t now_ns;
    size_t n_free;
    size_t first_filler;       // place behind the last job that holds a reservation
    int64_t first_reserved_ns; // INT64_MAX: no reservation has a date
};

static int out_of_memory(const struct easy *easy)
{
    return easy->host->fail(easy->host, "out of memory");
}

static int easy_create(const struct sandtable_host *host, void **self)
{
    struct easy *easy = calloc(1, sizeof *easy);
    if (easy == NULL)
        return host->fail(host, "out of memory");
    easy->host = host;
    easy->order = (enum order)host->param(host, "order");
    easy->queue_depth = (size_t)host->param(host, "queue_depth");
    easy->reservation_depth = (size_t)host->param(host, "reservation_depth");
    easy->by_node = host->shares_nodes(host) || host->has_groups(host);
    *self = easy;
    return 0;
}

// ---- running jobs -------------------------------------------------------------------------------

static int note_start(struct easy *easy, const struct sand_waiting *job)
{
    const int unknown = job->walltime_ns > INT64_MAX - easy->now_ns;
    const int64_t end_ns = unknown ? INT64_MAX : easy->now_ns + job->walltime_ns;
    if (easy->n_running == easy->capacity) {
        const size_t capacity = easy->capacity > 0 ? 2 * easy->capacity : 64;
        struct release *running = realloc(easy->running, capacity * sizeof *running);
        if (running == NULL)
            return out_of_memory(easy);
        easy->running = running;
        easy->capacity = capacity;
    }
    size_t i = easy->n_running++;
    for (; i > 0 && easy->running[i - 1].end_ns > end_ns; i--)
        easy->running[i] = easy->running[i - 1];
    easy->running[i] = (struct release){end_ns, job->job, job->n_nodes};
    return 0;
}

static void note_end(struct easy *easy, uint32_t job)
{
    size_t i = 0;
    while (i < easy->n_running && easy->running[i].job != job)
        i++;
    if (i == easy->n_running)
        return;
    easy->n_running--;
    memmove(&easy->running[i], &easy->running[i + 1],
            (easy->n_running - i) * sizeof *easy->running);
}

// ---- events -------------------------------------------------------------------------------------

static double key_of(const struct easy *easy, const struct sand_waiting *job)
{
    if (easy->order == ORDER_SUBMIT)
        return 0;
    const double area = easy->order == ORDER_SMALLEST_AREA ? job->n_nodes : 1;
    return area * (double)job->walltime_ns;
}

static int note_arrival(struct easy *easy, const struct sandtable_job *view)
{
    struct sand_waiting job = {.job = view->job,
                               .n_nodes = view->n_nodes * (easy->by_node ? view->node_gpus : 1),
                               .walltime_ns =
                                   view->walltime_ns >= 0 ? view->walltime_ns : INT64_MAX};
    job.key = key_of(easy, &job);
    return sand_waitlist_push(&easy->waiting, job) == 0 ? 0 : out_of_memory(easy);
}

static int easy_on_event(void *self, const struct sandtable_event *event)
{
    struct easy *easy = self;
    if (event->kind == SANDTABLE_EVENT_JOB_ARRIVED)
        return note_arrival(easy, easy->host->job(easy->host, event->job));
    if (event->kind == SANDTABLE_EVENT_JOB_ENDED && !easy->by_node)
        note_end(easy, event->job);
    return 0;
}

// ---- starting -----------------------------------------------------------------------------------

// Answers as the host does: 0 started, 1 no place.
static int start(struct easy *easy, size_t place)
{
    const struct sand_waiting job = easy->waiting.jobs[place];
    const int answer = easy->host->start(easy->host, job.job);
    if (answer != 0)
        return answer;
    sand_waitlist_remove(&easy->waiting, place);
    easy->n_free -= job.n_nodes;
    return note_start(easy, &job);
}

// Strict queue order, as long as the head fits.
static int start_heads(struct easy *easy)
{
    for (;;) {
        const size_t head = sand_waitlist_nth(&easy->waiting, 0);
        if (head == SAND_NO_PLACE || easy->waiting.jobs[head].n_nodes > easy->n_free)
            return 0;
        const int answer = start(easy, head);
        if (answer != 0)
            return answer == 1 ? 0 : answer;
    }
}

// ---- reservations -------------------------------------------------------------------------------

// A job past its request counts as ending in the next nanosecond.
static int build_profile(struct easy *easy)
{
    if (sand_profile_begin(&easy->profile, easy->now_ns, easy->n_free) != 0)
        return out_of_memory(easy);
    for (size_t i = 0; i < easy->n_running && easy->running[i].end_ns < INT64_MAX; i++) {
        const struct release *release = &easy->running[i];
        const int64_t end_ns = release->end_ns > easy->now_ns ? release->end_ns : easy->now_ns + 1;
        if (sand_profile_release(&easy->profile, end_ns, release->n_nodes) != 0)
            return out_of_memory(easy);
    }
    return 0;
}

static int reserve(struct easy *easy, const struct sand_waiting *job, int64_t date_ns)
{
    if (date_ns == INT64_MAX)
        return 0; // nothing known to come lets it start, so nothing can be kept for it
    if (date_ns < easy->first_reserved_ns)
        easy->first_reserved_ns = date_ns;
    return sand_profile_take(&easy->profile, date_ns, job->walltime_ns, job->n_nodes) == 0
               ? 0
               : out_of_memory(easy);
}

// The job at `place` starts if its earliest date is now, else it gets a reservation.
static int start_or_reserve(struct easy *easy, size_t place, size_t *n_reserved)
{
    const struct sand_waiting job = easy->waiting.jobs[place];
    const int64_t date_ns = sand_profile_earliest(&easy->profile, job.n_nodes, job.walltime_ns);
    const int answer = date_ns == easy->now_ns ? start(easy, place) : 1;
    if (answer == 0)
        return sand_profile_take(&easy->profile, date_ns, job.walltime_ns, job.n_nodes) == 0
                   ? 0
                   : out_of_memory(easy);
    if (answer != 1)
        return answer;
    ++*n_reserved;
    easy->first_filler = place + 1;
    return reserve(easy, &job, date_ns);
}

// The first jobs of the queue get their reservations, in queue order.
static int reserve_heads(struct easy *easy)
{
    size_t n_reserved = 0;
    easy->first_filler = 0;
    easy->first_reserved_ns = INT64_MAX;
    while (n_reserved < easy->reservation_depth) {
        // Reserved jobs stay in the list, started ones leave it.
        const size_t place = sand_waitlist_nth(&easy->waiting, n_reserved);
        if (place == SAND_NO_PLACE)
            return 0;
        const int answer = start_or_reserve(easy, place, &n_reserved);
        if (answer != 0)
            return answer;
    }
    return 0;
}

// ---- fillers ------------------------------------------------------------------------------------

static size_t end_of_depth(const struct easy *easy)
{
    if (easy->queue_depth == 0)
        return SIZE_MAX;
    size_t n_reserved = sand_waitlist_count(&easy->waiting);
    if (easy->reservation_depth < n_reserved)
        n_reserved = easy->reservation_depth;
    if (easy->queue_depth > SIZE_MAX - n_reserved)
        return SIZE_MAX;
    return sand_waitlist_nth(&easy->waiting, n_reserved + easy->queue_depth);
}

// A job that runs past the first reservation needs nodes that are free beside it.
static void set_limits(const struct easy *easy, struct sand_waitlist_query *query)
{
    const int never = easy->first_reserved_ns == INT64_MAX;
    const uint64_t extra =
        never ? 0 : sand_profile_free_at(&easy->profile, easy->first_reserved_ns);
    query->max_nodes = (uint32_t)easy->n_free;
    query->extra_nodes = (uint32_t)extra;
    query->max_walltime_ns = never ? INT64_MAX - 1 : easy->first_reserved_ns - easy->now_ns;
}

static int fill(struct easy *easy)
{
    struct sand_waitlist_query query = {
        .first = easy->first_filler, .end = end_of_depth(easy), .after_key = -INFINITY};
    while (easy->n_free > 0) {
        set_limits(easy, &query);
        const size_t place = sand_waitlist_find(&easy->waiting, &query);
        if (place == SAND_NO_PLACE)
            return 0;
        const struct sand_waiting job = easy->waiting.jobs[place];
        query.after_key = job.key;
        query.after_place = place;
        if (easy->order == ORDER_SUBMIT)
            query.first = place + 1; // the same, and faster
        if (!sand_profile_fits_now(&easy->profile, job.n_nodes, job.walltime_ns))
            continue;
        const int answer = start(easy, place);
        if (answer != 0 && answer != 1)
            return answer;
        if (answer == 0 &&
            sand_profile_take(&easy->profile, easy->now_ns, job.walltime_ns, job.n_nodes) != 0)
            return out_of_memory(easy);
    }
    return 0;
}

// Could anything behind the head use what is free? Spares the plan when nothing can.
static int has_filler(const struct easy *easy)
{
    const size_t head = sand_waitlist_nth(&easy->waiting, 0);
    if (head == SAND_NO_PLACE || easy->n_free == 0)
        return 0;
    const struct sand_waitlist_query any = {.first = head + 1,
                                            .end = SIZE_MAX,
                                            .max_nodes = (uint32_t)easy->n_free,
                                            .extra_nodes = UINT32_MAX,
                                            .max_walltime_ns = INT64_MAX,
                                            .after_key = -INFINITY};
    return sand_waitlist_find(&easy->waiting, &any) != SAND_NO_PLACE;
}

static int easy_decide(void *self)
{
    struct easy *easy = self;
    const struct sand_easy_shared_limits limits = {easy->queue_depth, easy->reservation_depth};
    if (easy->by_node)
        return sand_easy_shared_decide(easy->host, &easy->waiting, &easy->by_node_plan, &limits);
    easy->now_ns = easy->host->now_ns(easy->host);
    easy->n_free = easy->host->free_nodes(easy->host);
    int rc = start_heads(easy);
    if (rc != 0 || !has_filler(easy))
        return rc;
    rc = build_profile(easy);
    if (rc == 0)
        rc = reserve_heads(easy);
    return rc == 0 ? fill(easy) : rc;
}

static void easy_destroy(void *self)
{
    struct easy *easy = self;
    if (easy == NULL)
        return;
    sand_waitlist_free(&easy->waiting);
    sand_profile_free(&easy->profile);
    sand_easy_shared_free(&easy->by_node_plan);
    free(easy->running);
    free(easy);
}

static const char *const orders[] = {"submit", "shortest", "smallest-area", NULL};

static const struct sandtable_param easy_params[] = {
    {.name = "order",
     .dim = SANDTABLE_WORD,
     .default_value = ORDER_SUBMIT,
     .words = orders,
     .doc = "in which order the jobs behind the reservations are tried: as queued, shortest "
            "request first, or smallest nodes (GPUs, where jobs share nodes) times request first; "
            "ties as queued"},
    {.name = "queue_depth",
     .dim = SANDTABLE_COUNT,
     .default_value = 0,
     .min = 0,
     .max = 4294967295.0,
     .doc = "how many jobs behind the reservations are considered; 0: all"},
    {.name = "reservation_depth",
     .dim = SANDTABLE_COUNT,
     .default_value = 1,
     .min = 1,
     .max = 4294967295.0,
     .doc = "how many jobs at the head of the queue hold a reservation that nobody may delay"},
};

const struct sandtable_schedule sand_schedule_easy = {
    .struct_size = sizeof(struct sandtable_schedule),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "schedule/easy",
    .version = "1.0",
    .summary = "EASY backfilling: later jobs start if they do not delay the head's reservation",
    .params = easy_params,
    .n_params = sizeof easy_params / sizeof easy_params[0],
    .create = easy_create,
    .on_event = easy_on_event,
    .decide = easy_decide,
    .destroy = easy_destroy,
    .shares_nodes = 1,
};
