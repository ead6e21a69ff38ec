// Whole runs: the closed form of ETTR, equal seeds give equal rows, books balance in random runs,
// memory that runs out. Every replication runs in a child: an engine is for one run.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "filegate.h"
#include "mem.h"
#include "rng.h"

TestSuite(replay_whole, .timeout = 240);

static struct replay_case c;
static struct kept_rows kept;

// What a child reports, in memory it shares with the test.
struct report {
    enum sand_rc rc;
    double ettr_run;
    uint64_t incidents, checkpoints, allocations;
    size_t rows;
    uint8_t digest[32];
};

static struct report *shared_reports(size_t n)
{
    void *memory = mmap(NULL, n * sizeof(struct report), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert(memory != MAP_FAILED);
    return memory;
}

static void digest_rows(struct report *report)
{
    struct sand_hash hash;
    sand_hash_init(&hash);
    for (int table = 0; table < SAND_TABLES; table++) {
        const struct sand_table_info *info = sand_table_info((enum sand_table)table);
        for (size_t row = 0; row < kept.tables[table].n; row++) {
            const char *bytes = (const char *)kept.tables[table].rows + row * info->row_size;
            for (size_t i = 0; i < info->n_columns; i++) // columns: padding is nobody's
                sand_hash_add(&hash, bytes + info->columns[i].offset, info->columns[i].size);
        }
        report->rows += kept.tables[table].n;
    }
    sand_hash_end(&hash, report->digest);
}

static void fill(struct report *report)
{
    report->ettr_run = ROWS(&kept, replications)[0].ettr_run;
    report->incidents = ROWS(&kept, replications)[0].incidents;
    report->checkpoints = N_ROWS(&kept, checkpoints);
    digest_rows(report);
}

// In builds with a leak checker: 1 if anything was left behind. A child leaves by _exit, which
// would skip the checker's own call. The checker warns of Criterion's threads, which the fork has
// not taken along; what it says is shown only if it found something.
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
static int leaks(void)
{
    char text[4096];
    ssize_t n;
    if (!__lsan_do_recoverable_leak_check)
        return 0;
    FILE *said = tmpfile();
    const int stderr_kept = dup(STDERR_FILENO);
    if (!said || stderr_kept < 0 || dup2(fileno(said), STDERR_FILENO) < 0)
        return 1;
    const int found = __lsan_do_recoverable_leak_check();
    dup2(stderr_kept, STDERR_FILENO);
    lseek(fileno(said), 0, SEEK_SET);
    while (found && (n = read(fileno(said), text, sizeof text)) > 0)
        fwrite(text, 1, (size_t)n, stderr);
    return found;
}

// Runs replication `number` of the present case in a child. fail_at: the allocation that fails.
static void run_child(uint32_t number, uint64_t fail_at, struct report *report)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        in_child = 1;
        const uint64_t before = sand_mem_count();
        sand_mem_fail_at(fail_at);
        report->rc = case_run(&c, number, &kept, NULL);
        sand_mem_fail_at(0);
        report->allocations = sand_mem_count() - before;
        if (report->rc == SAND_OK)
            fill(report);
        if (report->rc == SAND_OK)
            check_books(&c, &kept);
        keep_clear(&kept);
        _exit(leaks());
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
}

// ---- the closed form ----------------------------------------------------------------------------

enum { REPLICATIONS = 20, DAYS = 54, INTERRUPTIONS = 466 };

// Daly's complete model (failures also strike during saves and restarts): a segment of D useful
// seconds and w standing still takes M exp(R/M) (exp((D+w)/M) - 1) on average, with
// J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps",
// Future Generation Computer Systems 22 (2006), eq. 13. One node, always there, memoryless faults.
static void check_ettr(double interval_min, double stall_s, double restart_min, double expected)
{
    const double mtbf_s = DAYS * 86400.0 / INTERRUPTIONS;
    char interval[32];
    snprintf(interval, sizeof interval, "%gmin", interval_min);
    case_set(&c, 2, DAYS * 86400);
    struct sand_job_spec *job = case_job(&c, "a", 1, 0, 5, 0);
    case_saves(&c, job, interval, SAND_SAVE_BLOCKING, stall_s, 0);
    job->checkpoint.restore_s = 0;
    case_fault(&c, "all", mtbf_s, SAND_REMEDY_RESTART, 0, 0, restart_min * 60, 0);
    const double d = interval_min * 60 / mtbf_s, w = stall_s / mtbf_s,
                 r = restart_min * 60 / mtbf_s;
    cr_assert_float_eq(d / (exp(r) * (exp(d + w) - 1)), expected, 5e-5);
    struct report *reports = shared_reports(REPLICATIONS);
    double mean = 0, incidents = 0;
    for (uint32_t i = 0; i < REPLICATIONS; i++) {
        run_child(i, 0, &reports[i]);
        cr_assert_eq(reports[i].rc, SAND_OK);
        mean += reports[i].ettr_run / REPLICATIONS;
        incidents += (double)reports[i].incidents / REPLICATIONS;
    }
    cr_log_info("ettr_run %.5f, closed form %.5f; %.1f interruptions\n", mean, expected, incidents);
    cr_assert_float_eq(mean, expected, 0.01, "mean ettr_run %.5f, closed form %.5f", mean,
                       expected);
    // A Poisson mean of 20 x 466: four standard errors are 19.3.
    cr_assert_float_eq(incidents, INTERRUPTIONS, 19.3);
}

Test(replay_whole, ettr_meets_the_closed_form_short_saves)
{
    check_ettr(10, 10, 8, 0.9093);
}

Test(replay_whole, ettr_meets_the_closed_form_long_saves)
{
    check_ettr(30, 60, 10, 0.8294);
}

// ---- random runs --------------------------------------------------------------------------------

static double draw(uint64_t run, uint64_t index)
{
    return sand_rng_uniform((struct sand_rng){7, 0}, SAND_STREAM_TEST, run, index);
}

static void random_job(uint64_t run, uint64_t k)
{
    const uint64_t at = 10 + 10 * k;
    const uint32_t nodes = 1 + (uint32_t)(3 * draw(run, at));
    const int64_t submit = (int64_t)(3000 * draw(run, at + 1));
    if (draw(run, at + 2) < 0.3) {
        case_recorded(&c, "recorded", nodes, submit, 5000 * draw(run, at + 3));
        return;
    }
    struct sand_job_spec *job = case_job(&c, "train", nodes, submit, 1 + 9 * draw(run, at + 3),
                                         draw(run, at + 4) < 0.5 ? 500 : 0);
    if (draw(run, at + 5) < 0.2)
        return;
    case_saves(&c, job, "200s", draw(run, at + 6) < 0.5 ? SAND_SAVE_BLOCKING : SAND_SAVE_ASYNC,
               draw(run, at + 7) < 0.5 ? -1 : 7, 1e12 * draw(run, at + 8));
    if (draw(run, at + 9) < 0.5)
        job->checkpoint.restore_s = 33;
}

// Few nodes, many faults of both remedies, odd times.
static void random_case(uint64_t run)
{
    case_set(&c, 6, 20000 + (int64_t)(5000 * draw(run, 0)));
    c.experiment.seed = 1 + run;
    c.experiment.hot_spares = (uint32_t)(3 * draw(run, 1));
    c.experiment.mfu_window_ns = S(700) + (int64_t)(1e9 * draw(run, 2));
    for (uint64_t k = 0; k < 6; k++)
        random_job(run, k);
    case_fault(&c, "gpu", 4000 + 20000 * draw(run, 3), SAND_REMEDY_REPLACE, 30.3, 20.7, 61.1,
               2000.9);
    case_fault(&c, "hang", 4000 + 20000 * draw(run, 4), SAND_REMEDY_RESTART, 13.7, 0, 44.4, 0);
    case_fault(&c, "upgrade", 8000, SAND_REMEDY_RESTART, 0, 0, 44.4, 0)->planned = 1;
    case_fault(&c, "service", 8000, SAND_REMEDY_REPLACE, 0, 0, 61.1, 999)->planned = 1;
}

// Equal seeds give equal rows, another replication gives others, and in all of them the books
// balance (checked in the child).
Test(replay_whole, equal_seeds_give_equal_rows)
{
    uint64_t incidents = 0, checkpoints = 0;
    for (uint64_t run = 0; run < 25; run++) {
        random_case(run);
        struct report *reports = shared_reports(3);
        run_child(0, 0, &reports[0]);
        run_child(0, 0, &reports[1]);
        run_child(1, 0, &reports[2]);
        cr_assert_eq(reports[0].rc, SAND_OK, "run %lu: %s", (unsigned long)run,
                     sand_rc_text(reports[0].rc));
        cr_assert_eq(reports[0].rows, reports[1].rows);
        cr_assert_arr_eq(reports[0].digest, reports[1].digest, 32);
        cr_assert_neq(memcmp(reports[0].digest, reports[2].digest, 32), 0);
        incidents += reports[0].incidents;
        checkpoints += reports[0].checkpoints;
        munmap(reports, 3 * sizeof *reports);
    }
    cr_assert_gt(incidents, 100); // the cases are not idle ones
    cr_assert_gt(checkpoints, 500);
}

// The bounds of the windows do not bear on what happens: same jobs, incidents and saves.
Test(replay_whole, windows_change_nothing)
{
    random_case(3);
    double sums[2][2];
    for (int i = 0; i < 2; i++) {
        struct report *report = shared_reports(1);
        c.experiment.mfu_window_ns = i == 0 ? 0 : S(61);
        run_child(0, 0, report);
        cr_assert_eq(report->rc, SAND_OK);
        sums[i][0] = report->ettr_run;
        sums[i][1] = (double)(report->incidents * 100000 + report->checkpoints);
    }
    cr_assert_eq(sums[0][0], sums[1][0]);
    cr_assert_eq(sums[0][1], sums[1][1]);
}

// Whichever allocation fails, the run says so and leaves nothing behind (the sanitizers watch).
Test(replay_whole, out_of_memory_anywhere)
{
    random_case(2);
    struct report *report = shared_reports(1);
    run_child(0, 0, report);
    const uint64_t n = report->allocations;
    cr_assert_gt(n, 50);
    for (uint64_t i = 1; i <= n; i += 1 + n / 60) {
        memset(report, 0, sizeof *report);
        run_child(0, i, report);
        cr_assert_eq(report->rc, SAND_ERR_NOMEM, "allocation %lu of %lu: %s", (unsigned long)i,
                     (unsigned long)n, sand_rc_text(report->rc));
    }
}
