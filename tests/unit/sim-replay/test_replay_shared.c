// Jobs of less than a node on shared nodes: who fits where, what the books say, and what faults do
// to neighbours. SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    keep_clear(&kept);
}

TestSuite(replay_shared, .fini = forget, .timeout = 60);

static void set(uint32_t n_nodes, int64_t duration_s)
{
    case_set(&c, n_nodes, duration_s);
    c.experiment.allocation = SAND_ALLOCATE_GPUS;
}

static struct sand_job_spec *add(const char *id, uint32_t gpus, int64_t submit_s, double work_s)
{
    struct sand_job_spec *job = case_recorded(&c, id, (gpus + 7) / 8, submit_s, work_s);
    job->n_gpus = gpus;
    job->walltime_s = work_s;
    return job;
}

static void expect_starts(const int64_t *starts_s, size_t n)
{
    case_run_well(&c, &kept);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(ROWS(&kept, jobs)[i].start_ns, S(starts_s[i]), "%s starts at %ld ns",
                     ROWS(&kept, jobs)[i].id.text, (long)ROWS(&kept, jobs)[i].start_ns);
}

// a and b share node 0 exactly; c goes beside nobody; d would fit into what a and c leave together,
// but is never split: it waits for a.
Test(replay_shared, jobs_share_a_node_and_are_never_split)
{
    set(2, 100);
    add("a", 5, 0, 10);
    add("b", 3, 0, 40);
    add("c", 4, 0, 40);
    add("d", 5, 1, 10);
    expect_starts((const int64_t[]){0, 0, 0, 10}, 4);
    cr_assert_eq(ROWS(&kept, jobs)[0].gpus, 5);
}

// GPU-seconds by hand: jobs hold 4 x 10 + 2 x 30; on the one node in part use 2 GPUs are free for
// 10 s and 6 for 20 s; the other node is idle for all 100 s, the first for the last 70.
Test(replay_shared, every_gpu_second_is_in_one_class)
{
    set(2, 100);
    add("a", 4, 0, 10);
    add("b", 2, 0, 30);
    expect_starts((const int64_t[]){0, 0}, 2);
    cr_assert_float_eq(booked_gpu_s(&kept, "useful"), 40 + 60, 1e-9);
    cr_assert_float_eq(booked_gpu_s(&kept, "fragment"), 20 + 120, 1e-9);
    cr_assert_float_eq(booked_gpu_s(&kept, "idle"), 8 * (100 + 70), 1e-9);
    cr_assert_float_eq(booked_all_gpu_s(&kept), 16 * 100, 1e-9);
}

// 12 GPUs hold two whole nodes, so that a job of one GPU finds none free beside them.
Test(replay_shared, more_than_a_node_holds_whole_nodes)
{
    set(2, 100);
    add("large", 12, 0, 10);
    add("small", 1, 1, 10);
    expect_starts((const int64_t[]){0, 10}, 2);
    cr_assert_eq(ROWS(&kept, jobs)[0].gpus, 16);
    cr_assert_float_eq(booked_gpu_s(&kept, "useful"), 160 + 10, 1e-9);
}

// The same jobs where nodes are not shared.
Test(replay_shared, whole_nodes_hold_whole_nodes)
{
    set(2, 100);
    c.experiment.allocation = SAND_ALLOCATE_NODES;
    add("a", 4, 0, 10);
    add("b", 2, 0, 30);
    expect_starts((const int64_t[]){0, 0}, 2);
    cr_assert_float_eq(booked_gpu_s(&kept, "useful"), 80 + 240, 1e-9);
    cr_assert_float_eq(booked_gpu_s(&kept, "fragment"), 0, 0);
}

// First fit puts b on node 0, best fit on node 1 beside c: then node 0 is whole again when a ends
// at 10, and the large job d need not wait for b.
static void two_places(const char *place)
{
    set(2, 1000);
    c.experiment.place.type = place;
    add("a", 4, 0, 10);
    add("c", 6, 0, 100);
    add("b", 2, 1, 50);
    add("d", 8, 2, 10);
}

Test(replay_shared, first_fit_takes_the_lowest_node_with_room)
{
    two_places("place/first-fit");
    expect_starts((const int64_t[]){0, 0, 1, 51}, 4);
}

Test(replay_shared, packed_takes_the_fullest_node_with_room)
{
    two_places("place/packed");
    expect_starts((const int64_t[]){0, 0, 1, 10}, 4);
}

// EASY: the head H needs a whole node and gets node 1 at 20. L, past that, may go where node 0 is
// busy until 50 anyway; M finds only node 1's GPUs and would keep H waiting; N ends by 20.
Test(replay_shared, easy_fills_what_the_head_does_not_need)
{
    set(2, 1000);
    c.experiment.schedule.type = "schedule/easy";
    add("a", 6, 0, 50);
    add("b", 4, 0, 20);
    add("H", 8, 1, 10);
    add("L", 2, 2, 100);
    add("M", 2, 3, 100);
    add("N", 4, 4, 16);
    expect_starts((const int64_t[]){0, 0, 20, 2, 30, 4}, 6);
}

// Of the head's part of a node the same holds: P needs 5 GPUs, which node 0 has at 10 with one to
// spare, so a long job of 1 GPU may start there and a second one may not.
Test(replay_shared, easy_keeps_a_part_for_the_head)
{
    set(1, 1000);
    c.experiment.schedule.type = "schedule/easy";
    add("a", 4, 0, 10);
    add("b", 2, 0, 50);
    add("P", 5, 1, 10);
    add("x", 1, 2, 100);
    add("y", 1, 3, 100);
    expect_starts((const int64_t[]){0, 0, 10, 2, 20}, 5);
}

// The head H needs both nodes of group x and gets them at 50, when a's request ends. Of group y,
// which H cannot have, L may take the node for as long as it likes; K, of group x and past 50, may
// not take the node that b leaves at 20, nor may D, which takes any group, since first fit puts it
// there; N ends by 50.
static void two_groups(enum sand_allocation allocation, const char *depth)
{
    static struct sand_node_group groups[] = {{.id = "x", .n_nodes = 2}, {.id = "y", .n_nodes = 1}};
    static struct sand_choice_param param = {.name = "reservation_depth"};
    param.text = depth;
    set(3, 1000);
    c.experiment.allocation = allocation;
    groups[0].node_type = groups[1].node_type = c.experiment.cluster.node_type;
    c.experiment.cluster.groups = groups;
    c.experiment.cluster.n_groups = 2;
    c.experiment.schedule =
        (struct sand_choice){.type = "schedule/easy", .params = &param, .n_params = 1};
    add("a", 8, 0, 50)->group = "x";
    add("b", 8, 0, 20)->group = "x";
    add("H", 16, 1, 10)->group = "x";
    add("L", 8, 2, 500)->group = "y";
    add("K", 8, 3, 100)->group = "x";
    add("D", 8, 4, 100);
    add("N", 8, 5, 30)->group = "x";
}

Test(replay_shared, easy_keeps_a_group_for_the_head)
{
    two_groups(SAND_ALLOCATE_GPUS, "1");
    expect_starts((const int64_t[]){0, 0, 50, 2, 60, 60, 20}, 7);
}

Test(replay_shared, easy_keeps_a_group_where_nodes_are_whole)
{
    two_groups(SAND_ALLOCATE_NODES, "1");
    expect_starts((const int64_t[]){0, 0, 50, 2, 60, 60, 20}, 7);
}

Test(replay_shared, easy_keeps_groups_for_several)
{
    two_groups(SAND_ALLOCATE_GPUS, "3");
    expect_starts((const int64_t[]){0, 0, 50, 2, 60, 60, 20}, 7);
}

// ---- faults -------------------------------------------------------------------------------------

// Takes the first seed with which node 0 is struck in that time and nothing else before `quiet_s`.
static void first_seed(int64_t from_s, int64_t to_s, int64_t quiet_s)
{
    int64_t dates[3][2];
    for (c.experiment.seed = 1; c.experiment.seed < 100000; c.experiment.seed++) {
        case_fault_dates(&c, dates, 3);
        if (dates[0][0] >= S(from_s) && dates[0][0] < S(to_s) && dates[0][1] > S(quiet_s) &&
            dates[1][0] > S(quiet_s) && dates[2][0] > S(quiet_s))
            return;
    }
    cr_assert_fail("no seed fits");
}

// Both jobs of the node are struck; a moves to node 1 beside `other`, which runs on undisturbed,
// and b to node 2. From the fault on node 0 takes no job: `late` finds its place elsewhere.
Test(replay_shared, a_node_fault_strikes_every_job_on_the_node)
{
    set(3, 5000);
    c.experiment.place.type = "place/packed";
    add("a", 4, 0, 1000);
    add("b", 2, 0, 1000);
    add("other", 3, 0, 3000);
    add("late", 2, 700, 10);
    case_fault(&c, "board", 3000, SAND_REMEDY_REPLACE, 30, 20, 60, 2000);
    first_seed(680, 699, 4900);
    case_run_well(&c, &kept);
    cr_assert_eq(N_ROWS(&kept, incidents), 2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(ROWS(&kept, incidents)[i].job, i);
        cr_assert_eq(ROWS(&kept, incidents)[i].node, 0);
        cr_assert_float_eq(ROWS(&kept, incidents)[i].repair_s, 2000, 1e-9);
    }
    const int64_t fault = ROWS(&kept, incidents)[0].fault_ns;
    cr_assert_eq(ROWS(&kept, incidents)[0].replacement, 1);
    cr_assert_eq(ROWS(&kept, jobs)[0].end_ns, fault + S(110 + 1000));
    cr_assert_eq(ROWS(&kept, jobs)[2].incidents, 0);
    cr_assert_eq(ROWS(&kept, jobs)[2].end_ns, S(3000));
    cr_assert_eq(ROWS(&kept, incidents)[1].replacement, 2);
    cr_assert_eq(ROWS(&kept, jobs)[3].start_ns, S(700));
    cr_assert_eq(ROWS(&kept, jobs)[3].incidents, 0);
    // Down: the two GPUs that were free from the fault on, the others when diagnosis has ended.
    cr_assert_float_eq(booked_gpu_s(&kept, "down"), 8 * 2000 + 2 * 50, 1e-6);
}

// Software fails one job: the one that has the GPU drawn, or nobody. Of some 1000 faults a has
// half, b a quarter and the free GPUs the rest; less 3 s of every 100 while a job recovers.
Test(replay_shared, a_software_fault_strikes_one_job)
{
    size_t struck[2] = {0};
    set(1, 100000);
    case_job(&c, "a", 1, 0, 10, 0)->n_gpus = 4;
    case_job(&c, "b", 1, 0, 10, 0)->n_gpus = 2;
    case_fault(&c, "bug", 100, SAND_REMEDY_RESTART, 1, 1, 1, 1)->component = SAND_COMPONENT_JOB;
    case_run_well(&c, &kept);
    for (size_t i = 0; i < N_ROWS(&kept, incidents); i++) {
        struck[ROWS(&kept, incidents)[i].job]++;
        if (i > 0)
            cr_assert_neq(ROWS(&kept, incidents)[i].fault_ns,
                          ROWS(&kept, incidents)[i - 1].fault_ns);
    }
    cr_assert_lt(abs((int)struck[0] - 500), 4 * 16, "%zu", struck[0]); // 4 sigma, binomial
    cr_assert_lt(abs((int)struck[1] - 250), 4 * 14, "%zu", struck[1]);
}

// Of software faults once in 10,000 s a node, a job on half the GPUs meets half: Young's interval,
// sqrt(2 w M), is sqrt(2) times that of a job on the whole node.
static void expect_interval(uint32_t gpus, double mtbf_s)
{
    set(1, 3000);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 1, 0);
    job->n_gpus = gpus;
    case_saves(&c, job, "25s", SAND_SAVE_BLOCKING, 5, 0);
    job->checkpoint.policy = (struct sand_choice){.type = "checkpoint/young"};
    case_fault(&c, "bug", 10000, SAND_REMEDY_RESTART, 1, 1, 1, 1)->component = SAND_COMPONENT_JOB;
    case_run_well(&c, &kept);
    for (size_t i = 0; i < N_ROWS(&kept, decisions); i++) {
        const struct sand_decisions_row *row = &ROWS(&kept, decisions)[i];
        if (strcmp(row->action.text, "interval") != 0)
            continue;
        cr_assert_float_eq(row->value, sqrt(2 * 5 * mtbf_s), 1e-6, "%g s", row->value);
        return;
    }
    cr_assert_fail("no interval was decided on");
}

Test(replay_shared, a_job_on_a_node_saves_for_its_faults)
{
    expect_interval(8, 10000);
}

Test(replay_shared, a_job_on_half_a_node_saves_for_half_of_them)
{
    expect_interval(4, 20000);
}

// A job of part of a node takes room beside others before it breaks a spare up.
Test(replay_shared, a_spare_stays_whole_while_there_is_room)
{
    set(3, 5000);
    c.experiment.hot_spares = 1;
    add("a", 4, 0, 1000);
    case_fault(&c, "board", 3000, SAND_REMEDY_REPLACE, 30, 20, 60, 3000);
    first_seed(680, 699, 4900);
    case_run_well(&c, &kept);
    cr_assert_eq(ROWS(&kept, incidents)[0].replacement, 1);
    cr_assert_float_eq(booked_gpu_s(&kept, "spare"), 8 * 5000, 1e-6);
}

Test(replay_shared, policies_that_count_whole_nodes_are_refused)
{
    struct sand_diag diag = {0};
    set(2, 100);
    c.experiment.schedule.type = "schedule/easy-nodes";
    add("a", 4, 0, 10);
    cr_assert_eq(case_run(&c, 0, &kept, &diag), SAND_ERR_INPUT);
    cr_assert_not_null(strstr(diag.messages[0].text, "counts whole nodes"));
    sand_diag_clear(&diag);
}
