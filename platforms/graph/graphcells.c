// Partition refinement; see graphcells.h.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "graphcells.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

// A vertex that a splitter reaches, and with what weight in all.
struct reached {
    uint32_t cell, vertex;
    double sum;
};

struct refiner {
    const struct graph_arcs *arcs;
    struct graph_cells *cells;
    uint32_t *place;    // of a vertex in `order`
    uint32_t *queue;    // cells that are splitters yet, a ring of arcs->n
    uint8_t *is_queued; // [cells]
    uint32_t head, n_queued;
    uint32_t *members; // of the splitter: splitting may move them
    double *sum;       // [vertices]; 0: not reached
    struct reached *reached;
};

void graph_cells_free(struct graph_cells *cells)
{
    sand_free(cells->of);
    sand_free(cells->order);
    sand_free(cells->begin);
    sand_free(cells->size);
    *cells = (struct graph_cells){0};
}

static enum sand_rc make_cells(uint32_t n, struct graph_cells *cells)
{
    *cells = (struct graph_cells){.of = sand_calloc(n, sizeof *cells->of),
                                  .order = sand_calloc(n, sizeof *cells->order),
                                  .begin = sand_calloc(n, sizeof *cells->begin),
                                  .size = sand_calloc(n, sizeof *cells->size)};
    if (cells->of && cells->order && cells->begin && cells->size)
        return SAND_OK;
    graph_cells_free(cells);
    return SAND_ERR_NOMEM;
}

enum sand_rc graph_cells_apart(uint32_t n, struct graph_cells *cells)
{
    SAND_TRY(make_cells(n, cells));
    for (uint32_t v = 0; v < n; v++) {
        cells->of[v] = cells->order[v] = cells->begin[v] = v;
        cells->size[v] = 1;
    }
    cells->n = n;
    return SAND_OK;
}

// ---- colours ----

struct coloured {
    const void *colour;
    size_t width;
    uint32_t vertex;
};

static int by_colour(const void *a, const void *b)
{
    const struct coloured *x = a, *y = b;
    const int order = memcmp(x->colour, y->colour, x->width);
    return order != 0 ? order : x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

static enum sand_rc sort_by_colour(uint32_t n, const void *colour, size_t width,
                                   struct graph_cells *cells)
{
    struct coloured *sorted = sand_calloc(n, sizeof *sorted);
    if (sorted == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t v = 0; v < n; v++)
        sorted[v] = (struct coloured){(const char *)colour + v * width, width, v};
    qsort(sorted, n, sizeof *sorted, by_colour);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || memcmp(sorted[i - 1].colour, sorted[i].colour, width) != 0)
            cells->begin[cells->n++] = i;
        cells->order[i] = sorted[i].vertex;
        cells->of[sorted[i].vertex] = cells->n - 1;
        cells->size[cells->n - 1]++;
    }
    sand_free(sorted);
    return SAND_OK;
}

// ---- splitting ----

static void push(struct refiner *r, uint32_t cell)
{
    if (r->is_queued[cell])
        return;
    r->is_queued[cell] = 1;
    r->queue[(uint32_t)(((uint64_t)r->head + r->n_queued++) % r->arcs->n)] = cell;
}

static void swap_to(struct refiner *r, uint32_t vertex, uint32_t place)
{
    struct graph_cells *c = r->cells;
    const uint32_t other = c->order[place], old = r->place[vertex];
    c->order[old] = other;
    r->place[other] = old;
    c->order[place] = vertex;
    r->place[vertex] = place;
}

// Takes reached[0..n), all of one cell and with one sum, out of it: they become a cell at its end.
static uint32_t cut_off(struct refiner *r, uint32_t cell, const struct reached *reached, uint32_t n)
{
    struct graph_cells *c = r->cells;
    const uint32_t made = c->n++;
    for (uint32_t i = 0; i < n; i++) {
        swap_to(r, reached[i].vertex, c->begin[cell] + c->size[cell] - 1);
        c->size[cell]--;
        c->of[reached[i].vertex] = made;
    }
    c->begin[made] = c->begin[cell] + c->size[cell];
    c->size[made] = n;
    return made;
}

static uint32_t same_sum(const struct reached *reached, uint32_t n)
{
    uint32_t end = 1;
    while (end < n && reached[end].sum == reached[0].sum)
        end++;
    return end;
}

// Splits one cell by the sums of its reached members, in ascending order of sum. Of a cell that is
// no splitter any more the largest part needs not be one: its sums follow from the others'.
static void split(struct refiner *r, const struct reached *reached, uint32_t n)
{
    struct graph_cells *c = r->cells;
    const uint32_t cell = reached[0].cell, before = c->n;
    uint32_t done = 0, largest = cell;
    if (n == c->size[cell]) // all are reached: those with the least sum stay
        done = same_sum(reached, n);
    while (done < n) {
        const uint32_t alike = same_sum(reached + done, n - done);
        cut_off(r, cell, reached + done, alike);
        done += alike;
    }
    if (c->n == before)
        return;
    for (uint32_t i = before; i < c->n; i++)
        if (c->size[i] > c->size[largest])
            largest = i;
    const int all = r->is_queued[cell];
    if (all || largest != cell)
        push(r, cell);
    for (uint32_t i = before; i < c->n; i++)
        if (all || largest != i)
            push(r, i);
}

static int by_cell_and_sum(const void *a, const void *b)
{
    const struct reached *x = a, *y = b;
    if (x->cell != y->cell)
        return x->cell < y->cell ? -1 : 1;
    if (x->sum != y->sum)
        return x->sum < y->sum ? -1 : 1;
    return x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

static uint32_t reach(struct refiner *r, uint32_t n_members)
{
    const struct graph_arcs *arcs = r->arcs;
    uint32_t n = 0;
    for (uint32_t m = 0; m < n_members; m++) {
        const uint32_t v = r->members[m];
        for (uint32_t i = arcs->first[v]; i < arcs->first[v + 1]; i++) {
            if (r->sum[arcs->to[i]] == 0)
                r->reached[n++].vertex = arcs->to[i];
            r->sum[arcs->to[i]] += arcs->weight[i];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        r->reached[i].cell = r->cells->of[r->reached[i].vertex];
        r->reached[i].sum = r->sum[r->reached[i].vertex];
        r->sum[r->reached[i].vertex] = 0;
    }
    qsort(r->reached, n, sizeof *r->reached, by_cell_and_sum);
    return n;
}

static void refine(struct refiner *r)
{
    const struct graph_cells *c = r->cells;
    while (r->n_queued > 0 && c->n < r->arcs->n) {
        const uint32_t splitter = r->queue[r->head], size = c->size[splitter];
        r->head = (r->head + 1) % r->arcs->n;
        r->n_queued--;
        r->is_queued[splitter] = 0;
        memcpy(r->members, c->order + c->begin[splitter], size * sizeof *r->members);
        const uint32_t n = reach(r, size);
        for (uint32_t i = 0, end; i < n; i = end) {
            end = i + 1;
            while (end < n && r->reached[end].cell == r->reached[i].cell)
                end++;
            split(r, r->reached + i, end - i);
        }
    }
}

enum sand_rc graph_cells_find(const struct graph_arcs *arcs, const void *colour, size_t width,
                              struct graph_cells *cells)
{
    const uint32_t n = arcs->n;
    SAND_TRY(make_cells(n, cells));
    struct refiner r = {.arcs = arcs,
                        .cells = cells,
                        .place = sand_calloc(n, sizeof *r.place),
                        .queue = sand_calloc(n, sizeof *r.queue),
                        .is_queued = sand_calloc(n, 1),
                        .members = sand_calloc(n, sizeof *r.members),
                        .sum = sand_calloc(n, sizeof *r.sum),
                        .reached = sand_calloc(n, sizeof *r.reached)};
    enum sand_rc rc = r.place && r.queue && r.is_queued && r.members && r.sum && r.reached
                          ? sort_by_colour(n, colour, width, cells)
                          : SAND_ERR_NOMEM;
    if (rc == SAND_OK) {
        for (uint32_t i = 0; i < n; i++)
            r.place[cells->order[i]] = i;
        for (uint32_t i = 0; i < cells->n; i++)
            push(&r, i);
        refine(&r);
    } else {
        graph_cells_free(cells);
    }
    sand_free(r.place);
    sand_free(r.queue);
    sand_free(r.is_queued);
    sand_free(r.members);
    sand_free(r.sum);
    sand_free(r.reached);
    return rc;
}
