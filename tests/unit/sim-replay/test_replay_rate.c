// A job whose steps become slower and faster again on the way: everything that hangs on its
// boundaries follows, and the books still balance. The test changes the rate at the windows'
// borders, where the pump calls it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <string.h>

#include <criterion/criterion.h>

#include "world.h"

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    keep_clear(&kept);
}

TestSuite(replay_rate, .fini = forget, .timeout = 30);

// What each cause adds to a step in the windows' order; the job stands still before `still`.
struct script {
    struct sand_world world;
    const int64_t (*by_s)[SAND_SLOW_CAUSES];
    const int64_t *still_s; // seconds to stand still, or NULL
    size_t n, done;
};

static void next_rate(void *self, int64_t now_ns, int64_t duration_ns)
{
    struct script *script = self;
    struct sand_world_job *j = script->world.slots[0];
    (void)duration_ns;
    if (script->done == script->n || j->phase < SAND_PHASE_STEPPING || j->phase == SAND_PHASE_ENDED)
        return;
    struct sand_rate rate = {.step_ns = j->rate.healthy_ns, .healthy_ns = j->rate.healthy_ns};
    for (int cause = 0; cause < SAND_SLOW_CAUSES; cause++) {
        rate.by_ns[cause] = S(script->by_s[script->done][cause]);
        rate.step_ns += rate.by_ns[cause];
    }
    if (script->still_s)
        j->resume_ns = now_ns + S(script->still_s[script->done]);
    script->done++;
    cr_assert_eq(sand_life_rate(&script->world, j, &rate), SAND_OK);
}

static enum sand_rc play(struct sand_world *w)
{
    const struct sand_bridge_platform platform = {
        .link_Bps = w->link_Bps, .n_links = w->n_links, .max_flows = w->max_flows};
    SAND_TRY(sand_bridge_run(&platform, sand_pump_run, w, w->diag));
    return sand_summary_emit(w);
}

static void run_script(const int64_t (*by_s)[SAND_SLOW_CAUSES], const int64_t *still_s, size_t n)
{
    static struct script script;
    script = (struct script){.by_s = by_s, .still_s = still_s, .n = n};
    struct sand_diag diag = {0};
    const struct sand_sink sink = keep_rows(&kept);
    const struct sand_replay_options options = {.progress = next_rate, .progress_self = &script};
    enum sand_rc rc = sand_world_open(&script.world, &c.experiment, NULL, &options, &sink, &diag);
    if (rc == SAND_OK)
        rc = play(&script.world);
    sand_world_close(&script.world);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    cr_assert_eq(rc, SAND_OK);
    cr_assert_eq(script.done, n);
    check_books(&c, &kept);
}

// 100 steps of 10 s; from 95 s on 20 s, from 190 s on 10 s again. At 95 s 9.5 steps are done, at
// 190 s 14.25; the rest takes 857.5 s. Of 47.5 s neighbours took, a step that was both counts its
// share.
Test(replay_rate, the_end_of_a_job_moves)
{
    static const int64_t by_s[2][SAND_SLOW_CAUSES] = {{0, 10, 0}, {0, 0, 0}};
    case_set(&c, 1, 2000);
    c.experiment.mfu_window_ns = S(95);
    case_job(&c, "a", 1, 0, 10, 100);
    run_script(by_s, NULL, 2);
    const struct sand_jobs_row *job = &ROWS(&kept, jobs)[0];
    const struct sand_attempts_row *attempt = &ROWS(&kept, attempts)[0];
    cr_assert_eq(job->end_ns, S(1047.5));
    cr_assert_eq(job->steps_done, 100u);
    cr_assert_float_eq(job->step_s, 10.475, 1e-12);
    cr_assert_eq(N_ROWS(&kept, attempts), 1u);
    cr_assert_eq(attempt->steps_ns, S(1047.5));
    cr_assert_eq(attempt->neighbours_ns, S(47.5));
    cr_assert_eq(attempt->faults_ns, 0);
    cr_assert_float_eq(attempt->step_s, 10.475, 1e-12);
    cr_assert_float_eq(booked_gpu_s(&kept, "useful"), 8 * 1000, 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "slowdown"), 8 * 47.5, 1e-6);
}

// MFU and activity of a window follow the rate: at half the speed half the MFU.
Test(replay_rate, windows_follow)
{
    static const int64_t by_s[2][SAND_SLOW_CAUSES] = {{0, 0, 10}, {0, 0, 0}};
    case_set(&c, 1, 400);
    c.experiment.mfu_window_ns = S(100);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 10, 0);
    case_saves(&c, job, "1h", SAND_SAVE_BLOCKING, 1, 1e9);
    run_script(by_s, NULL, 2);
    const struct sand_mfu_row *rows = ROWS(&kept, mfu);
    cr_assert_eq(N_ROWS(&kept, mfu), 4u);
    cr_assert_float_eq(rows[1].mfu, rows[0].mfu / 2, 1e-12);
    cr_assert_float_eq(rows[2].mfu, rows[0].mfu, 1e-12);
    cr_assert_float_eq(rows[1].stepping, 1, 1e-12);
}

// A save every 50 s of training, 5 s standing still. First stretch: 5 steps, 0 to 50 s. Second:
// from 55 s; at 62 s 0.7 of a step, then 25 s a step: boundaries at 69.5, 94.5, 119.5 s: the first
// at or after 105 s has the save.
Test(replay_rate, saves_move_to_the_boundaries_that_come)
{
    static const int64_t by_s[1][SAND_SLOW_CAUSES] = {{5, 5, 5}};
    case_set(&c, 1, 150);
    c.experiment.mfu_window_ns = S(62);
    case_saves(&c, case_job(&c, "a", 1, 0, 10, 0), "50s", SAND_SAVE_BLOCKING, 5, 1e9);
    run_script(by_s, NULL, 1);
    const struct sand_checkpoints_row *saves = ROWS(&kept, checkpoints);
    cr_assert_eq(N_ROWS(&kept, checkpoints), 2u);
    cr_assert_eq(saves[0].begin_ns, S(50));
    cr_assert_eq(saves[1].begin_ns, S(119.5));
    cr_assert_eq(saves[1].step, 8u);
    // 8 durable steps: 50 s, 14.5 s, 25 s, 25 s. 24.5 s of it slow: 4.5 + 2 x 15 s.
    cr_assert_float_eq(booked_gpu_s(&kept, "useful"), 8 * 80, 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "slowdown"), 8 * 34.5, 1e-6);
    cr_assert_float_eq(booked_gpu_s(&kept, "checkpoint stall"), 8 * 10, 1e-6);
}

// A change during a save concerns the next step. Save from 50 to 60 s, change at 55 s.
Test(replay_rate, a_change_during_a_save_is_the_next_stretchs)
{
    static const int64_t by_s[1][SAND_SLOW_CAUSES] = {{0, 0, 20}};
    case_set(&c, 1, 150);
    c.experiment.mfu_window_ns = S(55);
    case_saves(&c, case_job(&c, "a", 1, 0, 10, 7), "50s", SAND_SAVE_BLOCKING, 10, 1e9);
    run_script(by_s, NULL, 1);
    cr_assert_eq(ROWS(&kept, jobs)[0].end_ns, S(60 + 2 * 30));
    cr_assert_eq(ROWS(&kept, attempts)[0].faults_ns, S(40));
}

// Standing still from 25 s for 100 s: 2.5 steps before, then the rest; all of it is the fault's.
Test(replay_rate, standing_still_is_lost_time_of_a_step)
{
    static const int64_t by_s[1][SAND_SLOW_CAUSES] = {{0, 0, 0}}, still_s[1] = {100};
    case_set(&c, 1, 300);
    c.experiment.mfu_window_ns = S(25);
    case_job(&c, "a", 1, 0, 10, 12);
    run_script(by_s, still_s, 1);
    cr_assert_eq(ROWS(&kept, jobs)[0].end_ns, S(220));
    cr_assert_eq(ROWS(&kept, attempts)[0].faults_ns, S(100));
    cr_assert_float_eq(booked_gpu_s(&kept, "slowdown"), 8 * 100, 1e-6);
}

// Node 0 is struck; some 30 changes before, in between and after. A fault undoes slow and fast
// steps at the time they took, and the steps done again end the incident at the right boundary:
// check_books holds the parts against the dates.
Test(replay_rate, faults_undo_steps_at_the_time_they_took)
{
    int64_t dates[2][2];
    case_set(&c, 2, 60000);
    case_fault(&c, "x", 9000, SAND_REMEDY_RESTART, 7, 11, 13, 0);
    case_saves(&c, case_job(&c, "a", 1, 0, 10, 0), "333s", SAND_SAVE_BLOCKING, 5, 1e9);
    case_fault_dates(&c, dates, 2);
    static int64_t by_s[120][SAND_SLOW_CAUSES];
    for (int i = 0; i < 120; i++)
        for (int cause = 0; cause < 3; cause++)
            by_s[i][cause] = (i * (7 + cause)) % 5;
    c.experiment.mfu_window_ns = S(487);
    run_script((const int64_t(*)[SAND_SLOW_CAUSES])by_s, NULL, 120);
    const struct sand_incidents_row *incident = &ROWS(&kept, incidents)[0];
    const struct sand_attempts_row *attempt = &ROWS(&kept, attempts)[0];
    cr_assert_geq(N_ROWS(&kept, incidents), 3u);
    cr_assert_eq(incident->fault_ns, dates[0][0]);
    cr_assert_gt(incident->steps_lost, 3u);
    cr_assert_eq(attempt->steps_lost, incident->steps_lost);
    cr_assert_gt(attempt->lost_ns, (int64_t)attempt->steps_lost * S(10));
    cr_assert_gt(attempt->neighbours_ns, 0);
}
