// Rows over worker processes, each with an oracle of its own; answers in shared memory.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepcheck.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "estimate.h"
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

// A row as a question, with the nodes and the fabric it is about.
struct asked {
    struct sand_step_tuned tuned;
    struct sand_fabric *fabric;
    uint32_t *nodes;
    struct sand_step_question question;
};

static enum sand_rc open_question(const struct sand_step_pass *pass, size_t i, struct asked *asked,
                                  struct sand_diag *diag)
{
    const double *log_factors =
        pass->log_factors ? pass->log_factors + i * pass->constants->n : NULL;
    *asked = (struct asked){.fabric = NULL};
    sand_step_tune(pass->rules, &pass->cases[i], log_factors ? pass->constants : NULL, log_factors,
                   &asked->tuned);
    asked->nodes = sand_calloc(asked->tuned.job.n_nodes, sizeof *asked->nodes);
    if (asked->nodes == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t k = 0; k < asked->tuned.job.n_nodes; k++)
        asked->nodes[k] = k;
    SAND_TRY(sand_fabric_build(&asked->tuned.cluster, &asked->fabric, diag));
    asked->question = (struct sand_step_question){.cluster = &asked->tuned.cluster,
                                                  .kernels = &asked->tuned.kernels,
                                                  .collectives = pass->cases[i].collectives,
                                                  .fabric = asked->fabric,
                                                  .job = &asked->tuned.job,
                                                  .nodes = asked->nodes,
                                                  .folding = SAND_FOLD};
    return SAND_OK;
}

static void close_question(struct asked *asked)
{
    sand_fabric_free(asked->fabric);
    sand_free(asked->nodes);
}

static void predict(struct sand_oracle *oracle, const struct sand_step_pass *pass, size_t i,
                    struct sand_step_prediction *out)
{
    struct sand_diag diag = {0};
    struct sand_step_profile profile = {0};
    struct asked asked;
    enum sand_rc rc = open_question(pass, i, &asked, &diag);
    if (rc == SAND_OK)
        rc = sand_oracle_step(oracle, &asked.question, &profile, &diag);
    if (rc == SAND_OK)
        *out = (struct sand_step_prediction){.step_s = profile.step_s,
                                             .compute_s = profile.compute_s,
                                             .recompute_s = profile.recompute_s,
                                             .exposed_tp_s =
                                                 profile.exposed_tp_s + profile.exposed_cp_s,
                                             .exposed_pp_s = profile.exposed_pp_s,
                                             .exposed_dp_s = profile.exposed_dp_s,
                                             .bubble_s = profile.bubble_s};
    else
        keep_reason(&diag, out->why);
    close_question(&asked);
    sand_diag_clear(&diag);
}

// ---- slopes -------------------------------------------------------------------------------------

// The closed form with constant k (if any) times exp(h). The fabric is that of all values:
// constants change what its links let through, not the links.
static double closed_form_s(const struct sand_step_pass *pass, size_t i, struct asked *asked,
                            double *log_factors, size_t k, double h)
{
    struct sand_step_layout layout;
    struct sand_step_estimate estimate;
    log_factors[k] += h;
    sand_step_tune(pass->rules, &pass->cases[i], pass->constants, log_factors, &asked->tuned);
    log_factors[k] -= h;
    if (sand_step_layout_find(&asked->question, &layout, NULL) != SAND_OK)
        return 0;
    sand_step_estimate(&asked->question, &layout, &estimate);
    return estimate.step_s;
}

static void find_slopes(const struct sand_step_pass *pass, size_t i, double *slopes)
{
    static const double STEP = 0.01;
    struct asked asked;
    double *at = sand_calloc(pass->constants->n, sizeof *at);
    const enum sand_rc rc = at ? open_question(pass, i, &asked, NULL) : SAND_ERR_NOMEM;
    for (size_t k = 0; rc == SAND_OK && k < pass->constants->n; k++) {
        if (!sand_step_constant_applies(pass->rules, &pass->cases[i], &pass->constants->list[k]))
            continue;
        const double up_s = closed_form_s(pass, i, &asked, at, k, STEP);
        const double down_s = closed_form_s(pass, i, &asked, at, k, -STEP);
        if (up_s > 0 && down_s > 0)
            slopes[k] = (log(up_s) - log(down_s)) / (2 * STEP);
    }
    if (at)
        close_question(&asked);
    sand_free(at);
}

// ---- workers ------------------------------------------------------------------------------------

// What workers share with their parent: answers, and how many rows are done.
struct shared {
    uint64_t done;
    struct sand_step_prediction predictions[];
};

struct work {
    const struct sand_step_pass *pass;
    uint32_t workers;
    struct shared *shared;
    double *slopes; // after the predictions; NULL: not wanted
};

static void work_on(const struct work *work, uint32_t worker)
{
    const struct sand_step_pass *pass = work->pass;
    struct sand_oracle *oracle = NULL;
    struct sand_diag diag = {0};
    if (sand_oracle_open(&oracle, &diag) != SAND_OK) {
        sand_diag_print(&diag, stderr);
        _exit(1);
    }
    for (size_t i = worker; i < pass->n; i += work->workers) {
        if (pass->cases[i].class != SAND_STEP_SKIPPED)
            predict(oracle, pass, i, &work->shared->predictions[i]);
        // The closed form is only asked what the step level has accepted.
        if (work->slopes && pass->cases[i].class == SAND_STEP_SCORED &&
            work->shared->predictions[i].step_s > 0)
            find_slopes(pass, i, work->slopes + i * pass->constants->n);
        __atomic_add_fetch(&work->shared->done, 1, __ATOMIC_RELAXED);
    }
    sand_oracle_close(oracle);
    _exit(0);
}

static void show(const struct work *work)
{
    if (work->pass->progress && work->pass->n > 0)
        work->pass->progress(work->pass->self,
                             (double)__atomic_load_n(&work->shared->done, __ATOMIC_RELAXED) /
                                 (double)work->pass->n);
}

// Waits for a worker, showing progress; whether it ended well.
static int ends_well(const struct work *work, pid_t pid)
{
    static const struct timespec nap = {.tv_nsec = 100000000};
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(pid, &status, work->pass->progress ? WNOHANG : 0)) != pid) {
        if (ended < 0 && errno != EINTR)
            return 0;
        show(work);
        if (work->pass->progress)
            nanosleep(&nap, NULL);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
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
    for (uint32_t i = 0; i < started; i++)
        if (pids[i] >= 0 && !ends_well(work, pids[i]) && rc == SAND_OK)
            rc = sand_fail(diag, SAND_ERR_INTERNAL, "a worker that predicts rows died");
    return rc;
}

enum sand_rc sand_step_predict(const struct sand_step_pass *pass,
                               struct sand_step_prediction *predictions, double *slopes,
                               struct sand_diag *diag)
{
    const size_t answers = sizeof(struct shared) + pass->n * sizeof *predictions;
    const size_t n_slopes = slopes ? pass->n * pass->constants->n : 0;
    const size_t size = answers + n_slopes * sizeof *slopes;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    const struct work work = {.pass = pass,
                              .workers = pass->jobs < 1              ? 1
                                         : pass->jobs > MOST_WORKERS ? MOST_WORKERS
                                                                     : pass->jobs,
                              .shared = memory,
                              .slopes =
                                  slopes ? (double *)(void *)((char *)memory + answers) : NULL};
    const enum sand_rc rc = run_workers(&work, diag);
    if (rc == SAND_OK && pass->n > 0)
        memcpy(predictions, work.shared->predictions, pass->n * sizeof *predictions);
    if (rc == SAND_OK && n_slopes > 0)
        memcpy(slopes, work.slopes, n_slopes * sizeof *slopes);
    munmap(memory, size);
    return rc;
}
