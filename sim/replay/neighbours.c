// Shares a job's loss out among its neighbours.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "neighbours.h"

#include <math.h>

#include "fabric.h"
#include "mem.h"
#include "units.h"
#include "world.h"

void sand_neighbours_attempt(struct sand_world_job *j)
{
    j->coupled.near.credited_ns = 0;
    j->coupled.near.n_now = 0;
}

// Found by the job's number, or added; those who came last are looked at first.
static enum sand_rc find(struct sand_neighbour **list, size_t *n, size_t *capacity, uint32_t job,
                         struct sand_neighbour **found)
{
    for (size_t i = *n; i-- > 0;)
        if ((*list)[i].job == job) {
            *found = &(*list)[i];
            return SAND_OK;
        }
    SAND_TRY(sand_grow((void **)list, capacity, *n + 1, sizeof **list));
    *found = &(*list)[(*n)++];
    **found = (struct sand_neighbour){.job = job};
    return SAND_OK;
}

enum sand_rc sand_neighbours_meet(struct sand_world_job *j, const struct sand_world_job *other,
                                  const struct sand_link_load *own,
                                  const struct sand_link_load *others)
{
    struct sand_neighbours *near = &j->coupled.near;
    struct sand_neighbour *one = NULL;
    const double share = own->mean_Bps * others->mean_Bps / (own->capacity_Bps * own->capacity_Bps);
    if (other == j || !other->coupled.steps || !(share > 0))
        return SAND_OK;
    SAND_TRY(find(&near->now, &near->n_now, &near->now_capacity, other->index, &one));
    one->share += share;
    if (share > one->most) {
        one->most = share;
        one->link = own->link;
    }
    return SAND_OK;
}

static enum sand_rc book(struct sand_neighbours *near, const struct sand_neighbour *one,
                         int64_t lost_ns)
{
    struct sand_neighbour *met = NULL;
    SAND_TRY(find(&near->met, &near->n_met, &near->met_capacity, one->job, &met));
    met->lost_ns += lost_ns;
    if (one->most > met->most) {
        met->most = one->most;
        met->link = one->link;
    }
    return SAND_OK;
}

// What rounding leaves goes to the last.
static enum sand_rc share_out(struct sand_neighbours *near, int64_t lost_ns)
{
    double left = 0;
    for (size_t i = 0; i < near->n_now; i++)
        left += near->now[i].share;
    for (size_t i = 0; i < near->n_now; i++) {
        const struct sand_neighbour *one = &near->now[i];
        const int64_t part_ns =
            i + 1 < near->n_now ? (int64_t)llround((double)lost_ns * (one->share / left)) : lost_ns;
        SAND_TRY(book(near, one, part_ns));
        lost_ns -= part_ns;
        left -= one->share;
    }
    return SAND_OK;
}

enum sand_rc sand_neighbours_credit(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_neighbours *near = &j->coupled.near;
    if (!j->in_attempt || near->n_now == 0)
        return SAND_OK;
    sand_life_settle(w, j);
    const int64_t sum_ns = sand_progress_by_ns(&j->progress, SAND_SLOW_NEIGHBOURS, w->now_ns);
    const int64_t lost_ns = sum_ns - near->credited_ns;
    near->credited_ns = sum_ns;
    const enum sand_rc rc = lost_ns != 0 ? share_out(near, lost_ns) : SAND_OK;
    near->n_now = 0;
    return rc;
}

enum sand_rc sand_neighbours_emit(struct sand_world *w, const struct sand_world_job *j)
{
    const struct sand_neighbours *near = &j->coupled.near;
    for (size_t i = 0; i < near->n_met; i++) {
        char name[64];
        const struct sand_neighbour *one = &near->met[i];
        struct sand_neighbours_row row = {.replication = w->options->replication,
                                          .job = j->index,
                                          .neighbour = one->job,
                                          .lost_ns = one->lost_ns,
                                          .lost_gpu_s =
                                              sand_s_from_ns(one->lost_ns) * (double)j->gpus};
        sand_cell_set(&row.link, sand_fabric_link_name(w->fabric, one->link, name, sizeof name));
        SAND_TRY(sand_emit_row(w, SAND_TABLE_neighbours, &row));
    }
    return SAND_OK;
}

void sand_neighbours_forget(struct sand_world_job *j)
{
    sand_free(j->coupled.near.now);
    sand_free(j->coupled.near.met);
    j->coupled.near = (struct sand_neighbours){0};
}
