// All jobs of an experiment: order, classes, reports, and mixes that differ by replication alone.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobset.h"
#include "mem.h"
#include "units.h"

#define DAY (INT64_C(86400) * SAND_NS_PER_S)

static const struct sand_gpu_type gpu = {.id = "g"};
static const struct sand_link_type port = {.id = "p", .rate_Bps = 1e9};
static const struct sand_node_type node = {.id = "n", .gpu = &gpu, .n_gpus = 8, .nic = &port};

static const struct sand_job_spec written[] = {
    {.id = "written", .kind = SAND_JOB_RECORDED, .n_nodes = 1, .work_s = 60}};

static const struct sand_mix_size sizes[] = {{.gpus = 8, .weight = 3}, {.gpus = 64, .weight = 1}};
static const struct sand_mix_end ends[] = {
    {.outcome = SAND_MIX_COMPLETE, .share = 0.75, .run = {.mean_s = 600}},
    {.outcome = SAND_MIX_FAIL, .share = 0.25, .run = {.mean_s = 60}}};
static const struct sand_mix_class classes[] = {{.id = "tune",
                                                 .share = 1,
                                                 .cycle = 1,
                                                 .users = 2,
                                                 .request_factor = 2,
                                                 .sizes = sizes,
                                                 .n_sizes = 2,
                                                 .ends = ends,
                                                 .n_ends = 2}};
static const struct sand_mix mix = {.id = "m",
                                    .from = {"made up", "2026", "share"},
                                    .jobs_per_s = 100.0 / 86400,
                                    .classes = classes,
                                    .n_classes = 1};
static const struct sand_mix_use use[] = {{&mix}, {&mix}};

static struct sand_experiment experiment_of(size_t n_mixes)
{
    return (struct sand_experiment){.name = "e",
                                    .duration_ns = 7 * DAY,
                                    .seed = 3,
                                    .cluster = {.n_nodes = 4, .node_type = &node},
                                    .hot_spares = 1,
                                    .jobs = written,
                                    .n_jobs = 1,
                                    .mixes = use,
                                    .n_mixes = n_mixes};
}

// What a stream gives, by number.
struct drawn {
    struct sand_job_spec *jobs;
    size_t n, capacity;
    struct sand_arena arena;
};

static void keep_job(struct drawn *drawn, const struct sand_job_spec *job, uint32_t number)
{
    void *jobs = drawn->jobs;
    cr_assert_eq(sand_grow(&jobs, &drawn->capacity, (size_t)number + 1, sizeof *job), SAND_OK);
    drawn->jobs = jobs;
    while (drawn->n <= number)
        drawn->jobs[drawn->n++] = (struct sand_job_spec){0};
    struct sand_job_spec *kept = &drawn->jobs[number];
    cr_assert_null(kept->id, "number %u came twice", number);
    *kept = *job;
    kept->id = sand_arena_strdup(&drawn->arena, job->id);
    kept->user = job->user ? sand_arena_strdup(&drawn->arena, job->user) : NULL;
}

// Submit dates never go back, and in the end no number is missing.
static void draw(const struct sand_jobset *set, uint32_t replication, struct drawn *drawn)
{
    struct sand_jobstream *stream;
    struct sand_job_source source;
    const struct sand_job_spec *job;
    uint32_t number = 0;
    int64_t last_ns = 0;
    *drawn = (struct drawn){0};
    cr_assert_eq(sand_jobset_stream(set, replication, &stream, &source, NULL), SAND_OK);
    for (;;) {
        cr_assert_eq(source.next(source.self, &job, &number, NULL), SAND_OK);
        if (!job)
            break;
        cr_assert_geq(job->submit_ns, last_ns);
        last_ns = job->submit_ns;
        keep_job(drawn, job, number);
    }
    for (size_t i = 0; i < drawn->n; i++)
        cr_assert_not_null(drawn->jobs[i].id, "number %zu is missing", i);
    sand_jobstream_close(stream);
}

static void drawn_clear(struct drawn *drawn)
{
    sand_free(drawn->jobs);
    sand_arena_clear(&drawn->arena);
}

static char *report_of(const struct sand_jobset *set)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    sand_jobset_report(set, out);
    fclose(out);
    return text;
}

// Nothing is read or said when all jobs are written out.
Test(jobset, written_jobs_stay_where_they_are)
{
    const struct sand_experiment experiment = experiment_of(0);
    struct sand_jobset *set = NULL;
    struct drawn drawn;
    cr_assert_eq(sand_jobset_open(&experiment, NULL, &set, NULL), SAND_OK);
    draw(set, 0, &drawn);
    cr_expect_str_eq(drawn.jobs[0].id, "written");
    cr_expect_eq(drawn.n, 1);
    char *text = report_of(set);
    cr_expect_str_eq(text, "");
    free(text);
    drawn_clear(&drawn);
    sand_jobset_close(set);
}

// A job larger than the cluster without its spares (8 nodes of 3) is left out and counted; what
// stays carries class, user, request and ending; the written job comes first.
Test(jobset, mixes_fill_the_list_anew_in_each_replication)
{
    const struct sand_experiment experiment = experiment_of(1);
    struct sand_jobset *set = NULL;
    struct drawn first, again, other;
    cr_assert_eq(sand_jobset_open(&experiment, NULL, &set, NULL), SAND_OK);
    draw(set, 0, &first);
    draw(set, 0, &again);
    draw(set, 1, &other);
    cr_expect_str_eq(first.jobs[0].id, "written");
    cr_expect_gt(first.n, 400, "about 525 of 700 are small enough");
    cr_expect_lt(first.n, 650);
    cr_assert_eq(first.n, again.n);
    size_t failed = 0, same = 0;
    for (size_t i = 1; i < first.n; i++) {
        const struct sand_job_spec *job = &first.jobs[i];
        cr_expect_eq(job->n_nodes, 1);
        cr_expect_str_eq(job->job_class, "tune");
        cr_expect_eq(strncmp(job->user, "tune-user-", 10), 0);
        cr_expect_geq(job->walltime_s, job->work_s);
        cr_expect_eq(job->submit_ns, again.jobs[i].submit_ns);
        failed += job->ending == SAND_ENDS_FAILED;
        same += i < other.n && job->submit_ns == other.jobs[i].submit_ns;
    }
    cr_expect_gt(failed, 60, "a quarter fails");
    cr_expect_eq(same, 0, "another replication has other arrivals");
    char *text = report_of(set);
    cr_expect(strstr(text, "jobs need more nodes than the cluster has: left out"), "%s", text);
    cr_expect(strstr(text, "\n  0 of ") && strstr(text, " jobs do not fill their last node"), "%s",
              text);
    free(text);
    drawn_clear(&first);
    drawn_clear(&again);
    drawn_clear(&other);
    sand_jobset_close(set);
}

// Half of the GPUs of each node are asked for: of nodes of 16, jobs of 8 hold one each.
Test(jobset, what_whole_nodes_add_to_a_mix_is_told)
{
    struct sand_node_type large = node;
    struct sand_experiment experiment = experiment_of(1);
    const struct sand_mix_size eight = {.gpus = 8, .weight = 1};
    struct sand_mix_class class = classes[0];
    struct sand_mix halves = mix;
    const struct sand_mix_use use_halves = {&halves};
    struct sand_jobset *set = NULL;
    unsigned long part = 0, of = 0;
    double asked_h = 0, held_h = 0;
    large.n_gpus = 16;
    class.sizes = &eight;
    class.n_sizes = 1;
    halves.classes = &class;
    experiment.cluster.node_type = &large;
    experiment.mixes = &use_halves;
    cr_assert_eq(sand_jobset_open(&experiment, NULL, &set, NULL), SAND_OK);
    char *text = report_of(set);
    const char *line = strstr(text, " jobs do not fill");
    cr_assert_not_null(line, "%s", text);
    while (line > text && line[-1] != '\n')
        line--;
    cr_expect_eq(sscanf(line,
                        " %lu of %lu jobs do not fill their last node, which is held whole: %lf "
                        "GPU-hours asked for, %lf held",
                        &part, &of, &asked_h, &held_h),
                 4, "%s", line);
    cr_expect(part == of && part > 400);
    cr_expect(asked_h > 0 && held_h / asked_h > 1.9999 && held_h / asked_h < 2.0001);
    free(text);
    sand_jobset_close(set);
}

Test(jobset, a_mix_cannot_be_used_twice)
{
    const struct sand_experiment experiment = experiment_of(2);
    struct sand_jobset *set = NULL;
    struct sand_diag diag = {0};
    cr_expect_eq(sand_jobset_open(&experiment, NULL, &set, &diag), SAND_ERR_INPUT);
    cr_expect(strstr(diag.messages[0].text, "is used twice"), "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
}

Test(jobset, spares_alone_are_no_machine)
{
    struct sand_experiment experiment = experiment_of(1);
    struct sand_jobset *set = NULL;
    struct sand_diag diag = {0};
    experiment.hot_spares = 4;
    experiment.cluster.name = "c";
    cr_expect_eq(sand_jobset_open(&experiment, NULL, &set, &diag), SAND_ERR_INPUT);
    cr_expect(strstr(diag.messages[0].text, "hot spares"), "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
}

// ---- traces -------------------------------------------------------------------------------------

static const struct sand_transformer model = {.id = "t",
                                              .n_layers = 4,
                                              .hidden = 64,
                                              .n_heads = 4,
                                              .n_kv_heads = 4,
                                              .head_dim = 16,
                                              .ffn_hidden = 256,
                                              .vocab = 1000};
static const struct sand_software software = {.id = "s"};

// tests/data/traces/good.swf: five jobs of 4, 1, 32, 2 and 3 processors; the third needs 4 nodes,
// of which 3 are no spares.
static struct sand_trace_spec trace_of(const struct sand_trace_class *class)
{
    return (struct sand_trace_spec){.file = SAND_TEST_DATA "/traces/good.swf",
                                    .format = SAND_TRACE_SWF,
                                    .digest = "d",
                                    .processors_per_node = 8,
                                    .classes = class,
                                    .n_classes = class != NULL};
}

Test(jobset, rows_of_a_trace_follow_the_written_jobs)
{
    struct sand_trace_class class = {.id = "all"};
    const struct sand_trace_spec trace = trace_of(&class);
    struct sand_experiment experiment = experiment_of(0);
    experiment.traces = &trace;
    experiment.n_traces = 1;
    struct sand_jobset *set = NULL;
    struct drawn drawn;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_jobset_open(&experiment, NULL, &set, &diag), SAND_OK, "%s",
                 diag.n_messages ? diag.messages[0].text : "");
    draw(set, 5, &drawn);
    cr_assert_eq(drawn.n, 5);
    cr_expect_eq(drawn.jobs[1].ending, SAND_ENDS_FINISHED);
    cr_expect_eq(drawn.jobs[2].ending, SAND_ENDS_FAILED);
    for (size_t i = 1; i < 5; i++) {
        cr_expect_eq(drawn.jobs[i].kind, SAND_JOB_RECORDED);
        cr_expect_str_eq(drawn.jobs[i].job_class, "all");
        cr_expect_gt(drawn.jobs[i].work_s, 0);
    }
    char *text = report_of(set);
    cr_expect(strstr(text, "5 rows = 4 kept"), "%s", text);
    cr_expect(strstr(text, "sha256 d"), "%s", text);
    free(text);
    drawn_clear(&drawn);
    sand_jobset_close(set);
    sand_diag_clear(&diag);
}

// speed=model makes a job train on the GPUs of its nodes, dp from what they give; a split that does
// not go onto them leaves the row as recorded, and that is said.
Test(jobset, a_class_with_a_model_trains_or_says_why_not)
{
    struct sand_trace_class class = {.id = "model",
                                     .speed = SAND_TRACE_MODEL,
                                     .model = &model,
                                     .software = &software,
                                     .placement = "healthy",
                                     .split = {.tp = 2,
                                               .grad_B = 4,
                                               .pp = 1,
                                               .cp = 1,
                                               .virtual_stages = 1,
                                               .micro_batch = 1,
                                               .global_batch = 64,
                                               .sequence = 128,
                                               .buckets = 1}};
    const struct sand_trace_spec trace = trace_of(&class);
    struct sand_experiment experiment = experiment_of(0);
    experiment.traces = &trace;
    experiment.n_traces = 1;
    struct sand_jobset *set = NULL;
    struct drawn drawn;
    cr_assert_eq(sand_jobset_open(&experiment, NULL, &set, NULL), SAND_OK);
    draw(set, 0, &drawn);
    cr_assert_eq(drawn.n, 5);
    cr_expect_eq(drawn.jobs[1].kind, SAND_JOB_TRAIN);
    cr_expect_eq(drawn.jobs[1].split.dp, drawn.jobs[1].n_nodes * 4);
    drawn_clear(&drawn);
    sand_jobset_close(set);
    class.split.tp = 65536; // more than a node has, and with pp more than 32 bits hold
    class.split.pp = 65536;
    cr_assert_eq(sand_jobset_open(&experiment, NULL, &set, NULL), SAND_OK);
    draw(set, 0, &drawn);
    cr_expect_eq(drawn.jobs[1].kind, SAND_JOB_RECORDED);
    char *text = report_of(set);
    cr_expect(strstr(text, "they run as recorded"), "%s", text);
    free(text);
    drawn_clear(&drawn);
    sand_jobset_close(set);
    class.placement = "packed";
    struct sand_diag diag = {0};
    cr_expect_eq(sand_jobset_open(&experiment, NULL, &set, &diag), SAND_ERR_INPUT);
    cr_expect(strstr(diag.messages[0].text, "healthy"), "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
}
