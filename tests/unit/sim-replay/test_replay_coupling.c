// Neighbours in a replay against all jobs played together: what the rules that ask for less (links
// that cannot cost 0.5 %, the mean field below 1 %, neighbours and theirs only) make wrong at most.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <math.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "mem.h"
#include "rng.h"
#include "test_kernels.h"

enum { CASES = 24, JOBS = 6, PER_LEAF = 4, MOST_LINKS = 4096 };

static struct replay_case c;
static struct kept_rows kept;

static void forget(void)
{
    if (c.oracle)
        sand_oracle_close(c.oracle);
    c.oracle = NULL;
    keep_clear(&kept);
}

TestSuite(replay_coupling, .fini = forget, .timeout = 300);

static uint32_t draw(uint32_t which, uint32_t index, uint32_t n)
{
    const struct sand_rng rng = {.seed = 12};
    return (uint32_t)(sand_rng_u64(rng, SAND_STREAM_TEST, which, index) % n);
}

// Jobs of 3 to 7 nodes one after another on leaves of 4: those that cross share trunks with the
// next, in chains. Traffic from hidden to more than half of the step, 1.5:1 to 8:1.
static void set_case(uint32_t which)
{
    static const double oversubscription[] = {1.5, 2, 2.5, 3, 3.5, 4, 6, 8};
    static const char *const names[JOBS] = {"a", "b", "c", "d", "e", "f"};
    uint32_t n_nodes = 0, sizes[JOBS];
    for (uint32_t i = 0; i < JOBS; i++)
        n_nodes += sizes[i] = 3 + draw(which, 10 * i, 5);
    case_set(&c, n_nodes, 200);
    c.experiment.cluster.fabric.leaf_oversubscription = oversubscription[draw(which, 100, 8)];
    c.experiment.cluster.fabric.spines = 1;
    for (uint32_t i = 0; i < JOBS; i++) {
        if (c.oracle)
            sand_oracle_close(c.oracle);
        struct sand_split *split = &case_simulated(&c, names[i], sizes[i], 0, 0)->split;
        split->sequence = 1024U << draw(which, 10 * i + 1, 5);
        split->global_batch = sizes[i] * (1 + draw(which, 10 * i + 2, 16));
        split->overlap_grad_reduce = split->overlap_param_gather = draw(which, 10 * i + 3, 2) == 0;
    }
}

// Steps of all jobs with all of them played together on every link that two have traffic on.
static void play_together(double alone_s[JOBS], double together_s[JOBS])
{
    static uint32_t nodes[JOBS * 8], users[MOST_LINKS], links[MOST_LINKS];
    struct sand_step_question steps[JOBS];
    struct sand_fabric *fabric = NULL;
    uint32_t n_links = 0;
    cr_assert_eq(sand_fabric_build(&c.experiment.cluster, &fabric, NULL), SAND_OK);
    for (uint32_t l = 0; l < MOST_LINKS; l++)
        users[l] = 0;
    for (uint32_t i = 0, next = 0; i < JOBS; next += c.jobs[i++].n_nodes) {
        struct sand_step_profile profile;
        struct sand_link_load *loads;
        size_t n = 0;
        for (uint32_t k = 0; k < c.jobs[i].n_nodes; k++)
            nodes[next + k] = next + k;
        steps[i] = (struct sand_step_question){.cluster = &c.experiment.cluster,
                                               .kernels = &c.kernels,
                                               .collectives = &test_kernels,
                                               .fabric = fabric,
                                               .job = &c.jobs[i],
                                               .nodes = nodes + next,
                                               .whole_footprint = 1};
        cr_assert_eq(sand_oracle_loads(c.oracle, &steps[i], &profile, &loads, &n, NULL), SAND_OK);
        alone_s[i] = profile.step_s;
        for (size_t l = 0; l < n; l++)
            users[loads[l].link] += loads[l].link < MOST_LINKS;
        sand_free(loads);
    }
    for (uint32_t l = 0; l < MOST_LINKS; l++)
        if (users[l] > 1)
            links[n_links++] = l;
    const struct sand_joint_question question = {
        .steps = steps, .n = JOBS, .links = links, .n_links = n_links};
    struct sand_joint_solution solution;
    cr_assert_eq(sand_oracle_joint(c.oracle, &question, &solution, NULL), SAND_OK);
    for (uint32_t i = 0; i < JOBS; i++)
        together_s[i] = n_links > 0 ? solution.parts[i].step_s : alone_s[i];
    sand_fabric_free(fabric);
}

// Where a job loses less than 1 % to its neighbours, its step in the replay is within 0.75 % of
// that with everybody played together, else within 2.5 %: two means over start offsets, each to 0.5
// %, and what slows the neighbours elsewhere. A case a process: a replay runs an engine.
ParameterizedTestParameters(replay_coupling, a_step_is_that_of_all_played_together)
{
    static uint32_t cases[CASES];
    for (uint32_t which = 0; which < CASES; which++)
        cases[which] = which;
    return cr_make_param_array(uint32_t, cases, CASES);
}

ParameterizedTest(const uint32_t *which, replay_coupling, a_step_is_that_of_all_played_together)
{
    double alone_s[JOBS], together_s[JOBS];
    set_case(*which);
    play_together(alone_s, together_s);
    case_run_well(&c, &kept);
    cr_assert_eq(N_ROWS(&kept, attempts), JOBS);
    for (uint32_t i = 0; i < JOBS; i++) {
        const struct sand_attempts_row *row = &ROWS(&kept, attempts)[i];
        const double seen_s = together_s[row->job];
        const double most = seen_s < 1.01 * alone_s[row->job] ? 0.0075 : 0.025;
        cr_expect_float_eq(row->step_s, seen_s, most * seen_s,
                           "case %u, job %u: %g s alone, %g s together, %g s in the replay", *which,
                           row->job, alone_s[row->job], seen_s, row->step_s);
    }
}

// Among those cases are jobs that lose under 1 %, for which the mean field answers, and some that
// lose much.
Test(replay_coupling, the_cases_are_of_every_kind)
{
    uint32_t little = 0, much = 0;
    for (uint32_t which = 0; which < CASES; which++) {
        double alone_s[JOBS], together_s[JOBS];
        set_case(which);
        play_together(alone_s, together_s);
        for (uint32_t i = 0; i < JOBS; i++) {
            const double lost = together_s[i] / alone_s[i] - 1;
            little += lost > 0.001 && lost < 0.01;
            much += lost > 0.05;
        }
        forget();
    }
    cr_expect_gt(little, 5, "%u", little);
    cr_expect_gt(much, 5, "%u", much);
}
