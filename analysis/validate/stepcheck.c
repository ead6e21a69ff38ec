// Rows over worker processes, each with an oracle of its own; answers in shared memory.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepcheck.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric.h"
#include "mem.h"
#include "oracle.h"

enum { MOST_WORKERS = 64 };

// ---- one row ------------------------------------------------------------------------------------

// The first error, cut to what a table shows.
static void keep_reason(const struct sand_diag *diag, char *why)
{
    for (size_t i = 0; i < diag->n_messages; i++)
        if (diag->messages[i].severity == SAND_ERROR) {
            snprintf(why, SAND_STEP_WHY, "%s", diag->messages[i].text);
            return;
        }
    snprintf(why, SAND_STEP_WHY, "no answer");
}

static enum sand_rc ask(struct sand_oracle *oracle, const struct sand_step_rules *rules,
                        const struct sand_step_case *c, struct sand_step_profile *profile,
                        struct sand_diag *diag)
{
    struct sand_fabric *fabric = NULL;
    uint32_t *nodes = sand_calloc(c->job.n_nodes, sizeof *nodes);
    if (nodes == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t i = 0; i < c->job.n_nodes; i++)
        nodes[i] = i;
    enum sand_rc rc = sand_fabric_build(&c->cluster, &fabric, diag);
    const struct sand_step_question question = {.cluster = &c->cluster,
                                                .kernels = rules->kernels,
                                                .fabric = fabric,
                                                .job = &c->job,
                                                .nodes = nodes,
                                                .folding = SAND_FOLD};
    if (rc == SAND_OK)
        rc = sand_oracle_step(oracle, &question, profile, diag);
    sand_fabric_free(fabric);
    sand_free(nodes);
    return rc;
}

static void predict(struct sand_oracle *oracle, const struct sand_step_rules *rules,
                    const struct sand_step_case *c, struct sand_step_prediction *out)
{
    struct sand_diag diag = {0};
    struct sand_step_profile profile = {0};
    if (ask(oracle, rules, c, &profile, &diag) == SAND_OK)
        *out = (struct sand_step_prediction){.step_s = profile.step_s,
                                             .compute_s = profile.compute_s,
                                             .recompute_s = profile.recompute_s,
                                             .exposed_tp_s = profile.exposed_tp_s,
                                             .exposed_pp_s = profile.exposed_pp_s,
                                             .exposed_dp_s = profile.exposed_dp_s,
                                             .bubble_s = profile.bubble_s};
    else
        keep_reason(&diag, out->why);
    sand_diag_clear(&diag);
}

// ---- workers ------------------------------------------------------------------------------------

struct work {
    const struct sand_step_rules *rules;
    const struct sand_step_case *cases;
    size_t n;
    uint32_t workers;
    struct sand_step_prediction *shared;
};

static void work_on(const struct work *work, uint32_t worker)
{
    struct sand_oracle *oracle = NULL;
    struct sand_diag diag = {0};
    if (sand_oracle_open(&oracle, &diag) != SAND_OK) {
        sand_diag_print(&diag, stderr);
        _exit(1);
    }
    for (size_t i = worker; i < work->n; i += work->workers)
        if (work->cases[i].class != SAND_STEP_SKIPPED)
            predict(oracle, work->rules, &work->cases[i], &work->shared[i]);
    sand_oracle_close(oracle);
    _exit(0);
}

static enum sand_rc run_workers(const struct work *work, struct sand_diag *diag)
{
    pid_t pids[MOST_WORKERS];
    uint32_t started = 0;
    enum sand_rc rc = SAND_OK;
    fflush(NULL); // what is buffered now would be written by every worker
    for (; started < work->workers && rc == SAND_OK; started++) {
        pids[started] = fork();
        if (pids[started] == 0)
            work_on(work, started);
        if (pids[started] < 0)
            rc = sand_fail(diag, SAND_ERR_IO, "cannot fork: %s", strerror(errno));
    }
    for (uint32_t i = 0; i < started; i++) {
        int status = 0;
        if (pids[i] < 0)
            continue;
        while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR)
            ;
        if (rc == SAND_OK && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
            rc = sand_fail(diag, SAND_ERR_INTERNAL, "a worker that predicts rows died");
    }
    return rc;
}

enum sand_rc sand_step_predict(const struct sand_step_rules *rules,
                               const struct sand_step_case *cases, size_t n, uint32_t jobs,
                               struct sand_step_prediction *predictions, struct sand_diag *diag)
{
    const size_t size = (n > 0 ? n : 1) * sizeof *predictions;
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    const struct work work = {.rules = rules,
                              .cases = cases,
                              .n = n,
                              .workers = jobs < 1              ? 1
                                         : jobs > MOST_WORKERS ? MOST_WORKERS
                                                               : jobs,
                              .shared = shared};
    const enum sand_rc rc = run_workers(&work, diag);
    if (rc == SAND_OK && n > 0)
        memcpy(predictions, shared, n * sizeof *predictions);
    munmap(shared, size);
    return rc;
}
