// Policies that misbehave fail the run unit in their own name; what can never come is a deadlock.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay.h"
#include "replay_fixture.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    keep_clear(&kept);
}

TestSuite(replay_policies, .fini = forget, .timeout = 60);

static struct sand_choice plugin_choice(const char *type, const char *path)
{
    return (struct sand_choice){.type = type, .plugin = path};
}

// One plug-in with one thing wrong, and a piece of the message that says so.
struct misbehaviour {
    char family[16], type[48], file[40], says[64];
    enum sand_rc rc;
};

ParameterizedTestParameters(replay_policies, misbehaves)
{
    static struct misbehaviour cases[] = {
        {"schedule", "schedule/starts-twice", "starts_twice", "not waiting", SAND_ERR_PLUGIN},
        {"schedule", "schedule/starts-unknown", "starts_unknown", "which neither waits nor runs",
         SAND_ERR_PLUGIN},
        {"schedule", "schedule/wakes-in-the-past", "wakes_in_the_past", "not after now",
         SAND_ERR_PLUGIN},
        {"schedule", "schedule/wakes-now", "wakes_now", "not after now", SAND_ERR_PLUGIN},
        {"schedule", "schedule/wakes-forever", "wakes_forever", "and started nothing",
         SAND_ERR_PLUGIN},
        {"schedule", "schedule/decide-fails", "decide_fails", "policy \"schedule/decide-fails\"",
         SAND_ERR_PLUGIN},
        {"schedule", "schedule/decide-fails-silently", "decide_fails_silently", "no reason",
         SAND_ERR_PLUGIN},
        {"schedule", "schedule/create-fails", "create_fails", "policy \"schedule/create-fails\"",
         SAND_ERR_PLUGIN},
        {"schedule", "schedule/never-starts", "never_starts", "job \"a\" waits for 2 nodes",
         SAND_ERR_UNIT},
        {"place", "place/place-garbage", "place_garbage", "has nodes 0 to 3", SAND_ERR_PLUGIN},
        {"place", "place/place-not-allowed", "place_not_allowed", "not among the allowed",
         SAND_ERR_PLUGIN},
        {"place", "place/place-repeats", "place_repeats", "twice", SAND_ERR_PLUGIN},
        {"place", "place/place-writes-nothing", "place_writes_nothing", "node 4294967295",
         SAND_ERR_PLUGIN},
        {"checkpoint", "checkpoint/interval-nan", "interval_nan", "must be above 0",
         SAND_ERR_PLUGIN},
        {"checkpoint", "checkpoint/interval-negative", "interval_negative", "must be above 0",
         SAND_ERR_PLUGIN},
        {"checkpoint", "checkpoint/interval-zero", "interval_zero", "must be above 0",
         SAND_ERR_PLUGIN},
        {"checkpoint", "checkpoint/interval-infinite", "interval_infinite", "must be above 0",
         SAND_ERR_PLUGIN},
        {"recover", "recover/recover-same", "recover_same", "left for repair", SAND_ERR_PLUGIN},
        {"recover", "recover/recover-action", "recover_action", "unknown action", SAND_ERR_PLUGIN},
        {"recover", "recover/recover-failed", "recover_failed", "neither spare nor idle",
         SAND_ERR_PLUGIN},
        {"recover", "recover/recover-garbage", "recover_garbage", "neither spare nor idle",
         SAND_ERR_PLUGIN},
    };
    return cr_make_param_array(struct misbehaviour, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct misbehaviour *m, replay_policies, misbehaves)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.so", SAND_TEST_PLUGINS, m->file);
    case_set(&c, 4, 100000);
    struct sand_job_spec *job = case_job(&c, "a", 2, 0, 10, 0);
    job->checkpoint.stall_s = job->checkpoint.restore_s = 1;
    if (strcmp(m->family, "place") == 0)
        case_job(&c, "b", 2, 0, 10, 0);
    case_fault(&c, "gpu", 10000, SAND_REMEDY_REPLACE, 30, 20, 60, 500);
    const struct sand_choice choice = plugin_choice(m->type, path);
    if (strcmp(m->family, "schedule") == 0)
        c.experiment.schedule = choice;
    else if (strcmp(m->family, "place") == 0)
        c.experiment.place = choice;
    else if (strcmp(m->family, "checkpoint") == 0)
        job->checkpoint.policy = choice;
    else
        c.experiment.recover = choice;
    struct sand_diag diag = {0};
    const enum sand_rc rc = case_run(&c, 0, &kept, &diag);
    cr_assert_eq(rc, m->rc, "%s: %s", m->file, sand_rc_text(rc));
    cr_assert_geq(diag.n_messages, 1);
    int says = 0, names = 0;
    for (size_t i = 0; i < diag.n_messages; i++) {
        says += strstr(diag.messages[i].text, m->says) != NULL;
        names += strstr(diag.messages[i].text, m->type) != NULL;
    }
    cr_assert(says && names, "%s: the message is: %s", m->file, diag.messages[0].text);
    sand_diag_clear(&diag);
}

// The example plug-in decides as the built-in does: same rows.
Test(replay_policies, the_example_plug_in_schedules)
{
    case_set(&c, 4, 1000);
    c.experiment.schedule =
        plugin_choice("schedule/example-fifo", SAND_TEST_PLUGINS "/example_fifo.so");
    case_recorded(&c, "a", 3, 0, 100);
    case_recorded(&c, "b", 2, 10, 50);
    case_recorded(&c, "c", 1, 20, 10);
    case_run_well(&c, &kept);
    cr_assert_eq(ROWS(&kept, jobs)[1].start_ns, S(100));
    cr_assert_eq(ROWS(&kept, jobs)[2].start_ns, S(100));
}

// ---- what can never come ------------------------------------------------------------------------

// A job larger than the cluster: a failed unit that says who waits for what.
Test(replay_policies, a_job_larger_than_the_cluster)
{
    case_set(&c, 4, 1000);
    c.experiment.hot_spares = 1;
    case_recorded(&c, "small", 1, 0, 100);
    case_recorded(&c, "large", 4, 10, 100);
    struct sand_diag diag = {0};
    cr_assert_eq(case_run(&c, 0, &kept, &diag), SAND_ERR_UNIT);
    cr_assert_eq(diag.n_errors, 1);
    cr_assert_not_null(strstr(diag.messages[0].text, "job \"large\" waits for 4 nodes"));
    cr_assert_not_null(strstr(diag.messages[0].text, "of 4 nodes 3 are idle, 1 spares"));
    cr_assert_not_null(strstr(diag.messages[0].text, "at 100 s"));
    sand_diag_clear(&diag);
}

// A job that only did not get its turn before the end is no failure, but it is said.
Test(replay_policies, a_job_that_did_not_get_its_turn)
{
    case_set(&c, 1, 1000);
    case_recorded(&c, "long", 1, 0, 2000);
    case_recorded(&c, "late", 1, 10, 100);
    struct sand_diag diag = {0};
    cr_assert_eq(case_run(&c, 0, &kept, &diag), SAND_OK);
    cr_assert_eq(diag.n_warnings, 1);
    cr_assert_not_null(strstr(diag.messages[0].text, "\"late\""));
    cr_assert_str_eq(ROWS(&kept, jobs)[1].state.text, "waiting");
    cr_assert_eq(ROWS(&kept, jobs)[1].start_ns, -1);
    sand_diag_clear(&diag);
}

// Bad input is refused with the object's name.
Test(replay_policies, refuses_bad_experiments)
{
    struct sand_diag diag = {0};
    case_set(&c, 4, 0);
    cr_assert_eq(case_run(&c, 0, &kept, &diag), SAND_ERR_INPUT);
    case_set(&c, 4, 100);
    c.experiment.hot_spares = 5;
    cr_assert_eq(case_run(&c, 0, &kept, &diag), SAND_ERR_INPUT);
    case_set(&c, 4, 100);
    case_recorded(&c, "none", 0, 0, 1);
    cr_assert_eq(case_run(&c, 0, &kept, &diag), SAND_ERR_INPUT);
    cr_assert_not_null(strstr(diag.messages[2].text, "job \"none\""));
    case_set(&c, 4, 100);
    c.experiment.schedule.type = "schedule/fito";
    cr_assert_eq(case_run(&c, 0, &kept, &diag), SAND_ERR_INPUT);
    cr_assert_not_null(strstr(diag.messages[3].text, "schedule/fifo"));
    sand_diag_clear(&diag);
}

// A call that never returns ends the process, which says whose it was.
Test(replay_policies, a_loop_is_cut_off, .timeout = 60)
{
    char path[512], said[512] = "";
    int fds[2], status = 0;
    snprintf(path, sizeof path, "%s/loops.so", SAND_TEST_PLUGINS);
    case_set(&c, 4, 1000);
    case_recorded(&c, "a", 2, 0, 10);
    c.experiment.schedule = plugin_choice("schedule/loops", path);
    cr_assert_eq(pipe(fds), 0);
    const pid_t child = fork();
    if (child == 0) {
        const struct sand_sink sink = keep_rows(&kept);
        const struct sand_replay_options options = {.policy_limit_s = 0.1};
        dup2(fds[1], STDERR_FILENO);
        sand_replay_run(&c.experiment, NULL, &options, &sink, NULL);
        _exit(0);
    }
    close(fds[1]);
    waitpid(child, &status, 0);
    cr_assert_gt(read(fds[0], said, sizeof said - 1), 0);
    close(fds[0]);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == sand_rc_exit_status(SAND_ERR_PLUGIN));
    cr_assert(strstr(said, "policy \"schedule/loops\": a call has not returned after 0.1 s"), "%s",
              said);
}
