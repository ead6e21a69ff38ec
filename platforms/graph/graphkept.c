// Dinic's blocking flows from a flow that is there already.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Why that is exact. A loss lowers capacities. Where the kept flow is above them it is lowered too,
// and what a vertex then sends without receiving it, or receives without sending it on, is taken
// back vertex by vertex, towards the sink or the source: every step lowers the flow of some arc, so
// it ends, and what is left is a flow within the new capacities. A flow that no path in its
// residual network augments is a maximum one, whatever it grew from (Ford and Fulkerson 1956), and
// its value is that of the least cut. Dinic (1970) finds the paths, shortest ones first.
//
// What it is for. Cells make a flow small where switches are alike (graphcut.c). In a dragonfly no
// two routers of a group reach the same groups, and in a torus one dead router makes every other
// stand apart from it: a cut anew has most switches in it, while the loss takes only the flow along
// that went through what died.
#include "graphkept.h"

#include <math.h>
#include <string.h>

#include "ids.h"
#include "mem.h"

// What arcs and ports can still carry; of an edge that carries w, both arcs together 2 w.
struct rooms {
    double *arc, *in, *out;
};

struct graph_kept {
    const struct graph_arcs *arcs;
    uint32_t *mate; // the other direction of an arc
    struct graph_ports *ports;
    struct rooms kept, now;
    double *surplus;        // what a vertex receives beyond what it sends
    uint32_t *level, *next; // steps from the source; the arc to try next
    uint32_t *queue;        // of vertices, or the arcs of a way
    uint8_t *is_queued;
};

// ---- memory ----

static int rooms_make(struct rooms *r, size_t n, size_t n_arcs)
{
    *r = (struct rooms){sand_calloc(n_arcs + 1, sizeof *r->arc), sand_calloc(n, sizeof *r->in),
                        sand_calloc(n, sizeof *r->out)};
    return r->arc && r->in && r->out;
}

static void rooms_free(struct rooms *r)
{
    sand_free(r->arc);
    sand_free(r->in);
    sand_free(r->out);
}

static void rooms_copy(struct rooms *to, const struct rooms *from, const struct graph_arcs *arcs)
{
    memcpy(to->arc, from->arc, arcs->first[arcs->n] * sizeof *to->arc);
    memcpy(to->in, from->in, arcs->n * sizeof *to->in);
    memcpy(to->out, from->out, arcs->n * sizeof *to->out);
}

void graph_kept_free(struct graph_kept *kept)
{
    if (kept == NULL)
        return;
    rooms_free(&kept->kept);
    rooms_free(&kept->now);
    sand_free(kept->mate);
    sand_free(kept->ports);
    sand_free(kept->surplus);
    sand_free(kept->level);
    sand_free(kept->next);
    sand_free(kept->queue);
    sand_free(kept->is_queued);
    sand_free(kept);
}

// ---- ways ----

// Steps of every vertex from the source over what has room, up to those from which the sink is
// next; returns how many steps these are away, or SAND_NONE.
static uint32_t find_levels(struct graph_kept *k)
{
    const struct graph_arcs *arcs = k->arcs;
    uint32_t n = 0, last = SAND_NONE;
    for (uint32_t v = 0; v < arcs->n; v++) {
        k->next[v] = arcs->first[v];
        k->level[v] = k->now.in[v] > 0 ? 0 : SAND_NONE;
        if (k->level[v] == 0)
            k->queue[n++] = v;
    }
    for (uint32_t at = 0; at < n && k->level[k->queue[at]] <= last; at++) {
        const uint32_t v = k->queue[at];
        if (k->now.out[v] > 0)
            last = k->level[v];
        for (uint32_t i = arcs->first[v]; i < arcs->first[v + 1] && last == SAND_NONE; i++) {
            const uint32_t to = arcs->to[i];
            if (k->level[to] != SAND_NONE || k->now.arc[i] <= 0)
                continue;
            k->level[to] = k->level[v] + 1;
            k->queue[n++] = to;
        }
    }
    return last;
}

// Fills a way from `from`, over the n arcs of the queue, to the sink.
static void fill_way(struct graph_kept *k, uint32_t from, uint32_t n)
{
    const uint32_t to = n > 0 ? k->arcs->to[k->queue[n - 1]] : from;
    double most = fmin(k->now.in[from], k->now.out[to]);
    for (uint32_t i = 0; i < n; i++)
        most = fmin(most, k->now.arc[k->queue[i]]);
    k->now.in[from] -= most;
    k->now.out[to] -= most;
    for (uint32_t i = 0; i < n; i++) {
        k->now.arc[k->queue[i]] -= most;
        k->now.arc[k->mate[k->queue[i]]] += most;
    }
}

// The next arc that leads one step on, or SAND_NONE.
static uint32_t arc_onwards(struct graph_kept *k, uint32_t v)
{
    const struct graph_arcs *arcs = k->arcs;
    for (; k->next[v] < arcs->first[v + 1]; k->next[v]++) {
        const uint32_t i = k->next[v];
        if (k->now.arc[i] > 0 && k->level[arcs->to[i]] == k->level[v] + 1)
            return i;
    }
    return SAND_NONE;
}

// One way from `from` to the sink, in the queue: its arcs, or SAND_NONE if there is none left.
static uint32_t find_way(struct graph_kept *k, uint32_t from, uint32_t last)
{
    uint32_t n = 0, v = from;
    while (k->level[v] < last || k->now.out[v] <= 0) {
        const uint32_t arc = k->level[v] < last ? arc_onwards(k, v) : SAND_NONE;
        if (arc != SAND_NONE) {
            k->queue[n++] = arc;
            v = k->arcs->to[arc];
            continue;
        }
        if (n == 0)
            return SAND_NONE;
        k->level[v] = SAND_NONE; // leads nowhere
        v = k->arcs->to[k->mate[k->queue[--n]]];
    }
    return n;
}

static void augment(struct graph_kept *k)
{
    for (uint32_t last; (last = find_levels(k)) != SAND_NONE;)
        for (uint32_t v = 0; v < k->arcs->n; v++)
            while (k->now.in[v] > 0) {
                const uint32_t n = find_way(k, v, last);
                if (n == SAND_NONE)
                    break;
                fill_way(k, v, n);
            }
}

// ---- the flow that is kept ----

// Every edge stands once among the arcs of either end, in the order of the other ends.
static void pair_arcs(struct graph_kept *k)
{
    const struct graph_arcs *arcs = k->arcs;
    memcpy(k->next, arcs->first, arcs->n * sizeof *k->next);
    for (uint32_t v = 0; v < arcs->n; v++)
        for (uint32_t i = arcs->first[v]; i < arcs->first[v + 1]; i++)
            k->mate[i] = k->next[arcs->to[i]]++;
}

static int make_arrays(struct graph_kept *k)
{
    const size_t n = k->arcs->n, n_arcs = k->arcs->first[n];
    const int rooms = rooms_make(&k->kept, n, n_arcs) & rooms_make(&k->now, n, n_arcs);
    k->mate = sand_calloc(n_arcs + 1, sizeof *k->mate);
    k->ports = sand_calloc(n, sizeof *k->ports);
    k->surplus = sand_calloc(n, sizeof *k->surplus);
    k->level = sand_calloc(n, sizeof *k->level);
    k->next = sand_calloc(n, sizeof *k->next);
    k->queue = sand_calloc(n, sizeof *k->queue);
    k->is_queued = sand_calloc(n, 1);
    return rooms && k->mate && k->ports && k->surplus && k->level && k->next && k->queue &&
           k->is_queued;
}

enum sand_rc graph_kept_make(const struct graph_arcs *arcs, const struct graph_ports *ports,
                             struct graph_kept **kept)
{
    struct graph_kept *k = sand_calloc(1, sizeof *k);
    if (k == NULL)
        return SAND_ERR_NOMEM;
    k->arcs = arcs;
    if (!make_arrays(k)) {
        graph_kept_free(k);
        return SAND_ERR_NOMEM;
    }
    pair_arcs(k);
    memcpy(k->ports, ports, arcs->n * sizeof *ports);
    memcpy(k->now.arc, arcs->weight, arcs->first[arcs->n] * sizeof *k->now.arc);
    for (uint32_t v = 0; v < arcs->n; v++) {
        k->now.in[v] = ports[v].in;
        k->now.out[v] = ports[v].out;
    }
    augment(k);
    rooms_copy(&k->kept, &k->now, arcs);
    *kept = k;
    return SAND_OK;
}

// ---- losses ----

static int is_dead(const uint8_t *dead, uint32_t v)
{
    return dead != NULL && dead[v];
}

// A port that carries less than it did, and what it carried beyond that.
static double lower(double *room, double before, double after)
{
    const double carried = before - *room, kept = fmin(carried, after);
    *room = after - kept;
    return carried - kept;
}

static void kill(struct graph_kept *k, uint32_t v)
{
    const struct graph_arcs *arcs = k->arcs;
    for (uint32_t i = arcs->first[v]; i < arcs->first[v + 1]; i++) {
        const double both = k->now.arc[i] + k->now.arc[k->mate[i]];
        k->surplus[arcs->to[i]] -= both / 2 - k->now.arc[i];
        k->now.arc[i] = k->now.arc[k->mate[i]] = 0;
    }
}

static void enqueue(struct graph_kept *k, uint32_t v, uint32_t *n_queued, uint32_t head)
{
    if (k->is_queued[v] || k->surplus[v] == 0)
        return;
    k->is_queued[v] = 1;
    k->queue[(uint32_t)(((uint64_t)head + (*n_queued)++) % k->arcs->n)] = v;
}

static double take_port(double *room, double most, double *left)
{
    const double taken = fmin(most - *room, *left);
    *room += taken;
    *left -= taken;
    return taken;
}

// Takes back what v receives too much (sign 1) or sends too much (-1): by its port, then by arcs.
static void take_back(struct graph_kept *k, uint32_t v, const struct graph_ports *ports,
                      uint32_t *n_queued, uint32_t head)
{
    const struct graph_arcs *arcs = k->arcs;
    const int too_much = k->surplus[v] > 0;
    double left = fabs(k->surplus[v]);
    k->surplus[v] = 0;
    if (too_much)
        take_port(&k->now.in[v], ports[v].in, &left);
    else
        take_port(&k->now.out[v], ports[v].out, &left);
    for (uint32_t i = arcs->first[v]; i < arcs->first[v + 1] && left > 0; i++) {
        const uint32_t back = k->mate[i], with = too_much ? back : i; // the arc whose flow it is
        const double both = k->now.arc[i] + k->now.arc[back];
        const double taken = fmin(both / 2 - k->now.arc[with], left);
        if (taken <= 0)
            continue;
        k->now.arc[with] += taken;
        k->now.arc[with == i ? back : i] -= taken;
        left -= taken;
        k->surplus[arcs->to[i]] += too_much ? taken : -taken;
        enqueue(k, arcs->to[i], n_queued, head);
    }
}

static void balance(struct graph_kept *k, const struct graph_ports *ports)
{
    uint32_t n_queued = 0, head = 0;
    for (uint32_t v = 0; v < k->arcs->n; v++)
        enqueue(k, v, &n_queued, head);
    while (n_queued > 0) {
        const uint32_t v = k->queue[head];
        head = (head + 1) % k->arcs->n;
        n_queued--;
        k->is_queued[v] = 0;
        take_back(k, v, ports, &n_queued, head);
    }
}

double graph_kept_after(struct graph_kept *k, const uint8_t *dead, const struct graph_ports *ports)
{
    const uint32_t n = k->arcs->n;
    rooms_copy(&k->now, &k->kept, k->arcs);
    memset(k->surplus, 0, n * sizeof *k->surplus);
    for (uint32_t v = 0; v < n; v++)
        if (is_dead(dead, v))
            kill(k, v);
    for (uint32_t v = 0; v < n; v++) {
        k->surplus[v] -= lower(&k->now.in[v], k->ports[v].in, is_dead(dead, v) ? 0 : ports[v].in);
        k->surplus[v] +=
            lower(&k->now.out[v], k->ports[v].out, is_dead(dead, v) ? 0 : ports[v].out);
        if (is_dead(dead, v))
            k->surplus[v] = 0;
    }
    balance(k, ports);
    augment(k);
    double value = 0;
    for (uint32_t v = 0; v < n; v++)
        value += is_dead(dead, v) ? 0 : ports[v].in - k->now.in[v];
    return value;
}
