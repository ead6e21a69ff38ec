// Plain arrays: the variants are for conformance, and their passes walk the whole queue anyway.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "peerjobs.h"

#include <stdlib.h>
#include <string.h>

int64_t sand_peer_later(int64_t date_ns, int64_t length_ns)
{
    return length_ns > INT64_MAX - date_ns ? INT64_MAX : date_ns + length_ns;
}

// The array with room for one more element, or NULL.
static void *with_room(void *array, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity)
        return array;
    const size_t larger = *capacity > 0 ? 2 * *capacity : 64;
    void *block = realloc(array, larger * size);
    if (block != NULL)
        *capacity = larger;
    return block;
}

int sand_peer_queue(struct sand_peer_jobs *jobs, const struct sandtable_host *host,
                    struct sand_peer_job job)
{
    struct sand_peer_job *queue =
        with_room(jobs->queue, jobs->n_queue, &jobs->queue_capacity, sizeof *queue);
    if (queue == NULL)
        return host->fail(host, "out of memory");
    jobs->queue = queue;
    queue[jobs->n_queue++] = job;
    return 0;
}

int sand_peer_run(struct sand_peer_jobs *jobs, const struct sandtable_host *host,
                  struct sand_peer_run run)
{
    struct sand_peer_run *running =
        with_room(jobs->running, jobs->n_running, &jobs->running_capacity, sizeof *running);
    if (running == NULL)
        return host->fail(host, "out of memory");
    jobs->running = running;
    size_t i = jobs->n_running++;
    for (; i > 0 && running[i - 1].end_ns > run.end_ns; i--)
        running[i] = running[i - 1];
    running[i] = run;
    return 0;
}

void sand_peer_unqueue(struct sand_peer_jobs *jobs, size_t place)
{
    jobs->n_queue--;
    memmove(&jobs->queue[place], &jobs->queue[place + 1],
            (jobs->n_queue - place) * sizeof *jobs->queue);
}

size_t sand_peer_find(const struct sand_peer_jobs *jobs, uint32_t job)
{
    size_t i = 0;
    while (i < jobs->n_running && jobs->running[i].job != job)
        i++;
    return i;
}

void sand_peer_end(struct sand_peer_jobs *jobs, uint32_t job)
{
    const size_t place = sand_peer_find(jobs, job);
    if (place == jobs->n_running)
        return;
    jobs->n_running--;
    memmove(&jobs->running[place], &jobs->running[place + 1],
            (jobs->n_running - place) * sizeof *jobs->running);
}

void sand_peer_free(struct sand_peer_jobs *jobs)
{
    free(jobs->queue);
    free(jobs->running);
    *jobs = (struct sand_peer_jobs){0};
}
