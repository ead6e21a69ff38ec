// Explanations of a results file made by hand, with sums that can be done on paper.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "account.h"
#include "explain.h"

#define S INT64_C(1000000000)
#define NONE UINT32_MAX

static sand_cell_str cell(const char *text)
{
    sand_cell_str made;
    sand_cell_set(&made, text);
    return made;
}

static void put(struct sand_shard *shard, enum sand_table table, const void *row)
{
    cr_assert_eq(sand_shard_row(shard, table, row), SAND_OK);
}

static void put_job(struct sand_shard *shard, uint32_t job, const char *id, const char *state,
                    uint32_t nodes, int64_t submit_s, int64_t start_s, int64_t end_s,
                    double healthy_s)
{
    const struct sand_jobs_row row = {.job = job,
                                      .id = cell(id),
                                      .state = cell(state),
                                      .nodes = nodes,
                                      .gpus = 8 * nodes,
                                      .submit_ns = submit_s * S,
                                      .start_ns = start_s < 0 ? -1 : start_s * S,
                                      .end_ns = end_s * S,
                                      .incidents = job == 0 ? 2 : 0,
                                      .healthy_step_s = healthy_s};
    put(shard, SAND_TABLE_jobs, &row);
    const struct sand_decisions_row start = {.date_ns = row.start_ns,
                                             .policy = cell("schedule/easy"),
                                             .action = cell("start"),
                                             .job = job,
                                             .node = NONE,
                                             .value = NAN};
    if (start_s >= 0)
        put(shard, SAND_TABLE_decisions, &start);
}

// Of the steps that survived: seconds that each cause added to them all.
struct causes {
    int64_t placement_s, neighbours_s, faults_s;
};

static void put_attempt(struct sand_shard *shard, uint32_t job, uint32_t attempt, int64_t begin_s,
                        int64_t end_s, uint64_t steps, uint64_t lost, uint32_t profile,
                        int64_t step_s, struct causes causes)
{
    const struct sand_attempts_row row = {.job = job,
                                          .attempt = attempt,
                                          .begin_ns = begin_s * S,
                                          .end_ns = end_s * S,
                                          .steps = steps,
                                          .profile = profile,
                                          .step_s = (double)step_s,
                                          .steps_ns = (int64_t)steps * step_s * S,
                                          .steps_lost = lost,
                                          .lost_ns = (int64_t)lost * step_s * S,
                                          .placement_ns = causes.placement_s * S,
                                          .neighbours_ns = causes.neighbours_s * S,
                                          .faults_ns = causes.faults_s * S};
    put(shard, SAND_TABLE_attempts, &row);
}

static void put_save(struct sand_shard *shard, int64_t begin_s, int64_t resume_s)
{
    const struct sand_checkpoints_row row = {.begin_ns = begin_s * S,
                                             .resume_ns = resume_s < 0 ? -1 : resume_s * S,
                                             .durable_ns = resume_s < 0 ? -1 : resume_s * S};
    put(shard, SAND_TABLE_checkpoints, &row);
}

static void put_profile(struct sand_shard *shard, uint32_t profile, uint32_t job, double step_s)
{
    const struct sand_steps_row row = {.profile = profile,
                                       .job = job,
                                       .step_s = step_s,
                                       .compute_s = step_s - 3.5,
                                       .exposed_tp_s = 1,
                                       .exposed_pp_s = 0.5,
                                       .exposed_dp_s = 0.5,
                                       .bubble_s = 1.5,
                                       .mfu = 0.4,
                                       .hfu = 0.5};
    const struct sand_links_row link = {
        .profile = profile, .link_class = cell("leaf_up"), .step_B = 2e12, .utilisation = 0.25};
    put(shard, SAND_TABLE_steps, &row);
    put(shard, SAND_TABLE_links, &link);
}

// Struck at 348 s while stepping; at 360 s, during its detection, a child that lost nothing more.
static void put_incidents(struct sand_shard *shard)
{
    struct sand_incidents_row row = {.parent = NONE,
                                     .fault_class = cell("gpu-hbm3"),
                                     .cause = cell("gpu"),
                                     .node = 2,
                                     .component = 5,
                                     .fault_ns = 348 * S,
                                     .recovered_ns = 558 * S,
                                     .steps_lost = 4,
                                     .partial_step_s = 3,
                                     .recovery_s = 210,
                                     .detect_s = 10,
                                     .diagnose_s = 20,
                                     .wait_nodes_s = 30,
                                     .restart_s = 40,
                                     .restore_s = 50,
                                     .recompute_s = 48,
                                     .catch_up_s = 12,
                                     .repair_s = 3600,
                                     .replacement = 7,
                                     .lost_gpu_s = 32 * 201.0};
    put(shard, SAND_TABLE_incidents, &row);
    row.incident = 1;
    row.parent = 0;
    row.fault_class = cell("nccl-watchdog");
    row.node = 3;
    row.component = row.replacement = NONE;
    row.fault_ns = 360 * S;
    row.steps_lost = 0;
    row.partial_step_s = 0;
    row.recovery_s = 198;
    row.detect_s = 5;
    row.diagnose_s = 13;
    put(shard, SAND_TABLE_incidents, &row);
    row.incident = 2; // during the child's recovery
    row.parent = 1;
    row.fault_class = cell("nic-down");
    row.fault_ns = 420 * S;
    put(shard, SAND_TABLE_incidents, &row);
}

// big: queue 100 s. First attempt: 20 steps of 12 s (11 s on its nodes alone, healthy 10), 4 of
// them lost, a save of 5 s, 3 s cut off: 100 to 348. Recovery 150 s. Second: 30 steps of 12 s (11.5
// on its nodes alone, 12 with a slow part), a save of 5 s: 498 to 863. rest: from then on, 10 steps
// of 13 s and 7 s of another by 1000.
static void put_rows(struct sand_shard *shard)
{
    const struct sand_replications_row run = {.seed = 1};
    put_job(shard, 0, "big", "finished", 4, 0, 100, 863, 10);
    put_job(shard, 1, "rest", "running at the end", 4, 50, 863, 1000, 13);
    put_job(shard, 2, "never", "waiting", 9, 60, -1, 1000, NAN);
    put_job(shard, 3, "quick", "ended failed", 1, 70, 200, 300, 100);
    put_attempt(shard, 0, 0, 100, 348, 20, 4, 0, 12, (struct causes){16, 16, 0});
    put_attempt(shard, 0, 1, 498, 863, 30, 0, 1, 12, (struct causes){45, 0, 15});
    put_attempt(shard, 1, 0, 863, 1000, 10, 0, 2, 13, (struct causes){0});
    put_attempt(shard, 3, 0, 200, 300, 1, 0, NONE, 100, (struct causes){0});
    put_save(shard, 220, 225);
    put_save(shard, 618, 623);
    put_profile(shard, 0, 0, 11);
    put_profile(shard, 1, 0, 12);
    put_profile(shard, 2, 1, 13);
    put_incidents(shard);
    put(shard, SAND_TABLE_replications, &run);
}

static struct sand_results *open_sample(void (*rows)(struct sand_shard *))
{
    char dir[] = "/tmp/sand-explain-XXXXXX", unit[64], file[64];
    const struct sand_meta meta = {.name = "hand",
                                   .canonical = "",
                                   .digest = "0",
                                   .program_version = "0",
                                   .physics_version = "0",
                                   .replications = 1,
                                   .duration_ns = 1000 * S};
    struct sand_shard *shard = NULL;
    struct sand_results *results = NULL;
    struct sand_diag diag = {0};
    cr_assert_not_null(mkdtemp(dir));
    snprintf(unit, sizeof unit, "%s/unit.h5", dir);
    snprintf(file, sizeof file, "%s/results.h5", dir);
    cr_assert_eq(sand_shard_open(unit, &diag, &shard), SAND_OK);
    rows(shard);
    cr_assert_eq(sand_shard_commit(shard), SAND_OK);
    sand_shard_close(shard);
    const char *const units[] = {unit};
    enum sand_rc rc = sand_results_merge(units, 1, &meta, file, &diag);
    if (rc == SAND_OK)
        rc = sand_results_open(file, &results, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK);
    struct sand_explain_rows loaded; // reads all tables before the file goes
    cr_assert_eq(sand_explain_load(results, &loaded, &diag), SAND_OK);
    unlink(unit);
    unlink(file);
    rmdir(dir);
    return results;
}

// ---- the account --------------------------------------------------------------------------------

static struct sand_account account_of(struct sand_results *results, size_t job)
{
    struct sand_explain_rows rows;
    struct sand_account account;
    cr_assert_eq(sand_explain_load(results, &rows, NULL), SAND_OK);
    sand_account_make(&rows, &rows.jobs[job], &account);
    int64_t sum = 0;
    for (int part = 0; part < SAND_ACCOUNT_PARTS; part++)
        sum += account.parts_ns[part];
    cr_assert_eq(sum, account.observed_ns);
    return account;
}

static void expect_parts(const struct sand_account *account,
                         const int64_t expected_s[SAND_ACCOUNT_PARTS])
{
    for (int part = 0; part < SAND_ACCOUNT_PARTS; part++)
        cr_assert_eq(account->parts_ns[part], expected_s[part] * S, "part %d: %lld ns", part,
                     (long long)account->parts_ns[part]);
}

Test(explain, splits_a_job_as_on_paper)
{
    struct sand_results *results = open_sample(put_rows);
    const struct sand_account account = account_of(results, 0);
    expect_parts(&account,
                 (const int64_t[SAND_ACCOUNT_PARTS]){[SAND_ACCOUNT_QUEUE] = 100,
                                                     [SAND_ACCOUNT_HEALTHY] = 16 * 10 + 30 * 10,
                                                     [SAND_ACCOUNT_PLACEMENT] = 16 + 45,
                                                     [SAND_ACCOUNT_NEIGHBOURS] = 16,
                                                     [SAND_ACCOUNT_FAULTS] = 15,
                                                     [SAND_ACCOUNT_SAVES] = 5 + 5,
                                                     [SAND_ACCOUNT_LOST] = 4 * 12,
                                                     [SAND_ACCOUNT_CUT] = 3,
                                                     [SAND_ACCOUNT_DETECT] = 10,
                                                     [SAND_ACCOUNT_DIAGNOSE] = 20,
                                                     [SAND_ACCOUNT_WAIT] = 30,
                                                     [SAND_ACCOUNT_RESTART] = 40,
                                                     [SAND_ACCOUNT_RESTORE] = 50});
    cr_assert_eq(account.survived, 46u);
    cr_assert_float_eq(account.step_s, 12, 1e-12);
    cr_assert_float_eq(account.healthy_s, 10, 1e-12);
    cr_assert_float_eq(account.placement_s, (16 + 45) / 46.0, 1e-12);
    cr_assert_float_eq(account.neighbours_s, 16 / 46.0, 1e-12);
    cr_assert_float_eq(account.faults_s, 15 / 46.0, 1e-12);
    sand_results_close(results);
}

Test(explain, knows_the_step_under_way_and_the_job_that_never_started)
{
    struct sand_results *results = open_sample(put_rows);
    struct sand_account account = account_of(results, 1);
    expect_parts(&account, (const int64_t[SAND_ACCOUNT_PARTS]){[SAND_ACCOUNT_QUEUE] = 813,
                                                               [SAND_ACCOUNT_HEALTHY] = 130,
                                                               [SAND_ACCOUNT_UNDER_WAY] = 7});
    account = account_of(results, 2);
    expect_parts(&account, (const int64_t[SAND_ACCOUNT_PARTS]){[SAND_ACCOUNT_QUEUE] = 940});
    cr_assert_eq(account.survived, 0u);
    cr_assert(isnan(account.step_s));
    account = account_of(results, 3); // recorded: no profile
    expect_parts(&account, (const int64_t[SAND_ACCOUNT_PARTS]){
                               [SAND_ACCOUNT_QUEUE] = 130, [SAND_ACCOUNT_HEALTHY] = 100});
    sand_results_close(results);
}

// 10 steps of 1 s, then a save that a fault ends after 4 s; nothing was durable.
static void put_cut_save(struct sand_shard *shard)
{
    const struct sand_incidents_row fault = {.parent = NONE,
                                             .fault_class = cell("x"),
                                             .cause = cell("x"),
                                             .replacement = NONE,
                                             .fault_ns = 14 * S,
                                             .recovered_ns = -1,
                                             .steps_lost = 10,
                                             .recovery_s = 6,
                                             .detect_s = 6};
    put_job(shard, 0, "cut", "running at the end", 1, 0, 0, 20, 1);
    put_attempt(shard, 0, 0, 0, 14, 10, 10, NONE, 1, (struct causes){0});
    put_save(shard, 10, -1);
    put(shard, SAND_TABLE_incidents, &fault);
}

Test(explain, counts_a_save_that_a_fault_ended)
{
    struct sand_results *results = open_sample(put_cut_save);
    const struct sand_account account = account_of(results, 0);
    expect_parts(
        &account,
        (const int64_t[SAND_ACCOUNT_PARTS]){
            [SAND_ACCOUNT_SAVES] = 4, [SAND_ACCOUNT_LOST] = 10, [SAND_ACCOUNT_DETECT] = 6});
    sand_results_close(results);
}

// A file that does not add up says so instead of hiding it.
static void put_hole(struct sand_shard *shard)
{
    put_job(shard, 0, "hole", "finished", 1, 0, 0, 30, 1);
    put_attempt(shard, 0, 0, 0, 10, 10, 0, NONE, 1, (struct causes){0});
}

Test(explain, shows_what_it_cannot_attribute)
{
    struct sand_results *results = open_sample(put_hole);
    const struct sand_account account = account_of(results, 0);
    expect_parts(&account, (const int64_t[SAND_ACCOUNT_PARTS]){
                               [SAND_ACCOUNT_HEALTHY] = 10, [SAND_ACCOUNT_OTHER] = 20});
    sand_results_close(results);
}

// ---- the queue ----------------------------------------------------------------------------------

Test(explain, tells_what_a_job_waited_for)
{
    struct sand_results *results = open_sample(put_rows);
    struct sand_explain_rows rows;
    struct sand_queue_story story;
    cr_assert_eq(sand_explain_load(results, &rows, NULL), SAND_OK);
    sand_queue_story_make(&rows, &rows.jobs[1], &story); // rest, submitted at 50
    cr_assert_eq(story.n_running, 0u);
    cr_assert_eq(story.n_ahead, 1u); // big
    cr_assert_eq(story.gpus_ahead, 32u);
    cr_assert_eq(story.n_started, 2u);  // big and quick
    cr_assert_eq(story.n_overtook, 1u); // quick
    cr_assert_str_eq(story.freed->id.text, "big");
    sand_queue_story_make(&rows, &rows.jobs[2], &story); // never, submitted at 60
    cr_assert_eq(story.n_ahead, 2u);                     // big and rest
    cr_assert_eq(story.gpus_ahead, 64u);
    cr_assert_eq(story.n_started, 3u);
    cr_assert_null(story.freed);
    sand_results_close(results);
}

// Three jobs of 3, 2 and 2 GPUs on one node of 8, and a fourth that waits for 2.
static void put_shared(struct sand_shard *shard)
{
    for (uint32_t job = 0; job < 4; job++) {
        const struct sand_jobs_row row = {.job = job,
                                          .id = cell("small"),
                                          .state = cell("finished"),
                                          .nodes = 1,
                                          .gpus = job == 0 ? 3 : 2,
                                          .submit_ns = job * S,
                                          .start_ns = job < 3 ? job * S : 50 * S,
                                          .end_ns = job == 0 ? 50 * S : 100 * S};
        put(shard, SAND_TABLE_jobs, &row);
    }
}

Test(explain, counts_the_gpus_of_jobs_that_share_a_node)
{
    struct sand_results *results = open_sample(put_shared);
    struct sand_explain_rows rows;
    struct sand_queue_story story;
    cr_assert_eq(sand_explain_load(results, &rows, NULL), SAND_OK);
    sand_queue_story_make(&rows, &rows.jobs[3], &story);
    cr_assert_eq(story.n_running, 3u);
    cr_assert_eq(story.gpus_running, 7u, "3 nodes would exceed the cluster");
    cr_assert_eq(story.freed->gpus, 3u);
    sand_results_close(results);
}

// ---- what is printed ----------------------------------------------------------------------------

enum thing { JOB, STEP, INCIDENT };

static char *explain(enum thing thing, uint32_t number, enum sand_explain_format format)
{
    static const char *const ids[] = {"big", "rest", "never", "quick"};
    struct sand_results *results = open_sample(put_rows);
    char *text = NULL;
    size_t size = 0;
    const struct sand_explain_output output = {open_memstream(&text, &size), SAND_STYLE_PLAIN,
                                               format};
    enum sand_rc rc;
    if (thing == JOB)
        rc = sand_explain_job(results, 0, ids[number], &output, NULL);
    else if (thing == STEP)
        rc = sand_explain_step(results, 0, number, &output, NULL);
    else
        rc = sand_explain_incident(results, 0, number, &output, NULL);
    cr_assert_eq(rc, SAND_OK);
    fclose(output.out);
    sand_results_close(results);
    return text;
}

static void expect_words(const char *text, const char *const *words)
{
    for (; *words; words++)
        cr_assert_not_null(strstr(text, *words), "\"%s\" is missing:\n%s", *words, text);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(explain, text_has_at_most_100_columns_and_no_trailing_blanks)
{
    for (int thing = JOB; thing <= INCIDENT; thing++) {
        for (uint32_t number = 0; number < 2; number++) {
            char *text = explain((enum thing)thing, number, SAND_EXPLAIN_TEXT);
            for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
                const size_t length = strcspn(line, "\n");
                cr_assert_leq(length, 100u, "%.120s", line);
                cr_assert(length == 0 || line[length - 1] != ' ', "%.120s", line);
            }
            free(text);
        }
    }
}

Test(explain, prints_a_job)
{
    char *text = explain(JOB, 0, SAND_EXPLAIN_TEXT);
    expect_words(text, WORDS("big: finished; 4 nodes, 32 GPUs, replication 0", "14.3833 min",
                             "slower by its neighbours", "faults: steps lost", "0 gpu-hbm3",
                             "jobs submitted before it and not started: 0, for 0 GPUs",
                             "means of the 46 steps that survived"));
    cr_assert_null(strstr(text, "not attributed"));
    free(text);
    text = explain(JOB, 0, SAND_EXPLAIN_JSON);
    expect_words(text, WORDS("\"observed_s\": 863", "\"queue_s\": 1", "\"healthy_s\": 4.6e+02",
                             "\"placement_s\": 61", "\"neighbours_s\": 16", "\"slow_parts_s\": 15",
                             "\"lost_steps_s\": 48", "\"cut_steps_s\": 3", "\"other_s\": 0",
                             "\"survived\": 46"));
    free(text);
}

Test(explain, prints_a_step_with_its_equations)
{
    char *text = explain(STEP, 1, SAND_EXPLAIN_TEXT);
    expect_words(text,
                 WORDS("step profile 1 of replication 0, job big", "step 12 s, healthy 10 s",
                       "compute", "8.5 s", "70.8 %", "(pp - 1)", "leaf_up", "2 TB", "25.0 %"));
    cr_assert_null(strstr(text, "not split"));
    cr_assert_null(strstr(text, "data stall")); // none
    free(text);
}

Test(explain, prints_an_incident_with_its_dates)
{
    char *text = explain(INCIDENT, 0, SAND_EXPLAIN_TEXT);
    expect_words(text, WORDS("gpu-hbm3", "cause gpu, node 2, component 5", "node 7 took its place",
                             "5.8 min", "9.3 min", "incident 1 at 6 min: nccl-watchdog, node 3",
                             "4 steps to do again, 3 s in the step cut off", "1.8 GPU-hours"));
    free(text);
    text = explain(INCIDENT, 1, SAND_EXPLAIN_JSON);
    expect_words(text, WORDS("\"parent\": 0", "\"component\": null", "\"replacement\": null",
                             "\"children\": [2]", "\"recovered\": true"));
    free(text);
}

// A root lists whoever struck during its recovery, at any remove; a child's cost is not to be
// added.
Test(explain, lists_all_descendants_of_an_incident)
{
    char *text = explain(INCIDENT, 0, SAND_EXPLAIN_TEXT);
    expect_words(text, WORDS("incident 1 at 6 min: nccl-watchdog, node 3\n",
                             "incident 2 at 7 min: nic-down, node 3, during incident 1\n"));
    cr_assert_null(strstr(text, "do not add them"));
    free(text);
    text = explain(INCIDENT, 0, SAND_EXPLAIN_JSON);
    expect_words(text, WORDS("\"children\": [1], \"descendants\": [1, 2]"));
    free(text);
    text = explain(INCIDENT, 1, SAND_EXPLAIN_TEXT);
    expect_words(text, WORDS("incident 2 at 7 min: nic-down, node 3\n",
                             "the cost of incident 0 contains this: do not add them"));
    free(text);
}

Test(explain, refuses_what_is_not_there)
{
    struct sand_results *results = open_sample(put_rows);
    const struct sand_explain_output output = {stdout, SAND_STYLE_PLAIN, SAND_EXPLAIN_TEXT};
    struct sand_diag diag = {0};
    cr_assert_eq(sand_explain_job(results, 0, "bog", &output, &diag), SAND_ERR_USAGE);
    cr_assert_eq(sand_explain_job(results, 9, "big", &output, &diag), SAND_ERR_USAGE);
    cr_assert_eq(sand_explain_step(results, 0, 3, &output, &diag), SAND_ERR_USAGE);
    cr_assert_eq(sand_explain_incident(results, 0, 3, &output, &diag), SAND_ERR_USAGE);
    cr_assert_eq(diag.n_errors, 4u);
    cr_assert_not_null(strstr(diag.messages[0].text, "did you mean \"big\""));
    cr_assert_not_null(strstr(diag.messages[2].text, "3 step profiles"));
    cr_assert_not_null(strstr(diag.messages[3].text, "3 incidents"));
    sand_diag_clear(&diag);
    sand_results_close(results);
}
