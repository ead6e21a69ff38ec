// What the search passes over: nothing that any of its lists would keep. Whole small spaces, dense
// and with experts, on fast and slow networks, interleaved, without bubbles and sharded.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "oracle.h"
#include "search.h"
#include "searchreport.h"
#include "small_question.h"
#include "space.h"
#include "train.h"

// A case: what differs from the small question.
struct setting {
    const char *name;
    int experts, slow_network, layers;
    enum sand_schedule schedule;
    double hbm_B;
};

static const struct setting settings[] = {
    {"dense", 0, 0, 8, SAND_SCHEDULE_1F1B, 12e9},
    {"dense, slow network", 0, 1, 8, SAND_SCHEDULE_1F1B, 12e9},
    {"zero bubble", 0, 0, 6, SAND_SCHEDULE_ZERO_BUBBLE, 80e9},
    {"gpipe", 0, 1, 6, SAND_SCHEDULE_GPIPE, 12e9},
    {"experts", 1, 0, 6, SAND_SCHEDULE_1F1B, 20e9},
    {"experts, slow network", 1, 1, 6, SAND_SCHEDULE_1F1B, 20e9},
};
enum { N_SETTINGS = sizeof settings / sizeof settings[0] };

static void open_small(const struct setting *setting, struct small *s)
{
    cr_assert_eq(small_set_up(s, NULL), SAND_OK);
    s->model.n_layers = (uint32_t)setting->layers;
    s->model.n_heads = s->model.n_kv_heads = 4;
    s->model.head_dim = 512;
    s->gpu.hbm_B = setting->hbm_B;
    s->software.dp_exposed = 0.2;
    s->job.split.overlap_grad_reduce = s->job.split.overlap_param_gather = 1;
    s->job.split.schedule = setting->schedule;
    if (setting->experts) {
        s->model.experts = (struct sand_experts){
            .n = 8, .per_token = 2, .ffn_hidden = 2048, .shared = 1, .dense_layers = 1};
        s->job.split.ep = 1;
        s->job.split.imbalance = 1;
        s->job.split.dispatch_B = 2;
    }
    if (setting->slow_network) {
        s->nic.rate_Bps = 1e9;
        sand_fabric_free(s->fabric);
        cr_assert_eq(sand_fabric_build(&s->cluster, &s->fabric, NULL), SAND_OK);
        s->question.fabric = s->fabric;
    }
}

// ---- the twin -----------------------------------------------------------------------------------

// Everything that people and programs see, but the counts of what was passed over.
static char *outcome(const struct sand_search_question *q, const struct sand_search_result *result)
{
    char *text = NULL;
    size_t size = 0;
    const struct sand_search_view view = {q, result, 100};
    FILE *out = open_memstream(&text, &size);
    sand_search_print_csv(&view, out);
    for (size_t i = 0; i < result->n_refused; i++) {
        const struct sand_search_candidate *c = &result->refused[i];
        fprintf(out, "refused %u %u %u %u %u %u %u %d %d %.17g %.17g\n", c->split.tp, c->split.cp,
                c->split.pp, c->split.dp, c->split.ep, c->split.virtual_stages,
                c->split.micro_batch, (int)c->split.recompute, (int)c->split.sharding,
                c->memory.total_B, c->estimate.step_s);
    }
    fprintf(out, "%llu %llu %llu %llu\n", (unsigned long long)result->considered,
            (unsigned long long)result->impossible, (unsigned long long)result->too_big_state,
            (unsigned long long)result->too_big_activations);
    fclose(out);
    return text;
}

static void compare(const struct setting *setting, struct sand_oracle *oracle, size_t simulate)
{
    struct small s;
    struct sand_search_result with, without;
    open_small(setting, &s);
    struct sand_search_question q = {.cluster = &s.cluster,
                                     .kernels = &s.kernels,
                                     .collectives = &test_kernels,
                                     .fabric = s.fabric,
                                     .job = &s.job,
                                     .simulate = simulate};
    cr_assert_eq(sand_search(&q, oracle, NULL, NULL, &with, NULL), SAND_OK, "%s", setting->name);
    q.exhaustive = 1;
    cr_assert_eq(sand_search(&q, oracle, NULL, NULL, &without, NULL), SAND_OK);
    char *one = outcome(&q, &with), *other = outcome(&q, &without);
    cr_expect_str_eq(one, other, "%s", setting->name);
    cr_expect_eq(with.estimated + with.ruled_out, without.estimated);
    cr_expect_eq(without.ruled_out, 0);
    cr_expect_gt(2 * with.ruled_out, with.estimated, "%s: %llu against %llu", setting->name,
                 (unsigned long long)with.ruled_out, (unsigned long long)with.estimated);
    free(one);
    free(other);
    sand_search_result_clear(&with);
    sand_search_result_clear(&without);
    sand_fabric_free(s.fabric);
}

Test(bounds, passing_over_changes_no_result, .timeout = 120)
{
    struct sand_oracle *oracle = NULL;
    cr_assert_eq(sand_oracle_open(&oracle, NULL), SAND_OK);
    for (int i = 0; i < N_SETTINGS; i++) {
        compare(&settings[i], oracle, 1);
        compare(&settings[i], oracle, 5);
    }
    sand_oracle_close(oracle);
}

// ---- floors -------------------------------------------------------------------------------------

struct floors {
    struct small *s;
    uint64_t n, sharded, tight; // splits; of them the floor within 1 % of those that share nothing
};

static enum sand_rc visit(void *self, const struct sand_split *family, size_t n)
{
    struct floors *floors = self;
    for (size_t i = 0; i < n; i++) {
        struct sand_step_layout layout;
        struct sand_step_estimate estimate;
        if (sand_split_check(&floors->s->model, &family[i], 0, NULL) != SAND_OK)
            continue;
        floors->s->job.split = family[i];
        cr_assert_eq(sand_step_layout_find(&floors->s->question, &layout, NULL), SAND_OK);
        sand_step_estimate(&floors->s->question, &layout, &estimate);
        const double compute_s = sand_step_floor(&floors->s->question, NULL);
        const double all_s = sand_step_floor(&floors->s->question, &layout);
        cr_assert_gt(compute_s, 0);
        cr_assert_leq(compute_s, all_s);
        cr_expect_leq(all_s, estimate.step_s,
                      "%.12g above %.12g: tp %u cp %u pp %u dp %u ep %u vs %u mb %u shard %d",
                      all_s, estimate.step_s, family[i].tp, family[i].cp, family[i].pp,
                      family[i].dp, family[i].ep, family[i].virtual_stages, family[i].micro_batch,
                      (int)family[i].sharding);
        floors->n++;
        floors->sharded += sand_split_is_sharded(&family[i]) != 0;
        floors->tight += all_s > 0.99 * estimate.step_s;
    }
    return SAND_OK;
}

// Of every possible split: compute alone is not above compute with traffic, and that not above the
// closed form.
Test(bounds, floors_are_below_every_split, .timeout = 120)
{
    for (int i = 0; i < N_SETTINGS; i++) {
        struct small s;
        struct sand_split *frames = NULL;
        size_t n = 0;
        open_small(&settings[i], &s);
        s.question.gpu_speed = NULL;
        const struct sand_job_spec job = s.job;
        struct floors floors = {.s = &s};
        cr_assert_eq(space_frames(&job, 16, 8, &frames, &n), SAND_OK);
        for (size_t k = 0; k < n; k++)
            cr_assert_eq(space_families(&job, &frames[k], visit, &floors), SAND_OK);
        cr_expect_gt(floors.n, 500, "%s: %llu", settings[i].name, (unsigned long long)floors.n);
        cr_expect_gt(floors.tight, 20, "%s: %llu", settings[i].name,
                     (unsigned long long)floors.tight);
        if (settings[i].schedule != SAND_SCHEDULE_ZERO_BUBBLE)
            cr_expect_gt(floors.sharded, 100);
        sand_free(frames);
        sand_fabric_free(s.fabric);
    }
}
