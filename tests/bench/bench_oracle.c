// What an answer costs: an empty round trip to a child, a small step question missed and hit.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "forkserver.h"
#include "mem.h"
#include "oracle.h"
#include "small_question.h"

enum { ROUNDS = 400 };

static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *what, double *seconds, int n)
{
    qsort(seconds, (size_t)n, sizeof *seconds, ascending);
    printf("%-34s median %9.1f us, 5 %% %9.1f us, 95 %% %9.1f us\n", what, 1e6 * seconds[n / 2],
           1e6 * seconds[n / 20], 1e6 * seconds[n - 1 - n / 20]);
}

static enum sand_rc no_work(const void *request, size_t size, void *answer, struct sand_diag *diag)
{
    (void)request;
    (void)size;
    (void)answer;
    (void)diag;
    return SAND_OK;
}

static enum sand_rc measure_empty(double *seconds, size_t size, struct sand_diag *diag)
{
    static char request[1 << 20];
    struct sand_forkserver *server = NULL;
    double answer;
    SAND_TRY(sand_forkserver_open(no_work, sizeof answer, &server, diag));
    for (int i = 0; i < ROUNDS; i++) {
        const double begin = wall_s();
        SAND_TRY(sand_forkserver_ask(server, request, size, &answer, diag));
        seconds[i] = wall_s() - begin;
    }
    sand_forkserver_close(server);
    return SAND_OK;
}

// Every question differs from the others by a nanosecond of overhead; then the last one again.
static enum sand_rc measure_steps(double *miss, double *hit, struct sand_diag *diag)
{
    struct small small;
    struct sand_oracle *oracle = NULL;
    struct sand_step_profile profile;
    SAND_TRY(small_set_up(&small, diag));
    SAND_TRY(sand_oracle_open(&oracle, diag));
    for (int i = 0; i < 2 * ROUNDS; i++) {
        small.kernels.gemm_overhead_s = 1e-9 * (i < ROUNDS ? i : ROUNDS - 1);
        const double begin = wall_s();
        SAND_TRY(sand_oracle_step(oracle, &small.question, &profile, diag));
        (i < ROUNDS ? miss : hit)[i % ROUNDS] = wall_s() - begin;
    }
    const struct sand_oracle_counters c = sand_oracle_counters(oracle);
    printf("%llu questions, %llu hits, %llu children\n", (unsigned long long)c.questions,
           (unsigned long long)c.hits, (unsigned long long)c.children);
    sand_oracle_close(oracle);
    sand_fabric_free(small.fabric);
    return SAND_OK;
}

int main(void)
{
    static double a[ROUNDS], b[ROUNDS];
    struct sand_diag diag = {0};
    enum sand_rc rc = measure_empty(a, 16, &diag);
    report("empty child, 16 B request", a, ROUNDS);
    if (rc == SAND_OK)
        rc = measure_empty(a, 1 << 20, &diag);
    report("empty child, 1 MiB request", a, ROUNDS);
    if (rc == SAND_OK)
        rc = measure_steps(a, b, &diag);
    report("step of 16 GPUs, miss", a, ROUNDS);
    report("step of 16 GPUs, hit", b, ROUNDS);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return rc != SAND_OK;
}
