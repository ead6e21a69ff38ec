// Replay and step level together: a placement decides the step time, and the excess is slowdown.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <string.h>

#include <criterion/criterion.h>

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    if (c.oracle)
        sand_oracle_close(c.oracle);
    keep_clear(&kept);
}

TestSuite(replay_oracle, .fini = forget, .timeout = 60);

// Leaves of 4 nodes whose uplinks carry a sixteenth of what their nodes can send.
static void set_leaves(uint32_t n_nodes)
{
    case_set(&c, n_nodes, 1000);
    c.experiment.cluster.fabric.leaf_oversubscription = 16;
    c.experiment.cluster.fabric.spines = 2;
}

// Alone, 4 nodes have a leaf to themselves: healthy, no slowdown, one profile.
Test(replay_oracle, a_job_in_one_leaf_is_healthy)
{
    set_leaves(8);
    case_simulated(&c, "a", 4, 0, 100);
    case_run_well(&c, &kept);
    const struct sand_jobs_row *job = &ROWS(&kept, jobs)[0];
    cr_assert_gt(job->step_s, 0);
    cr_assert_float_eq(job->step_s, job->healthy_step_s, 1e-9);
    cr_assert_float_eq(booked_gpu_s(&kept, "slowdown"), 0, 1e-9);
    cr_assert_eq(N_ROWS(&kept, steps), 1);
    cr_assert_gt(N_ROWS(&kept, links), 1);
    cr_assert_float_eq(job->mfu, ROWS(&kept, steps)[0].mfu, 1e-6);
}

// A job that holds node 0 pushes the other over the border of its leaf: its rings cross the
// uplinks, its steps are longer, and exactly the excess of all of them is slowdown.
Test(replay_oracle, a_job_across_leaves_is_slowed_down)
{
    set_leaves(8);
    case_recorded(&c, "blocker", 1, 0, 900);
    case_simulated(&c, "a", 4, 1, 100);
    case_run_well(&c, &kept);
    const struct sand_jobs_row *job = &ROWS(&kept, jobs)[1];
    cr_assert_str_eq(job->state.text, "finished");
    cr_assert_gt(job->step_s, 1.01 * job->healthy_step_s);
    cr_assert_float_eq(booked_gpu_s(&kept, "slowdown"),
                       100 * 32 * (job->step_s - job->healthy_step_s), 1e-4);
    cr_assert_float_eq(booked_gpu_s(&kept, "useful"), 900 * 8 + 100 * 32 * job->healthy_step_s,
                       1e-4);
    cr_assert_eq(N_ROWS(&kept, steps), 2);
    cr_assert_eq(ROWS(&kept, attempts)[0].profile, 1);
    cr_assert_float_eq(job->ettr_run, 1, 1e-9); // slowness is not in ETTR
}

// A job of 6 nodes fills one leaf and half of the next: each of its rings goes up once. When a node
// of the first leaf is replaced by one of the second, the ranks are laid out anew in the place
// policy's order, and the rings still go up once: the step takes as long as before.
Test(replay_oracle, ranks_are_laid_out_anew_after_a_replacement)
{
    set_leaves(8);
    case_simulated(&c, "a", 6, 0, 0);
    case_fault(&c, "gpu", 3000, SAND_REMEDY_REPLACE, 30, 20, 60, 5000);
    int64_t dates[8][2];
    for (c.experiment.seed = 1; c.experiment.seed < 100000; c.experiment.seed++) {
        int others = 0;
        case_fault_dates(&c, dates, 8);
        for (int node = 0; node < 8; node++)
            others += dates[node][node == 1] < S(1000);
        if (dates[1][0] < S(800) && others == 0)
            break;
    }
    case_run_well(&c, &kept);
    cr_assert_eq(ROWS(&kept, incidents)[0].node, 1);
    cr_assert_eq(ROWS(&kept, incidents)[0].replacement, 6);
    cr_assert_eq(N_ROWS(&kept, attempts), 2);
    cr_assert_float_eq(ROWS(&kept, attempts)[1].step_s, ROWS(&kept, attempts)[0].step_s, 1e-9);
}
