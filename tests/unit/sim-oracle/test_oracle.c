// The oracle on a real question: two nodes, data parallel over the fabric. Same answer as solving
// in this process; equal problems are solved once; it works while the caller's own engine runs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "memo.h"
#include "oracle.h"
#include "small_question.h"

static void set_up(struct small *s)
{
    struct sand_diag diag = {0};
    const enum sand_rc rc = small_set_up(s, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK);
    sand_diag_clear(&diag);
}

static struct sand_oracle *open_oracle(void)
{
    struct sand_oracle *oracle = NULL;
    cr_assert_eq(sand_oracle_open(&oracle, NULL), SAND_OK);
    return oracle;
}

static double ask(struct sand_oracle *oracle, const struct small *s)
{
    struct sand_step_profile profile;
    struct sand_diag diag = {0};
    const enum sand_rc rc = sand_oracle_step(oracle, &s->question, &profile, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK);
    sand_diag_clear(&diag);
    cr_assert(isfinite(profile.step_s) && profile.step_s > 0);
    return profile.step_s;
}

static void expect_counts(const struct sand_oracle *oracle, uint64_t questions, uint64_t hits,
                          uint64_t children)
{
    const struct sand_oracle_counters counters = sand_oracle_counters(oracle);
    cr_assert_eq(counters.questions, questions);
    cr_assert_eq(counters.hits, hits);
    cr_assert_eq(counters.children, children);
}

// An equal question is a hit with the same bits; other nodes of the same shape are the same problem
// after folding; a slow GPU is another one, with a longer step.
Test(oracle, equal_problems_are_solved_once)
{
    struct small s;
    set_up(&s);
    struct sand_oracle *oracle = open_oracle();
    const double first = ask(oracle, &s);
    cr_assert_eq(ask(oracle, &s), first);
    expect_counts(oracle, 2, 1, 1);
    s.nodes[0] = 2;
    s.nodes[1] = 3;
    cr_assert_eq(ask(oracle, &s), first);
    expect_counts(oracle, 3, 2, 1);
    s.speed[2 * 8 + 3] = 0.5f;
    cr_assert_gt(ask(oracle, &s), first);
    expect_counts(oracle, 4, 2, 2);
    sand_oracle_close(oracle);
    sand_fabric_free(s.fabric);
}

static enum sand_rc solve_here(void *self, const struct sand_step_problem *problem,
                               struct sand_step_solution *solution, struct sand_diag *diag)
{
    (void)self;
    return sand_step_solve(problem, solution, diag);
}

// The way through packing, socket and child changes no bit of the answer; and a process that has
// used up its one engine still gets answers.
Test(oracle, the_answer_is_that_of_solving_here)
{
    struct small s;
    struct sand_step_profile asked, here;
    set_up(&s);
    struct sand_oracle *oracle = open_oracle();
    cr_assert_eq(sand_step_ask(&s.question, solve_here, NULL, &here, NULL), SAND_OK);
    cr_assert_eq(sand_oracle_step(oracle, &s.question, &asked, NULL), SAND_OK);
    cr_assert_eq(asked.step_s, here.step_s);
    cr_assert_eq(asked.compute_s, here.compute_s);
    cr_assert_eq(asked.exposed_dp_s, here.exposed_dp_s);
    cr_assert_eq(asked.mfu, here.mfu);
    cr_assert_eq(asked.memory.total_B, here.memory.total_B);
    cr_assert_eq(asked.n_events, here.n_events);
    cr_assert_arr_eq(asked.link_B, here.link_B, sizeof here.link_B);
    sand_oracle_close(oracle);
    sand_fabric_free(s.fabric);
}

// A refused question is the question's fault: its code and messages, no child, the oracle goes on.
Test(oracle, a_bad_question_is_refused_without_a_child)
{
    struct small s;
    struct sand_step_profile profile;
    struct sand_diag diag = {0};
    set_up(&s);
    struct sand_oracle *oracle = open_oracle();
    s.job.split.dp = 3; // 24 GPUs on 16
    cr_assert_eq(sand_oracle_step(oracle, &s.question, &profile, &diag), SAND_ERR_INPUT);
    cr_assert_gt(diag.n_errors, 0u);
    expect_counts(oracle, 1, 0, 0);
    s.job.split.dp = 2;
    ask(oracle, &s);
    expect_counts(oracle, 2, 0, 1);
    sand_diag_clear(&diag);
    sand_oracle_close(oracle);
    sand_fabric_free(s.fabric);
}

// The memo alone: many keys that differ in one bit each, all found again with as many bytes as they
// were kept with, none confused.
Test(oracle, the_memo_keeps_keys_apart)
{
    struct sand_memo memo = {0};
    uint8_t digest[32] = {0};
    unsigned char answer[300];
    size_t size = 0;
    for (uint32_t i = 0; i < 256; i++) {
        memset(answer, (int)i, sizeof answer);
        digest[i / 8] ^= (uint8_t)(1 << i % 8);
        cr_assert_null(sand_memo_find(&memo, digest, &size));
        cr_assert_eq(sand_memo_keep(&memo, digest, answer, i), SAND_OK);
        digest[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    for (uint32_t i = 0; i < 256; i++) {
        memset(answer, (int)i, sizeof answer);
        digest[i / 8] ^= (uint8_t)(1 << i % 8);
        const void *found = sand_memo_find(&memo, digest, &size);
        cr_assert_not_null(found);
        cr_assert_eq(size, i);
        cr_assert_eq(memcmp(found, answer, size), 0);
        digest[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    cr_assert_null(sand_memo_find(&memo, digest, &size));
    sand_memo_clear(&memo);
}
