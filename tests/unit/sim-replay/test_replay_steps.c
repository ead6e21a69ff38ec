// Jobs without faults: steps, queueing and saves counted by hand.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    keep_clear(&kept);
}

TestSuite(replay_steps, .fini = forget, .timeout = 30);

// A job of 100 steps of 2.5 s, submitted at 10 s, ends at 260 s; every GPU-second has its class.
Test(replay_steps, counts_whole_steps)
{
    case_set(&c, 4, 1000);
    c.experiment.mfu_window_ns = S(300);
    case_job(&c, "a", 3, 10, 2.5, 100);
    case_run_well(&c, &kept);
    const struct sand_jobs_row *job = &ROWS(&kept, jobs)[0];
    cr_assert_str_eq(job->state.text, "finished");
    cr_assert_eq(job->steps_done, 100);
    cr_assert_eq(job->start_ns, S(10));
    cr_assert_eq(job->end_ns, S(260));
    cr_assert_float_eq(job->ettr_run, 1.0, 1e-12);
    cr_assert_float_eq(booked_gpu_s(&kept, "useful"), 250 * 24, 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "at risk"), 0, 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "idle"), 1000 * 8 + 750 * 24, 1e-6);
    cr_assert_eq(N_ROWS(&kept, attempts), 1);
}

// Power: the job's servers draw 10 kW while stepping, all others 2 kW, times a PUE of 1.25.
Test(replay_steps, integrates_power)
{
    case_set(&c, 4, 1000);
    c.experiment.mfu_window_ns = S(300);
    case_job(&c, "a", 3, 10, 2.5, 100);
    case_run_well(&c, &kept);
    const double joules = 1.25 * (250 * 3 * 10e3 + (1000 * 4 - 750) * 2e3);
    cr_assert_float_eq(ROWS(&kept, replications)[0].energy_J, joules, 1e-3);
    double from_windows = 0;
    for (size_t i = 0; i < N_ROWS(&kept, cluster); i++)
        from_windows +=
            ROWS(&kept, cluster)[i].power_W *
            (double)(ROWS(&kept, cluster)[i].end_ns - ROWS(&kept, cluster)[i].begin_ns) / 1e9;
    cr_assert_float_eq(from_windows, joules, 1e-3);
}

// Without a limit a job runs to the end, which cuts the 401st step; nothing was made safe.
Test(replay_steps, stops_at_the_end)
{
    case_set(&c, 2, 1001);
    case_job(&c, "endless", 2, 0, 2.5, 0);
    case_run_well(&c, &kept);
    const struct sand_jobs_row *job = &ROWS(&kept, jobs)[0];
    cr_assert_str_eq(job->state.text, "running at the end");
    cr_assert_eq(job->steps_done, 400);
    cr_assert_eq(job->end_ns, S(1001));
    cr_assert_float_eq(job->ettr_run, 1000.0 / 1001, 1e-12);
    cr_assert_float_eq(booked_gpu_s(&kept, "at risk"), 1001 * 16, 1e-6);
}

// The last step ends with the experiment: it counts.
Test(replay_steps, a_step_that_ends_with_the_experiment_counts)
{
    case_set(&c, 1, 1000);
    case_job(&c, "a", 1, 0, 2.5, 400);
    case_run_well(&c, &kept);
    cr_assert_str_eq(ROWS(&kept, jobs)[0].state.text, "finished");
    cr_assert_eq(ROWS(&kept, jobs)[0].end_ns, S(1000));
}

// work_s limits a training job to the steps that fill it, rounded up: 101 s of 2.5 s steps are 41.
Test(replay_steps, work_is_rounded_up_to_steps)
{
    case_set(&c, 1, 1000);
    case_job(&c, "a", 1, 0, 2.5, 0)->work_s = 101;
    case_run_well(&c, &kept);
    cr_assert_eq(ROWS(&kept, jobs)[0].steps_done, 41);
}

// MFU by window: 8 GPUs of 1e15 FLOP/s; a window half stepped has the MFU of the time held.
Test(replay_steps, mfu_per_window_splits_steps_at_the_border)
{
    case_set(&c, 2, 600);
    c.experiment.mfu_window_ns = S(100);
    struct sand_job_spec *job = case_job(&c, "a", 1, 50, 30, 4); // 50 to 170 s
    case_saves(&c, job, "1h", SAND_SAVE_BLOCKING, 1, 1e9);
    case_run_well(&c, &kept);
    cr_assert_eq(N_ROWS(&kept, mfu), 2);
    const struct sand_mfu_row *rows = ROWS(&kept, mfu);
    cr_assert_float_eq(rows[0].stepping, 0.5, 1e-12);
    cr_assert_float_eq(rows[1].stepping, 0.7, 1e-12);
    const double mfu = ROWS(&kept, jobs)[0].mfu;
    cr_assert_gt(mfu, 0);
    cr_assert_float_eq(rows[0].mfu, mfu, 1e-12 * mfu);
    cr_assert_float_eq(rows[1].mfu, mfu, 1e-12 * mfu);
    cr_assert_float_eq(ROWS(&kept, jobs)[0].goodput_mfu, mfu, 1e-12 * mfu);
}

// ---- queueing -----------------------------------------------------------------------------------

// FIFO on 4 nodes: b (2 nodes) waits for a (3 nodes, 100 s) and blocks c (1 node).
Test(replay_steps, fifo_head_blocks)
{
    case_set(&c, 4, 1000);
    case_recorded(&c, "a", 3, 0, 100);
    case_recorded(&c, "b", 2, 10, 50);
    case_recorded(&c, "c", 1, 20, 10);
    case_run_well(&c, &kept);
    const struct sand_jobs_row *jobs = ROWS(&kept, jobs);
    const int64_t starts[3] = {S(0), S(100), S(100)}, ends[3] = {S(100), S(150), S(110)};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(jobs[i].start_ns, starts[i]);
        cr_assert_eq(jobs[i].end_ns, ends[i]);
        cr_assert_eq(jobs[i].steps_done, 1);
    }
    cr_assert_float_eq(jobs[1].ettr_total, 50.0 / 140, 1e-12);
    cr_assert_eq(N_ROWS(&kept, decisions), 3);
}

// A job that ends and one that arrives at the same instant: the end comes first, one decision sees
// both. A job without length holds its node for a nanosecond and runs all the same.
Test(replay_steps, one_decision_per_instant)
{
    case_set(&c, 1, 1000);
    case_recorded(&c, "a", 1, 0, 100);
    case_recorded(&c, "b", 1, 100, 0);
    case_recorded(&c, "c", 1, 100, 5);
    case_run_well(&c, &kept);
    cr_assert_eq(ROWS(&kept, jobs)[1].start_ns, S(100));
    cr_assert_eq(ROWS(&kept, jobs)[2].start_ns, S(100) + 1);
}

// Spares are not given to jobs: 3 nodes with 1 spare run two single-node jobs at once.
Test(replay_steps, spares_are_set_apart)
{
    case_set(&c, 3, 100);
    c.experiment.hot_spares = 1;
    for (int i = 0; i < 3; i++)
        case_recorded(&c, "a", 1, 0, 10);
    case_run_well(&c, &kept);
    cr_assert_eq(ROWS(&kept, jobs)[1].start_ns, 0);
    cr_assert_eq(ROWS(&kept, jobs)[2].start_ns, S(10));
    cr_assert_float_eq(booked_gpu_s(&kept, "spare"), 100 * 8, 1e-6);
}

// ---- saves --------------------------------------------------------------------------------------

static void check_save(size_t row, uint64_t step, double begin_s, double resume_s, double durable_s)
{
    const struct sand_checkpoints_row *save = &ROWS(&kept, checkpoints)[row];
    cr_assert_lt(row, N_ROWS(&kept, checkpoints));
    cr_assert_eq(save->step, step);
    cr_assert_float_eq((double)save->begin_ns / 1e9, begin_s, 1e-9);
    cr_assert_float_eq((double)save->resume_ns / 1e9, resume_s, 1e-9);
    cr_assert_float_eq((double)save->durable_ns / 1e9, durable_s, 1e-9);
}

// Interval 25 s, steps of 2 s: a save after 13 steps (the first boundary at or after 25 s), 4 s of
// standing still, 13 steps more.
Test(replay_steps, blocking_saves_of_given_length)
{
    case_set(&c, 1, 1000);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 2, 40);
    case_saves(&c, job, "25s", SAND_SAVE_BLOCKING, 4, 0);
    case_run_well(&c, &kept);
    cr_assert_eq(N_ROWS(&kept, checkpoints), 3);
    for (size_t i = 0; i < 3; i++)
        check_save(i, 13 * (i + 1), 26 + 30 * (double)i, 30 + 30 * (double)i, 30 + 30 * (double)i);
    cr_assert_eq(ROWS(&kept, jobs)[0].end_ns, S(92));
    cr_assert_float_eq(booked_gpu_s(&kept, "useful"), 80 * 8, 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "checkpoint stall"), 12 * 8, 1e-6);
    cr_assert_float_eq(ROWS(&kept, jobs)[0].ettr_run, 80.0 / 92, 1e-12);
    cr_assert_float_eq(ROWS(&kept, jobs)[0].checkpoint_stall_s, 4, 1e-12);
    cr_assert_float_eq(ROWS(&kept, jobs)[0].checkpoint_interval_s, 25, 1e-12);
    cr_assert_eq(N_ROWS(&kept, decisions), 2); // the start, and the interval once
}

// Blocking without a given length: 30 GB over one node's 10 GB/s are 3 s.
Test(replay_steps, blocking_saves_are_transfers)
{
    case_set(&c, 1, 1000);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 2, 14);
    case_saves(&c, job, "25s", SAND_SAVE_BLOCKING, -1, 30e9);
    case_run_well(&c, &kept);
    check_save(0, 13, 26, 29, 29);
    cr_assert_eq(ROWS(&kept, jobs)[0].end_ns, S(31));
}

// Asynchronous: 100 GB, 12.5 GB a GPU over 25 GB/s are half a second of copying, then 10 s of
// transfer while training goes on.
Test(replay_steps, async_saves_copy_then_write)
{
    case_set(&c, 1, 1000);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 2, 20);
    case_saves(&c, job, "25s", SAND_SAVE_ASYNC, -1, 100e9);
    case_run_well(&c, &kept);
    check_save(0, 13, 26, 26.5, 36.5);
    cr_assert_eq(ROWS(&kept, jobs)[0].end_ns, S(40) + S(1) / 2);
    cr_assert_float_eq(booked_gpu_s(&kept, "checkpoint stall"), 4, 1e-6);
}

// A save that is due while the one before is still being written begins at the first boundary after
// it is durable. Two jobs share 10 GB/s: saves of 105 GB, begun at 12 s and copied by 13 s, take
// 21 s instead of the 10.5 s the policy reckons with. The next is due at 25 s; durable at 34 s, the
// boundaries lie at odd seconds.
Test(replay_steps, async_save_waits_for_the_one_before)
{
    case_set(&c, 2, 40);
    c.experiment.cluster.storage.server_write_Bps = 2e9;
    for (int i = 0; i < 2; i++)
        case_saves(&c, case_job(&c, "a", 1, 0, 2, 0), "1s", SAND_SAVE_ASYNC, 1, 105e9);
    case_run_well(&c, &kept);
    cr_assert_eq(N_ROWS(&kept, checkpoints), 4);
    check_save(0, 6, 12, 13, 34);
    check_save(1, 6, 12, 13, 34);
    for (size_t i = 2; i < 4; i++) {
        cr_assert_eq(ROWS(&kept, checkpoints)[i].begin_ns, S(35));
        cr_assert_eq(ROWS(&kept, checkpoints)[i].resume_ns, S(36));
        cr_assert_eq(ROWS(&kept, checkpoints)[i].durable_ns, -1); // the end came first
    }
    cr_assert_eq(ROWS(&kept, jobs)[0].checkpoints, 1);
}

// The same at a boundary that coincides with the commit: 100 GB are durable at 33 s, and the save
// begins then, because a commit comes before a step boundary of the same nanosecond.
Test(replay_steps, a_save_begins_at_the_instant_the_one_before_is_durable)
{
    case_set(&c, 2, 40);
    c.experiment.cluster.storage.server_write_Bps = 2e9;
    for (int i = 0; i < 2; i++)
        case_saves(&c, case_job(&c, "a", 1, 0, 2, 0), "1s", SAND_SAVE_ASYNC, 1, 100e9);
    case_run_well(&c, &kept);
    check_save(0, 6, 12, 13, 33);
    cr_assert_eq(ROWS(&kept, checkpoints)[2].begin_ns, S(33));
}

// Two jobs of 2 nodes (20 GB/s each) on storage of 25 GB/s, both saving at 10 s: 12.5 GB/s each.
// b's 100 GB are written at 18 s; a has 150 of 250 GB left and goes on at 20 GB/s: 25.5 s.
Test(replay_steps, saves_share_the_storage)
{
    case_set(&c, 4, 27);
    struct sand_job_spec *a = case_job(&c, "a", 2, 0, 10, 0);
    case_saves(&c, a, "10s", SAND_SAVE_BLOCKING, -1, 250e9);
    struct sand_job_spec *b = case_job(&c, "b", 2, 0, 10, 0);
    case_saves(&c, b, "10s", SAND_SAVE_BLOCKING, -1, 100e9);
    case_run_well(&c, &kept);
    cr_assert_eq(N_ROWS(&kept, checkpoints), 2);
    check_save(0, 1, 10, 18, 18);
    check_save(1, 1, 10, 25.5, 25.5);
    cr_assert_eq(ROWS(&kept, checkpoints)[0].job, 1);
    cr_assert_float_eq(ROWS(&kept, checkpoints)[1].bytes, 250e9, 1);
}

// A model whose saves have no way to the storage is refused when it has to save, not ignored.
Test(replay_steps, refuses_saves_without_a_way)
{
    case_set(&c, 1, 100);
    c.experiment.cluster.storage.n_servers = 0;
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 2, 0);
    case_saves(&c, job, "25s", SAND_SAVE_BLOCKING, -1, 30e9);
    struct sand_diag diag = {0};
    cr_assert_eq(case_run(&c, 0, &kept, &diag), SAND_ERR_INPUT);
    cr_assert_not_null(strstr(diag.messages[0].text, "job \"a\""));
    cr_assert_not_null(strstr(diag.messages[0].text, "storage"));
    sand_diag_clear(&diag);
}
