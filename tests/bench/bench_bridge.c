// What a flow costs: flows per CPU second for 1 to 2,000 live flows, and the cost of large
// platforms and long ways. Each measurement is a child, for it needs an engine of its own.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bridge.h"
#include "mem.h"

struct load {
    uint32_t live;  // flows at the same time
    int distinct;   // every end at a date of its own
    int shared;     // all on one link, or each on its own
    uint32_t total; // flows to complete
    uint32_t way;   // links a flow crosses
};

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// 1 MB, or up to twice that in 10,007 grains.
static double size_of(const struct load *load, uint32_t link, uint32_t k)
{
    const uint64_t grain = (link * UINT64_C(7919) + k * UINT64_C(104729)) % 10007;
    return load->distinct ? 1e6 * (1.0 + 1e-4 * (double)grain) : 1e6;
}

static enum sand_rc start(struct sand_bridge *bridge, const struct load *load, uint32_t *way,
                          uint32_t k)
{
    uint32_t flow = 0;
    return sand_bridge_flow_start(bridge, way, load->way, size_of(load, way[0], k), &flow);
}

static enum sand_rc pump(struct sand_bridge *bridge, void *argument)
{
    const struct load *load = argument;
    struct sand_flow_end *ends = sand_calloc(load->live, sizeof *ends);
    uint32_t *way = sand_calloc(load->way, sizeof *way);
    uint32_t done = 0, waits = 0;
    const double begin = cpu_s();
    for (uint32_t i = 0; i < load->live; i++) {
        for (uint32_t h = 0; h < load->way; h++)
            way[h] = load->shared ? h : i * load->way + h;
        SAND_TRY(start(bridge, load, way, 0));
    }
    while (done < load->total) {
        uint32_t n = 0;
        SAND_TRY(sand_bridge_wait(bridge, INFINITY, ends, &n));
        waits++;
        done += n;
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t h = 0; h < load->way; h++)
                way[h] = load->shared ? h : ends[i].flow * load->way + h;
            SAND_TRY(start(bridge, load, way, done + i));
        }
    }
    const double seconds = cpu_s() - begin;
    printf("%8u %-8s %-6s %8u %9u %10.3f %12.0f\n", load->live,
           load->distinct ? "distinct" : "equal", load->shared ? "one" : "own", load->way, waits,
           seconds, done / seconds);
    sand_free(ends);
    sand_free(way);
    return SAND_OK;
}

static int measure(const struct load *load)
{
    const uint32_t n_links = load->shared ? load->way : load->live * load->way;
    double *Bps = sand_calloc(n_links, sizeof *Bps);
    for (uint32_t i = 0; i < n_links; i++)
        Bps[i] = 1e9;
    const struct sand_bridge_platform platform = {Bps, n_links, load->live};
    struct sand_diag diag = {0};
    const enum sand_rc rc = sand_bridge_run(&platform, pump, (void *)load, &diag);
    sand_diag_print(&diag, stderr);
    sand_free(Bps);
    return rc == SAND_OK ? 0 : 1;
}

static enum sand_rc nothing(struct sand_bridge *bridge, void *argument)
{
    (void)bridge;
    (void)argument;
    return SAND_OK;
}

// Time and memory of an engine with n links and no flow.
static int measure_build(uint32_t n_links)
{
    double *Bps = sand_calloc(n_links, sizeof *Bps);
    for (uint32_t i = 0; i < n_links; i++)
        Bps[i] = 1e9;
    const struct sand_bridge_platform platform = {Bps, n_links, 64};
    const double begin = cpu_s();
    const enum sand_rc rc = sand_bridge_run(&platform, nothing, NULL, NULL);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%8u links: %.4f s from nothing to the end of an empty run, %ld MB\n", n_links,
           cpu_s() - begin, usage.ru_maxrss / 1024);
    sand_free(Bps);
    return rc == SAND_OK ? 0 : 1;
}

static int in_child(const struct load *load, uint32_t n_links)
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const int failed = load != NULL ? measure(load) : measure_build(n_links);
        fflush(stdout);
        _exit(failed);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return 1;
    return status != 0;
}

int main(void)
{
    const struct load loads[] = {
        {1, 0, 0, 200000, 1},   {20, 0, 0, 200000, 1},  {20, 1, 0, 200000, 1},
        {200, 0, 0, 200000, 1}, {200, 1, 0, 200000, 1}, {2000, 0, 0, 100000, 1},
        {2000, 1, 0, 50000, 1}, {20, 1, 1, 100000, 1},  {200, 0, 1, 100000, 1},
        {200, 1, 1, 20000, 1},  {2000, 0, 1, 50000, 1}, {2000, 1, 1, 5000, 1},
        {20, 0, 0, 20000, 100}, {1, 0, 0, 100, 1000},   {1, 0, 0, 10, 10000},
    };
    const uint32_t sizes[] = {1, 1000, 100000};
    int failed = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        failed |= in_child(NULL, sizes[i]);
    printf("%8s %-8s %-6s %8s %9s %10s %12s\n", "live", "ends", "links", "hops", "waits", "CPU s",
           "flows/s");
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        failed |= in_child(&loads[i], 0);
    return failed;
}
