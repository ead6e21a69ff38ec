// A list of jobs as a source: by submit date, then in the order of the list.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "jobsource.h"

#include <stdlib.h>

#include "mem.h"

struct listed {
    int64_t submit_ns;
    uint32_t number;
};

struct sand_joblist {
    const struct sand_job_spec *jobs;
    struct listed *order;
    size_t n, next;
};

static int compare(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    if (x->submit_ns != y->submit_ns)
        return x->submit_ns > y->submit_ns ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static enum sand_rc next_job(void *self, const struct sand_job_spec **job, uint32_t *number,
                             struct sand_diag *diag)
{
    struct sand_joblist *list = self;
    (void)diag;
    *job = NULL;
    if (list->next == list->n)
        return SAND_OK;
    *number = list->order[list->next++].number;
    *job = &list->jobs[*number];
    return SAND_OK;
}

enum sand_rc sand_joblist_open(const struct sand_job_spec *jobs, size_t n,
                               struct sand_joblist **list, struct sand_job_source *source)
{
    struct sand_joblist *made = sand_calloc(1, sizeof *made);
    struct listed *order = sand_calloc(n, sizeof *order);
    if (!made || !order || n >= UINT32_MAX) {
        sand_free(made);
        sand_free(order);
        return SAND_ERR_NOMEM;
    }
    *made = (struct sand_joblist){.jobs = jobs, .order = order, .n = n};
    *source = (struct sand_job_source){.self = made, .next = next_job};
    for (uint32_t i = 0; i < made->n; i++) {
        const struct sand_job_spec *job = &made->jobs[i];
        made->order[i] = (struct listed){job->submit_ns, i};
        source->max_savers += job->model && job->checkpoint.bytes_per_param > 0;
    }
    qsort(made->order, made->n, sizeof *made->order, compare);
    *list = made;
    return SAND_OK;
}

void sand_joblist_close(struct sand_joblist *list)
{
    if (list)
        sand_free(list->order);
    sand_free(list);
}
