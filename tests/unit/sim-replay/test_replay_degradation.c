// Parts that degrade in time: who is slowed and who is not, for how long, and what is booked.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "mem.h"
#include "test_kernels.h"

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    keep_clear(&kept);
    if (c.oracle)
        sand_oracle_close(c.oracle);
    c.oracle = NULL;
}

TestSuite(replay_degradation, .fini = forget, .timeout = 60);

// Two leaves of 4 nodes, 32 spines, one cable to each; NIC n receives by spine n mod 32. On nodes 0
// to 2 job a, inside leaf 0; on 3 and 4 job b, across; on 5 and 6 job c, inside leaf 1. Node 7 is
// idle.
static void set_three(uint64_t n_steps)
{
    case_set(&c, 8, 100000);
    c.experiment.cluster.fabric.spines = 32;
    c.experiment.cluster.fabric.spreading = SAND_SPREAD_STATIC;
    c.experiment.cluster.fabric.convergence_s = 3;
    c.experiment.cluster.fabric.loss_window = 100;
    case_simulated(&c, "a", 3, 0, n_steps);
    sand_oracle_close(c.oracle);
    case_simulated(&c, "b", 2, 0, n_steps);
    sand_oracle_close(c.oracle);
    case_simulated(&c, "c", 2, 0, n_steps);
}

static const struct sand_attempts_row *attempt_of(uint32_t job, uint32_t attempt)
{
    for (size_t i = 0; i < N_ROWS(&kept, attempts); i++) {
        const struct sand_attempts_row *row = &ROWS(&kept, attempts)[i];
        if (row->job == job && row->attempt == attempt)
            return row;
    }
    cr_assert_fail("no attempt %u of job %u", attempt, job);
    return NULL;
}

static const struct sand_degradations_row *row_of(uint32_t degradation, uint32_t job)
{
    for (size_t i = 0; i < N_ROWS(&kept, degradations); i++) {
        const struct sand_degradations_row *row = &ROWS(&kept, degradations)[i];
        if (row->degradation == degradation && row->job == job)
            return row;
    }
    cr_assert_fail("no row of degradation %u and job %u", degradation, job);
    return NULL;
}

// Jobs a and c step as if nothing had happened; b does not.
static void expect_only_b(void)
{
    for (uint32_t job = 0; job < 3; job += 2) {
        const struct sand_attempts_row *row = attempt_of(job, 0);
        cr_assert_eq(row->faults_ns, 0);
        cr_assert_eq(row->steps_ns % (int64_t)row->steps, 0);
    }
    cr_assert_gt(attempt_of(1, 0)->faults_ns, 0);
    for (size_t i = 0; i < N_ROWS(&kept, degradations); i++)
        cr_assert_eq(ROWS(&kept, degradations)[i].job, 1u);
}

// A step of job b alone, healthy.
static int64_t own_ns(void)
{
    const struct sand_attempts_row *row = attempt_of(1, 0);
    return (row->steps_ns - row->faults_ns) / (int64_t)row->steps;
}

// ---- slow ---------------------------------------------------------------------------------------

// A cable at a tenth of its lanes from the beginning: b steps as it does on a cluster whose cable
// is impaired for good, to the nanosecond; a and c as ever.
Test(replay_degradation, slows_exactly_the_jobs_that_cross_a_slow_cable)
{
    static const struct sand_impaired impaired = {"leaf0-spine2 up", 0.1, 0};
    set_three(200);
    case_degrades(&c, "lanes", SAND_KIND_LINK, SAND_EFFECT_SLOW, "leaf0-spine2 up", 0, 1e6)->speed =
        0.1;
    case_run_well(&c, &kept);
    expect_only_b();
    const struct sand_attempts_row *b = attempt_of(1, 0);
    cr_assert_eq(row_of(0, 1)->slow_ns, b->faults_ns);
    cr_assert_eq(row_of(0, 1)->still_ns, 0);
    struct sand_cluster cluster = c.experiment.cluster;
    cluster.impaired = &impaired;
    cluster.n_impaired = 1;
    const int64_t step_ns = b->steps_ns / (int64_t)b->steps;
    cr_assert_eq(b->steps_ns % (int64_t)b->steps, 0);
    struct sand_fabric *fabric = NULL;
    cr_assert_eq(sand_fabric_build(&cluster, &fabric, NULL), SAND_OK);
    const uint32_t nodes[] = {3, 4};
    const struct sand_step_question question = {.cluster = &cluster,
                                                .kernels = &c.kernels,
                                                .collectives = &test_kernels,
                                                .fabric = fabric,
                                                .job = &c.jobs[1],
                                                .nodes = nodes,
                                                .folding = SAND_NO_FOLD};
    struct sand_step_profile profile;
    cr_assert_eq(sand_oracle_step(c.oracle, &question, &profile, NULL), SAND_OK);
    cr_assert_leq(llabs(step_ns - llround(profile.step_s * 1e9)), 1);
    sand_fabric_free(fabric);
}

// Packets lost on the receiving cable of a NIC: the same job, another slowness, over when repaired:
// after 20 s of it the steps are the old ones.
Test(replay_degradation, loss_slows_until_it_is_repaired)
{
    set_three(400);
    case_degrades(&c, "dirt", SAND_KIND_NIC, SAND_EFFECT_LOSS, "node4 nic5 up", 10, 20)->loss =
        0.05;
    case_run_well(&c, &kept);
    expect_only_b();
    const struct sand_degradations_row *row = row_of(0, 1);
    cr_assert_eq(row->fault_ns, S(10));
    cr_assert_eq(row->healed_ns, S(30));
    const struct sand_attempts_row *b = attempt_of(1, 0);
    cr_assert_eq(b->end_ns, 400 * own_ns() + b->faults_ns);
    cr_assert_lt(b->faults_ns, S(20));
    cr_assert_float_eq((double)row->slow_ns, (double)b->faults_ns, 3);
}

// A GPU at half its speed: its job and no other, at most twice as slow.
Test(replay_degradation, a_slow_gpu_slows_its_job)
{
    set_three(400);
    case_degrades(&c, "thermal", SAND_KIND_GPU, SAND_EFFECT_SLOW, "node4 gpu3", 0, 1e6)->speed =
        0.5;
    case_run_well(&c, &kept);
    expect_only_b();
    const struct sand_attempts_row *b = attempt_of(1, 0);
    cr_assert_gt(b->faults_ns, b->steps_ns / 4);
    cr_assert_leq(b->faults_ns, b->steps_ns / 2);
}

// ---- down ---------------------------------------------------------------------------------------

// The cable of b's rail 2 goes down at 10 s and is back 50 s later. b stands still for the 3 s that
// routing takes, then goes another way; others do not notice.
Test(replay_degradation, what_is_rerouted_stands_still_for_the_convergence)
{
    set_three(400);
    case_degrades(&c, "cut", SAND_KIND_LINK, SAND_EFFECT_DOWN, "leaf0-spine2 up", 10, 50);
    case_run_well(&c, &kept);
    expect_only_b();
    const struct sand_degradations_row *row = row_of(0, 1);
    cr_assert_eq(row->still_ns, S(3));
    cr_assert_eq(row->downs, 1u);
    cr_assert_eq(row->healed_ns, S(60));
    const struct sand_attempts_row *b = attempt_of(1, 0);
    cr_assert_eq(b->faults_ns, row->still_ns + row->slow_ns);
}

// A job that begins while routes are being found waits for them: struck at 10 s, started at 11 s,
// on its way at 13 s.
Test(replay_degradation, a_newcomer_on_the_way_waits)
{
    case_set(&c, 8, 100000);
    c.experiment.cluster.fabric.spines = 32;
    c.experiment.cluster.fabric.spreading = SAND_SPREAD_STATIC;
    c.experiment.cluster.fabric.convergence_s = 3;
    case_simulated(&c, "all", 8, 11, 400);
    case_degrades(&c, "cut", SAND_KIND_LINK, SAND_EFFECT_DOWN, "leaf0-spine2 up", 10, 50);
    case_run_well(&c, &kept);
    cr_assert_eq(row_of(0, 0)->still_ns, S(2));
    cr_assert_eq(attempt_of(0, 0)->begin_ns, S(11));
}

// A spine that b crosses, and one that it does not.
Test(replay_degradation, a_switch_stops_those_that_cross_it)
{
    set_three(400);
    case_degrades(&c, "crossed", SAND_KIND_SPINE, SAND_EFFECT_DOWN, "spine2", 10, 50);
    case_degrades(&c, "not", SAND_KIND_SPINE, SAND_EFFECT_DOWN, "spine20", 100, 50);
    case_run_well(&c, &kept);
    cr_assert_eq(attempt_of(0, 0)->faults_ns, 0);
    cr_assert_eq(attempt_of(2, 0)->faults_ns, 0);
    cr_assert_eq(row_of(0, 1)->still_ns, S(3));
    cr_assert_eq(row_of(1, UINT32_MAX)->lost_gpu_s, 0);
}

// A NIC has no other way: down 2 s of every 10 s, its job stands still 2 s each time, whatever the
// convergence. 100 s of it are 10 times; at 100 s it is as new. Exact.
Test(replay_degradation, a_flapping_nic_costs_the_time_it_is_down)
{
    set_three(5000);
    struct sand_degradation_class *d =
        case_degrades(&c, "optic", SAND_KIND_NIC, SAND_EFFECT_FLAP, "node3 nic0 up", 20, 100);
    d->down.mean_s = 2;
    d->up.mean_s = 8;
    case_run_well(&c, &kept);
    expect_only_b();
    const struct sand_degradations_row *row = row_of(0, 1);
    cr_assert_eq(row->downs, 10u);
    cr_assert_eq(row->still_ns, S(20));
    cr_assert_eq(row->slow_ns, 0);
    cr_assert_eq(attempt_of(1, 0)->faults_ns, S(20));
    cr_assert_eq(attempt_of(1, 0)->end_ns, 5000 * own_ns() + S(20));
}

// Down at 20, 30, ... 110 s; at 120 s the run ends, and what would begin then has not happened.
Test(replay_degradation, a_flap_at_the_end_is_none)
{
    set_three(1000000);
    c.experiment.duration_ns = S(120);
    struct sand_degradation_class *d =
        case_degrades(&c, "optic", SAND_KIND_NIC, SAND_EFFECT_FLAP, "node3 nic0 up", 20, 1e6);
    d->down.mean_s = 2;
    d->up.mean_s = 8;
    case_run_well(&c, &kept);
    const struct sand_degradations_row *row = row_of(0, 1);
    cr_assert_eq(row->downs, 10u, "%u", row->downs);
    cr_assert_eq(row->still_ns, S(20));
    cr_assert_eq(row->healed_ns, -1);
}

// A cable between switches that is back before routing has found another way costs its time down.
Test(replay_degradation, a_short_flap_costs_its_downtime)
{
    set_three(5000);
    struct sand_degradation_class *d =
        case_degrades(&c, "optic", SAND_KIND_LINK, SAND_EFFECT_FLAP, "leaf0-spine2 up", 20, 100);
    d->down.mean_s = 2.5;
    d->up.mean_s = 7.5;
    case_run_well(&c, &kept);
    cr_assert_eq(row_of(0, 1)->still_ns, S(25));
    cr_assert_eq(row_of(0, 1)->slow_ns, 0); // never routed around
    expect_only_b();
}

// One that is down for longer costs the convergence.
Test(replay_degradation, a_long_flap_costs_the_convergence)
{
    set_three(5000);
    struct sand_degradation_class *d =
        case_degrades(&c, "optic", SAND_KIND_LINK, SAND_EFFECT_FLAP, "leaf0-spine2 up", 20, 100);
    d->down.mean_s = 5;
    d->up.mean_s = 5;
    case_run_well(&c, &kept);
    cr_assert_eq(row_of(0, 1)->still_ns, S(10 * 3));
    cr_assert_eq(row_of(0, 1)->downs, 10u);
}

// ---- remedies -----------------------------------------------------------------------------------

// Noticed after 25 s the flapping cable leaves service: down at 20, 30 and 40 s, for 2 s each, and
// never again; routes avoid it until it is repaired 60 s later.
Test(replay_degradation, a_drained_cable_flaps_no_more)
{
    set_three(5000);
    struct sand_degradation_class *d =
        case_degrades(&c, "optic", SAND_KIND_LINK, SAND_EFFECT_FLAP, "leaf0-spine2 up", 20, 60);
    d->down.mean_s = 2;
    d->up.mean_s = 8;
    d->fault.detect.mean_s = 25;
    d->remedy = SAND_PART_DRAINED;
    case_run_well(&c, &kept);
    const struct sand_degradations_row *row = row_of(0, 1);
    cr_assert_eq(row->downs, 3u);
    cr_assert_eq(row->still_ns, S(6));
    cr_assert_eq(row->noticed_ns, S(45));
    cr_assert_eq(row->healed_ns, S(105));
    expect_only_b();
}

// A slow GPU noticed after 60 s: its node leaves, the job restarts with the idle node 7 in its
// place and steps at its healthy rate again. Detection counts no more for the incident.
Test(replay_degradation, a_slow_node_is_evicted)
{
    set_three(2000);
    struct sand_degradation_class *d =
        case_degrades(&c, "thermal", SAND_KIND_GPU, SAND_EFFECT_SLOW, "node4 gpu3", 20, 5000);
    d->speed = 0.5;
    d->remedy = SAND_PART_REPLACED;
    d->fault = (struct sand_fault_class){.id = "thermal",
                                         .cause = "gpu",
                                         .component = SAND_COMPONENT_GPU,
                                         .remedy = SAND_REMEDY_REPLACE,
                                         .detect.mean_s = 60,
                                         .diagnose.mean_s = 7,
                                         .restart.mean_s = 11,
                                         .repair.mean_s = 5000};
    case_run_well(&c, &kept);
    cr_assert_eq(N_ROWS(&kept, incidents), 1u);
    const struct sand_incidents_row *incident = &ROWS(&kept, incidents)[0];
    cr_assert_str_eq(incident->fault_class.text, "thermal");
    cr_assert_eq(incident->fault_ns, S(80));
    cr_assert_eq(incident->detect_s, 0);
    cr_assert_eq(incident->node, 4u);
    cr_assert_eq(incident->component, 3u);
    cr_assert_eq(incident->replacement, 7u);
    cr_assert_float_eq(incident->repair_s, 5000, 1e-9);
    cr_assert_eq(row_of(0, 1)->noticed_ns, S(80));
    cr_assert_eq(row_of(0, 1)->healed_ns, S(87)); // diagnosed: the node leaves
    cr_assert_eq(attempt_of(1, 1)->faults_ns, 0);
    cr_assert_eq(attempt_of(1, 0)->faults_ns, 0); // what it slowed was lost with the steps
    cr_assert_gt(row_of(0, 1)->slow_ns, S(20));
}

// On an idle node it interrupts nobody: the node just leaves.
Test(replay_degradation, an_idle_node_leaves_at_once)
{
    set_three(400);
    struct sand_degradation_class *d =
        case_degrades(&c, "thermal", SAND_KIND_GPU, SAND_EFFECT_SLOW, "node7 gpu0", 20, 500);
    d->speed = 0.5;
    d->remedy = SAND_PART_REPLACED;
    d->fault.detect.mean_s = 60;
    case_run_well(&c, &kept);
    cr_assert_eq(N_ROWS(&kept, incidents), 0u);
    cr_assert_eq(row_of(0, UINT32_MAX)->healed_ns, S(80));
    cr_assert_float_eq(booked_gpu_s(&kept, "down"), 8 * 500, 1e-6);
}

// A NIC down for 100 s with a transport that gives up after 30 s: struck at 20 s, interrupted at
// 50 s; diagnosed and restarted by 60 s, cut off again until 90 s, restarted at 100 s, cut off
// until the NIC is back at 120 s: two interruptions.
Test(replay_degradation, a_job_cut_off_times_out)
{
    set_three(5000);
    struct sand_degradation_class *d =
        case_degrades(&c, "nic", SAND_KIND_NIC, SAND_EFFECT_DOWN, "node3 nic0 up", 20, 100);
    d->timeout_s = 30;
    d->fault.diagnose.mean_s = 4;
    d->fault.restart.mean_s = 6;
    case_run_well(&c, &kept);
    const struct sand_incidents_row *incidents = ROWS(&kept, incidents);
    cr_assert_eq(N_ROWS(&kept, incidents), 2u);
    cr_assert_eq(incidents[0].fault_ns, S(50));
    cr_assert_eq(incidents[1].fault_ns, S(90));
    cr_assert_eq(incidents[1].parent, 0u);
    cr_assert_eq(incidents[0].node, 3u);
    cr_assert_str_eq(ROWS(&kept, jobs)[1].state.text, "finished");
    cr_assert_eq(row_of(0, 1)->still_ns, S(30 + 30 + 20));
    cr_assert_eq(attempt_of(0, 0)->faults_ns, 0);
}

// ---- books --------------------------------------------------------------------------------------

// Hundreds of strikes of four classes over all parts: what jobs lost to faults is what degradations
// have cost, to a nanosecond a change; the same run again has the same rows.
Test(replay_degradation, what_jobs_lose_is_what_parts_cost)
{
    set_three(400000);
    struct sand_degradation_class *d =
        case_degrades(&c, "lanes", SAND_KIND_LINK, SAND_EFFECT_SLOW, NULL, -1, 500);
    d->speed = 0.25;
    d->rate_per_part_s = 2e-4;
    d = case_degrades(&c, "optic", SAND_KIND_NIC, SAND_EFFECT_FLAP, NULL, -1, 100);
    d->rate_per_part_s = 2e-5;
    d->down = (struct sand_law){SAND_LAW_EXPONENTIAL, 2, 0, 0};
    d->up = (struct sand_law){SAND_LAW_EXPONENTIAL, 20, 0, 0};
    d = case_degrades(&c, "spine", SAND_KIND_SPINE, SAND_EFFECT_DOWN, NULL, -1, 200);
    d->rate_per_part_s = 2e-5;
    d = case_degrades(&c, "thermal", SAND_KIND_GPU, SAND_EFFECT_SLOW, NULL, -1, 300);
    d->rate_per_part_s = 1e-5;
    d->speed = 0.8;
    case_run_well(&c, &kept);
    cr_assert_gt(N_ROWS(&kept, degradations), 100u);
    for (uint32_t job = 0; job < 3; job++) {
        int64_t cost_ns = 0;
        for (size_t i = 0; i < N_ROWS(&kept, degradations); i++) {
            const struct sand_degradations_row *row = &ROWS(&kept, degradations)[i];
            if (row->job == job)
                cost_ns += row->still_ns + row->slow_ns;
        }
        cr_assert_gt(cost_ns, 0);
        cr_assert_float_eq((double)cost_ns, (double)attempt_of(job, 0)->faults_ns, 2000);
    }
}

// Faults that kill strike at the same dates whatever degrades: jobs of given steps are not slowed,
// so their incidents are equal to the last byte.
Test(replay_degradation, leaves_the_faults_that_kill_alone)
{
    case_set(&c, 4, 100000);
    case_job(&c, "a", 3, 0, 10, 0);
    case_fault(&c, "x", 9000, SAND_REMEDY_RESTART, 7, 11, 13, 0);
    case_degrades(&c, "thermal", SAND_KIND_GPU, SAND_EFFECT_SLOW, NULL, -1, 300)->speed = 0.5;
    c.degradations[0].rate_per_part_s = 1e-4;
    int64_t dates[4][2];
    case_run_well(&c, &kept);
    case_fault_dates(&c, dates, 4);
    cr_assert_gt(N_ROWS(&kept, degradations), 100u);
    for (uint32_t node = 0; node < 3; node++) {
        int seen = 0;
        for (size_t i = 0; i < N_ROWS(&kept, incidents); i++)
            seen += ROWS(&kept, incidents)[i].node == node &&
                    ROWS(&kept, incidents)[i].fault_ns == dates[node][0];
        cr_assert_eq(seen, 1);
    }
    cr_assert_eq(attempt_of(0, 0)->faults_ns, 0);
}

// ---- words --------------------------------------------------------------------------------------

// A part that is not there is named with the place where it is written.
static void expect_refused(enum sand_part_kind kind, const char *part, const char *words)
{
    struct sand_diag diag = {0};
    int found = 0;
    set_three(1);
    struct sand_degradation_class *d = case_degrades(&c, "d", kind, SAND_EFFECT_SLOW, part, 0, 1e6);
    d->speed = 0.5;
    d->file = "faults.xml";
    d->line = 12;
    cr_assert_eq(case_run(&c, 0, &kept, &diag), SAND_ERR_INPUT);
    for (size_t i = 0; i < diag.n_messages; i++) {
        const struct sand_message *message = &diag.messages[i];
        found += strstr(message->text, words) && message->file && message->line == 12 &&
                 strcmp(message->file, "faults.xml") == 0;
    }
    cr_expect_eq(found, 1, "%s", part);
    sand_diag_clear(&diag);
    forget();
}

Test(replay_degradation, a_part_that_is_not_there_is_named_with_its_place)
{
    expect_refused(SAND_KIND_LINK, "leaf9-spine2 up", "which is not there");
    expect_refused(SAND_KIND_GPU, "node9 gpu1", "the last is called \"node7 gpu7\"");
    expect_refused(SAND_KIND_CORE, NULL, "the fabric has no such parts");
}
