// Mutated traces: whatever a file holds, reading it ends, is repeatable, accounts for every row,
// and gives jobs that keep their promises. Draws are deterministic. SPDX-License-Identifier:
// GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "filegate.h"
#include "ids.h"
#include "mem.h"
#include "rng.h"
#include "tracefixture.h"

enum { CASES = 400 };

static const struct sand_rng rng = {4, 0};

struct draws {
    uint64_t entity, index;
};

static size_t draw(struct draws *draws, size_t below)
{
    return (size_t)(sand_rng_u64(rng, SAND_STREAM_TEST, draws->entity, draws->index++) % below);
}

// Tokens that have broken readers before.
static const char *const tokens[] = {"-1",         "-",        "1e308",      "99999999999999999999",
                                     "\"",         ",",        "\n",         "\r",
                                     ";",          "0.5",      "  ",         "\t",
                                     "nan",        "\xff\xfe", "2024-02-30", "-9223372036.9",
                                     "9223372036", "\"\"",     "1970-01-01"};

// Replaces, inserts, deletes or repeats at a random place. Returns the new size.
static size_t mutate(char *data, size_t size, size_t room, struct draws *draws)
{
    size_t at = draw(draws, size + 1);
    const char *token = tokens[draw(draws, sizeof tokens / sizeof tokens[0])];
    size_t length = strlen(token), gone = draw(draws, 40);
    switch (draw(draws, 5)) {
    case 0: // a byte, NUL included
        if (at < size)
            data[at] = (char)draw(draws, 256);
        return size;
    case 1: // cut short
        return draw(draws, 8) == 0 ? at : size;
    case 2: // delete
        gone = at + gone > size ? size - at : gone;
        memmove(data + at, data + at + gone, size - at - gone);
        return size - gone;
    case 3: // repeat
        length = at + gone > size ? size - at : gone;
        token = data + at;
        break;
    default:
        break;
    }
    if (size + length > room)
        return size;
    char copy[64];
    memcpy(copy, token, length);
    memmove(data + at + length, data + at, size - at);
    memcpy(data + at, copy, length);
    return size + length;
}

static void assert_promises(const struct reading *reading)
{
    const struct sand_trace_report *report = &reading->report;
    uint64_t dropped = 0, statuses = 0;
    cr_assert_eq(report->rows, report->kept + report->dropped);
    cr_assert_eq(reading->n, report->kept);
    for (int i = 0; i < SAND_TRACE_REASON_COUNT; i++)
        if (sand_trace_reason_effect(i) == SAND_TRACE_DROPPED)
            dropped += report->reasons[i].rows;
    for (int i = 0; i < SAND_TRACE_STATUSES; i++)
        statuses += report->statuses[i];
    cr_assert_eq(dropped, report->dropped, "a dropped row has exactly one reason");
    cr_assert_eq(statuses, report->kept);
    for (size_t i = 0; i < reading->n; i++) {
        const struct sand_trace_job *job = &reading->jobs[i], *last = i ? job - 1 : job;
        cr_assert(job->index == i && job->run_ns > 0 && (job->nodes > 0 || job->gpus > 0));
        cr_assert(job->submit_ns >= 0 && job->submit_ns >= last->submit_ns);
        cr_assert(i == 0 || job->submit_ns > last->submit_ns || job->line > last->line);
        cr_assert(job->start_ns == -1 || job->start_ns >= job->submit_ns);
        cr_assert(job->request_ns == -1 || job->request_ns > 0);
        cr_assert_gt(strlen(job->id), 0);
    }
    cr_assert(reading->n == 0 || reading->jobs[0].submit_ns == 0);
}

static void assert_repeatable(const struct reading *a, const struct reading *b)
{
    cr_assert_eq(a->rc, b->rc);
    cr_assert_eq(a->n, b->n);
    cr_assert_eq(a->n_heard, b->n_heard);
    for (size_t i = 0; i < a->n_heard; i++)
        cr_assert(a->heard[i].line == b->heard[i].line && a->heard[i].reason == b->heard[i].reason);
    cr_assert(!a->printed || strcmp(a->printed, b->printed) == 0);
}

// Returns how many of the mutants could still be read.
static int read_mutants(const char *name, enum sand_trace_format format,
                        const struct sand_trace_options *options, uint64_t entity)
{
    static char data[8192];
    int readable = 0;
    char *original = NULL;
    size_t original_size;
    cr_assert_eq(sand_file_read(data_path(name), sizeof data, &original, &original_size, NULL),
                 SAND_OK);
    for (int i = 0; i < CASES; i++) {
        struct draws draws = {entity * CASES + (uint64_t)i, 0};
        size_t size = original_size;
        memcpy(data, original, size);
        for (size_t n = 1 + draw(&draws, 12); n > 0; n--)
            size = mutate(data, size, sizeof data, &draws);
        const char *path = write_file("mutant", data, size);
        struct reading first = read_trace(path, format, options);
        struct reading second = read_trace(path, format, options);
        if (first.rc == SAND_OK)
            assert_promises(&first);
        else
            cr_assert(first.rc == SAND_ERR_INPUT && first.diag.n_errors > 0);
        assert_repeatable(&first, &second);
        readable += first.rc == SAND_OK;
        reading_clear(&first);
        reading_clear(&second);
    }
    sand_free(original);
    remove(write_file("mutant", "", 0));
    return readable;
}

Test(trace_mutations, swf)
{
    struct sand_trace_options options = {.drop_duplicates = 1,
                                         .processors_per_node = 3,
                                         .overrun = SAND_TRACE_OVERRUN_CUT,
                                         .walltime = SAND_TRACE_WALLTIME_EXACT};
    cr_assert_gt(read_mutants("quirks.swf", SAND_TRACE_SWF, &options, 1), CASES / 2);
    cr_assert_gt(read_mutants("good.swf", SAND_TRACE_SWF, NULL, 2), CASES / 2);
}

Test(trace_mutations, csv)
{
    struct sand_trace_options options = quirks_options();
    cr_assert_gt(read_mutants("quirks.csv", SAND_TRACE_CSV, &options, 3), CASES / 4);
}

// An archive is refused or gives what it held: the checks of xz and gzip catch the rest.
Test(trace_mutations, archives)
{
    cr_assert_lt(read_mutants("good.swf.xz", SAND_TRACE_SWF, NULL, 4), CASES / 2);
    cr_assert_lt(read_mutants("good.swf.gz", SAND_TRACE_SWF, NULL, 5), CASES / 2);
}
