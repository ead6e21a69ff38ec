// ask -> memo -> forked child, for step questions.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle.h"

#include <stddef.h>
#include <time.h>

#include "forkserver.h"
#include "mem.h"
#include "memo.h"

struct sand_oracle {
    struct sand_forkserver *server;
    struct sand_memo memo;
    struct sand_oracle_counters counters;
};

// For the counters alone: no result depends on it.
static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// In the child: the one place where a step meets an engine.
static enum sand_rc solve(const void *request, size_t size, void *answer, struct sand_diag *diag)
{
    struct sand_step_problem *problem = NULL;
    SAND_TRY(sand_step_unpack(request, size, &problem));
    const enum sand_rc rc = sand_step_solve(problem, answer, diag);
    sand_step_problem_free(problem);
    return rc;
}

enum sand_rc sand_oracle_open(struct sand_oracle **oracle, struct sand_diag *diag)
{
    struct sand_oracle *made = sand_calloc(1, sizeof *made);
    if (!made)
        return SAND_ERR_NOMEM;
    const enum sand_rc rc =
        sand_forkserver_open(solve, sizeof(struct sand_step_solution), &made->server, diag);
    if (rc != SAND_OK) {
        sand_free(made);
        return rc;
    }
    *oracle = made;
    return SAND_OK;
}

static enum sand_rc ask_child(struct sand_oracle *oracle, const struct sand_step_problem *problem,
                              struct sand_step_solution *solution, struct sand_diag *diag)
{
    void *bytes = NULL;
    size_t size = 0;
    SAND_TRY(sand_step_pack(problem, &bytes, &size));
    oracle->counters.children++;
    const enum sand_rc rc = sand_forkserver_ask(oracle->server, bytes, size, solution, diag);
    sand_free(bytes);
    return rc;
}

// Failures are not kept: a child that ran out of memory may do better next time.
static enum sand_rc remember_or_ask(void *self, const struct sand_step_problem *problem,
                                    struct sand_step_solution *solution, struct sand_diag *diag)
{
    struct sand_oracle *oracle = self;
    uint8_t digest[32];
    sand_step_digest(problem, digest);
    oracle->counters.problems++;
    if (sand_memo_find(&oracle->memo, digest, solution)) {
        oracle->counters.hits++;
        return SAND_OK;
    }
    const double begin = wall_s();
    const enum sand_rc rc = ask_child(oracle, problem, solution, diag);
    oracle->counters.child_s += wall_s() - begin;
    return rc == SAND_OK ? sand_memo_keep(&oracle->memo, digest, solution) : rc;
}

enum sand_rc sand_oracle_step(struct sand_oracle *oracle, const struct sand_step_question *question,
                              struct sand_step_profile *profile, struct sand_diag *diag)
{
    const double begin = wall_s(), in_children = oracle->counters.child_s;
    oracle->counters.questions++;
    const enum sand_rc rc = sand_step_ask(question, remember_or_ask, oracle, profile, diag);
    oracle->counters.prepare_s += wall_s() - begin - (oracle->counters.child_s - in_children);
    if (rc != SAND_OK)
        return sand_fail(diag, rc, "job \"%s\": its training step on %u nodes has no answer",
                         question->job->id ? question->job->id : "", question->job->n_nodes);
    return SAND_OK;
}

struct sand_oracle_counters sand_oracle_counters(const struct sand_oracle *oracle)
{
    return oracle->counters;
}

void sand_oracle_close(struct sand_oracle *oracle)
{
    if (!oracle)
        return;
    sand_forkserver_close(oracle->server);
    sand_memo_clear(&oracle->memo);
    sand_free(oracle);
}
