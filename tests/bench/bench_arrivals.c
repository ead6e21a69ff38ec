// Measures a stream of a million synthetic jobs: CPU time and memory.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "arrivals.h"

int main(void)
{
    static const struct sand_mix_size sizes[] = {{1, 5}, {2, 1}, {8, 3}, {64, 1}};
    static const struct sand_mix_end ends[] = {
        {SAND_MIX_COMPLETE, 0.5, {SAND_LAW_LOGNORMAL, 100, 2, 1e6}},
        {SAND_MIX_CANCEL, 0.1, {SAND_LAW_LOGNORMAL, 200, 2, 1e6}},
        {SAND_MIX_FAIL, 0.4, {SAND_LAW_LOGNORMAL, 50, 2, 1e6}}};
    static const struct sand_mix_weight hours[] = {{0, 0.5}, {1, 0.2}, {9, 2}};
    static const char *const ids[] = {"a", "b", "c", "d"};
    struct sand_mix_class classes[4];
    for (int i = 0; i < 4; i++)
        classes[i] = (struct sand_mix_class){.id = ids[i],
                                             .share = 0.25,
                                             .cycle = 1,
                                             .users = 10,
                                             .request_factor = 2,
                                             .sizes = sizes,
                                             .n_sizes = 4,
                                             .ends = ends,
                                             .n_ends = 3};
    const struct sand_mix mix = {.id = "bench",
                                 .from = {"", "", ""},
                                 .jobs_per_s = 0.04,
                                 .hours = hours,
                                 .n_hours = 3,
                                 .classes = classes,
                                 .n_classes = 4};
    struct sand_arrivals *arrivals = NULL;
    struct sand_mix_job job;
    struct rusage usage;
    double gpu_s = 0;
    clock_t begin = clock();
    if (sand_arrivals_open(&mix, (struct sand_rng){1, 0}, 0, &arrivals, NULL) != SAND_OK)
        return 1;
    for (int i = 0; i < 1000000 && sand_arrivals_next(arrivals, &job); i++)
        gpu_s += (double)job.gpus * (double)job.run_ns * 1e-9;
    getrusage(RUSAGE_SELF, &usage);
    printf("1,000,000 jobs (%.3g GPU-s) in %.3f s, process at most %.1f MB\n", gpu_s,
           (double)(clock() - begin) / CLOCKS_PER_SEC, (double)usage.ru_maxrss / 1024);
    sand_arrivals_close(arrivals);
    return 0;
}
