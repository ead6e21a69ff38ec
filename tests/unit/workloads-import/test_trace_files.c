// Files: packed and plain give the same jobs; what is no trace is refused with a clear message;
// rows come out sorted and stable with no more held back than their disorder needs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filegate.h"
#include "mem.h"
#include "rng.h"
#include "tracefixture.h"

static void assert_same(const struct reading *a, const struct reading *b)
{
    cr_assert_eq(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        struct sand_trace_job x = a->jobs[i], y = b->jobs[i];
        cr_assert(x.line == y.line && x.submit_ns == y.submit_ns && x.run_ns == y.run_ns &&
                  x.nodes == y.nodes && x.gpus == y.gpus && x.index == i && y.index == i);
        cr_assert(memcmp(a->texts[i], b->texts[i], sizeof a->texts[i]) == 0 ||
                  strcmp(x.id, y.id) == 0);
    }
}

Test(trace_files, packed_is_plain)
{
    struct reading plain = read_trace(data_path("good.swf"), SAND_TRACE_SWF, NULL);
    for (int i = 0; i < 2; i++) {
        struct reading packed =
            read_trace(data_path(i ? "good.swf.gz" : "good.swf.xz"), SAND_TRACE_SWF, NULL);
        cr_assert_eq(packed.rc, SAND_OK);
        cr_assert_eq(packed.n, 5);
        assert_same(&plain, &packed);
        cr_assert(strstr(packed.printed, i ? "(SWF, gz)" : "(SWF, xz)"));
        reading_clear(&packed);
    }
    reading_clear(&plain);
}

static char *read_data(const char *name, size_t *size)
{
    char *data = NULL;
    cr_assert_eq(sand_file_read(data_path(name), 1 << 20, &data, size, NULL), SAND_OK);
    return data;
}

// Two archives one after the other are one text, as with `cat`.
Test(trace_files, concatenated_archives)
{
    const char *const names[] = {"good.swf.xz", "good.swf.gz"};
    for (int i = 0; i < 2; i++) {
        size_t size;
        char *data = read_data(names[i], &size), *twice = malloc(2 * size);
        memcpy(twice, data, size);
        memcpy(twice + size, data, size);
        struct reading reading =
            read_trace(write_file("twice", twice, 2 * size), SAND_TRACE_SWF, NULL);
        cr_assert_eq(reading.n, 10);
        cr_assert_eq(reading.report.reasons[SAND_TRACE_DUPLICATE].rows, 5);
        reading_clear(&reading);
        free(twice);
        sand_free(data);
    }
    remove(write_file("twice", "", 0));
}

static void assert_refused(const char *path, enum sand_trace_format format,
                           const struct sand_trace_options *options, enum sand_rc rc,
                           const char *words)
{
    struct reading reading = read_trace(path, format, options);
    cr_assert_eq(reading.rc, rc, "%s: %d", words, reading.rc);
    cr_assert_gt(reading.diag.n_messages, 0);
    cr_assert(strstr(reading.diag.messages[0].text, words), "\"%s\" lacks \"%s\"",
              reading.diag.messages[0].text, words);
    reading_clear(&reading);
}

// Every truncation and most flipped bytes of an archive are refused; none crashes.
Test(trace_files, broken_archives)
{
    const char *const names[] = {"good.swf.xz", "good.swf.gz"};
    for (int i = 0; i < 2; i++) {
        size_t size;
        char *data = read_data(names[i], &size);
        for (size_t cut = 7; cut < size; cut += 5)
            assert_refused(write_file("cut", data, cut), SAND_TRACE_SWF, NULL, SAND_ERR_INPUT,
                           "archive ends too early");
        data[size / 2] = (char)(data[size / 2] ^ 0x55);
        assert_refused(write_file("cut", data, size), SAND_TRACE_SWF, NULL, SAND_ERR_INPUT,
                       "archive is damaged");
        sand_free(data);
    }
    remove(write_file("cut", "", 0));
}

Test(trace_files, what_is_no_trace)
{
    char garbage[4096];
    const struct sand_trace_options csv = quirks_options();
    const struct sand_rng rng = {1, 0};
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)sand_rng_u64(rng, SAND_STREAM_TEST, 1, i);
    garbage[0] = 'x'; // no archive by accident
    assert_refused(write_file("t", garbage, sizeof garbage), SAND_TRACE_SWF, NULL, SAND_ERR_INPUT,
                   "is binary data, no trace");
    assert_refused(write_file("t", garbage, sizeof garbage), SAND_TRACE_PHILLY, NULL,
                   SAND_ERR_INPUT, "is binary data, no trace");
    assert_refused(write_file("t", "\x01\x02\n\x03\n", 5), SAND_TRACE_SWF, NULL, SAND_ERR_INPUT,
                   "none of its 2 rows can be used as SWF; the first one holds control characters");
    assert_refused(write_file("t", "\xff\xfej\0o\0b\0", 8), SAND_TRACE_CSV, &csv, SAND_ERR_INPUT,
                   "is UTF-16 text; convert it");
    assert_refused(write_file("t", "BZh91AY&SY", 10), SAND_TRACE_SWF, NULL, SAND_ERR_INPUT,
                   "is packed with bzip2; unpack it");
    assert_refused(write_file("t", "", 0), SAND_TRACE_SWF, NULL, SAND_ERR_INPUT, "holds no rows");
    assert_refused(write_file("t", "; MaxProcs: 4\n\n", 15), SAND_TRACE_SWF, NULL, SAND_ERR_INPUT,
                   "holds no rows");
    assert_refused(write_file("t", "", 0), SAND_TRACE_PHILLY, NULL, SAND_ERR_INPUT, "is empty");
    assert_refused(data_path("pods.csv"), SAND_TRACE_SWF, NULL, SAND_ERR_INPUT,
                   "none of its 5 rows can be used as SWF; the first one has too few fields");
    assert_refused(data_path("good.swf"), SAND_TRACE_PHILLY, NULL, SAND_ERR_INPUT,
                   "no column \"timestamp\" in the header line");
    assert_refused("/nonexistent/trace.swf", SAND_TRACE_SWF, NULL, SAND_ERR_IO, "No such file");
    assert_refused("/tmp", SAND_TRACE_SWF, NULL, SAND_ERR_IO, "is no regular file");
    remove(write_file("t", "", 0));
}

Test(trace_files, bad_options)
{
    struct sand_trace_options options = quirks_options();
    struct sand_trace_column columns[] = {{SAND_TRACE_FIELD_SUBMIT, "creation_tine", NULL},
                                          {SAND_TRACE_FIELD_RUN, "deletion_time", NULL},
                                          {SAND_TRACE_FIELD_GPUS, "num_gpu", NULL}};
    options.columns = columns;
    options.n_columns = 3;
    assert_refused(data_path("pods.csv"), SAND_TRACE_CSV, &options, SAND_ERR_INPUT,
                   "did you mean \"creation_time\"?");
    columns[1].unit = "fortnight";
    assert_refused(data_path("pods.csv"), SAND_TRACE_CSV, &options, SAND_ERR_INPUT,
                   "\"run\" has the unit \"fortnight\"");
    columns[1].unit = "date";
    assert_refused(data_path("pods.csv"), SAND_TRACE_CSV, &options, SAND_ERR_INPUT,
                   "\"run\" has the unit \"date\"");
    options.n_columns = 1;
    assert_refused(data_path("pods.csv"), SAND_TRACE_CSV, &options, SAND_ERR_INPUT,
                   "a trace needs submit, run");
    options =
        (struct sand_trace_options){.walltime = SAND_TRACE_WALLTIME_FACTOR, .walltime_factor = 0.5};
    assert_refused(data_path("good.swf"), SAND_TRACE_SWF, &options, SAND_ERR_INPUT,
                   "walltime factor is 0.5");
    const struct sand_trace_class model = {
        .id = "x", .speed = SAND_TRACE_MODEL, .model = &any_model};
    options = (struct sand_trace_options){.classes = &model, .n_classes = 1};
    assert_refused(data_path("good.swf"), SAND_TRACE_SWF, &options, SAND_ERR_INPUT,
                   "class \"x\": speed=model needs");
}

Test(trace_files, bad_column_maps)
{
    const struct {
        const char *map, *words;
    } cases[] = {{"submit", "\"submit\" names no column"},
                 {"submit=", "\"submit\" names no column"},
                 {"submti=a", "no field \"submti\"; did you mean \"submit\"?"},
                 {"submit=a,,run=b", "\"\" names no column"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        struct sand_trace_column *columns = NULL;
        struct sand_diag diag = {0};
        size_t n = 0;
        strcpy(text, cases[i].map);
        cr_assert_eq(sand_trace_columns(text, &columns, &n, &diag), SAND_ERR_INPUT);
        cr_assert(strstr(diag.messages[0].text, cases[i].words), "%s", diag.messages[0].text);
        cr_assert_null(columns);
        sand_diag_clear(&diag);
    }
}

// ---- order
// ---------------------------------------------------------------------------------------

enum { ROWS = 3000 };

struct expected_row {
    int64_t submit;
    long line;
};

static int by_submit_then_line(const void *a, const void *b)
{
    const struct expected_row *x = a, *y = b;
    if (x->submit != y->submit)
        return x->submit < y->submit ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

// Rows i with submit time i/4 + up to `disorder` seconds.
static const char *write_disorder(uint64_t disorder, struct expected_row rows[ROWS])
{
    const struct sand_rng rng = {2, 0};
    static char text[ROWS * 64];
    size_t used = 0;
    for (int i = 0; i < ROWS; i++) {
        uint64_t late =
            disorder ? sand_rng_u64(rng, SAND_STREAM_TEST, disorder, (uint64_t)i) % (disorder + 1)
                     : 0;
        rows[i] = (struct expected_row){i / 4 + (int64_t)late, i + 1};
        used += (size_t)sprintf(text + used, "%d %ld 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n", i + 1,
                                (long)rows[i].submit);
    }
    qsort(rows, ROWS, sizeof rows[0], by_submit_then_line);
    return write_file("disorder.swf", text, used);
}

// Against qsort; a sorted file holds nothing back, a slightly unsorted one a little.
Test(trace_files, sorted_stable_and_bounded)
{
    const uint64_t disorders[] = {0, 1, 10, 100, 5000};
    static struct expected_row rows[ROWS];
    for (int d = 0; d < 5; d++) {
        struct reading reading =
            read_trace(write_disorder(disorders[d], rows), SAND_TRACE_SWF, NULL);
        cr_assert_eq(reading.n, ROWS);
        for (int i = 0; i < ROWS; i++)
            cr_assert(reading.jobs[i].line == rows[i].line &&
                          reading.jobs[i].submit_ns ==
                              (rows[i].submit - rows[0].submit) * 1000000000,
                      "disorder %d, job %d", (int)disorders[d], i);
        // Four rows a second within the disorder on either side, at most.
        cr_assert_leq(reading.report.held_rows, 8 * disorders[d]);
        cr_assert_eq(reading.report.reasons[SAND_TRACE_UNSORTED].rows == 0, disorders[d] == 0);
        reading_clear(&reading);
    }
    remove(write_file("disorder.swf", "", 0));
}

// Reading a sorted file allocates one block a row and next to nothing else: rows are not kept, and
// the set that finds repeats is emptied at each new submit time.
Test(trace_files, memory_does_not_grow)
{
    static struct expected_row rows[ROWS];
    const char *path = write_disorder(0, rows);
    struct sand_trace *trace = NULL;
    const struct sand_trace_job *job = NULL;
    cr_assert_eq(sand_trace_open(path, SAND_TRACE_SWF, NULL, &trace, NULL), SAND_OK);
    uint64_t before = sand_mem_count();
    while (sand_trace_next(trace, &job, NULL) == SAND_OK && job)
        ;
    cr_assert_leq(sand_mem_count() - before, ROWS + 4);
    sand_trace_close(trace);
    remove(path);
}

// The second reading finds another file than the first: an error, never a wrong trace.
static void assert_change_is_seen(const char *path, void (*change)(const char *path))
{
    struct sand_trace *trace = NULL;
    const struct sand_trace_job *job = NULL;
    struct sand_diag diag = {0};
    int64_t last = 0;
    cr_assert_eq(sand_trace_open(path, SAND_TRACE_SWF, NULL, &trace, NULL), SAND_OK);
    change(path);
    enum sand_rc rc;
    while ((rc = sand_trace_next(trace, &job, &diag)) == SAND_OK && job) {
        cr_assert_geq(job->submit_ns, last);
        last = job->submit_ns;
    }
    cr_assert_eq(rc, SAND_ERR_IO);
    cr_assert(strstr(diag.messages[0].text, "was changed while it was read"));
    sand_trace_close(trace);
    sand_diag_clear(&diag);
    remove(path);
}

static void shorten(const char *path)
{
    cr_assert_eq(truncate(path, 80000), 0);
}

static void shuffle(const char *path)
{
    static struct expected_row rows[ROWS];
    cr_assert_eq(truncate(path, 0), 0); // the same file, written again
    write_disorder(100, rows);
}

Test(trace_files, changed_between_the_readings)
{
    static struct expected_row rows[ROWS];
    assert_change_is_seen(write_disorder(0, rows), shorten);
    assert_change_is_seen(write_disorder(0, rows), shuffle);
}

// A line without end costs one row and bounded memory; the rows around it stay.
Test(trace_files, endless_line)
{
    const char *row = "%d %d 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n";
    static char text[400000];
    int used = sprintf(text, row, 1, 1);
    memset(text + used, '7', 300000);
    used += 300000;
    text[used++] = '\n';
    used += sprintf(text + used, row, 2, 2);
    struct reading reading =
        read_trace(write_file("endless.swf", text, (size_t)used), SAND_TRACE_SWF, NULL);
    cr_assert_eq(reading.n, 2);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_TOO_LONG].rows, 1);
    cr_assert_eq(reading.report.reasons[SAND_TRACE_TOO_LONG].lines[0], 2);
    cr_assert_eq(reading.jobs[1].line, 3);
    reading_clear(&reading);
    remove(write_file("endless.swf", "", 0));
}

// ---- out of memory
// -------------------------------------------------------------------------------

static enum sand_rc read_quietly(const char *path, enum sand_trace_format format,
                                 const struct sand_trace_options *options, uint64_t *jobs)
{
    struct sand_trace *trace = NULL;
    const struct sand_trace_job *job = NULL;
    *jobs = 0;
    enum sand_rc rc = sand_trace_open(path, format, options, &trace, NULL);
    if (rc != SAND_OK) {
        cr_assert_null(trace);
        return rc;
    }
    while ((rc = sand_trace_next(trace, &job, NULL)) == SAND_OK && job)
        ++*jobs;
    sand_trace_close(trace);
    return rc;
}

// Each allocation in turn fails: out of memory, or the whole trace.
static void starve(const char *path, enum sand_trace_format format,
                   const struct sand_trace_options *options)
{
    uint64_t jobs, expected, failures = 0;
    uint64_t before = sand_mem_count();
    cr_assert_eq(read_quietly(path, format, options, &expected), SAND_OK);
    uint64_t total = sand_mem_count() - before;
    for (uint64_t n = 1; n <= total; n++) {
        sand_mem_fail_at(n);
        enum sand_rc rc = read_quietly(path, format, options, &jobs);
        cr_assert(rc == SAND_ERR_NOMEM || (rc == SAND_OK && jobs == expected),
                  "%s: allocation %d of %d: %d", path, (int)n, (int)total, rc);
        failures += rc == SAND_ERR_NOMEM;
    }
    sand_mem_fail_at(0);
    cr_assert_gt(failures, 4);
}

Test(trace_files, out_of_memory)
{
    struct sand_trace_options options = quirks_options();
    starve(data_path("good.swf.xz"), SAND_TRACE_SWF, NULL);
    starve(data_path("good.swf.gz"), SAND_TRACE_SWF, NULL);
    starve(data_path("quirks.swf"), SAND_TRACE_SWF, NULL);
    starve(data_path("quirks.csv"), SAND_TRACE_CSV, &options);
}
