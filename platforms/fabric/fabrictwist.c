// Twisted tori; see fabrictwist.h.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabrictwist.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

// A place seen from another may be reached by closing each short dimension's ring downwards, not at
// all or upwards, and by both ways round each long one.
enum { MOST_WAYS = 27 * 8, MOST_ROUNDS = 8 };

struct plan {
    struct fabric_twist *twist;
    int16_t ways[MOST_WAYS][3]; // shortest ones to a place
    uint32_t n_ways;
    uint64_t load[3][2]; // steps planned in each dimension, up and down
};

static int is_short(const struct fabric_twist *t, uint32_t dim)
{
    return t->side[dim] == t->shift;
}

static int is_long(const struct fabric_twist *t, uint32_t dim)
{
    return t->side[dim] == 2 * t->shift;
}

static uint32_t shortest_side(const uint32_t side[3])
{
    uint32_t n = UINT32_MAX;
    for (int d = 0; d < 3; d++)
        if (side[d] > 1 && side[d] < n)
            n = side[d];
    return n;
}

int fabric_twist_fits(const uint32_t side[3])
{
    const uint32_t n = shortest_side(side);
    int n_long = 0;
    for (int d = 0; d < 3; d++) {
        if (side[d] > 1 && side[d] != n && side[d] / 2 != n)
            return 0;
        if (side[d] > 1 && side[d] != n && side[d] % 2 != 0)
            return 0;
        n_long += side[d] > 1 && side[d] != n;
    }
    return n_long > 0;
}

// ---- places ----

static uint32_t place_of(const struct fabric_twist *t, const uint32_t at[3])
{
    return (at[2] * t->side[1] + at[1]) * t->side[0] + at[0];
}

// Where `to` is, seen from `from`. Rings of short dimensions that are closed on the way move the
// long ones.
static void seen_from(const struct fabric_twist *t, const uint32_t from[3], const uint32_t to[3],
                      uint32_t out[3])
{
    uint32_t closed = 0;
    for (uint32_t d = 0; d < 3; d++) {
        out[d] = (to[d] + t->side[d] - from[d]) % t->side[d];
        closed += is_short(t, d) && to[d] < from[d];
    }
    for (uint32_t d = 0; d < 3 && closed % 2 == 1; d++)
        if (is_long(t, d))
            out[d] = (out[d] + t->shift) % t->side[d];
}

void fabric_twist_step(const struct fabric_twist *t, uint32_t at[3], uint32_t dim, uint32_t way)
{
    const uint32_t last = t->side[dim] - 1, edge = way == 0 ? last : 0;
    const int closes = at[dim] == edge;
    at[dim] = closes ? last - edge : way == 0 ? at[dim] + 1 : at[dim] - 1;
    for (uint32_t d = 0; d < 3 && closes && is_short(t, dim); d++)
        if (is_long(t, d))
            at[d] = (at[d] + t->shift) % t->side[d];
}

const int16_t *fabric_twist_way(const struct fabric_twist *t, const uint32_t from[3],
                                const uint32_t to[3])
{
    uint32_t seen[3];
    seen_from(t, from, to, seen);
    return t->way[place_of(t, seen)];
}

// ---- plans ----

static uint32_t length(const int16_t way[3])
{
    return (uint32_t)(abs(way[0]) + abs(way[1]) + abs(way[2]));
}

static void offer(struct plan *p, const int32_t way[3])
{
    const int16_t made[3] = {(int16_t)way[0], (int16_t)way[1], (int16_t)way[2]};
    if (p->n_ways > 0 && length(made) > length(p->ways[0]))
        return;
    if (p->n_ways > 0 && length(made) < length(p->ways[0]))
        p->n_ways = 0;
    for (uint32_t i = 0; i < p->n_ways; i++)
        if (memcmp(p->ways[i], made, sizeof made) == 0)
            return;
    memcpy(p->ways[p->n_ways++], made, sizeof made);
}

// Rings closed in each short dimension, `closed` in base 3: down, not, up; and for each long one
// the way round by `round`, a bit each.
static void offer_ways(struct plan *p, const uint32_t to[3], uint32_t closed, uint32_t round)
{
    const struct fabric_twist *t = p->twist;
    int32_t way[3], odd = 0;
    for (uint32_t d = 0; d < 3; d++) {
        const int32_t turns = (int32_t)(closed % 3) - 1;
        closed /= 3;
        if ((!is_short(t, d) && turns != 0) || (!is_long(t, d) && (round >> d & 1)))
            return; // the same as without
        way[d] = (int32_t)to[d] + turns * (int32_t)t->side[d];
        odd ^= turns != 0;
    }
    for (uint32_t d = 0; d < 3; d++)
        if (is_long(t, d)) {
            const uint32_t up = (to[d] + (odd ? t->shift : 0)) % t->side[d];
            way[d] = (int32_t)up - (round >> d & 1 ? (int32_t)t->side[d] : 0);
        }
    offer(p, way);
}

static void list_ways(struct plan *p, const uint32_t to[3])
{
    p->n_ways = 0;
    for (uint32_t closed = 0; closed < 27; closed++)
        for (uint32_t round = 0; round < 8; round++)
            offer_ways(p, to, closed, round);
}

// The sum of squares of the loads if this way and its way back were taken too.
static double unevenness(const struct plan *p, const int16_t way[3], int and_back)
{
    double sum = 0;
    for (int d = 0; d < 3; d++) {
        const uint64_t steps = (uint64_t)abs(way[d]);
        const uint64_t up = p->load[d][0] + (way[d] > 0 || and_back ? steps : 0);
        const uint64_t down = p->load[d][1] + (way[d] < 0 || and_back ? steps : 0);
        sum += (double)up * (double)up + (double)down * (double)down;
    }
    return sum;
}

static void take(struct plan *p, uint32_t place, const int16_t way[3])
{
    memcpy(p->twist->way[place], way, 3 * sizeof *way);
    for (int d = 0; d < 3; d++)
        p->load[d][way[d] < 0] += (uint64_t)abs(way[d]);
}

// Takes back what is planned for a place, nothing at first.
static void untake(struct plan *p, uint32_t place)
{
    const int16_t *way = p->twist->way[place];
    for (int d = 0; d < 3; d++)
        p->load[d][way[d] < 0] -= (uint64_t)abs(way[d]);
}

// Returns whether the way is another than before.
static int plan_place(struct plan *p, const uint32_t to[3])
{
    static const uint32_t origin[3] = {0, 0, 0};
    uint32_t back[3], best = 0;
    seen_from(p->twist, to, origin, back);
    const uint32_t there = place_of(p->twist, to), opposite = place_of(p->twist, back);
    if (opposite < there)
        return 0; // planned with it
    list_ways(p, to);
    untake(p, there);
    if (opposite != there)
        untake(p, opposite);
    for (uint32_t i = 1; i < p->n_ways; i++)
        if (unevenness(p, p->ways[i], opposite != there) <
            unevenness(p, p->ways[best], opposite != there))
            best = i;
    const int16_t *way = p->ways[best];
    const int is_new = memcmp(p->twist->way[there], way, sizeof p->ways[best]) != 0;
    take(p, there, way);
    if (opposite != there)
        take(p, opposite, (const int16_t[]){(int16_t)-way[0], (int16_t)-way[1], (int16_t)-way[2]});
    return is_new;
}

static int plan_all(struct plan *p)
{
    const uint32_t *side = p->twist->side;
    uint32_t to[3];
    int is_new = 0;
    for (to[2] = 0; to[2] < side[2]; to[2]++)
        for (to[1] = 0; to[1] < side[1]; to[1]++)
            for (to[0] = 0; to[0] < side[0]; to[0]++)
                is_new |= plan_place(p, to);
    return is_new;
}

enum sand_rc fabric_twist_open(const uint32_t side[3], struct fabric_twist **twist)
{
    struct fabric_twist *made = sand_calloc(1, sizeof *made);
    if (made == NULL)
        return SAND_ERR_NOMEM;
    memcpy(made->side, side, sizeof made->side);
    made->shift = shortest_side(side);
    made->way = sand_calloc((size_t)side[0] * side[1] * side[2], sizeof *made->way);
    if (made->way == NULL) {
        sand_free(made);
        return SAND_ERR_NOMEM;
    }
    struct plan plan = {.twist = made};
    // Every round leaves the loads more even or changes nothing.
    for (int round = 0; round < MOST_ROUNDS && plan_all(&plan); round++)
        ;
    *twist = made;
    return SAND_OK;
}

void fabric_twist_free(struct fabric_twist *twist)
{
    if (twist == NULL)
        return;
    sand_free(twist->way);
    sand_free(twist);
}
