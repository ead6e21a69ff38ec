// Storage on the training fabric: how long saves and restores take there, alone, together, beside
// steps and over parts that ail; what they and data loading cost steps. By closed forms.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ids.h"
#include "mem.h"

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    keep_clear(&kept);
    if (c.oracle)
        sand_oracle_close(c.oracle);
    c.oracle = NULL;
}

TestSuite(replay_storage, .fini = forget, .timeout = 60);

// Leaves of 4 nodes with 8 NICs of 50 GB/s and a quarter of that upwards: 400 GB/s, which one save
// of a 2-node job can fill with its 16 streams. Storage beyond the spines that takes far more.
static const double save_B = 4000e9; // 10 s

static void set(void)
{
    case_set(&c, 8, 1000);
    c.nic.usable = 1;
    c.experiment.cluster.fabric.leaf_oversubscription = 4;
    c.experiment.cluster.fabric.spines = 1;
    c.experiment.cluster.fabric.convergence_s = 0;
    c.experiment.cluster.storage.n_servers = 1000;
    c.experiment.cluster.storage_ports =
        (struct sand_storage_ports){.n_ports = 1, .port_Bps = 50e9, .at = SAND_STORAGE_AT_SPINES};
}

static void open_oracle(void)
{
    if (!c.oracle)
        cr_assert_eq(sand_oracle_open(&c.oracle, NULL), SAND_OK);
}

static struct sand_job_spec *saver(const char *id)
{
    struct sand_job_spec *job = case_job(&c, id, 2, 0, 1, 40);
    open_oracle();
    case_saves(&c, job, "25s", SAND_SAVE_BLOCKING, -1, save_B);
    return job;
}

static double save_s(uint32_t job)
{
    for (size_t i = 0; i < N_ROWS(&kept, checkpoints); i++)
        if (ROWS(&kept, checkpoints)[i].job == job)
            return (double)(ROWS(&kept, checkpoints)[i].durable_ns -
                            ROWS(&kept, checkpoints)[i].begin_ns) *
                   1e-9;
    cr_assert_fail("no save of job %u", job);
    return NAN;
}

#define EXPECT_SAVE(job, seconds) cr_expect_float_eq(save_s(job), seconds, 1e-6, "%g", save_s(job))

Test(replay_storage, a_save_takes_what_the_trunk_gives)
{
    set();
    saver("a");
    case_run_well(&c, &kept);
    EXPECT_SAVE(0, 10);
}

// On one leaf they share its trunk, on two they do not meet.
Test(replay_storage, two_saves_share_a_trunk)
{
    set();
    saver("a");
    saver("b");
    case_run_well(&c, &kept);
    EXPECT_SAVE(0, 20);
    EXPECT_SAVE(1, 20);
}

Test(replay_storage, saves_of_two_leaves_do_not_meet)
{
    set();
    saver("a");
    case_job(&c, "between", 2, 0, 1, 0);
    saver("b");
    case_run_well(&c, &kept);
    EXPECT_SAVE(0, 10);
    EXPECT_SAVE(2, 10);
}

// Eight servers of 5 GB/s: they hold back, and two savers share them wherever they are.
Test(replay_storage, servers_hold_back)
{
    set();
    c.experiment.cluster.storage.n_servers = 8;
    saver("a");
    case_job(&c, "between", 2, 0, 1, 0);
    saver("b");
    case_run_well(&c, &kept);
    EXPECT_SAVE(0, 200);
    EXPECT_SAVE(2, 200);
}

// Ports below the discs' rate.
Test(replay_storage, ports_hold_back)
{
    set();
    c.experiment.cluster.storage.n_servers = 80;
    c.experiment.cluster.storage_ports.port_Bps = 2.5e9;
    saver("a");
    case_run_well(&c, &kept);
    EXPECT_SAVE(0, 20);
}

// Storage on leaf 0 itself: nothing between the job and its leaf but 16 NICs.
Test(replay_storage, storage_beside_the_job)
{
    set();
    c.experiment.cluster.storage_ports.at = SAND_STORAGE_AT_LEAVES;
    c.experiment.cluster.storage_ports.n_leaves = 1;
    saver("a");
    case_run_well(&c, &kept);
    EXPECT_SAVE(0, save_B / (16 * 50e9));
}

// ---- parts that ail -----------------------------------------------------------------------------

static struct sand_degradation_class *trunk(enum sand_effect effect, double at_s, double repair_s)
{
    return case_degrades(&c, "trunk", SAND_KIND_LINK, effect, "leaf0 up", at_s, repair_s);
}

// Half of the trunk goes 5 s into the save: the second half of it takes twice as long.
Test(replay_storage, a_slow_trunk_slows_a_save_from_then_on)
{
    set();
    saver("a");
    c.experiment.cluster.fabric.loss_window = 100;
    trunk(SAND_EFFECT_SLOW, 30, 1e6)->speed = 0.5;
    case_run_well(&c, &kept);
    // One of the bundle's 8 cables at half its lanes: a sixteenth of the trunk.
    EXPECT_SAVE(0, 5 + 5 / (15. / 16));
}

// Loss as for every flow: go-back-N leaves (1 - p) / (1 - p + p W) of one of 8 cables.
Test(replay_storage, a_lossy_trunk_slows_a_save)
{
    set();
    saver("a");
    c.experiment.cluster.fabric.loss_window = 100;
    trunk(SAND_EFFECT_LOSS, 0, 1e6)->loss = 8e-2;
    case_run_well(&c, &kept);
    const double p = 1e-2;
    EXPECT_SAVE(0, 10 / ((1 - p) / (1 - p + p * 100)));
}

// The only spine is gone for 7 s: nothing moves, then the rest does.
Test(replay_storage, a_save_that_is_cut_off_waits)
{
    set();
    saver("a");
    case_degrades(&c, "spine", SAND_KIND_SPINE, SAND_EFFECT_DOWN, "spine0", 30, 7);
    case_run_well(&c, &kept);
    EXPECT_SAVE(0, 17);
}

// One of two spines: routes are found after 3 s, then half the trunk is left.
Test(replay_storage, a_save_stands_still_until_routes_are_found)
{
    set();
    saver("a");
    c.experiment.cluster.fabric.spines = 2;
    c.experiment.cluster.fabric.convergence_s = 3;
    case_degrades(&c, "spine", SAND_KIND_SPINE, SAND_EFFECT_DOWN, "spine0", 30, 1e6);
    case_run_well(&c, &kept);
    EXPECT_SAVE(0, 5 + 3 + 10);
}

// ---- faults -------------------------------------------------------------------------------------

// A restore comes back down the trunk; with storage that reads slower it would be another figure.
Test(replay_storage, a_restore_comes_back_over_the_fabric)
{
    set();
    c.experiment.duration_ns = S(100000);
    saver("a")->n_steps = 0;
    c.experiment.cluster.storage_ports.port_Bps = 0.2e9; // 1,000 servers: 200 GB/s
    case_fault(&c, "gpu", 20000, SAND_REMEDY_RESTART, 1, 1, 1, 1);
    case_run_well(&c, &kept);
    size_t n = 0;
    for (size_t i = 0; i < N_ROWS(&kept, incidents); i++) {
        const struct sand_incidents_row *row = &ROWS(&kept, incidents)[i];
        if (row->parent != SAND_NONE || !(row->restore_s > 0))
            continue;
        cr_expect_float_eq(row->restore_s, save_B / 200e9, 1e-6, "%g", row->restore_s);
        n++;
    }
    cr_expect_gt(n, 2);
    check_books(&c, &kept);
}

// Every 5th allocation of a run that saves fails: an error comes back, nothing else.
Test(replay_storage, out_of_memory, .timeout = 120)
{
    set();
    saver("a");
    sand_oracle_close(c.oracle); // nobody meets anybody: not asked
    c.oracle = NULL;
    int status = 0;
    for (uint64_t k = 1; !(WIFEXITED(status) && WEXITSTATUS(status) == 1); k += 5) {
        const pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            in_child = 1;
            sand_mem_fail_at(k);
            const enum sand_rc rc = case_run(&c, 0, &kept, NULL);
            _exit(rc == SAND_OK ? 1 : rc == SAND_ERR_NOMEM ? 0 : 2);
        }
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2, "allocation %lu: status %x",
                  (unsigned long)k, (unsigned)status);
        cr_assert_lt(k, 5000);
    }
}

// ---- steps --------------------------------------------------------------------------------------

// A trainer across the leaves (nodes 2 to 5), its rings' 8 hops on leaf 0's trunk fill it exactly;
// on nodes 0 and 1 who moves data. usable 0.7: 280 GB/s.
static struct sand_job_spec *trainer(void)
{
    struct sand_job_spec *job = case_simulated(&c, "trainer", 4, 0, 200);
    job->software = &c.software;
    return job;
}

static const struct sand_attempts_row *attempt_of(uint32_t job)
{
    for (size_t i = 0; i < N_ROWS(&kept, attempts); i++)
        if (ROWS(&kept, attempts)[i].job == job)
            return &ROWS(&kept, attempts)[i];
    cr_assert_fail("no attempt of job %u", job);
    return NULL;
}

// Data loading at half of the trunk: 16 streams at 8.75 GB/s ask for less than their even share, so
// the rings have the other half and every byte they send takes twice as long.
Test(replay_storage, data_loading_takes_its_part)
{
    set();
    struct sand_job_spec *reader = case_job(&c, "reader", 2, 0, 1, 0);
    trainer();
    reader->split.global_batch = 1000;
    reader->sequence_B = 140e6; // 140 GB/s
    c.experiment.duration_ns = S(100);
    case_run_well(&c, &kept);
    const struct sand_attempts_row *row = attempt_of(1);
    double exposed_s = 0, mfu = 0;
    for (size_t i = 0; i < N_ROWS(&kept, steps); i++)
        if (ROWS(&kept, steps)[i].job == 1) {
            exposed_s = ROWS(&kept, steps)[i].exposed_dp_s;
            mfu = ROWS(&kept, steps)[i].mfu;
        }
    const double lost_s = (double)row->transfers_ns * 1e-9 / (double)row->steps;
    cr_expect_gt(exposed_s, 0.01);
    cr_expect_float_eq(lost_s, exposed_s, 0.03 * exposed_s, "%g, %g", lost_s, exposed_s);
    cr_expect_eq(row->neighbours_ns, 0);
    check_books(&c, &kept);
    // On free links the MFU is that of the step alone.
    const struct sand_replications_row *run = &ROWS(&kept, replications)[0];
    cr_expect_float_eq(run->mfu_alone, mfu, 1e-6 * mfu, "%.9g, %.9g", run->mfu_alone, mfu);
    cr_expect_lt(run->mfu, 0.99 * mfu, "%.9g, %.9g", run->mfu, mfu);
}

// With a network of its own nothing of it is felt, nor is anything else another: the same rows.
Test(replay_storage, apart_nothing_meets)
{
    set();
    c.experiment.cluster.storage_ports.n_ports = 0;
    struct sand_job_spec *reader = case_job(&c, "reader", 2, 0, 1, 0);
    trainer();
    reader->split.global_batch = 1000;
    reader->sequence_B = 140e6;
    case_run_well(&c, &kept);
    cr_expect_eq(attempt_of(1)->transfers_ns, 0);
    cr_expect_eq(attempt_of(1)->steps_ns % (int64_t)attempt_of(1)->steps, 0);
}

// Seventeen saves over one trunk of 17 nodes' NICs: one more than is played together, and that is
// said.
Test(replay_storage, who_is_left_out_is_told)
{
    static char ids[17][4];
    set();
    c.experiment.cluster.n_nodes = 80; // two leaves
    c.experiment.cluster.fabric.endpoints_per_leaf = 40 * 8;
    for (size_t i = 0; i < 17; i++) {
        snprintf(ids[i], sizeof ids[i], "j%zu", i);
        saver(ids[i]);
    }
    struct sand_diag diag = {0};
    const enum sand_rc rc = case_run(&c, 0, &kept, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK);
    cr_assert_eq(diag.n_warnings, 1);
    cr_expect_not_null(strstr(diag.messages[0].text, "more than 8 jobs or 16 transfers of storage"),
                       "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
}
