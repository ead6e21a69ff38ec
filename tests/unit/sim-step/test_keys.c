// Keys never merge unequal questions: random placements and ailing parts, each solved in full.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "mem.h"
#include "rng.h"
#include "stepfixture.h"
#include "stepproblem.h"

enum { DRAWS = 80, NODES = 4, OF_NODES = 12 };

static struct step_fixture f;

struct answer {
    uint8_t digest[32];
    double step_s;
};

static uint64_t n_drawn;

static uint32_t draw(uint32_t below)
{
    const struct sand_rng rng = {.seed = 7};
    return (uint32_t)(sand_rng_uniform(rng, SAND_STREAM_TEST, 0, n_drawn++) * below);
}

// Four of twelve nodes in some order; in a third of the draws a NIC is slow, in another a GPU.
static void shuffle(void)
{
    uint32_t all[OF_NODES];
    for (uint32_t i = 0; i < OF_NODES; i++)
        all[i] = i;
    for (uint32_t i = 0; i < NODES; i++) {
        const uint32_t k = i + draw(OF_NODES - i), node = all[k];
        all[k] = all[i];
        f.nodes[i] = all[i] = node;
    }
    const uint32_t what = draw(3), part = draw(OF_NODES * 8u);
    if (what == 1)
        f.fabric->links[f.fabric->first[SAND_LINK_NIC_UP] + part].speed = 0.5;
    for (uint32_t i = 0; i < NODES * 8; i++)
        f.gpu_speed[i] = what == 2 && i == part % (NODES * 8) ? 0.7F : 1.0F;
    f.question.gpu_speed = f.gpu_speed;
}

static struct answer ask(void)
{
    const struct step_case shape = {
        .n_nodes = NODES, .tp = 2, .pp = 2, .dp = 8, .leaf_oversubscription = 4};
    struct answer answer;
    struct sand_step_problem *problem = NULL;
    fixture_init(&f, &shape);
    shuffle();
    // No link left out, so that one problem is the whole question.
    uint32_t *links = sand_calloc(f.fabric->n_links, sizeof *links);
    for (uint32_t l = 0; l < f.fabric->n_links; l++)
        links[l] = l;
    cr_assert_eq(sand_step_prepare(&f.question, links, f.fabric->n_links, &problem, NULL), SAND_OK);
    sand_free(links);
    sand_step_digest(problem, answer.digest);
    sand_step_problem_free(problem);
    f.question.folding = SAND_NO_FOLD;
    answer.step_s = fixture_solve(&f.question).step_s;
    fixture_free(&f);
    return answer;
}

Test(keys, equal_ones_mean_equal_steps)
{
    struct answer answers[DRAWS];
    size_t n_equal = 0, n_apart = 0;
    for (uint32_t i = 0; i < DRAWS; i++)
        answers[i] = ask();
    for (uint32_t i = 0; i < DRAWS; i++)
        for (uint32_t k = 0; k < i; k++) {
            const double off = fabs(answers[i].step_s / answers[k].step_s - 1);
            const int is_equal = memcmp(answers[i].digest, answers[k].digest, 32) == 0;
            n_equal += is_equal != 0;
            n_apart += off > 1e-6;
            cr_assert(!is_equal || off < 1e-12, "draws %u and %u share a key and are %g apart", i,
                      k, off);
        }
    cr_assert_gt(n_equal, 50, "%zu pairs share a key", n_equal);
    cr_assert_gt(n_apart, 500, "%zu pairs differ", n_apart);
}
