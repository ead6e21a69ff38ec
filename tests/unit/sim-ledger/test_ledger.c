// The ledger's sums are exact: after any sequence of operations, at any size, to the nanosecond.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <signal.h>

#include "ledger.h"
#include "mem.h"
#include "rng.h"

// A broken precondition is recorded; the hostile build stops at once.
#ifdef SAND_HOSTILE
#define BROKEN_SIGNAL SIGABRT
#else
#define BROKEN_SIGNAL 0
#endif

static struct sand_ledger *open_ledger(uint64_t capacity)
{
    struct sand_ledger *ledger;
    cr_assert_eq(sand_ledger_open(capacity, &ledger), SAND_OK);
    return ledger;
}

static uint32_t new_group(struct sand_ledger *ledger, enum sand_gpu_class gpu_class)
{
    uint32_t group;
    cr_assert_eq(sand_ledger_group(ledger, gpu_class, &group), SAND_OK);
    return group;
}

static int booked_is(const struct sand_ledger *ledger, enum sand_gpu_class c, int64_t expected)
{
    return sand_ledger_booked(ledger, c) == expected;
}

Test(ledger, starts_idle)
{
    struct sand_ledger *ledger = open_ledger(1024);
    cr_expect_eq(sand_ledger_gpus(ledger, 0), 1024);
    cr_expect(sand_ledger_balanced(ledger));
    sand_ledger_settle(ledger, 10);
    cr_expect(booked_is(ledger, SAND_GPU_IDLE, 10240));
    cr_expect(booked_is(ledger, SAND_GPU_DOWN, 0));
    sand_ledger_close(ledger);
    sand_ledger_close(NULL);
}

// A job's life by hand: 8 of 10 GPUs run from 100 ns, checkpoint for 5 ns at 200, commit, fail at
// 260.
Test(ledger, life_of_a_job)
{
    struct sand_ledger *l = open_ledger(10);
    uint32_t job = new_group(l, SAND_GPU_AT_RISK), down = new_group(l, SAND_GPU_DOWN);
    sand_ledger_move(l, 0, job, 8, 100);
    sand_ledger_set(l, job, SAND_GPU_CHECKPOINT_STALL, 200);
    sand_ledger_set(l, job, SAND_GPU_AT_RISK, 205);
    sand_ledger_rebook(l, SAND_GPU_AT_RISK, SAND_GPU_USEFUL, 8 * 100);
    sand_ledger_set(l, job, SAND_GPU_DETECTING, 260);
    sand_ledger_rebook(l, SAND_GPU_AT_RISK, SAND_GPU_LOST, 8 * 55);
    sand_ledger_move(l, job, down, 1, 270);
    sand_ledger_move(l, job, 0, 7, 270);
    sand_ledger_drop(l, job);
    sand_ledger_settle(l, 300);
    cr_expect(booked_is(l, SAND_GPU_USEFUL, 800));
    cr_expect(booked_is(l, SAND_GPU_LOST, 440));
    cr_expect(booked_is(l, SAND_GPU_AT_RISK, 0));
    cr_expect(booked_is(l, SAND_GPU_CHECKPOINT_STALL, 40));
    cr_expect(booked_is(l, SAND_GPU_DETECTING, 80));
    cr_expect(booked_is(l, SAND_GPU_DOWN, 30));
    cr_expect(booked_is(l, SAND_GPU_IDLE, 10 * 100 + 2 * 170 + 9 * 30));
    cr_expect(sand_ledger_balanced(l));
    sand_ledger_close(l);
}

enum { N_GROUPS = 12 };

// What the ledger should hold, kept the slow way: every group booked at every operation.
struct twin {
    uint64_t gpus[N_GROUPS];
    enum sand_gpu_class gpu_class[N_GROUPS];
    sand_gpu_ns booked[SAND_GPU_N_CLASSES];
    int64_t now_ns;
};

static void twin_until(struct twin *twin, int64_t now_ns)
{
    for (int g = 0; g < N_GROUPS; g++)
        twin->booked[twin->gpu_class[g]] += (sand_gpu_ns)twin->gpus[g] * (now_ns - twin->now_ns);
    twin->now_ns = now_ns;
}

static void random_operation(struct sand_ledger *l, struct twin *twin, uint64_t bits)
{
    uint32_t a = (uint32_t)(bits >> 8) % N_GROUPS, b = (uint32_t)(bits >> 16) % N_GROUPS;
    enum sand_gpu_class from = (enum sand_gpu_class)((bits >> 24) % SAND_GPU_N_CLASSES);
    enum sand_gpu_class to = (enum sand_gpu_class)((bits >> 32) % SAND_GPU_N_CLASSES);
    // From no time at all to eleven days, so that sums leave 64 bits behind.
    int64_t now_ns =
        twin->now_ns + (int64_t)((bits >> 40) % 4 == 0 ? 0 : (bits >> 14) % (1ull << 50));
    switch (bits % 4) {
    case 0: {
        uint64_t gpus = twin->gpus[a] == 0 ? 0 : (bits >> 20) % (twin->gpus[a] + 1);
        sand_ledger_move(l, a, b, gpus, now_ns);
        twin_until(twin, now_ns);
        twin->gpus[a] -= gpus;
        twin->gpus[b] += gpus;
        break;
    }
    case 1:
        sand_ledger_set(l, a, to, now_ns);
        twin_until(twin, now_ns);
        twin->gpu_class[a] = to;
        break;
    case 2: {
        sand_gpu_ns amount = sand_ledger_booked(l, from) / (int64_t)(1 + (bits >> 48) % 3);
        sand_ledger_rebook(l, from, to, amount);
        twin->booked[from] -= amount;
        twin->booked[to] += amount;
        break;
    }
    default:
        sand_ledger_settle(l, now_ns);
        twin_until(twin, now_ns);
    }
}

Test(ledger, random_operations_balance_and_agree_with_the_slow_twin)
{
    for (uint32_t run = 0; run < 20; run++) {
        struct sand_ledger *l = open_ledger(131072);
        struct twin twin = {.gpus = {131072}, .gpu_class = {SAND_GPU_IDLE}};
        for (int g = 1; g < N_GROUPS; g++) {
            twin.gpu_class[g] = (enum sand_gpu_class)(g % SAND_GPU_N_CLASSES);
            cr_assert_eq(new_group(l, twin.gpu_class[g]), g);
        }
        for (uint64_t i = 0; i < 2000; i++) {
            struct sand_rng rng = {.seed = 11, .replication = run};
            random_operation(l, &twin, sand_rng_u64(rng, SAND_STREAM_TEST, 0, i));
            cr_assert(sand_ledger_balanced(l), "run %u, operation %lu", run, (unsigned long)i);
        }
        sand_gpu_ns sum = 0;
        for (unsigned c = 0; c < SAND_GPU_N_CLASSES; c++) {
            cr_assert(sand_ledger_booked(l, (enum sand_gpu_class)c) == twin.booked[c]);
            sum += twin.booked[c];
        }
        cr_assert(sum == (sand_gpu_ns)131072 * twin.now_ns);
        cr_assert_gt(sand_gpu_s(sum), 1.9e10); // past what 64 bits of GPU-nanoseconds hold
        sand_ledger_close(l);
    }
}

Test(ledger, group_numbers_are_used_again)
{
    struct sand_ledger *l = open_ledger(4);
    uint32_t a = new_group(l, SAND_GPU_HELD), b = new_group(l, SAND_GPU_HELD);
    sand_ledger_drop(l, a);
    sand_ledger_drop(l, b);
    cr_expect_eq(new_group(l, SAND_GPU_SPARE), b);
    cr_expect_eq(new_group(l, SAND_GPU_SPARE), a);
    cr_expect_eq(new_group(l, SAND_GPU_SPARE), b + 1);
    sand_ledger_move(l, 0, a, 4, 5);
    sand_ledger_settle(l, 6);
    cr_expect(booked_is(l, SAND_GPU_SPARE, 4));
    cr_expect(sand_ledger_balanced(l));
    sand_ledger_close(l);
}

// One move more than a group holds is refused: nothing changes, and the ledger says so for good.
Test(ledger, cannot_move_more_than_there_is, .signal = BROKEN_SIGNAL)
{
    struct sand_ledger *l = open_ledger(4);
    uint32_t a = new_group(l, SAND_GPU_HELD);
    sand_ledger_move(l, 0, a, 4, 1);
    cr_assert(sand_ledger_balanced(l));
    sand_ledger_move(l, a, 0, 5, 2);
    cr_expect_eq(sand_ledger_gpus(l, a), 4);
    cr_expect_not(sand_ledger_balanced(l));
    sand_ledger_close(l);
}

Test(ledger, dates_never_go_back, .signal = BROKEN_SIGNAL)
{
    struct sand_ledger *l = open_ledger(4);
    sand_ledger_settle(l, 100);
    sand_ledger_settle(l, 99);
    cr_expect(booked_is(l, SAND_GPU_IDLE, 400));
    cr_expect_not(sand_ledger_balanced(l));
    sand_ledger_close(l);
}

Test(ledger, cannot_rebook_what_is_not_booked, .signal = BROKEN_SIGNAL)
{
    struct sand_ledger *l = open_ledger(4);
    sand_ledger_settle(l, 100);
    sand_ledger_rebook(l, SAND_GPU_IDLE, SAND_GPU_LOST, 400);
    cr_assert(sand_ledger_balanced(l));
    sand_ledger_rebook(l, SAND_GPU_IDLE, SAND_GPU_LOST, 1);
    cr_expect(booked_is(l, SAND_GPU_IDLE, 0));
    cr_expect_not(sand_ledger_balanced(l));
    sand_ledger_close(l);
}

Test(ledger, unknown_groups_are_refused, .signal = BROKEN_SIGNAL)
{
    struct sand_ledger *l = open_ledger(4);
    sand_ledger_set(l, 1, SAND_GPU_HELD, 1);
    cr_expect_not(sand_ledger_balanced(l));
    cr_expect_eq(sand_ledger_gpus(l, 1), 0);
    sand_ledger_close(l);
}

Test(ledger, only_empty_groups_are_dropped, .signal = BROKEN_SIGNAL)
{
    struct sand_ledger *l = open_ledger(4);
    uint32_t a = new_group(l, SAND_GPU_HELD);
    sand_ledger_move(l, 0, a, 1, 1);
    sand_ledger_drop(l, a);
    cr_expect_eq(sand_ledger_gpus(l, a), 1);
    cr_expect_not(sand_ledger_balanced(l));
    sand_ledger_close(l);
}

Test(ledger, no_memory)
{
    struct sand_ledger *l = NULL;
    for (uint64_t n = 1; n <= 2; n++) {
        sand_mem_fail_at(n);
        cr_expect_eq(sand_ledger_open(4, &l), SAND_ERR_NOMEM);
        cr_expect_null(l);
    }
    sand_mem_fail_at(0);
    cr_expect_eq(sand_ledger_open(UINT64_MAX, &l), SAND_ERR_INPUT);
    l = open_ledger(4);
    // Groups until one needs memory; that one fails and changes nothing, the next succeeds.
    enum sand_rc rc = SAND_OK;
    uint32_t group = 0, n_made = 0;
    sand_mem_fail_at(1);
    while (rc == SAND_OK && n_made++ < 1000)
        rc = sand_ledger_group(l, SAND_GPU_HELD, &group);
    cr_expect_eq(rc, SAND_ERR_NOMEM);
    cr_expect(sand_ledger_balanced(l));
    cr_expect_eq(new_group(l, SAND_GPU_HELD), n_made);
    sand_mem_fail_at(0);
    sand_ledger_close(l);
}

Test(ledger, names)
{
    cr_expect_str_eq(sand_gpu_class_name(SAND_GPU_AT_RISK), "at risk");
    cr_expect_str_eq(sand_gpu_class_name(SAND_GPU_UNDELIVERED), "undelivered");
    cr_expect_str_eq(sand_gpu_class_name(SAND_GPU_N_CLASSES), "?");
}
