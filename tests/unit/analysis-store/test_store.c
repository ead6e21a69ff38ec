// What goes into shards comes out of the results file, the same bytes for the same input, and never
// a file that is half one.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
void __lsan_disable(void); // of <sanitizer/lsan_interface.h>
void __lsan_enable(void);
#define LEAKS_UNCHECKED() __lsan_disable()
#define LEAKS_CHECKED() __lsan_enable()
#else
#define LEAKS_UNCHECKED() ((void)0)
#define LEAKS_CHECKED() ((void)0)
#endif

#include "filegate.h"
#include "mem.h"
#include "missing.h"
#include "rows.h"

static struct sand_diag diag;

static const char *message(void)
{
    return diag.n_messages > 0 ? diag.messages[diag.n_messages - 1].text : "(no message)";
}

static void says(const char *part)
{
    cr_assert_not_null(strstr(message(), part), "\"%s\" does not say \"%s\"", message(), part);
}

static void remove_scratch(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch_dir());
    cr_assert_eq(system(command), 0);
    sand_diag_clear(&diag);
}

// Names in the scratch directory, without . and ..
static size_t files_in_scratch(void)
{
    size_t n = 0;
    DIR *const dir = opendir(scratch_dir());
    cr_assert_not_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void must(enum sand_rc rc)
{
    cr_assert_eq(rc, SAND_OK, "%s: %s", sand_rc_text(rc), message());
}

static void same_bytes(const char *a, const char *b)
{
    char *x, *y;
    size_t n, m;
    must(sand_file_read(a, 1u << 30, &x, &n, &diag));
    must(sand_file_read(b, 1u << 30, &y, &m, &diag));
    cr_assert(n == m && memcmp(x, y, n) == 0, "%s and %s differ", a, b);
    sand_free(x);
    sand_free(y);
}

static void holds_rows(const char *path, size_t first, size_t n)
{
    struct sand_results *results;
    must(sand_results_open(path, &results, &diag));
    for (size_t t = 0; t < SAND_TABLES; t++) {
        const void *rows;
        size_t got;
        must(sand_results_table(results, (enum sand_table)t, &rows, &got, &diag));
        cr_assert_eq(got, n);
        cr_assert_not_null(rows);
        for (size_t i = 0; i < n; i++)
            cr_assert(
                is_row((enum sand_table)t, first + i,
                       (const char *)rows + i * sand_table_info((enum sand_table)t)->row_size),
                "table %s row %zu", sand_table_info((enum sand_table)t)->name, i);
    }
    sand_results_close(results);
}

TestSuite(store, .fini = remove_scratch, .timeout = 300);

Test(store, every_cell_of_every_table_comes_back_in_the_order_of_the_shards)
{
    // 9,007 rows: past the boundaries of chunks (8,192, and 3 in the hostile build), of compressed
    // shards, an empty shard in between.
    const size_t parts[] = {1, 0, 6, 9000};
    const char *const shards[] = {scratch("a.h5"), scratch("b.h5"), scratch("c.h5"),
                                  scratch("d.h5")};
    size_t first = 0;
    for (size_t i = 0; i < 4; i++) {
        must(write_shard(shards[i], first, parts[i], &diag));
        must(sand_shard_check(shards[i], &diag));
        first += parts[i];
    }
    must(sand_results_merge(shards, 4, &sample_meta, scratch("r.h5"), &diag));
    holds_rows(scratch("r.h5"), 0, first);
    cr_assert_eq(files_in_scratch(), 5, "something was left behind");
}

Test(store, no_rows_and_no_shards_are_fine)
{
    must(write_shard(scratch("a.h5"), 0, 0, &diag));
    const char *const shards[] = {scratch("a.h5")};
    must(sand_results_merge(shards, 1, &sample_meta, scratch("r.h5"), &diag));
    holds_rows(scratch("r.h5"), 0, 0);
    must(sand_results_merge(NULL, 0, &sample_meta, scratch("s.h5"), &diag));
    same_bytes(scratch("r.h5"), scratch("s.h5"));
}

Test(store, meta_comes_back)
{
    must(sand_results_merge(NULL, 0, &sample_meta, scratch("r.h5"), &diag));
    struct sand_results *results;
    must(sand_results_open(scratch("r.h5"), &results, &diag));
    const struct sand_meta *const meta = sand_results_meta(results);
    cr_assert_str_eq(meta->name, sample_meta.name);
    cr_assert_str_eq(meta->canonical, sample_meta.canonical);
    cr_assert_str_eq(meta->digest, sample_meta.digest);
    cr_assert_str_eq(meta->program_version, sample_meta.program_version);
    cr_assert_str_eq(meta->physics_version, sample_meta.physics_version);
    cr_assert_eq(meta->seed, sample_meta.seed);
    cr_assert_eq(meta->replications, sample_meta.replications);
    cr_assert_eq(meta->duration_ns, sample_meta.duration_ns);
    cr_assert_eq(meta->n_assumptions, 2);
    cr_assert_str_eq(meta->assumptions[0], sample_meta.assumptions[0]);
    cr_assert_str_eq(meta->assumptions[1], sample_meta.assumptions[1]);
    sand_results_close(results);
}

Test(store, a_canonical_spec_of_a_megabyte_and_no_assumptions)
{
    struct sand_meta meta = sample_meta;
    char *const spec = sand_calloc(1000001, 1);
    memset(spec, 'x', 1000000);
    meta.canonical = spec;
    meta.n_assumptions = 0;
    meta.name = "";
    must(sand_results_merge(NULL, 0, &meta, scratch("r.h5"), &diag));
    struct sand_results *results;
    must(sand_results_open(scratch("r.h5"), &results, &diag));
    cr_assert_str_eq(sand_results_meta(results)->canonical, spec);
    cr_assert_str_eq(sand_results_meta(results)->name, "");
    cr_assert_eq(sand_results_meta(results)->n_assumptions, 0);
    sand_results_close(results);
    sand_free(spec);
}

Test(store, same_rows_same_bytes_whatever_time_place_and_locale)
{
    const char *const first[] = {scratch("a.h5"), scratch("b.h5")};
    must(write_shard(first[0], 0, 40, &diag));
    must(write_shard(first[1], 40, 1000, &diag));
    must(sand_results_merge(first, 2, &sample_meta, scratch("r.h5"), &diag));

    // HDF5 stamps objects in whole seconds; only a pause can show that the stamps are off.
    nanosleep(&(struct timespec){1, 100000000}, NULL);
    must(sand_dir_make(scratch("elsewhere"), &diag));
    cr_assert_eq(chdir(scratch("elsewhere")), 0);
    setenv("TZ", "Pacific/Apia", 1);
    setenv("LC_ALL", "C.utf8", 1);
    tzset();
    cr_assert_not_null(setlocale(LC_ALL, ""));
    umask(077);
    const char *const second[] = {"one.h5", "two.h5"};
    must(write_shard(second[0], 0, 40, &diag));
    must(write_shard(second[1], 40, 1000, &diag));
    must(sand_results_merge(second, 2, &sample_meta, "other.h5", &diag));

    same_bytes(first[0], "one.h5");
    same_bytes(first[1], "two.h5");
    same_bytes(scratch("r.h5"), "other.h5");
}

Test(store, an_older_file_is_replaced_whole)
{
    must(sand_file_write(scratch("r.h5"), "old", 3, &diag));
    must(sand_results_merge(NULL, 0, &sample_meta, scratch("r.h5"), &diag));
    holds_rows(scratch("r.h5"), 0, 0);
}

// ---- failures
// -------------------------------------------------------------------------------------

static void limit_files(rlim_t bytes)
{
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(store, a_shard_on_a_full_disk_leaves_nothing_at_any_size)
{
    // The limit on file sizes stands in for the full disk: the same failed write, EFBIG for ENOSPC.
    signal(SIGXFSZ, SIG_IGN);
    size_t failed = 0;
    for (rlim_t bytes = 0; bytes < 400000; bytes = bytes * 2 + 50) {
        sand_diag_clear(&diag);
        limit_files(bytes);
        const enum sand_rc rc = write_shard(scratch("full.h5"), 0, 600, &diag);
        limit_files(RLIM_INFINITY);
        if (rc == SAND_OK)
            break;
        failed++;
        cr_assert_eq(rc, SAND_ERR_IO, "%zu bytes: %s, %s", (size_t)bytes, sand_rc_text(rc),
                     message());
        says(scratch("full.h5"));
        says(strerror(EFBIG));
        cr_assert_eq(files_in_scratch(), 0, "%zu bytes: something was left behind", (size_t)bytes);
    }
    cr_assert_gt(failed, 7);
}

Test(store, a_merge_on_a_full_disk_leaves_the_old_file_and_nothing_else)
{
    signal(SIGXFSZ, SIG_IGN);
    const char *const shards[] = {scratch("a.h5")};
    must(write_shard(shards[0], 0, 600, &diag));
    must(sand_file_write(scratch("full.h5"), "old", 3, &diag));
    size_t failed = 0;
    for (rlim_t bytes = 0; bytes < 400000; bytes = bytes * 2 + 50) {
        sand_diag_clear(&diag);
        limit_files(bytes);
        const enum sand_rc rc =
            sand_results_merge(shards, 1, &sample_meta, scratch("full.h5"), &diag);
        limit_files(RLIM_INFINITY);
        if (rc == SAND_OK)
            break;
        failed++;
        cr_assert_eq(rc, SAND_ERR_IO, "%zu bytes: %s, %s", (size_t)bytes, sand_rc_text(rc),
                     message());
        says(scratch("full.h5"));
        says(strerror(EFBIG));
        struct stat status;
        cr_assert(stat(scratch("full.h5"), &status) == 0 && status.st_size == 3);
        cr_assert_eq(files_in_scratch(), 2);
    }
    cr_assert_gt(failed, 7);
    // The library is still sound after all that.
    must(sand_results_merge(shards, 1, &sample_meta, scratch("good.h5"), &diag));
    holds_rows(scratch("good.h5"), 0, 600);
}

Test(store, a_rename_that_fails_leaves_nothing)
{
    sand_file_fail_at(1, ENOSPC);
    cr_assert_eq(write_shard(scratch("x.h5"), 0, 3, &diag), SAND_ERR_IO);
    says(strerror(ENOSPC));
    cr_assert_eq(files_in_scratch(), 0);
}

Test(store, a_directory_that_is_not_there_is_named)
{
    cr_assert_eq(write_shard(scratch("none/x.h5"), 0, 3, &diag), SAND_ERR_IO);
    says("none/x.h5");
    says(strerror(ENOENT));
}

static enum sand_rc write_merge_read(void)
{
    enum sand_rc rc = write_shard(scratch("oom-a.h5"), 0, 5, &diag);
    if (rc == SAND_OK) {
        const char *const shards[] = {scratch("oom-a.h5")};
        rc = sand_results_merge(shards, 1, &sample_meta, scratch("oom-r.h5"), &diag);
    }
    struct sand_results *results = NULL;
    if (rc == SAND_OK)
        rc = sand_results_open(scratch("oom-r.h5"), &results, &diag);
    for (size_t t = 0; rc == SAND_OK && t < SAND_TABLES; t++) {
        const void *rows;
        size_t n;
        rc = sand_results_table(results, (enum sand_table)t, &rows, &n, &diag);
    }
    sand_results_close(results);
    return rc;
}

Test(store, every_allocation_may_fail)
{
    const uint64_t before = sand_mem_count();
    must(write_merge_read());
    const uint64_t needed = sand_mem_count() - before;
    cr_assert_gt(needed, 30);
    for (uint64_t n = 1; n <= needed; n++) {
        remove(scratch("oom-a.h5"));
        remove(scratch("oom-r.h5"));
        sand_mem_fail_at(n);
        const enum sand_rc rc = write_merge_read();
        sand_mem_fail_at(0);
        const int told = rc == SAND_ERR_IO && strstr(message(), strerror(ENOMEM)) != NULL;
        cr_assert(rc == SAND_ERR_NOMEM || rc == SAND_OK || told, "allocation %zu: %s, %s",
                  (size_t)n, sand_rc_text(rc), message());
        cr_assert_neq(access(scratch("oom-a.h5.part"), F_OK), 0);
        cr_assert_neq(access(scratch("oom-r.h5.part"), F_OK), 0);
        sand_diag_clear(&diag);
    }
    must(write_merge_read());
}

// ---- refusals
// -------------------------------------------------------------------------------------

static void refused(const char *path, const char *part)
{
    struct sand_results *results = NULL;
    const enum sand_rc rc = sand_results_open(path, &results, &diag);
    cr_assert(rc == SAND_ERR_INPUT || rc == SAND_ERR_IO, "%s was accepted", path);
    cr_assert_null(results);
    says(path);
    says(part);
}

Test(store, what_is_no_results_file_is_refused_by_what_it_is)
{
    must(sand_file_write(scratch("empty"), "", 0, &diag));
    must(sand_file_write(scratch("x.xml"), "<experiment/>", 13, &diag));
    must(sand_file_write(scratch("text"), "job,mfu\n", 8, &diag));
    refused(scratch("none.h5"), strerror(ENOENT));
    refused(scratch_dir(), "is no regular file");
    refused(scratch("empty"), "is empty");
    refused(scratch("x.xml"), "looks like XML");
    refused(scratch("text"), "is no HDF5 file");
}

Test(store, shards_and_results_are_not_taken_for_each_other)
{
    must(write_shard(scratch("a.h5"), 0, 3, &diag));
    must(sand_results_merge(NULL, 0, &sample_meta, scratch("r.h5"), &diag));
    refused(scratch("a.h5"), "holds a shard");
    cr_assert_eq(sand_shard_check(scratch("r.h5"), &diag), SAND_ERR_INPUT);
    says("only shards");
    const char *const shards[] = {scratch("r.h5")};
    cr_assert_eq(sand_results_merge(shards, 1, &sample_meta, scratch("s.h5"), &diag),
                 SAND_ERR_INPUT);
    cr_assert_neq(access(scratch("s.h5"), F_OK), 0);
}

Test(store, a_file_cut_anywhere_is_refused)
{
    const char *const shards[] = {scratch("a.h5")};
    must(write_shard(shards[0], 0, 30, &diag));
    must(sand_results_merge(shards, 1, &sample_meta, scratch("r.h5"), &diag));
    char *data;
    size_t size;
    must(sand_file_read(scratch("r.h5"), 1u << 30, &data, &size, &diag));
    for (size_t cut = 1; cut < size; cut += 1 + size / 40) {
        must(sand_file_write(scratch("cut.h5"), data, cut, &diag));
        refused(scratch("cut.h5"), cut < 8 ? "no HDF5" : "damaged or cut short");
    }
    must(sand_file_write(scratch("cut.h5"), data, size - 1, &diag));
    refused(scratch("cut.h5"), "truncated file");
    sand_free(data);
}

// HDF5 1.10.8 itself leaks on some damaged chunks, so leaks are not looked for here.
Test(store, flipped_bits_never_crash)
{
    LEAKS_UNCHECKED();
    const char *const shards[] = {scratch("a.h5")};
    must(write_shard(shards[0], 0, 10, &diag));
    must(sand_results_merge(shards, 1, &sample_meta, scratch("r.h5"), &diag));
    char *data;
    size_t size, refusals = 0;
    must(sand_file_read(scratch("r.h5"), 1u << 30, &data, &size, &diag));
    for (size_t at = 0; at < size; at += 1 + size / 150) {
        data[at] ^= 0x55;
        must(sand_file_write(scratch("bad.h5"), data, size, &diag));
        data[at] ^= 0x55;
        struct sand_results *results = NULL;
        enum sand_rc rc = sand_results_open(scratch("bad.h5"), &results, &diag);
        for (size_t t = 0; rc == SAND_OK && t < SAND_TABLES; t++) {
            const void *rows;
            size_t n;
            rc = sand_results_table(results, (enum sand_table)t, &rows, &n, &diag);
        }
        refusals += rc != SAND_OK;
        sand_results_close(results);
    }
    cr_assert_gt(refusals, 20);
    sand_free(data);
    LEAKS_CHECKED();
}

// ---- columns
// --------------------------------------------------------------------------------------

Test(store, the_rows_of_no_such_table_are_an_internal_error)
{
    struct sand_shard *shard;
    union any_row row = {0};
    must(sand_shard_open(scratch("none"), NULL, &shard));
    cr_assert_eq(sand_shard_row(shard, SAND_TABLES, &row), SAND_ERR_INTERNAL);
    sand_shard_close(shard);
    sand_shard_close(NULL);
    sand_results_close(NULL);
}

Test(store, columns_documented_as_sometimes_missing_have_a_fill_value)
{
    for (size_t t = 0; t < SAND_TABLES; t++) {
        const struct sand_table_info *const info = sand_table_info((enum sand_table)t);
        for (size_t c = 0; c < info->n_columns; c++) {
            const struct sand_column *const column = &info->columns[c];
            const void *const missing = sand_missing_cell((enum sand_table)t, column);
            if (strstr(column->doc, "or missing") || strstr(column->doc, "or -1"))
                cr_assert_not_null(missing, "%s/%s", info->name, column->name);
            if (missing != NULL)
                cr_assert(column->type != SAND_COL_str && column->type != SAND_COL_u64);
            if (strcmp(column->name, "replication") == 0)
                cr_assert_null(missing);
        }
    }
}

Test(store, names_its_library)
{
    int major, minor;
    cr_assert_eq(sscanf(sand_store_hdf5_version(), "%d.%d.", &major, &minor), 2);
    cr_assert(major == 1 && minor >= 10);
}
