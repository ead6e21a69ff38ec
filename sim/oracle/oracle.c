// ask -> memo -> store -> forked child, for step questions.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "cachestore.h"
#include "filegate.h"
#include "forkserver.h"
#include "mem.h"
#include "memo.h"

struct sand_oracle {
    struct sand_forkserver *server;
    struct sand_memo memo;
    struct sand_cachestore *store; // NULL: none
    uint8_t versions[32];          // digest of what else a stored solution depends on
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

_Static_assert(sizeof(struct sand_step_solution) <= SAND_CACHE_VALUE_MAX, "a solution fits");

// ---- the store ----------------------------------------------------------------------------------

// Bytes that mean the same solution only where structs are laid out alike.
static void add_layout(struct sand_hash *hash)
{
    const uint64_t layout[] = {sizeof(struct sand_step_solution),
                               offsetof(struct sand_step_solution, critical_stage),
                               offsetof(struct sand_step_solution, n_events),
                               offsetof(struct sand_step_solution, activity),
                               SAND_STEP_ACTIVITY_WORDS,
                               UINT64_C(0x0102030405060708)};
    sand_hash_add(hash, layout, sizeof layout); // in this machine's byte order
}

void sand_oracle_use_store(struct sand_oracle *oracle, struct sand_cachestore *store,
                           const char *versions)
{
    struct sand_hash hash;
    sand_hash_init(&hash);
    add_layout(&hash);
    sand_hash_add(&hash, versions, strlen(versions));
    sand_hash_end(&hash, oracle->versions);
    oracle->store = store;
}

static void store_key(const struct sand_oracle *oracle, const uint8_t digest[32],
                      uint8_t key[SAND_CACHE_KEY_SIZE])
{
    struct sand_hash hash;
    sand_hash_init(&hash);
    sand_hash_add(&hash, oracle->versions, sizeof oracle->versions);
    sand_hash_add(&hash, digest, 32);
    sand_hash_end(&hash, key);
}

// As long as it says, and a step: anything else is not believed.
static int is_solution(const struct sand_step_solution *solution, size_t size)
{
    return size >= offsetof(struct sand_step_solution, activity) &&
           (uint64_t)solution->n_sets * solution->words <= SAND_STEP_ACTIVITY_WORDS &&
           size == sand_solution_size(solution) && isfinite(solution->step_s) &&
           solution->step_s > 0;
}

static int find_stored(struct sand_oracle *oracle, const uint8_t digest[32],
                       struct sand_step_solution *solution, struct sand_diag *diag)
{
    uint8_t key[SAND_CACHE_KEY_SIZE];
    size_t size = sizeof *solution;
    if (oracle->store == NULL)
        return 0;
    store_key(oracle, digest, key);
    memset(solution, 0, sizeof *solution);
    if (!sand_cachestore_find(oracle->store, key, solution, &size, diag) ||
        !is_solution(solution, size))
        return 0;
    oracle->counters.store_hits++;
    return 1;
}

static void keep_stored(struct sand_oracle *oracle, const uint8_t digest[32],
                        const struct sand_step_solution *solution, struct sand_diag *diag)
{
    uint8_t key[SAND_CACHE_KEY_SIZE];
    if (oracle->store == NULL)
        return;
    store_key(oracle, digest, key);
    sand_cachestore_keep(oracle->store, key, solution, sand_solution_size(solution), diag);
}

// ---- asking -------------------------------------------------------------------------------------

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
    if (find_stored(oracle, digest, solution, diag))
        return sand_memo_keep(&oracle->memo, digest, solution);
    const double begin = wall_s();
    const enum sand_rc rc = ask_child(oracle, problem, solution, diag);
    oracle->counters.child_s += wall_s() - begin;
    if (rc != SAND_OK)
        return rc;
    keep_stored(oracle, digest, solution, diag);
    return sand_memo_keep(&oracle->memo, digest, solution);
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
