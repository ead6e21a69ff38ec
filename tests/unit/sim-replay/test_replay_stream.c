// Jobs from a stream: the rows are those of the same jobs as a list; ended jobs are forgotten.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem.h"
#include "replay.h"
#include "replay_fixture.h"
#include "rng.h"
#include "units.h"
#include "world.h"

enum { MANY = 2000 };

static struct replay_case c;
static struct sand_job_spec jobs[MANY];
static char ids[MANY][16];

// Random recorded jobs of 1 to 8 nodes on 16, with repeated submit dates, and every tenth one that
// trains; given in no order.
static void draw_jobs(void)
{
    const struct sand_rng rng = {7, 0};
    static const char *const users[] = {"ada", "ben", "cy"};
    case_set(&c, 16, 6 * 86400);
    c.experiment.schedule.type = "schedule/easy";
    c.experiment.mfu_window_ns = S(3600);
    for (uint64_t i = 0; i < MANY; i++) {
        const uint64_t place = i * 977 % MANY;
        snprintf(ids[place], sizeof ids[place], "job-%d", (int)place);
        struct sand_job_spec *job = &jobs[place];
        *job = (struct sand_job_spec){
            .id = ids[place],
            .user = users[place % 3],
            .job_class = place % 2 ? "odd" : NULL,
            .kind = SAND_JOB_RECORDED,
            .n_nodes = 1 + (uint32_t)(sand_rng_u64(rng, SAND_STREAM_TEST, i, 0) % 8),
            .submit_ns = S(60 * (int64_t)(i / 2 * 8)),
            .work_s = 60 + (double)(sand_rng_u64(rng, SAND_STREAM_TEST, i, 1) % 1200),
            .checkpoint = {.policy.type = "checkpoint/none", .stall_s = -1, .restore_s = -1}};
        job->walltime_s = 2 * job->work_s;
        if (place % 10 == 0) {
            job->kind = SAND_JOB_TRAIN;
            job->step_s = 7;
            job->n_steps = 1 + place % 100;
        }
    }
    c.experiment.jobs = jobs;
    c.experiment.n_jobs = MANY;
}

// A source whose texts and job are overwritten by every call, as one is allowed to be.
struct fleeting {
    struct sand_joblist *list;
    struct sand_job_source inner;
    struct sand_job_spec job;
    char id[16], user[16], job_class[16];
};

static const char *write_over(char *to, const char *text)
{
    memset(to, '?', 15);
    return text ? strcpy(to, text) : NULL;
}

static enum sand_rc next_job(void *self, const struct sand_job_spec **job, uint32_t *number,
                             struct sand_diag *diag)
{
    struct fleeting *source = self;
    SAND_TRY(source->inner.next(source->inner.self, job, number, diag));
    if (!*job)
        return SAND_OK;
    source->job = **job;
    source->job.id = write_over(source->id, (*job)->id);
    source->job.user = write_over(source->user, (*job)->user);
    source->job.job_class = write_over(source->job_class, (*job)->job_class);
    *job = &source->job;
    return SAND_OK;
}

// Runs in a child, where an engine may be used, and writes all rows to `out`.
static void run_child(int streamed, FILE *out)
{
    struct kept_rows kept;
    struct fleeting fleeting = {0};
    const struct sand_sink sink = keep_rows(&kept);
    cr_assert_eq(sand_joblist_open(jobs, MANY, &fleeting.list, &fleeting.inner), SAND_OK);
    const struct sand_job_source source = {&fleeting, next_job, 0};
    const struct sand_replay_options options = {.source = streamed ? &source : NULL};
    struct sand_experiment experiment = c.experiment;
    experiment.n_jobs = streamed ? 0 : MANY;
    const pid_t child = fork();
    if (child == 0) {
        const enum sand_rc rc = sand_replay_run(&experiment, NULL, &options, &sink, NULL);
        for (size_t t = 0; rc == SAND_OK && t < SAND_TABLES; t++)
            if (kept.tables[t].n > 0)
                fwrite(kept.tables[t].rows, sand_table_info((enum sand_table)t)->row_size,
                       kept.tables[t].n, out);
        fflush(out);
        _exit(rc == SAND_OK ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    cr_assert_eq(status, 0);
    sand_joblist_close(fleeting.list);
}

Test(replay_stream, streamed_is_loaded_at_once, .timeout = 60)
{
    char *texts[2];
    long sizes[2];
    draw_jobs();
    for (int streamed = 0; streamed < 2; streamed++) {
        FILE *out = tmpfile();
        run_child(streamed, out);
        fseek(out, 0, SEEK_END);
        sizes[streamed] = ftell(out);
        rewind(out);
        texts[streamed] = malloc((size_t)sizes[streamed]);
        cr_assert_eq(fread(texts[streamed], 1, (size_t)sizes[streamed], out),
                     (size_t)sizes[streamed]);
        fclose(out);
    }
    cr_assert_gt(sizes[0], MANY * (long)sizeof(struct sand_jobs_row));
    cr_assert_eq(sizes[0], sizes[1]);
    cr_assert_eq(memcmp(texts[0], texts[1], (size_t)sizes[0]), 0);
    free(texts[0]);
    free(texts[1]);
}

// The slots that were ever needed are as many as jobs waited, ran or had just ended at one time.
static size_t most_slots;

static void watch(void *self, int64_t now_ns, int64_t duration_ns)
{
    const struct sand_world *w = self;
    (void)now_ns;
    (void)duration_ns;
    most_slots = w->n_slots;
    cr_assert_leq(w->numbers.n, w->n_slots);
}

static enum sand_rc play(struct sand_world *w)
{
    const struct sand_bridge_platform platform = {
        .link_Bps = w->link_Bps, .n_links = w->n_links, .max_flows = w->max_flows};
    SAND_TRY(sand_bridge_run(&platform, sand_pump_run, w, w->diag));
    return sand_summary_emit(w);
}

Test(replay_stream, ended_jobs_are_forgotten, .timeout = 60)
{
    static struct sand_world world;
    struct kept_rows kept;
    const struct sand_sink sink = keep_rows(&kept);
    const struct sand_replay_options options = {.progress = watch, .progress_self = &world};
    draw_jobs();
    enum sand_rc rc = sand_world_open(&world, &c.experiment, NULL, &options, &sink, NULL);
    if (rc == SAND_OK)
        rc = play(&world);
    cr_assert_eq(rc, SAND_OK);
    cr_assert_eq(N_ROWS(&kept, jobs), MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_eq(ROWS(&kept, jobs)[i].job, i);
        cr_assert_str_eq(ROWS(&kept, jobs)[i].id.text, ids[i]);
        cr_assert_str_eq(ROWS(&kept, jobs)[i].state.text, "finished");
    }
    cr_assert_gt(most_slots, 1);
    cr_assert_lt(most_slots, 100, "%zu places for %d jobs", most_slots, MANY);
    sand_world_close(&world);
    keep_clear(&kept);
}

// A source that goes back in time is no source.
static enum sand_rc goes_back(void *self, const struct sand_job_spec **job, uint32_t *number,
                              struct sand_diag *diag)
{
    uint32_t *n = self;
    (void)diag;
    *number = *n;
    *job = &jobs[(*n)++];
    return SAND_OK;
}

Test(replay_stream, dates_may_not_go_back)
{
    uint32_t n = 0;
    struct kept_rows kept;
    struct sand_diag diag = {0};
    const struct sand_sink sink = keep_rows(&kept);
    const struct sand_job_source source = {&n, goes_back, 0};
    const struct sand_replay_options options = {.source = &source};
    draw_jobs();
    jobs[0].submit_ns = S(100);
    jobs[1].submit_ns = S(99);
    cr_assert_eq(sand_replay_run(&c.experiment, NULL, &options, &sink, &diag), SAND_ERR_INTERNAL);
    cr_assert(strstr(diag.messages[0].text, "job-1"), "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
    keep_clear(&kept);
}
