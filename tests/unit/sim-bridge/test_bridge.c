// The border to SimGrid against cases computed by hand: exact times, max-min shares, changes of
// speed, failures, limits. Each test is a process of its own, so each may run one engine.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "bridge.h"
#include "mem.h"
#include "rng.h"

static void assert_near(double got, double want, double relative)
{
    cr_assert(fabs(got - want) <= relative * fabs(want), "got %.15g, want %.15g", got, want);
}

// Runs `pump` on links of the given capacities.
static void run(const double *Bps, uint32_t n_links, uint32_t max_flows, sand_pump_fn *pump,
                void *argument)
{
    const struct sand_bridge_platform platform = {Bps, n_links, max_flows};
    struct sand_diag diag = {0};
    const enum sand_rc rc = sand_bridge_run(&platform, pump, argument, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK);
    sand_diag_clear(&diag);
}

static uint32_t start(struct sand_bridge *bridge, const uint32_t *links, uint32_t n, double bytes)
{
    uint32_t flow = UINT32_MAX;
    cr_assert_eq(sand_bridge_flow_start(bridge, links, n, bytes, &flow), SAND_OK);
    return flow;
}

static uint32_t start_on(struct sand_bridge *bridge, uint32_t link, double bytes)
{
    return start(bridge, &link, 1, bytes);
}

// Waits for the next end, which must be `flow` alone at `date`.
static void expect_end(struct sand_bridge *bridge, uint32_t flow, int failed, double date)
{
    struct sand_flow_end ends[64];
    uint32_t n = 0;
    cr_assert_eq(sand_bridge_wait(bridge, INFINITY, ends, &n), SAND_OK);
    cr_assert_eq(n, 1u);
    cr_assert_eq(ends[0].flow, flow);
    cr_assert_eq(ends[0].failed, failed);
    assert_near(sand_bridge_now_s(bridge), date, 1e-12);
}

static void sleep_for(struct sand_bridge *bridge, double seconds)
{
    struct sand_flow_end ends[64];
    uint32_t n = 0;
    const double date = sand_bridge_now_s(bridge) + seconds;
    cr_assert_eq(sand_bridge_wait(bridge, seconds, ends, &n), SAND_OK);
    cr_assert_eq(n, 0u);
    cr_assert_eq(sand_bridge_now_s(bridge), date, "the clock must be the planned date exactly");
}

// No WAN overhead, no latency: bytes / capacity, on the narrowest link of the way.
static enum sand_rc one_flow(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    const uint32_t way[] = {0, 1, 2};
    expect_end(bridge, start_on(bridge, 0, 1e9), 0, 1.0);
    expect_end(bridge, start(bridge, way, 3, 1e9), 0, 1.0 + 4.0);
    return SAND_OK;
}

Test(bridge, a_flow_takes_bytes_over_capacity)
{
    const double Bps[] = {1e9, 2.5e8, 3e9};
    run(Bps, 3, 1, one_flow, NULL);
}

// Sizes are real numbers, far below a byte and far above what a 64-bit counter of bytes holds.
static enum sand_rc sizes(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    const double bytes[] = {1e-9, 0.5, 1.5, 1234.5678, 1e18, 1e22};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        const double capacity = bytes[i] / 3.0; // 3 seconds each
        cr_assert_eq(sand_bridge_link_set(bridge, 0, capacity), SAND_OK);
        expect_end(bridge, start_on(bridge, 0, bytes[i]), 0, 3.0 * (double)(i + 1));
    }
    return SAND_OK;
}

Test(bridge, sizes_from_a_billionth_of_a_byte_to_1e22)
{
    const double Bps[] = {1.0};
    run(Bps, 1, 1, sizes, NULL);
}

// Two flows share a link by halves; the longer then has it alone: 1 GB and 3 GB over 1 GB/s end at
// 2 s and 4 s.
static enum sand_rc two_flows(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    const uint32_t small = start_on(bridge, 0, 1e9), large = start_on(bridge, 0, 3e9);
    expect_end(bridge, small, 0, 2.0);
    expect_end(bridge, large, 0, 4.0);
    return SAND_OK;
}

Test(bridge, two_flows_share_a_link_by_halves)
{
    const double Bps[] = {1e9};
    run(Bps, 1, 2, two_flows, NULL);
}

// Shares must not depend on the number of hops (CM02 weighs by latency; ours is 0): equal flows
// over 1 and 5 links finish together at 2 s.
static enum sand_rc hops(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    const uint32_t way[] = {1, 2, 0, 3, 4};
    struct sand_flow_end ends[2];
    uint32_t n = 0;
    start_on(bridge, 0, 1e9);
    start(bridge, way, 5, 1e9);
    cr_assert_eq(sand_bridge_wait(bridge, INFINITY, ends, &n), SAND_OK);
    cr_assert_eq(n, 2u);
    assert_near(sand_bridge_now_s(bridge), 2.0, 1e-12);
    return SAND_OK;
}

Test(bridge, one_and_five_hops_share_fairly)
{
    const double Bps[] = {1e9, 9e9, 9e9, 9e9, 9e9};
    run(Bps, 5, 2, hops, NULL);
}

// The textbook line network: links of 10 and 4; A over both, B over the first, C over the second.
// Max-min: the second link gives A and C 2 each, B gets the 8 that A leaves on the first.
// 20 bytes each: B ends at 2.5. A and C go on with 2 and end at 10 together.
static enum sand_rc line(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    const uint32_t both[] = {0, 1};
    struct sand_flow_end ends[3];
    uint32_t n = 0;
    const uint32_t a = start(bridge, both, 2, 20), b = start_on(bridge, 0, 20),
                   c = start_on(bridge, 1, 20);
    expect_end(bridge, b, 0, 2.5);
    assert_near(sand_bridge_flow_remaining_B(bridge, a), 15.0, 1e-12);
    cr_assert_eq(sand_bridge_wait(bridge, INFINITY, ends, &n), SAND_OK);
    cr_assert_eq(n, 2u);
    cr_assert_eq(ends[0].flow, a);
    cr_assert_eq(ends[1].flow, c);
    assert_near(sand_bridge_now_s(bridge), 10.0, 1e-12);
    return SAND_OK;
}

Test(bridge, three_flows_on_a_line_share_max_min)
{
    const double Bps[] = {10, 4};
    run(Bps, 2, 3, line, NULL);
}

// A link listed k times counts k times: k crossings share it with one, so both go at C / (k + 1).
// With C = k + 1 both carry 1 byte a second.
static enum sand_rc repeated(struct sand_bridge *bridge, void *argument)
{
    const uint32_t k = *(const uint32_t *)argument;
    uint32_t *way = sand_calloc(k, sizeof *way); // all zero: link 0, k times
    cr_assert_not_null(way);
    const uint32_t multiple = start(bridge, way, k, 10), single = start_on(bridge, 0, 4);
    expect_end(bridge, single, 0, 4.0);
    // Then alone at (k + 1) / k.
    expect_end(bridge, multiple, 0, 4.0 + 6.0 * (double)k / (double)(k + 1));
    sand_free(way);
    return SAND_OK;
}

static void repeat_link(uint32_t k)
{
    const double Bps[] = {(double)k + 1};
    run(Bps, 1, 2, repeated, &k);
}

Test(bridge, a_link_listed_16_times_counts_16_times)
{
    repeat_link(16);
}

Test(bridge, a_link_listed_10000_times_counts_10000_times)
{
    repeat_link(10000);
}

// A millionth of a link is still handed out: a flow of a million crossings is held to 0.999999 by a
// link of its own, which leaves 2 of 1,000,001 to the other. SimGrid's default precision, 1e-5 of a
// link, would call that link used up.
static enum sand_rc millionth(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    const uint32_t k = 1000000;
    uint32_t *way = sand_calloc(k + 1, sizeof *way);
    cr_assert_not_null(way);
    way[k] = 1;
    start(bridge, way, k + 1, 1e3);
    const uint32_t other = start_on(bridge, 0, 4.0);
    expect_end(bridge, other, 0, 2.0);
    sand_free(way);
    return SAND_OK;
}

Test(bridge, a_millionth_of_a_link_is_handed_out)
{
    const double Bps[] = {1000001, 0.999999};
    run(Bps, 2, 2, millionth, NULL);
}

// 2 GB: 0.5 s at 1 GB/s, 0.5 s at half that, then full speed again for 1.25 GB: ends at 2.25 s.
// And the case of a recovering link: half speed from the start for 0.5 s, then full: 1 GB takes
// 1.25 s. Without lifting SimGrid's bound it would stay at half speed for life.
static enum sand_rc speeds(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    uint32_t flow = start_on(bridge, 0, 2e9);
    sleep_for(bridge, 0.5);
    cr_assert_eq(sand_bridge_link_set(bridge, 0, 5e8), SAND_OK);
    sleep_for(bridge, 0.5);
    assert_near(sand_bridge_flow_remaining_B(bridge, flow), 1.25e9, 1e-12);
    cr_assert_eq(sand_bridge_link_set(bridge, 0, 1e9), SAND_OK);
    expect_end(bridge, flow, 0, 2.25);
    cr_assert_eq(sand_bridge_link_set(bridge, 0, 5e8), SAND_OK);
    flow = start_on(bridge, 0, 1e9);
    sleep_for(bridge, 0.5);
    cr_assert_eq(sand_bridge_link_set(bridge, 0, 1e9), SAND_OK);
    expect_end(bridge, flow, 0, 2.25 + 1.25);
    // Faster than the link was when the flow started.
    flow = start_on(bridge, 0, 3e9);
    sleep_for(bridge, 1.0);
    cr_assert_eq(sand_bridge_link_set(bridge, 0, 4e9), SAND_OK);
    expect_end(bridge, flow, 0, 3.5 + 1.5);
    return SAND_OK;
}

Test(bridge, a_running_flow_slows_down_and_speeds_up)
{
    const double Bps[] = {1e9};
    run(Bps, 1, 1, speeds, NULL);
}

// A flow whose link goes off fails at that date; one beside it goes on. A flow over a link that is
// off fails at once; on again, the link works, also for what was started before.
static enum sand_rc outage(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    const uint32_t both[] = {0, 1};
    const uint32_t victim = start(bridge, both, 2, 1e9), other = start_on(bridge, 0, 1e9);
    sleep_for(bridge, 0.25);
    cr_assert_eq(sand_bridge_link_power(bridge, 1, 0), SAND_OK);
    expect_end(bridge, victim, 1, 0.25);
    expect_end(bridge, start(bridge, both, 2, 1e9), 1, 0.25);
    // 0.125 GB done by halves, then alone.
    expect_end(bridge, other, 0, 0.25 + 0.875);
    cr_assert_eq(sand_bridge_link_power(bridge, 1, 1), SAND_OK);
    expect_end(bridge, start(bridge, both, 2, 1e9), 0, 1.125 + 1.0);
    return SAND_OK;
}

Test(bridge, a_link_going_off_fails_its_flows_at_that_date)
{
    const double Bps[] = {1e9, 1e9};
    run(Bps, 2, 3, outage, NULL);
}

// Cancelling gives back what is left, frees the number, and hands the capacity to the others. It
// also takes back a failed flow that was not reported yet.
static enum sand_rc cancels(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    double left = 0;
    const uint32_t gone = start_on(bridge, 0, 1e9), stays = start_on(bridge, 0, 1e9);
    sleep_for(bridge, 1.0);
    cr_assert_eq(sand_bridge_flow_cancel(bridge, gone, &left), SAND_OK);
    assert_near(left, 5e8, 1e-12);
    cr_assert_eq(sand_bridge_flow_remaining_B(bridge, gone), 0.0);
    const uint32_t failing = start_on(bridge, 1, 8e8);
    sleep_for(bridge, 0.25);
    cr_assert_eq(sand_bridge_link_power(bridge, 1, 0), SAND_OK);
    cr_assert_eq(sand_bridge_flow_cancel(bridge, failing, &left), SAND_OK);
    assert_near(left, 5.5e8, 1e-12);
    expect_end(bridge, stays, 0, 1.5);
    return SAND_OK;
}

Test(bridge, cancel_returns_the_remaining_bytes)
{
    const double Bps[] = {1e9, 1e9};
    run(Bps, 2, 2, cancels, NULL);
}

static enum sand_rc nothing(struct sand_bridge *bridge, void *argument)
{
    (void)bridge;
    (void)argument;
    return SAND_OK;
}

// SimGrid would abort; we return a code and say why.
Test(bridge, a_second_engine_is_refused)
{
    const double Bps[] = {1e9};
    const struct sand_bridge_platform platform = {Bps, 1, 1};
    struct sand_diag diag = {0};
    run(Bps, 1, 1, nothing, NULL);
    cr_assert_eq(sand_bridge_run(&platform, nothing, NULL, &diag), SAND_ERR_INTERNAL);
    cr_assert_eq(diag.n_errors, 1u);
    cr_assert_not_null(strstr(diag.messages[0].text, "one per process"));
    sand_diag_clear(&diag);
}

// Bad capacities are refused before the engine is made: a good platform still runs after them.
Test(bridge, bad_capacities_are_refused_without_an_engine)
{
    const double bad[] = {0.0, -1.0, INFINITY, (double)NAN};
    for (int i = 0; i < 4; i++) {
        const double Bps[] = {1e9, bad[i]};
        const struct sand_bridge_platform platform = {Bps, 2, 1};
        cr_assert_eq(sand_bridge_run(&platform, nothing, NULL, NULL), SAND_ERR_INTERNAL);
    }
    const double Bps[] = {1e9};
    run(Bps, 1, 1, nothing, NULL);
}

static enum sand_rc gives_up(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    start_on(bridge, 0, 1e9); // still alive at the end
    return SAND_ERR_UNIT;
}

Test(bridge, the_run_returns_the_pumps_code)
{
    const double Bps[] = {1e9};
    const struct sand_bridge_platform platform = {Bps, 1, 1};
    cr_assert_eq(sand_bridge_run(&platform, gives_up, NULL, NULL), SAND_ERR_UNIT);
}

// All numbers taken: refused, and the flows alive are untouched. Wrong arguments likewise.
static enum sand_rc misuse(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    struct sand_flow_end ends[2];
    uint32_t flow = 0, n = 0;
    const uint32_t link = 0, none = 7;
    const double bad[] = {0.0, -1.0, INFINITY, (double)NAN};
    cr_assert_eq(sand_bridge_wait(bridge, INFINITY, ends, &n), SAND_ERR_INTERNAL);
    cr_assert_eq(sand_bridge_wait(bridge, -1.0, ends, &n), SAND_ERR_INTERNAL);
    cr_assert_eq(sand_bridge_wait(bridge, (double)NAN, ends, &n), SAND_ERR_INTERNAL);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(sand_bridge_flow_start(bridge, &link, 1, bad[i], &flow), SAND_ERR_INTERNAL);
        cr_assert_eq(sand_bridge_link_set(bridge, 0, bad[i]), SAND_ERR_INTERNAL);
    }
    cr_assert_eq(sand_bridge_flow_start(bridge, &none, 1, 1.0, &flow), SAND_ERR_INTERNAL);
    cr_assert_eq(sand_bridge_flow_start(bridge, &link, 0, 1.0, &flow), SAND_ERR_INTERNAL);
    cr_assert_eq(sand_bridge_link_power(bridge, none, 0), SAND_ERR_INTERNAL);
    cr_assert_eq(sand_bridge_flow_cancel(bridge, 0, NULL), SAND_ERR_INTERNAL);
    cr_assert_eq(start_on(bridge, 0, 1e9), 0u);
    cr_assert_eq(start_on(bridge, 0, 1e9), 1u);
    cr_assert_eq(sand_bridge_flow_start(bridge, &link, 1, 1e9, &flow), SAND_ERR_INTERNAL);
    cr_assert_eq(sand_bridge_wait(bridge, INFINITY, ends, &n), SAND_OK);
    cr_assert_eq(n, 2u);
    assert_near(sand_bridge_now_s(bridge), 2.0, 1e-12);
    cr_assert_eq(start_on(bridge, 0, 1e9), 1u, "numbers come back");
    return SAND_OK;
}

Test(bridge, wrong_calls_are_refused_and_change_nothing)
{
    const double Bps[] = {1e9};
    run(Bps, 1, 2, misuse, NULL);
}

// Time passes without flows, to the date exactly; 0 seconds return at once; a time-out leaves a
// flow alone.
static enum sand_rc sleeps(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    sleep_for(bridge, 0.0);
    sleep_for(bridge, 1.0 / 3.0);
    sleep_for(bridge, 1e7);
    sleep_for(bridge, 1e-9);
    const double now = sand_bridge_now_s(bridge);
    const uint32_t flow = start_on(bridge, 0, 1e9);
    for (int i = 0; i < 9; i++)
        sleep_for(bridge, 0.1);
    sleep_for(bridge, 0.0);
    expect_end(bridge, flow, 0, now + 1.0);
    return SAND_OK;
}

Test(bridge, a_wait_with_a_time_out_only_keeps_the_clock_exact)
{
    const double Bps[] = {1e9};
    run(Bps, 1, 1, sleeps, NULL);
}

// A time-out on the very date of an end reports the end.
static enum sand_rc coincide(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    struct sand_flow_end ends[1];
    uint32_t n = 0;
    start_on(bridge, 0, 1e9);
    cr_assert_eq(sand_bridge_wait(bridge, 1.0, ends, &n), SAND_OK);
    cr_assert_eq(n, 1u);
    cr_assert_eq(sand_bridge_now_s(bridge), 1.0);
    sleep_for(bridge, 1.0);
    return SAND_OK;
}

Test(bridge, an_end_on_the_date_of_the_time_out_is_reported)
{
    const double Bps[] = {1e9};
    run(Bps, 1, 1, coincide, NULL);
}

enum { MANY = 1000 };

// Equal flows on links of their own end in one wait, in ascending number.
static enum sand_rc equal_ends(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    static struct sand_flow_end ends[MANY];
    uint32_t n = 0;
    for (uint32_t i = 0; i < MANY; i++)
        start_on(bridge, i, 1e9);
    cr_assert_eq(sand_bridge_wait(bridge, INFINITY, ends, &n), SAND_OK);
    cr_assert_eq(n, (uint32_t)MANY);
    for (uint32_t i = 0; i < MANY; i++)
        cr_assert_eq(ends[i].flow, i);
    assert_near(sand_bridge_now_s(bridge), 1.0, 1e-12);
    return SAND_OK;
}

Test(bridge, a_thousand_equal_flows_end_in_one_wait)
{
    static double Bps[MANY];
    for (int i = 0; i < MANY; i++)
        Bps[i] = 1e9;
    run(Bps, MANY, MANY, equal_ends, NULL);
}

// One component of 100,000 links: 1,000 flows over 101 links each, each sharing one with the next.
// The solver walks it by recursion. Inner flows share both ends: all go at half speed.
enum { CHAIN = 1000, STRIDE = 100 };

static enum sand_rc chain(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    static struct sand_flow_end ends[CHAIN];
    uint32_t n = 0;
    for (uint32_t i = 0; i < CHAIN; i++) {
        uint32_t way[STRIDE + 1];
        for (uint32_t h = 0; h <= STRIDE; h++)
            way[h] = i * STRIDE + h;
        start(bridge, way, STRIDE + 1, 1e9);
    }
    cr_assert_eq(sand_bridge_wait(bridge, INFINITY, ends, &n), SAND_OK);
    cr_assert_eq(n, (uint32_t)CHAIN);
    assert_near(sand_bridge_now_s(bridge), 2.0, 1e-12);
    return SAND_OK;
}

Test(bridge, a_component_of_100000_links_is_solved)
{
    const uint32_t n_links = CHAIN * STRIDE + 1;
    double *Bps = sand_calloc(n_links, sizeof *Bps);
    cr_assert_not_null(Bps);
    for (uint32_t i = 0; i < n_links; i++)
        Bps[i] = 1e9;
    run(Bps, n_links, CHAIN, chain, NULL);
    sand_free(Bps);
}

// A late clock: at 1e7 and 3e7 s (a year) the grain of a double is 2 to 4 ns, above SimGrid's time
// precision. Ends must come, in order, to within that grain.
static enum sand_rc late(struct sand_bridge *bridge, void *argument)
{
    (void)argument;
    const double dates[] = {1.0e7, 3.2e7, 1.0e9};
    const struct sand_rng rng = {1, 0};
    for (uint64_t i = 0; i < 3; i++) {
        sleep_for(bridge, dates[i] - sand_bridge_now_s(bridge));
        for (uint64_t k = 0; k < 2000; k++) {
            const double now = sand_bridge_now_s(bridge);
            const double u = sand_rng_uniform(rng, SAND_STREAM_TEST, i, k);
            const double seconds = pow(10.0, 3.0 - 8.0 * u); // 10 us .. 1000 s
            struct sand_flow_end ends[1];
            uint32_t n = 0;
            start_on(bridge, 0, 1e9 * seconds);
            cr_assert_eq(sand_bridge_wait(bridge, INFINITY, ends, &n), SAND_OK);
            cr_assert_eq(n, 1u);
            const double end = sand_bridge_now_s(bridge);
            cr_assert(fabs(end - now - seconds) <= 4e-16 * end + 1e-9, "%.17g + %.17g: %.17g", now,
                      seconds, end);
        }
    }
    return SAND_OK;
}

Test(bridge, ends_come_at_late_clocks)
{
    const double Bps[] = {1e9};
    run(Bps, 1, 1, late, NULL);
}
