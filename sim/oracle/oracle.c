// ask -> memo -> store -> forked child, for steps alone and together.
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

// ---- two kinds of problem -----------------------------------------------------------------------

union answer {
    struct sand_step_solution step;
    struct sand_joint_solution joint;
};

_Static_assert(sizeof(union answer) <= SAND_CACHE_VALUE_MAX, "a solution fits");

static enum sand_rc solve_step(const void *bytes, size_t size, union answer *answer,
                               struct sand_diag *diag)
{
    struct sand_step_problem *problem = NULL;
    SAND_TRY(sand_step_unpack(bytes, size, &problem));
    const enum sand_rc rc = sand_step_solve(problem, &answer->step, diag);
    sand_step_problem_free(problem);
    return rc;
}

static enum sand_rc solve_joint(const void *bytes, size_t size, union answer *answer,
                                struct sand_diag *diag)
{
    struct sand_joint_problem *problem = NULL;
    SAND_TRY(sand_joint_unpack(bytes, size, &problem));
    const enum sand_rc rc = sand_joint_solve(problem, &answer->joint, diag);
    sand_joint_problem_free(problem);
    return rc;
}

// Bytes of a solution in use: all but the words of activity, or the parts, that it does not have.
static size_t step_size(const union answer *answer)
{
    const struct sand_step_solution *solution = &answer->step;
    return offsetof(struct sand_step_solution, activity) +
           (size_t)solution->n_sets * solution->words * sizeof solution->activity[0];
}

static size_t joint_size(const union answer *answer)
{
    return offsetof(struct sand_joint_solution, parts) +
           (size_t)answer->joint.n * sizeof answer->joint.parts[0];
}

// As long as it says, and a step: anything else is not believed.
static int is_step(const union answer *answer, size_t size)
{
    const struct sand_step_solution *solution = &answer->step;
    return size >= offsetof(struct sand_step_solution, activity) &&
           (uint64_t)solution->n_sets * solution->words <= SAND_STEP_ACTIVITY_WORDS &&
           size == step_size(answer) && isfinite(solution->step_s) && solution->step_s > 0;
}

static int is_joint(const union answer *answer, size_t size)
{
    const struct sand_joint_solution *solution = &answer->joint;
    if (size < offsetof(struct sand_joint_solution, parts) || solution->n > SAND_JOINT_JOBS ||
        solution->n_transfers > SAND_JOINT_TRANSFERS || size != joint_size(answer))
        return 0;
    for (uint32_t t = 0; t < solution->n_transfers; t++)
        if (!isfinite(solution->stream_Bps[t]) || !(solution->stream_Bps[t] > 0))
            return 0;
    for (uint32_t i = 0; i < solution->n; i++)
        if (!isfinite(solution->parts[i].step_s) || !(solution->parts[i].step_s > 0))
            return 0;
    return 1;
}

// What the oracle has to know of a kind.
struct kind {
    uint64_t number;
    enum sand_rc (*solve)(const void *bytes, size_t size, union answer *answer,
                          struct sand_diag *diag);
    size_t (*size)(const union answer *answer);
    int (*is_sound)(const union answer *answer, size_t size);
};
static const struct kind kinds[] = {{0, solve_step, step_size, is_step},
                                    {1, solve_joint, joint_size, is_joint}};

// In the child: the one place where a problem meets an engine. A request begins with its kind.
static enum sand_rc solve(const void *request, size_t size, void *answer, struct sand_diag *diag)
{
    uint64_t number;
    if (size < sizeof number)
        return SAND_ERR_INTERNAL;
    memcpy(&number, request, sizeof number);
    if (number >= sizeof kinds / sizeof *kinds)
        return SAND_ERR_INTERNAL;
    return kinds[number].solve((const char *)request + sizeof number, size - sizeof number, answer,
                               diag);
}

enum sand_rc sand_oracle_open(struct sand_oracle **oracle, struct sand_diag *diag)
{
    struct sand_oracle *made = sand_calloc(1, sizeof *made);
    if (!made)
        return SAND_ERR_NOMEM;
    const enum sand_rc rc = sand_forkserver_open(solve, sizeof(union answer), &made->server, diag);
    if (rc != SAND_OK) {
        sand_free(made);
        return rc;
    }
    *oracle = made;
    return SAND_OK;
}

// ---- the store ----------------------------------------------------------------------------------

// Bytes that mean the same solution only where structs are laid out alike.
static void add_layout(struct sand_hash *hash)
{
    const uint64_t layout[] = {sizeof(struct sand_step_solution),
                               offsetof(struct sand_step_solution, critical_stage),
                               offsetof(struct sand_step_solution, n_events),
                               offsetof(struct sand_step_solution, activity),
                               SAND_STEP_ACTIVITY_WORDS,
                               sizeof(struct sand_joint_solution),
                               offsetof(struct sand_joint_solution, parts),
                               SAND_JOINT_JOBS,
                               SAND_JOINT_TRANSFERS,
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

static void store_key(const struct sand_oracle *oracle, const struct kind *kind,
                      const uint8_t digest[32], uint8_t key[SAND_CACHE_KEY_SIZE])
{
    struct sand_hash hash;
    sand_hash_init(&hash);
    sand_hash_add(&hash, oracle->versions, sizeof oracle->versions);
    if (kind->number > 0)
        sand_hash_add(&hash, &kind->number, sizeof kind->number);
    sand_hash_add(&hash, digest, 32);
    sand_hash_end(&hash, key);
}

static int find_stored(struct sand_oracle *oracle, const struct kind *kind,
                       const uint8_t digest[32], union answer *answer, struct sand_diag *diag)
{
    uint8_t key[SAND_CACHE_KEY_SIZE];
    size_t size = sizeof *answer;
    if (oracle->store == NULL)
        return 0;
    store_key(oracle, kind, digest, key);
    memset(answer, 0, sizeof *answer);
    if (!sand_cachestore_find(oracle->store, key, answer, &size, diag) ||
        !kind->is_sound(answer, size))
        return 0;
    oracle->counters.store_hits++;
    return 1;
}

static void keep_stored(struct sand_oracle *oracle, const struct kind *kind,
                        const uint8_t digest[32], const union answer *answer,
                        struct sand_diag *diag)
{
    uint8_t key[SAND_CACHE_KEY_SIZE];
    if (oracle->store == NULL)
        return;
    store_key(oracle, kind, digest, key);
    sand_cachestore_keep(oracle->store, key, answer, kind->size(answer), diag);
}

// ---- asking -------------------------------------------------------------------------------------

static int find_known(struct sand_oracle *oracle, const uint8_t digest[32], union answer *answer)
{
    size_t size = 0;
    const void *known = sand_memo_find(&oracle->memo, digest, &size);
    if (known == NULL)
        return 0;
    memset(answer, 0, sizeof *answer);
    memcpy(answer, known, size);
    oracle->counters.hits++;
    return 1;
}

static enum sand_rc ask_child(struct sand_oracle *oracle, const struct kind *kind,
                              const void *bytes, size_t size, union answer *answer,
                              struct sand_diag *diag)
{
    char *request = sand_calloc(sizeof kind->number + size, 1);
    if (request == NULL)
        return SAND_ERR_NOMEM;
    memcpy(request, &kind->number, sizeof kind->number);
    memcpy(request + sizeof kind->number, bytes, size);
    const double begin = wall_s();
    oracle->counters.children++;
    const enum sand_rc rc =
        sand_forkserver_ask(oracle->server, request, sizeof kind->number + size, answer, diag);
    oracle->counters.child_s += wall_s() - begin;
    sand_free(request);
    return rc;
}

// In the memo, or in the store.
static enum sand_rc look_up(struct sand_oracle *oracle, const struct kind *kind,
                            const uint8_t digest[32], union answer *answer, int *found,
                            struct sand_diag *diag)
{
    oracle->counters.problems++;
    *found = find_known(oracle, digest, answer);
    if (*found)
        return SAND_OK;
    *found = find_stored(oracle, kind, digest, answer, diag);
    return *found ? sand_memo_keep(&oracle->memo, digest, answer, kind->size(answer)) : SAND_OK;
}

// Solved in a child; frees the packed problem. Failures are not kept: a child that ran out of
// memory may do better next time.
static enum sand_rc solve_and_keep(struct sand_oracle *oracle, const struct kind *kind,
                                   const uint8_t digest[32], void *bytes, size_t size,
                                   union answer *answer, struct sand_diag *diag)
{
    const enum sand_rc rc = ask_child(oracle, kind, bytes, size, answer, diag);
    sand_free(bytes);
    if (rc != SAND_OK)
        return rc;
    keep_stored(oracle, kind, digest, answer, diag);
    return sand_memo_keep(&oracle->memo, digest, answer, kind->size(answer));
}

static enum sand_rc answer_step(void *self, const struct sand_step_problem *problem,
                                struct sand_step_solution *solution, struct sand_diag *diag)
{
    struct sand_oracle *oracle = self;
    union answer answer;
    uint8_t digest[32];
    void *bytes = NULL;
    size_t size = 0;
    int found = 0;
    sand_step_digest(problem, digest);
    SAND_TRY(look_up(oracle, &kinds[0], digest, &answer, &found, diag));
    if (!found) {
        SAND_TRY(sand_step_pack(problem, &bytes, &size));
        SAND_TRY(solve_and_keep(oracle, &kinds[0], digest, bytes, size, &answer, diag));
    }
    *solution = answer.step;
    return SAND_OK;
}

// Wall time since `begin` that was not spent in children.
static void book_time(struct sand_oracle *oracle, double begin, double in_children)
{
    oracle->counters.prepare_s += wall_s() - begin - (oracle->counters.child_s - in_children);
}

static enum sand_rc no_answer(const struct sand_step_question *question, enum sand_rc rc,
                              struct sand_diag *diag)
{
    return sand_fail(diag, rc, "job \"%s\": its training step on %u nodes has no answer",
                     question->job->id ? question->job->id : "", question->job->n_nodes);
}

enum sand_rc sand_oracle_step(struct sand_oracle *oracle, const struct sand_step_question *question,
                              struct sand_step_profile *profile, struct sand_diag *diag)
{
    const double begin = wall_s(), in_children = oracle->counters.child_s;
    oracle->counters.questions++;
    const enum sand_rc rc = sand_step_ask(question, answer_step, oracle, profile, diag);
    book_time(oracle, begin, in_children);
    return rc == SAND_OK ? rc : no_answer(question, rc, diag);
}

enum sand_rc sand_oracle_loads(struct sand_oracle *oracle,
                               const struct sand_step_question *question,
                               struct sand_step_profile *profile, struct sand_link_load **loads,
                               size_t *n_loads, struct sand_diag *diag)
{
    const double begin = wall_s(), in_children = oracle->counters.child_s;
    oracle->counters.questions++;
    const enum sand_rc rc =
        sand_step_ask_loads(question, answer_step, oracle, profile, loads, n_loads, diag);
    book_time(oracle, begin, in_children);
    return rc == SAND_OK ? rc : no_answer(question, rc, diag);
}

static enum sand_rc answer_joint(struct sand_oracle *oracle,
                                 const struct sand_joint_problem *problem, union answer *answer,
                                 struct sand_diag *diag)
{
    uint8_t digest[32];
    void *bytes = NULL;
    size_t size = 0;
    int found = 0;
    sand_joint_digest(problem, digest);
    SAND_TRY(look_up(oracle, &kinds[1], digest, answer, &found, diag));
    if (found) {
        oracle->counters.joint_hits++;
        return SAND_OK;
    }
    SAND_TRY(sand_joint_pack(problem, &bytes, &size));
    return solve_and_keep(oracle, &kinds[1], digest, bytes, size, answer, diag);
}

enum sand_rc sand_oracle_joint(struct sand_oracle *oracle,
                               const struct sand_joint_question *question,
                               struct sand_joint_solution *solution, struct sand_diag *diag)
{
    const double begin = wall_s(), in_children = oracle->counters.child_s;
    struct sand_joint_problem *problem = NULL;
    union answer answer = {0};
    oracle->counters.joint_questions++;
    enum sand_rc rc = sand_joint_prepare(question, answer_step, oracle, &problem, diag);
    if (rc == SAND_OK)
        rc = answer_joint(oracle, problem, &answer, diag);
    if (rc == SAND_OK) {
        *solution = answer.joint;
        for (size_t i = 0; i < question->n; i++)
            solution->parts[i] = answer.joint.parts[sand_joint_place(problem, i)];
    }
    sand_joint_problem_free(problem);
    book_time(oracle, begin, in_children);
    if (rc != SAND_OK)
        return sand_fail(diag, rc, "the steps of %zu jobs on common links have no answer",
                         question->n);
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
