// Waits and completion by group: means over runs, utilisation, and what is printed of them.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "overview.h"
#include "summaryparts.h"
#include "units.h"

static struct sand_groups_row row(uint32_t replication, const char *by, const char *name,
                                  const char *ending, uint64_t jobs, double wait_s)
{
    struct sand_groups_row made = {.replication = replication,
                                   .jobs = jobs,
                                   .gpu_s = 100.0 * (double)jobs,
                                   .asked_gpu_s = 75.0 * (double)jobs,
                                   .useful_gpu_s = 50.0 * (double)jobs,
                                   .wait_mean_s = wait_s,
                                   .completion_mean_s = wait_s + 100,
                                   .slowdown_mean = (wait_s + 100) / 100};
    sand_cell_set(&made.by, by);
    sand_cell_set(&made.name, name);
    sand_cell_set(&made.ending, ending);
    return made;
}

// Two runs on 10 GPUs: jobs from 0 to 100 s and from 50 to 250 s. Busy: 1,000 of 10 x 100 GPU-s (1
// finished of 6, 4 failed) and 700 of 10 x 200.
static void fill(struct sand_rowset *rows, struct sand_overview *overview, struct sand_arena *arena)
{
    static struct sand_groups_row groups[7];
    static struct sand_run_window windows[2] = {
        {.last_ns = INT64_C(100) * SAND_NS_PER_S},
        {.first_ns = INT64_C(50) * SAND_NS_PER_S, .last_ns = INT64_C(250) * SAND_NS_PER_S}};
    static struct sand_replications_row runs[2] = {{.replication = 4}, {.replication = 5}};
    groups[0] = row(5, "all", "all", "finished", 7, 20);
    groups[1] = row(4, "all", "all", "finished", 6, 10);
    groups[2] = row(4, "all", "all", "ended failed", 4, 1000);
    groups[3] = row(4, "class", "b", "finished", 6, 10);
    groups[4] = row(5, "class", "b", "finished", 3, 20);
    groups[5] = row(5, "class", "a", "finished", 4, 20);
    groups[6] = row(5, "size", "9-64 GPUs", "finished", 7, 20);
    static struct sand_cluster_row classes[3] = {{.replication = 5, .gpu_s = 80},
                                                 {.replication = 4, .gpu_s = 1200},
                                                 {.replication = 5, .gpu_s = 700}};
    sand_cell_set(&classes[0].gpu_class, "fragment");
    sand_cell_set(&classes[1].gpu_class, "idle");
    sand_cell_set(&classes[2].gpu_class, "useful");
    *rows = (struct sand_rowset){.cluster = classes,
                                 .n_cluster = 3,
                                 .groups = groups,
                                 .n_groups = 7,
                                 .windows = windows,
                                 .replications = runs,
                                 .n_replications = 2};
    *overview =
        (struct sand_overview){.n_runs = 2, .n_jobs = 9, .capacity_gpus = 10, .duration_s = 400};
    cr_assert_eq(sand_overview_groups(rows, arena, overview), SAND_OK);
}

// Jobs are a mean over all runs, times over the runs that have such jobs; ends are never mixed.
Test(groups, means_over_runs)
{
    struct sand_arena arena = {0};
    struct sand_rowset rows;
    struct sand_overview o;
    fill(&rows, &o, &arena);
    cr_assert_eq(o.n_groups, 5);
    cr_expect_str_eq(o.groups[0].ending, "ended failed");
    cr_expect_float_eq(o.groups[0].jobs, 2, 1e-12);
    cr_expect_float_eq(o.groups[0].wait_mean_s, 1000, 1e-9, "of the one run that has them");
    cr_expect_str_eq(o.groups[1].ending, "finished");
    cr_expect_float_eq(o.groups[1].jobs, 6.5, 1e-12);
    cr_expect_float_eq(o.groups[1].wait_mean_s, 15, 1e-9, "untouched by the 1,000 s of the failed");
    cr_expect_str_eq(o.groups[2].name, "a");
    cr_expect_float_eq(o.groups[2].jobs, 2, 1e-12);
    sand_arena_clear(&arena);
}

Test(groups, utilisation_is_held_time_over_capacity_and_window)
{
    struct sand_arena arena = {0};
    struct sand_rowset rows;
    struct sand_overview o;
    fill(&rows, &o, &arena);
    cr_expect_float_eq(o.use.mean, (1000.0 / 1000 + 700.0 / 2000) / 2, 1e-12);
    cr_expect_float_eq(o.window_s, 150, 1e-9);
    // Half of it was useful, whatever the ending; a quarter was not asked for.
    cr_expect_float_eq(o.useful_use.mean, (500.0 / 1000 + 350.0 / 2000) / 2, 1e-12);
    cr_expect_float_eq(o.unasked.mean, (250.0 / 1000 + 175.0 / 2000) / 2, 1e-12);
    // The first run's jobs hold all there is in its window, the other's leave 1,300 of 2,000. 80 of
    // these are fragments; the rest of 4,000 GPU-s, before the first submit and after the last end,
    // is no part of it.
    cr_expect_float_eq(o.fragment.mean, 80.0 / 2000 / 2, 1e-12);
    cr_expect_float_eq(o.jobless.mean, 1220.0 / 2000 / 2, 1e-12);
    cr_expect_float_eq(o.use.mean + o.fragment.mean + o.jobless.mean, 1, 1e-12, "all of it");
    sand_arena_clear(&arena);
}

// The section states its definitions, at most 100 columns, and is silent about a single job.
Test(groups, printed_with_their_definitions)
{
    struct sand_arena arena = {0};
    struct sand_rowset rows;
    struct sand_overview o;
    char *text = NULL;
    size_t size = 0;
    fill(&rows, &o, &arena);
    FILE *out = open_memstream(&text, &size);
    sand_summary_print_groups(out, SAND_STYLE_PLAIN, &o);
    fflush(out);
    cr_expect(strstr(text, "all, ended failed"), "%s", text);
    cr_expect(strstr(text, "class b"), "%s", text);
    cr_expect(strstr(text, "size 9-64 GPUs held "), "%s", text);
    cr_expect(strstr(text, "class b                            30.0 %   15.0 %     25.0 %"), "%s",
              text);
    cr_expect(strstr(text, "first start - submit"), "%s", text);
    cr_expect(strstr(text, "useful: of surviving steps"), "%s", text);
    cr_expect(strstr(text, "10 GPUs x 2.5 min from first submit to last end"), "%s", text);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        cr_expect_leq(strcspn(line, "\n"), 100, "%s", line);
    o.n_jobs = 1;
    const size_t before = size;
    sand_summary_print_groups(out, SAND_STYLE_PLAIN, &o);
    fclose(out);
    cr_expect_eq(size, before);
    free(text);
    sand_arena_clear(&arena);
}
