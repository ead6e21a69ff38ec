// Tori of cubes, by hand: what a failed cube costs with circuits that are switched, and without.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <string.h>

#include <criterion/criterion.h>

#include "units.h"

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    keep_clear(&kept);
}

TestSuite(replay_slices, .fini = forget, .timeout = 30);

// Cubes of 2 x 2 x 2 chips, two nodes each, in a row. Switching takes 7 s.
static void set_cubes(uint32_t n_cubes, int circuits)
{
    case_set(&c, 2 * n_cubes, 3000);
    c.node.n_nics = 4;
    c.experiment.cluster.fabric = (struct sand_fabric_spec){.kind = SAND_FABRIC_TORUS,
                                                            .size = {2, 2, 2 * n_cubes},
                                                            .block = 2,
                                                            .circuits = circuits,
                                                            .switching_s = 7,
                                                            .spreading = SAND_SPREAD_STATIC,
                                                            .link = &c.nic};
}

// Takes the first seed with which node `struck` fails between 300 and 600 s and no node else.
static int64_t strike(uint32_t struck, uint32_t n_nodes)
{
    int64_t dates[8][2];
    for (c.experiment.seed = 1; c.experiment.seed < 200000; c.experiment.seed++) {
        case_fault_dates(&c, dates, n_nodes);
        int fits =
            dates[struck][0] >= S(300) && dates[struck][0] < S(600) && dates[struck][1] > S(3000);
        for (uint32_t node = 0; node < n_nodes; node++)
            fits = fits && (node == struck || dates[node][0] > S(3000));
        if (fits)
            return dates[struck][0];
    }
    cr_assert_fail("no seed fits");
    return 0;
}

static const struct sand_incidents_row *only_incident(void)
{
    cr_assert_eq(N_ROWS(&kept, incidents), 1);
    return &ROWS(&kept, incidents)[0];
}

static const struct sand_decisions_row *decision(const char *action)
{
    for (size_t i = 0; i < N_ROWS(&kept, decisions); i++)
        if (strcmp(ROWS(&kept, decisions)[i].action.text, action) == 0)
            return &ROWS(&kept, decisions)[i];
    return NULL;
}

// Cubes 0 and 1 train, cube 2 belongs to another job, cube 3 is free. Node 0 fails.
static int64_t run_beside_another(int circuits)
{
    set_cubes(4, circuits);
    case_job(&c, "a", 4, 0, 10, 0);
    case_job(&c, "b", 2, 1, 10, 0);
    case_fault(&c, "dead", 20000, SAND_REMEDY_REPLACE, 30, 20, 60, 500);
    const int64_t fault = strike(0, 8);
    case_run_well(&c, &kept);
    return fault;
}

// 30 s to detect, 20 s to diagnose, 7 s to switch to cube 3 and 60 s to restart; nothing was saved,
// so that all steps are done again.
Test(replay_slices, a_failed_cube_costs_the_switching)
{
    const int64_t fault = run_beside_another(1), k = fault / S(10);
    const struct sand_incidents_row *i = only_incident();
    cr_expect_eq(i->fault_ns, fault);
    cr_expect_float_eq(i->detect_s, 30, 1e-9);
    cr_expect_float_eq(i->diagnose_s, 20, 1e-9);
    cr_expect_float_eq(i->wait_nodes_s, 0, 1e-9);
    cr_expect_float_eq(i->restart_s, 7 + 60, 1e-9);
    cr_expect_eq(i->recovered_ns, fault + S(30 + 20 + 7 + 60) + (k + 1) * S(10));
    cr_expect_eq(i->replacement, 6); // first node of cube 3, as node 0 is of cube 0
    cr_assert(decision("idle cube"));
    cr_expect_eq(decision("idle cube")->node, 6);
    cr_expect_float_eq(decision("idle cube")->value, 7, 1e-9);
    const struct sand_jobs_row *job = &ROWS(&kept, jobs)[0];
    cr_expect_eq(job->steps_done, (uint64_t)((S(3000) - fault - S(117)) / S(10)));
    check_books(&c, &kept);
}

// Cables do not move: no two free cubes stand side by side, and the job waits for the repair, which
// begins when the diagnosis ends. Nothing is switched.
Test(replay_slices, without_circuits_the_job_waits_for_the_repair)
{
    const int64_t fault = run_beside_another(0), k = fault / S(10);
    const struct sand_incidents_row *i = only_incident();
    cr_expect_float_eq(i->wait_nodes_s, 500, 1e-9);
    cr_expect_float_eq(i->restart_s, 60, 1e-9);
    cr_expect_eq(i->recovered_ns, fault + S(30 + 20 + 500 + 60) + (k + 1) * S(10));
    cr_expect_eq(i->replacement, 0);
    check_books(&c, &kept);
}

// Without circuits, but with cube 2 free: the job moves by one cube, since 1 and 2 form a box.
Test(replay_slices, without_circuits_a_job_moves_to_a_box)
{
    set_cubes(4, 0);
    case_job(&c, "a", 4, 0, 10, 0);
    case_fault(&c, "dead", 20000, SAND_REMEDY_REPLACE, 30, 20, 60, 500);
    const int64_t fault = strike(0, 8), k = fault / S(10);
    case_run_well(&c, &kept);
    const struct sand_incidents_row *i = only_incident();
    cr_expect_float_eq(i->wait_nodes_s, 0, 1e-9);
    cr_expect_float_eq(i->restart_s, 60, 1e-9);
    cr_expect_eq(i->recovered_ns, fault + S(110) + (k + 1) * S(10));
    cr_expect_eq(i->replacement, 4);
    cr_expect_not_null(decision("move to box"));
    // The cube it left is idle but for the node in repair: 500 s of one node.
    cr_expect_float_eq(booked_gpu_s(&kept, "down"), 8 * 500, 1e-6);
    check_books(&c, &kept);
}

// Hot spares in whole cubes: taken first, as one.
Test(replay_slices, a_spare_cube_is_taken_whole)
{
    set_cubes(4, 1);
    c.experiment.hot_spares = 2;
    case_job(&c, "a", 4, 0, 10, 0);
    case_fault(&c, "dead", 20000, SAND_REMEDY_REPLACE, 30, 20, 60, 500);
    strike(3, 8);
    case_run_well(&c, &kept);
    cr_expect_float_eq(only_incident()->restart_s, 67, 1e-9);
    cr_expect_eq(only_incident()->replacement, 7);
    cr_expect_not_null(decision("spare cube"));
    check_books(&c, &kept);
}

// A job of half a cube takes the other half, at once: no circuit is its own.
Test(replay_slices, part_of_a_cube_is_replaced_within_it)
{
    set_cubes(2, 1);
    case_job(&c, "a", 1, 0, 10, 0);
    case_fault(&c, "dead", 20000, SAND_REMEDY_REPLACE, 30, 20, 60, 500);
    strike(0, 2);
    case_run_well(&c, &kept);
    cr_expect_float_eq(only_incident()->restart_s, 60, 1e-9);
    cr_expect_eq(only_incident()->replacement, 1);
    check_books(&c, &kept);
}

// Jobs of less than a cube fill one up before another; one of two cubes does not start before two
// are free.
Test(replay_slices, jobs_start_on_whole_cubes)
{
    set_cubes(3, 1);
    case_job(&c, "half", 1, 0, 10, 50);
    case_job(&c, "two", 4, 1, 10, 10);
    case_job(&c, "other half", 1, 2, 10, 50);
    case_job(&c, "three", 6, 3, 10, 10);
    case_run_well(&c, &kept);
    const struct sand_jobs_row *jobs = ROWS(&kept, jobs);
    cr_expect_eq(jobs[0].start_ns, 0);
    cr_expect_eq(jobs[1].start_ns, S(1));
    cr_expect_eq(jobs[2].start_ns, S(2));   // beside the first half
    cr_expect_eq(jobs[3].start_ns, S(502)); // when both halves have ended
    check_books(&c, &kept);
}
