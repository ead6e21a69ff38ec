// Faults and recovery, by hand from the dates at which the fault process strikes.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "units.h"

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    keep_clear(&kept);
}

TestSuite(replay_faults, .fini = forget, .timeout = 30);

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

// Takes the first seed with which node 0 is struck between `from` and `to` and, like nodes 1 to
// n - 1, not again before `quiet`.
static int64_t strike_node_0(uint32_t n_nodes, double from_s, double to_s, double quiet_s)
{
    int64_t dates[8][2];
    for (c.experiment.seed = 1; c.experiment.seed < 100000; c.experiment.seed++) {
        case_fault_dates(&c, dates, n_nodes);
        int fits = seconds(dates[0][0]) >= from_s && seconds(dates[0][0]) < to_s &&
                   seconds(dates[0][1]) > quiet_s;
        for (uint32_t node = 1; node < n_nodes; node++)
            fits = fits && seconds(dates[node][0]) > quiet_s;
        if (fits)
            return dates[0][0];
    }
    cr_assert_fail("no seed fits");
    return 0;
}

static const struct sand_incidents_row *incident(size_t row)
{
    cr_assert_lt(row, N_ROWS(&kept, incidents));
    return &ROWS(&kept, incidents)[row];
}

static size_t count_decisions(const char *action)
{
    size_t n = 0;
    for (size_t i = 0; i < N_ROWS(&kept, decisions); i++)
        n += strcmp(ROWS(&kept, decisions)[i].action.text, action) == 0;
    return n;
}

// Without checkpoints a fault costs everything: 30 s to detect, 20 s to diagnose, 60 s to restart,
// all steps again, and recovered when one more step is done.
Test(replay_faults, restart_on_the_same_nodes)
{
    case_set(&c, 2, 3000);
    case_job(&c, "a", 1, 0, 10, 0);
    case_fault(&c, "hang", 1000, SAND_REMEDY_RESTART, 30, 20, 60, 500);
    const int64_t fault = strike_node_0(1, 300, 600, 3000);
    case_run_well(&c, &kept);
    const int64_t k = fault / S(10), partial = fault - k * S(10);
    cr_assert_eq(N_ROWS(&kept, incidents), 1);
    const struct sand_incidents_row *i = incident(0);
    cr_assert_eq(i->fault_ns, fault);
    cr_assert_eq(i->steps_lost, (uint64_t)k);
    cr_assert_float_eq(i->partial_step_s, seconds(partial), 1e-9);
    cr_assert_float_eq(i->detect_s, 30, 1e-9);
    cr_assert_float_eq(i->diagnose_s, 20, 1e-9);
    cr_assert_float_eq(i->restart_s, 60, 1e-9);
    cr_assert_float_eq(i->wait_nodes_s + i->restore_s + i->repair_s, 0, 1e-9);
    cr_assert_float_eq(i->recompute_s, 10 * (double)k, 1e-9);
    cr_assert_float_eq(i->catch_up_s, 10, 1e-9);
    cr_assert_eq(i->recovered_ns, fault + S(110) + (k + 1) * S(10));
    cr_assert_float_eq(i->lost_gpu_s, 8 * (110 + 10 * (double)k + seconds(partial)), 1e-6);
    cr_assert_eq(i->parent, UINT32_MAX);
    cr_assert_eq(i->replacement, UINT32_MAX);
    cr_assert_float_eq(booked_gpu_s(&kept, "lost"), 8 * seconds(fault), 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "detecting"), 8 * 30, 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "restarting"), 8 * 60, 1e-6);
    const struct sand_jobs_row *job = &ROWS(&kept, jobs)[0];
    cr_assert_eq(job->steps_done, (uint64_t)((S(3000) - fault - S(110)) / S(10)));
    cr_assert_eq(job->incidents, 1);
    cr_assert_eq(N_ROWS(&kept, attempts), 2);
    cr_assert_eq(ROWS(&kept, attempts)[1].begin_ns, fault + S(110));
    cr_assert_eq(count_decisions("restart"), 1);
}

// A recorded job does again what the fault cut off, no more, and is recovered when it is where it
// was; the ledger loses the same GPU-seconds.
Test(replay_faults, a_recorded_job_recomputes_what_was_cut_off)
{
    case_set(&c, 2, 3000);
    case_recorded(&c, "a", 1, 0, 900);
    case_fault(&c, "hang", 1000, SAND_REMEDY_RESTART, 30, 20, 60, 0);
    const int64_t fault = strike_node_0(1, 300, 600, 3000);
    case_run_well(&c, &kept);
    const struct sand_incidents_row *i = incident(0);
    cr_assert_float_eq(i->recompute_s, seconds(fault), 1e-9);
    cr_assert_eq(i->catch_up_s, 0);
    cr_assert_float_eq(i->partial_step_s, seconds(fault), 1e-9);
    cr_assert_eq(i->recovered_ns, fault + S(110) + fault);
    cr_assert_float_eq(i->lost_gpu_s, 8 * (110 + seconds(fault)), 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "lost"), 8 * seconds(fault), 1e-6);
    cr_assert_eq(ROWS(&kept, jobs)[0].end_ns, fault + S(110) + S(900));
}

// A recorded job of 900 s struck between 200 and 300 s, and again before or after it is where it
// was. Returns the seconds it ran again by then.
static double strike_recorded_twice(int after, double *first_s)
{
    int64_t dates[1][2];
    case_set(&c, 2, 200000); // in which some run of 900 s is not struck
    case_recorded(&c, "a", 1, 0, 900);
    case_fault(&c, "hang", 400, SAND_REMEDY_RESTART, 30, 20, 60, 0);
    for (c.experiment.seed = 1; c.experiment.seed < 100000; c.experiment.seed++) {
        case_fault_dates(&c, dates, 1);
        const double first = seconds(dates[0][0]), again = seconds(dates[0][1]);
        const double mark = first + 110 + first;
        if (first > 200 && first < 300 && again > (after ? mark : first + 150) &&
            again < (after ? mark + 200 : mark - 20))
            break;
    }
    cr_assert_lt(c.experiment.seed, 100000);
    case_run_well(&c, &kept);
    cr_assert_geq(N_ROWS(&kept, incidents), 2);
    double recomputed = 0;
    for (size_t k = 0; k < N_ROWS(&kept, incidents); k++)
        recomputed += incident(k)->parent == UINT32_MAX ? incident(k)->recompute_s : 0;
    cr_assert_eq(ROWS(&kept, jobs)[0].steps_done, 1);
    cr_assert_float_eq(booked_gpu_s(&kept, "lost"), 8 * recomputed, 1e-6);
    *first_s = seconds(dates[0][0]);
    return seconds(dates[0][1]) - *first_s - 110;
}

// Before: a child, and the mark stays; all that ran twice is recomputed, as the ledger has it lost.
Test(replay_faults, a_recorded_job_struck_during_its_recovery)
{
    double first_s;
    const double again_s = strike_recorded_twice(0, &first_s);
    cr_assert_eq(incident(1)->parent, 0);
    cr_assert_geq(incident(0)->recompute_s, first_s + again_s - 1e-9);
    cr_assert_eq(incident(1)->recovered_ns, incident(0)->recovered_ns);
}

// After: the first is over where it was, the second is an incident of its own.
Test(replay_faults, a_recorded_job_struck_after_its_recovery)
{
    double first_s;
    const double again_s = strike_recorded_twice(1, &first_s);
    cr_assert_eq(incident(1)->parent, UINT32_MAX);
    cr_assert_float_eq(incident(0)->recompute_s, first_s, 1e-9);
    cr_assert_float_eq(seconds(incident(0)->recovered_ns), first_s + 110 + first_s, 1e-9);
    cr_assert_float_eq(incident(1)->partial_step_s, again_s, 1e-9);
    cr_assert_geq(incident(1)->recompute_s, again_s - 1e-9);
}

// Planned interruptions of a job that does not save go the same way and are counted apart.
Test(replay_faults, planned_interruptions_are_counted_apart)
{
    case_set(&c, 2, 3000);
    case_job(&c, "a", 1, 0, 10, 0);
    case_fault(&c, "upgrade", 1000, SAND_REMEDY_RESTART, 0, 0, 60, 0)->planned = 1;
    strike_node_0(1, 300, 600, 3000);
    case_run_well(&c, &kept);
    cr_assert_eq(incident(0)->planned, 1);
    cr_assert_eq(ROWS(&kept, jobs)[0].incidents, 0);
    cr_assert_eq(ROWS(&kept, jobs)[0].planned_incidents, 1);
    cr_assert_eq(ROWS(&kept, replications)[0].planned_incidents, 1);
}

// With a checkpoint: back to the last durable step, 15 s to read it, and only the steps since then
// again. Saves of 4 s after every 100 s of steps: from 104 n on, steps 10 n + k.
Test(replay_faults, restores_the_last_checkpoint)
{
    case_set(&c, 2, 3000);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 10, 0);
    case_saves(&c, job, "100s", SAND_SAVE_BLOCKING, 4, 0);
    job->checkpoint.restore_s = 15;
    case_fault(&c, "hang", 1000, SAND_REMEDY_RESTART, 30, 20, 60, 0);
    const int64_t fault = strike_node_0(1, 340, 400, 3000);
    case_run_well(&c, &kept);
    const int64_t k = (fault - S(312)) / S(10); // 3 saves before
    const struct sand_incidents_row *i = incident(0);
    cr_assert_eq(i->steps_lost, (uint64_t)k);
    cr_assert_float_eq(i->restore_s, 15, 1e-9);
    cr_assert_float_eq(i->recompute_s, 10 * (double)k, 1e-9);
    cr_assert_eq(ROWS(&kept, attempts)[1].first_step, 30);
    cr_assert_eq(ROWS(&kept, attempts)[1].begin_ns, fault + S(125));
    cr_assert_float_eq(booked_gpu_s(&kept, "lost"), 8 * seconds(fault - S(312)), 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "restoring"), 8 * 15, 1e-6);
}

// A planned interruption lets the job save first: it stands still at the next step boundary, is
// stopped when the save is durable, and nothing is lost.
Test(replay_faults, planned_interruptions_let_the_job_save)
{
    case_set(&c, 2, 3000);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 10, 0);
    case_saves(&c, job, "100s", SAND_SAVE_BLOCKING, 4, 0);
    job->checkpoint.restore_s = 15;
    case_fault(&c, "upgrade", 1000, SAND_REMEDY_RESTART, 0, 0, 60, 0)->planned = 1;
    const int64_t fault = strike_node_0(1, 340, 400, 3000);
    case_run_well(&c, &kept);
    const int64_t boundary =
        S(312) + (fault - S(312) + S(10) - 1) / S(10) * S(10); // 3 saves before
    const struct sand_incidents_row *i = incident(0);
    cr_assert_eq(i->fault_ns, boundary + S(4));
    cr_assert_eq(i->steps_lost, 0);
    cr_assert_eq(i->partial_step_s, 0);
    cr_assert_eq(i->recompute_s, 0);
    cr_assert_float_eq(i->restart_s, 60, 1e-9);
    cr_assert_float_eq(i->restore_s, 15, 1e-9);
    cr_assert_eq(i->recovered_ns, boundary + S(4 + 60 + 15 + 10));
    cr_assert_float_eq(booked_gpu_s(&kept, "lost"), 0, 1e-9);
    cr_assert_eq(ROWS(&kept, attempts)[1].first_step, (uint64_t)(30 + (boundary - S(312)) / S(10)));
}

// A save written in the background: the job does not go on while this one is, which takes 5 s after
// 1 s of copying, since its steps would be lost.
Test(replay_faults, planned_interruptions_wait_for_the_writing)
{
    case_set(&c, 2, 3000);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 10, 0);
    case_saves(&c, job, "100s", SAND_SAVE_ASYNC, 1, 50e9);
    job->checkpoint.restore_s = 15;
    case_fault(&c, "upgrade", 1000, SAND_REMEDY_RESTART, 0, 0, 60, 0)->planned = 1;
    const int64_t fault = strike_node_0(1, 320, 390, 3000); // between two saves
    case_run_well(&c, &kept);
    const int64_t boundary = S(303) + (fault - S(303) + S(10) - 1) / S(10) * S(10);
    cr_assert_eq(incident(0)->fault_ns, boundary + S(6));
    cr_assert_eq(incident(0)->steps_lost, 0);
    cr_assert_float_eq(booked_gpu_s(&kept, "lost"), 0, 1e-9);
}

// The job ends before it could save: it is not interrupted, and the node goes to its service.
Test(replay_faults, a_job_that_ends_first_is_not_stopped)
{
    case_set(&c, 1, 3000);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 10, 40);
    case_saves(&c, job, "100s", SAND_SAVE_BLOCKING, 4, 0);
    case_fault(&c, "service", 1000, SAND_REMEDY_REPLACE, 0, 0, 60, 500)->planned = 1;
    strike_node_0(1, 402.5, 411.5, 3000); // in the last step
    case_run_well(&c, &kept);
    cr_assert_eq(N_ROWS(&kept, incidents), 0);
    cr_assert_eq(ROWS(&kept, jobs)[0].end_ns, S(412));
    cr_assert_float_eq(booked_gpu_s(&kept, "down"), 8 * 500, 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "idle"), 8 * (3000 - 912), 1e-6);
}

// The same with a transfer: 50 GB at one node's 10 GB/s are 5 s, each way.
Test(replay_faults, restores_by_a_transfer)
{
    case_set(&c, 2, 3000);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 10, 0);
    case_saves(&c, job, "100s", SAND_SAVE_BLOCKING, -1, 50e9);
    case_fault(&c, "hang", 1000, SAND_REMEDY_RESTART, 30, 20, 60, 0);
    strike_node_0(1, 340, 400, 3000);
    case_run_well(&c, &kept);
    cr_assert_float_eq(incident(0)->restore_s, 5, 1e-9);
}

// Saves during the recomputation belong to it: a save interval of 30 s, the first save beyond the
// end of the fault's work, leaves 2 stalls of 4 s before the mark is passed.
Test(replay_faults, saves_during_recomputation_are_part_of_it)
{
    case_set(&c, 2, 3000);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 10, 0);
    case_saves(&c, job, "300s", SAND_SAVE_ASYNC, 4, 1e12); // 100 s of writing
    job->checkpoint.restore_s = 0;
    case_fault(&c, "hang", 1000, SAND_REMEDY_RESTART, 0, 0, 60, 0);
    // Struck while the first save (300 s to 404 s) is still being written: all is lost.
    const int64_t fault = strike_node_0(1, 345, 395, 3000);
    case_run_well(&c, &kept);
    const struct sand_checkpoints_row *saves = ROWS(&kept, checkpoints);
    cr_assert_eq(saves[0].begin_ns, S(300));
    cr_assert_eq(saves[0].resume_ns, S(304));
    cr_assert_eq(saves[0].durable_ns, -1);
    const int64_t after = (fault - S(304)) / S(10); // steps since the save began
    const struct sand_incidents_row *i = incident(0);
    cr_assert_eq(i->steps_lost, (uint64_t)(30 + after));
    cr_assert_float_eq(i->recompute_s, 10 * (30 + (double)after) + 4, 1e-9);
    cr_assert_float_eq(i->catch_up_s, 10, 1e-9);
    cr_assert_eq(saves[1].begin_ns, fault + S(60) + S(300));
    cr_assert_eq(saves[1].durable_ns, fault + S(60) + S(404));
}

// A blocking save that a fault cuts off is lost, and the steps in it.
Test(replay_faults, a_blocking_save_is_cut_off)
{
    case_set(&c, 2, 3000);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 10, 0);
    case_saves(&c, job, "300s", SAND_SAVE_BLOCKING, -1, 1e12); // 100 s
    case_fault(&c, "hang", 1000, SAND_REMEDY_RESTART, 0, 0, 60, 0);
    const int64_t fault = strike_node_0(1, 305, 395, 3000);
    case_run_well(&c, &kept);
    cr_assert_eq(ROWS(&kept, checkpoints)[0].resume_ns, -1);
    cr_assert_eq(ROWS(&kept, checkpoints)[0].durable_ns, -1);
    cr_assert_eq(incident(0)->steps_lost, 30);
    cr_assert_float_eq(incident(0)->partial_step_s, 0, 1e-12);
    cr_assert_float_eq(booked_gpu_s(&kept, "lost"), 8 * 300, 1e-6);
    // The cut-off stall, the repeated save at fault + 60 + 300, and so on every 400 s.
    cr_assert_eq(ROWS(&kept, checkpoints)[1].begin_ns, fault + S(360));
    cr_assert_eq(ROWS(&kept, checkpoints)[1].durable_ns, fault + S(460));
}

// ---- nodes --------------------------------------------------------------------------------------

// A spare takes the failed node's rank; the node is repaired for 500 s and becomes the spare.
Test(replay_faults, a_spare_replaces)
{
    case_set(&c, 4, 3000);
    c.experiment.hot_spares = 1;
    case_job(&c, "a", 2, 0, 10, 0);
    case_fault(&c, "gpu", 3000, SAND_REMEDY_REPLACE, 30, 20, 60, 500);
    strike_node_0(4, 300, 600, 3000);
    case_run_well(&c, &kept);
    const struct sand_incidents_row *i = incident(0);
    cr_assert_eq(i->node, 0);
    cr_assert_eq(i->replacement, 3);
    cr_assert_float_eq(i->wait_nodes_s, 0, 1e-12);
    cr_assert_float_eq(i->repair_s, 500, 1e-9);
    cr_assert_float_eq(booked_gpu_s(&kept, "down"), 8 * 500, 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "spare"), 8 * 2500, 1e-6);
    cr_assert_eq(count_decisions("spare"), 1);
}

// No spare: an idle node. It stays with the job; the repaired one is idle.
Test(replay_faults, an_idle_node_replaces)
{
    case_set(&c, 2, 3000);
    case_job(&c, "a", 1, 0, 10, 0);
    case_fault(&c, "gpu", 1000, SAND_REMEDY_REPLACE, 30, 20, 60, 500);
    strike_node_0(2, 300, 600, 3000);
    case_run_well(&c, &kept);
    cr_assert_eq(incident(0)->replacement, 1);
    cr_assert_eq(count_decisions("idle node"), 1);
    cr_assert_float_eq(booked_gpu_s(&kept, "idle"), 8 * 2500, 1e-6);
}

// Neither: the job keeps its other node and waits for the repair.
Test(replay_faults, waits_for_the_repair)
{
    case_set(&c, 2, 3000);
    case_job(&c, "a", 2, 0, 10, 0);
    case_fault(&c, "gpu", 1000, SAND_REMEDY_REPLACE, 30, 20, 60, 500);
    const int64_t fault = strike_node_0(2, 300, 600, 3000);
    case_run_well(&c, &kept);
    const struct sand_incidents_row *i = incident(0);
    cr_assert_float_eq(i->wait_nodes_s, 500, 1e-9);
    cr_assert_eq(i->replacement, 0);
    cr_assert_float_eq(booked_gpu_s(&kept, "waiting for nodes"), 8 * 500, 1e-6); // the other node
    cr_assert_eq(ROWS(&kept, attempts)[1].begin_ns, fault + S(610));
    cr_assert_eq(count_decisions("wait"), 1);
}

// A waiting job comes before one in the queue: b ends and frees a node that the head of the queue
// would have taken.
Test(replay_faults, recovering_jobs_come_before_new_ones)
{
    case_set(&c, 2, 3000);
    case_job(&c, "a", 1, 0, 10, 0);
    case_recorded(&c, "b", 1, 0, 900);
    case_recorded(&c, "c", 1, 1, 100);
    case_fault(&c, "gpu", 1000, SAND_REMEDY_REPLACE, 30, 20, 60, 5000);
    const int64_t fault = strike_node_0(2, 300, 600, 3000);
    case_run_well(&c, &kept);
    cr_assert_eq(ROWS(&kept, jobs)[1].end_ns, S(900));
    cr_assert_eq(incident(0)->replacement, 1);
    cr_assert_float_eq(incident(0)->wait_nodes_s, 850 - seconds(fault), 1e-9);
    cr_assert_str_eq(ROWS(&kept, jobs)[2].state.text, "waiting");
}

// A repair that ends after the experiment is no deadlock: the job is waiting at the end, and a
// warning says so.
Test(replay_faults, waiting_at_the_end_is_a_warning)
{
    case_set(&c, 1, 3000);
    case_job(&c, "a", 1, 0, 10, 0);
    case_fault(&c, "gpu", 1000, SAND_REMEDY_REPLACE, 30, 20, 60, 5000);
    const int64_t fault = strike_node_0(1, 300, 600, 3000);
    struct sand_diag diag = {0};
    cr_assert_eq(case_run(&c, 0, &kept, &diag), SAND_OK);
    check_books(&c, &kept);
    cr_assert_eq(diag.n_warnings, 1);
    cr_assert_not_null(strstr(diag.messages[0].text, "\"a\" (0 of 1 nodes"));
    cr_assert_eq(incident(0)->recovered_ns, -1);
    cr_assert_float_eq(incident(0)->wait_nodes_s, 2950 - seconds(fault), 1e-9);
    sand_diag_clear(&diag);
}

// ---- a fault during recovery --------------------------------------------------------------------

// Takes the first seed with which node 0 is struck at 300 to 600 s and node 1 between `from` and
// `to` later, and nothing else before the end.
static void strike_two(double from_s, double to_s, int64_t fault[2])
{
    int64_t dates[8][2];
    const uint32_t n = c.experiment.cluster.n_nodes;
    for (c.experiment.seed = 1; c.experiment.seed < 1000000; c.experiment.seed++) {
        case_fault_dates(&c, dates, n);
        const double later = seconds(dates[1][0] - dates[0][0]);
        int fits = seconds(dates[0][0]) >= 300 && seconds(dates[0][0]) < 600 && later > from_s &&
                   later < to_s;
        for (uint32_t node = 0; fits && node < n; node++)
            fits = dates[node][node < 2 ? 1 : 0] > c.experiment.duration_ns;
        if (fits) {
            fault[0] = dates[0][0];
            fault[1] = dates[1][0];
            return;
        }
    }
    cr_assert_fail("no seed fits");
}

// While the first fault is being diagnosed the second strikes: a child. All phases begin again with
// the second's detection; at the end of its diagnosis both nodes leave, one for a spare, one for an
// idle node; both incidents end together and each has its own sum of parts.
Test(replay_faults, a_fault_during_diagnosis_is_a_child)
{
    case_set(&c, 4, 2000);
    c.experiment.hot_spares = 1;
    case_job(&c, "a", 2, 0, 10, 0);
    case_fault(&c, "gpu", 3000, SAND_REMEDY_REPLACE, 30, 20, 60, 500);
    int64_t fault[2];
    strike_two(31, 49, fault);
    case_run_well(&c, &kept);
    const double gap = seconds(fault[1] - fault[0]);
    const int64_t k = fault[0] / S(10);
    const struct sand_incidents_row *parent = incident(0), *child = incident(1);
    cr_assert_eq(child->parent, 0);
    cr_assert_eq(child->steps_lost, 0);
    cr_assert_float_eq(parent->detect_s, 30 + 30, 1e-9);
    cr_assert_float_eq(parent->diagnose_s, gap - 30 + 20, 1e-9);
    cr_assert_float_eq(child->detect_s, 30, 1e-9);
    cr_assert_float_eq(child->diagnose_s, 20, 1e-9);
    for (int i = 0; i < 2; i++) {
        cr_assert_float_eq(incident((size_t)i)->restart_s, 60, 1e-9);
        cr_assert_float_eq(incident((size_t)i)->recompute_s, 10 * (double)k, 1e-9);
        cr_assert_float_eq(incident((size_t)i)->catch_up_s, 10, 1e-9);
        cr_assert_eq(incident((size_t)i)->recovered_ns, fault[1] + S(110) + (k + 1) * S(10));
    }
    cr_assert_eq(parent->replacement, 3);
    cr_assert_eq(child->replacement, 2);
    // The replication counts the parent's time once.
    cr_assert_float_eq(ROWS(&kept, replications)[0].lost_gpu_s, parent->lost_gpu_s, 1e-9);
    cr_assert_float_eq(ROWS(&kept, replications)[0].recovery_s, parent->recovery_s, 1e-9);
}

// The second fault strikes when the first is 110 s old: steps are being done again. The step it
// cuts off and the steps before it are lost a second time.
Test(replay_faults, a_fault_during_recomputation)
{
    case_set(&c, 2, 2000);
    case_job(&c, "a", 2, 0, 10, 0);
    case_fault(&c, "hang", 3000, SAND_REMEDY_RESTART, 30, 20, 60, 0);
    int64_t fault[2];
    strike_two(120, 290, fault);
    case_run_well(&c, &kept);
    const int64_t k = fault[0] / S(10), again = fault[1] - fault[0] - S(110);
    const struct sand_incidents_row *parent = incident(0), *child = incident(1);
    cr_assert_eq(child->parent, 0);
    cr_assert_eq(child->steps_lost, (uint64_t)(again / S(10)));
    cr_assert_float_eq(child->partial_step_s, seconds(again % S(10)), 1e-9);
    cr_assert_float_eq(parent->recompute_s, seconds(again) + 10 * (double)k, 1e-9);
    cr_assert_float_eq(child->recompute_s, 10 * (double)k, 1e-9);
    cr_assert_float_eq(parent->catch_up_s, 10, 1e-9);
    cr_assert_eq(ROWS(&kept, jobs)[0].steps_lost, (uint64_t)(k + again / S(10)));
}

// Two nodes are missing and one idle node is there: the job waits for the second.
Test(replay_faults, waits_with_one_of_two_replaced)
{
    case_set(&c, 3, 2000);
    case_job(&c, "a", 2, 0, 10, 0);
    case_fault(&c, "gpu", 3000, SAND_REMEDY_REPLACE, 30, 20, 60, 500);
    int64_t fault[2];
    strike_two(1, 29, fault);
    case_run_well(&c, &kept);
    cr_assert_eq(incident(0)->replacement, 2);
    // Both failed nodes are back 500 s later; the nearest to node 1 is node 1 itself.
    cr_assert_eq(incident(1)->replacement, 1);
    cr_assert_float_eq(incident(0)->wait_nodes_s, 500, 1e-9);
    cr_assert_float_eq(incident(1)->wait_nodes_s, 500, 1e-9);
}

// The variance over mean of the counts of `days` days from `first` on, by hand from the incidents.
static double dispersion_of(int first, int days)
{
    double counts[20] = {0}, mean = 0, squares = 0;
    for (size_t i = 0; i < N_ROWS(&kept, incidents); i++) {
        const int64_t day = incident(i)->fault_ns / S(86400);
        if (day >= first && day < first + days)
            counts[day - first]++;
    }
    for (int d = 0; d < days; d++)
        mean += counts[d] / days;
    for (int d = 0; d < days; d++)
        squares += (counts[d] - mean) * (counts[d] - mean);
    return squares / (days - 1) / mean;
}

Test(replay_faults, dispersion_of_daily_counts)
{
    case_set(&c, 8, 20 * 86400 + 3600);
    case_job(&c, "a", 8, 0, 10, 0);
    case_fault(&c, "hang", 4 * 86400, SAND_REMEDY_RESTART, 0, 0, 60, 0);
    case_run_well(&c, &kept);
    cr_assert_gt(N_ROWS(&kept, incidents), 20);
    cr_assert_float_eq(ROWS(&kept, replications)[0].dispersion, dispersion_of(0, 20), 1e-9);
}

// Days on which nothing runs have nothing that could be interrupted: they are no calm days.
Test(replay_faults, dispersion_is_of_the_days_of_jobs)
{
    case_set(&c, 8, 40 * 86400);
    struct sand_job_spec *job = case_job(&c, "a", 8, 5 * 86400, 10, 86400); // ten days of steps
    case_saves(&c, job, "3600s", SAND_SAVE_BLOCKING, 1, 1e9);
    case_fault(&c, "hang", 4 * 86400, SAND_REMEDY_RESTART, 0, 0, 60, 0);
    case_run_well(&c, &kept);
    const int last = (int)(ROWS(&kept, jobs)[0].end_ns / S(86400));
    cr_assert_gt(last, 12);
    cr_assert_lt(last, 25);
    cr_assert_float_eq(ROWS(&kept, replications)[0].dispersion, dispersion_of(5, last - 5), 1e-9);
}

// A recorded job that saves is cut into steps of a second: saves of 5 s every 100 s, a fault costs
// what was done since the last, and the whole takes its duration, the saves, the outage and that.
Test(replay_faults, a_recorded_job_that_saves_loses_what_it_did_since)
{
    case_set(&c, 2, 3000);
    struct sand_job_spec *job = case_recorded(&c, "a", 1, 0, 900);
    case_saves(&c, job, "100s", SAND_SAVE_BLOCKING, 5, 0);
    job->checkpoint.restore_s = 7;
    case_fault(&c, "hang", 1000, SAND_REMEDY_RESTART, 30, 20, 60, 0);
    const int64_t fault = strike_node_0(1, 325, 405, 3000); // three saved: the fourth begins at 415
    case_run_well(&c, &kept);
    const struct sand_incidents_row *i = incident(0);
    const int64_t since = fault - S(315);
    const int64_t whole = since / S(1) * S(1);
    cr_assert_eq(N_ROWS(&kept, checkpoints), 8, "the ninth would come with the end");
    cr_assert_eq(i->steps_lost, (uint64_t)(since / S(1)));
    cr_assert_float_eq(i->restore_s, 7, 1e-9);
    cr_assert_float_eq(i->lost_gpu_s, 8 * (117 + seconds(since)), 1e-6);
    cr_assert_eq(i->recovered_ns, fault + S(117) + whole + S(1));
    cr_assert_eq(ROWS(&kept, jobs)[0].end_ns, fault + S(117) + S(600) + 5 * S(5));
    cr_assert_eq(N_ROWS(&kept, mfu), 0, "it has no FLOPs");
}
