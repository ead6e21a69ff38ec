// Random networks against progressive filling, the definition of max-min fairness (Bertsekas and
// Gallager, Data Networks, 2nd ed., section 6.5.2), and the order of ends.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge.h"
#include "mem.h"
#include "rng.h"

enum { LINKS = 24, FLOWS = 60, WAY = 8 };

struct network {
    double Bps[LINKS];
    uint32_t way[FLOWS][WAY], hops[FLOWS];
    double bytes[FLOWS];
    double end[FLOWS];     // measured
    uint32_t order[FLOWS]; // in which they ended
    double left[FLOWS];    // for the filling
    uint64_t seed;
};

static double draw(const struct network *net, uint64_t entity, uint64_t index)
{
    const struct sand_rng rng = {net->seed, 0};
    return sand_rng_uniform(rng, SAND_STREAM_TEST, entity, index);
}

// Capacities over six decades, ways of 1 to 8 links with repeats, sizes over two decades.
static void make_network(struct network *net, uint64_t seed)
{
    memset(net, 0, sizeof *net);
    net->seed = seed;
    for (uint32_t l = 0; l < LINKS; l++)
        net->Bps[l] = pow(10.0, 6.0 + 6.0 * draw(net, 1, l));
    for (uint32_t f = 0; f < FLOWS; f++) {
        net->hops[f] = 1 + (uint32_t)(WAY * draw(net, 2, f));
        for (uint32_t h = 0; h < net->hops[f]; h++)
            net->way[f][h] = (uint32_t)(LINKS * draw(net, 3 + f, h));
        net->bytes[f] = net->left[f] = pow(10.0, 7.0 + 2.0 * draw(net, 100, f));
    }
}

// Rates of the flows with bytes left: raise all together, freeze those on each link that fills.
static void fill(const struct network *net, double *rate)
{
    double room[LINKS];
    int frozen[FLOWS];
    memcpy(room, net->Bps, sizeof room);
    for (uint32_t f = 0; f < FLOWS; f++) {
        rate[f] = 0;
        frozen[f] = net->left[f] <= 0;
    }
    for (;;) {
        uint32_t tightest = LINKS;
        double step = INFINITY, users[LINKS] = {0};
        for (uint32_t f = 0; f < FLOWS; f++)
            for (uint32_t h = 0; !frozen[f] && h < net->hops[f]; h++)
                users[net->way[f][h]] += 1;
        for (uint32_t l = 0; l < LINKS; l++)
            if (users[l] > 0 && room[l] / users[l] < step) {
                step = room[l] / users[l];
                tightest = l;
            }
        if (tightest == LINKS)
            return;
        for (uint32_t l = 0; l < LINKS; l++)
            room[l] = fmax(0.0, room[l] - users[l] * step);
        for (uint32_t f = 0; f < FLOWS; f++) {
            if (frozen[f])
                continue;
            rate[f] += step;
            for (uint32_t h = 0; h < net->hops[f]; h++)
                frozen[f] = frozen[f] || net->way[f][h] == tightest;
        }
    }
}

// Runs the network to its end by filling, from one end of a flow to the next.
static void predict(struct network *net, double *end)
{
    double now = 0, rate[FLOWS];
    for (uint32_t done = 0; done < FLOWS;) {
        double step = INFINITY;
        fill(net, rate);
        for (uint32_t f = 0; f < FLOWS; f++)
            if (net->left[f] > 0)
                step = fmin(step, net->left[f] / rate[f]);
        now += step;
        for (uint32_t f = 0; f < FLOWS; f++) {
            if (net->left[f] <= 0)
                continue;
            net->left[f] -= rate[f] * step;
            if (net->left[f] <= 1e-9 * net->bytes[f]) {
                net->left[f] = 0;
                end[f] = now;
                done++;
            }
        }
    }
}

static enum sand_rc measure(struct sand_bridge *bridge, void *argument)
{
    struct network *net = argument;
    uint32_t done = 0;
    for (uint32_t f = 0; f < FLOWS; f++) {
        uint32_t flow = 0;
        const enum sand_rc rc =
            sand_bridge_flow_start(bridge, net->way[f], net->hops[f], net->bytes[f], &flow);
        if (rc != SAND_OK || flow != f)
            return SAND_ERR_UNIT;
    }
    while (done < FLOWS) {
        struct sand_flow_end ends[FLOWS];
        uint32_t n = 0;
        SAND_TRY(sand_bridge_wait(bridge, INFINITY, ends, &n));
        for (uint32_t i = 0; i < n; i++) {
            net->order[done++] = ends[i].flow;
            net->end[ends[i].flow] = sand_bridge_now_s(bridge);
        }
    }
    return SAND_OK;
}

static void compare(uint64_t seed)
{
    struct network net;
    double want[FLOWS];
    make_network(&net, seed);
    const struct sand_bridge_platform platform = {net.Bps, LINKS, FLOWS};
    cr_assert_eq(sand_bridge_run(&platform, measure, &net, NULL), SAND_OK);
    predict(&net, want);
    for (uint32_t f = 0; f < FLOWS; f++)
        cr_expect(fabs(net.end[f] - want[f]) <= 1e-8 * want[f] + 1e-9,
                  "seed %u, flow %u: %.15g, by filling %.15g", (unsigned)seed, f, net.end[f],
                  want[f]);
}

Test(bridge_fairness, random_network_1)
{
    compare(1);
}
Test(bridge_fairness, random_network_2)
{
    compare(2);
}
Test(bridge_fairness, random_network_3)
{
    compare(3);
}
Test(bridge_fairness, random_network_4)
{
    compare(4);
}

// Two processes, with other addresses and other engines, give the same bits in the same order.
static void run_in_child(struct network *net)
{
    int ends[2], status = 0;
    cr_assert_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct network mine;
        void *shift = sand_calloc((size_t)getpid() % 4096, 16); // other addresses
        make_network(&mine, 5);
        const struct sand_bridge_platform platform = {mine.Bps, LINKS, FLOWS};
        const enum sand_rc rc = sand_bridge_run(&platform, measure, &mine, NULL);
        const ssize_t sent = write(ends[1], &mine, sizeof mine);
        sand_free(shift);
        _exit(rc != SAND_OK || sent != (ssize_t)sizeof mine);
    }
    close(ends[1]);
    char *at = (char *)net;
    for (size_t got = 0; got < sizeof *net;) {
        const ssize_t n = read(ends[0], at + got, sizeof *net - got);
        cr_assert_gt(n, 0);
        got += (size_t)n;
    }
    close(ends[0]);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
}

Test(bridge_fairness, two_processes_agree_bit_for_bit)
{
    static struct network a, b;
    run_in_child(&a);
    run_in_child(&b);
    cr_assert_arr_eq(a.end, b.end, sizeof a.end);
    cr_assert_arr_eq(a.order, b.order, sizeof a.order);
}

// Flows on links of their own, started in a shuffled order, end in waves; each wave comes in
// ascending number.
static enum sand_rc ordered(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    struct sand_flow_end ends[12];
    uint32_t flow = 0, n = 0, links[] = {5, 1, 4, 0, 3, 2};
    for (uint32_t i = 0; i < 6; i++)
        for (uint32_t k = 0; k < 2; k++)
            SAND_TRY(sand_bridge_flow_start(bridge, &links[i], 1, 1e9 * (1 + links[i] / 3), &flow));
    for (uint32_t wave = 0; wave < 2; wave++) {
        SAND_TRY(sand_bridge_wait(bridge, INFINITY, ends, &n));
        cr_assert_eq(n, 6u);
        for (uint32_t i = 1; i < n; i++)
            cr_assert_lt(ends[i - 1].flow, ends[i].flow);
        for (uint32_t i = 0; i < n; i++)
            cr_assert_eq(links[ends[i].flow / 2] / 3, wave);
        cr_assert_float_eq(sand_bridge_now_s(bridge), 2.0 * (wave + 1), 1e-12);
    }
    return SAND_OK;
}

Test(bridge_fairness, ends_come_in_the_order_of_their_numbers)
{
    const double Bps[] = {1e9, 1e9, 1e9, 1e9, 1e9, 1e9};
    const struct sand_bridge_platform platform = {Bps, 6, 12};
    cr_assert_eq(sand_bridge_run(&platform, ordered, NULL, NULL), SAND_OK);
}

// Thousands of random calls: every flow started comes to exactly one end, time never goes back, and
// a cancelled flow never has more left than it was started with.
struct monkey {
    struct sand_rng rng;
    uint64_t draws;
    double bytes[FLOWS]; // of the flows alive, 0: none
    int on[LINKS];
    uint32_t alive, started, ended, failed, cancelled;
};

static double toss(struct monkey *m)
{
    return sand_rng_uniform(m->rng, SAND_STREAM_TEST, 0, m->draws++);
}

static enum sand_rc monkey_start(struct sand_bridge *bridge, struct monkey *m)
{
    uint32_t way[WAY], n = 1 + (uint32_t)(WAY * toss(m)), flow = 0;
    const double bytes = pow(10.0, 3.0 + 6.0 * toss(m));
    for (uint32_t h = 0; h < n; h++)
        way[h] = (uint32_t)(LINKS * toss(m));
    if (m->alive == FLOWS)
        return SAND_OK;
    SAND_TRY(sand_bridge_flow_start(bridge, way, n, bytes, &flow));
    cr_assert_eq(m->bytes[flow], 0.0, "number %u is taken", flow);
    m->bytes[flow] = bytes;
    m->alive++;
    m->started++;
    return SAND_OK;
}

static enum sand_rc monkey_cancel(struct sand_bridge *bridge, struct monkey *m)
{
    const uint32_t flow = (uint32_t)(FLOWS * toss(m));
    double left = -1;
    if (m->bytes[flow] == 0)
        return SAND_OK;
    SAND_TRY(sand_bridge_flow_cancel(bridge, flow, &left));
    cr_assert(left >= 0 && left <= m->bytes[flow]);
    m->bytes[flow] = 0;
    m->alive--;
    m->cancelled++;
    return SAND_OK;
}

static enum sand_rc monkey_wait(struct sand_bridge *bridge, struct monkey *m)
{
    struct sand_flow_end ends[FLOWS];
    uint32_t n = 0;
    const double before = sand_bridge_now_s(bridge), seconds = toss(m) < 0.2 ? 0 : 1e-2 * toss(m);
    SAND_TRY(sand_bridge_wait(bridge, seconds, ends, &n));
    cr_assert_geq(sand_bridge_now_s(bridge), before);
    cr_assert_leq(sand_bridge_now_s(bridge), before + seconds);
    for (uint32_t i = 0; i < n; i++) {
        cr_assert_gt(m->bytes[ends[i].flow], 0.0);
        m->bytes[ends[i].flow] = 0;
        m->alive--;
        m->ended++;
        m->failed += ends[i].failed ? 1 : 0;
    }
    return SAND_OK;
}

static enum sand_rc monkey_link(struct sand_bridge *bridge, struct monkey *m)
{
    const uint32_t link = (uint32_t)(LINKS * toss(m));
    if (toss(m) < 0.7)
        return sand_bridge_link_set(bridge, link, pow(10.0, 7.0 + 3.0 * toss(m)));
    m->on[link] = !m->on[link];
    return sand_bridge_link_power(bridge, link, m->on[link]);
}

static enum sand_rc monkey_pump(struct sand_bridge *bridge, void *argument)
{
    struct monkey *m = argument;
    for (int i = 0; i < 20000; i++) {
        const double what = toss(m);
        SAND_TRY(what < 0.4   ? monkey_start(bridge, m)
                 : what < 0.5 ? monkey_cancel(bridge, m)
                 : what < 0.6 ? monkey_link(bridge, m)
                              : monkey_wait(bridge, m));
    }
    for (uint32_t link = 0; link < LINKS; link++)
        SAND_TRY(sand_bridge_link_power(bridge, link, 1));
    for (int i = 0; i < 100000 && m->alive > 0; i++)
        SAND_TRY(monkey_wait(bridge, m));
    return SAND_OK;
}

Test(bridge_fairness, random_calls_lose_no_flow)
{
    static struct monkey m = {.rng = {7, 0}};
    double Bps[LINKS];
    for (int l = 0; l < LINKS; l++) {
        Bps[l] = 1e9;
        m.on[l] = 1;
    }
    const struct sand_bridge_platform platform = {Bps, LINKS, FLOWS};
    struct sand_diag diag = {0};
    cr_assert_eq(sand_bridge_run(&platform, monkey_pump, &m, &diag), SAND_OK);
    cr_assert_eq(m.alive, 0u);
    cr_assert_eq(m.started, m.ended + m.cancelled);
    cr_assert(m.failed > 100 && m.cancelled > 100 && m.ended - m.failed > 100,
              "%u failed, %u cancelled, %u ended", m.failed, m.cancelled, m.ended);
}
