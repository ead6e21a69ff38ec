// The store of answers: kept and found again; shared, killed, deleted, foreign and damaged, it
// never gives a wrong value and never takes its asker along. SPDX-License-Identifier:
// GPL-2.0-or-later
#include <criterion/criterion.h>

#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachestore.h"

enum { VALUE = 1500 };

static char *scratch(void)
{
    char template[] = "/tmp/sand-store-XXXXXX";
    cr_assert_not_null(mkdtemp(template));
    return strdup(template);
}

static void clean(char *dir)
{
    cr_assert_eq(sand_cachestore_clear(dir, NULL), SAND_OK);
    cr_assert_eq(rmdir(dir), 0);
    free(dir);
}

static void data_file(const char *dir, char path[200])
{
    snprintf(path, 200, "%s/steps-1/data.mdb", dir);
}

// The value of a key is a function of it, so that any reader can tell right from wrong.
static void make(uint32_t number, uint8_t key[SAND_CACHE_KEY_SIZE], uint8_t value[VALUE])
{
    for (int i = 0; i < SAND_CACHE_KEY_SIZE; i++)
        key[i] = (uint8_t)((number + 1) * 2654435761u >> (i % 4 * 8)) ^ (uint8_t)i;
    for (uint32_t i = 0; i < VALUE; i++)
        value[i] = (uint8_t)(number * 31 + i * i);
}

static void keep(struct sand_cachestore *store, uint32_t number, struct sand_diag *diag)
{
    uint8_t key[SAND_CACHE_KEY_SIZE], value[VALUE];
    make(number, key, value);
    sand_cachestore_keep(store, key, value, VALUE, diag);
}

// 1 found; fails the test when what is found is not what was kept.
static int find(struct sand_cachestore *store, uint32_t number, struct sand_diag *diag)
{
    uint8_t key[SAND_CACHE_KEY_SIZE], value[VALUE], found[SAND_CACHE_VALUE_MAX];
    size_t size = sizeof found;
    make(number, key, value);
    if (!sand_cachestore_find(store, key, found, &size, diag))
        return 0;
    cr_assert_eq(size, VALUE);
    cr_assert_arr_eq(found, value, VALUE);
    return 1;
}

static struct sand_cachestore *open_store(const char *dir)
{
    struct sand_diag diag = {0};
    struct sand_cachestore *store = sand_cachestore_open(dir, SAND_CACHE_LIMIT_B, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_not_null(store);
    cr_assert_eq(diag.n_messages, 0);
    return store;
}

static void fill(const char *dir, uint32_t n)
{
    struct sand_cachestore *store = open_store(dir);
    for (uint32_t i = 0; i < n; i++)
        keep(store, i, NULL);
    sand_cachestore_close(store, NULL);
}

// Opens, looks for n values, closes. Returns how many were found; *warnings counts what was said.
static uint32_t read_all(const char *dir, uint32_t n, size_t *warnings)
{
    struct sand_diag diag = {0};
    uint32_t found = 0;
    struct sand_cachestore *store = sand_cachestore_open(dir, SAND_CACHE_LIMIT_B, &diag);
    for (uint32_t i = 0; store && i < n; i++)
        found += (uint32_t)find(store, i, &diag);
    sand_cachestore_close(store, &diag);
    *warnings = diag.n_warnings;
    cr_assert_eq(diag.n_errors, 0);
    sand_diag_clear(&diag);
    return found;
}

Test(cachestore, keeps_values_across_processes)
{
    char *dir = scratch();
    size_t warnings;
    fill(dir, 100);
    cr_assert_eq(read_all(dir, 101, &warnings), 100);
    cr_assert_eq(warnings, 0);
    struct sand_cachestore *store = open_store(dir);
    struct sand_cachestore_info info;
    cr_assert_eq(sand_cachestore_info(store, &info, NULL), 1);
    cr_assert_eq(info.entries, 100);
    cr_assert_eq(info.limit_B, SAND_CACHE_LIMIT_B);
    cr_assert_geq(info.used_B, 100 * VALUE);
    sand_cachestore_close(store, NULL);
    clean(dir);
}

// The first value stays: whoever read it may rely on it.
Test(cachestore, keeps_the_first_value)
{
    char *dir = scratch();
    uint8_t key[SAND_CACHE_KEY_SIZE], value[VALUE], other[4] = {1, 2, 3, 4};
    size_t warnings;
    fill(dir, 1);
    make(0, key, value);
    struct sand_cachestore *store = open_store(dir);
    sand_cachestore_keep(store, key, other, sizeof other, NULL);
    sand_cachestore_close(store, NULL);
    cr_assert_eq(read_all(dir, 1, &warnings), 1);
    clean(dir);
}

// Three times what goes in: bounded, the newest there, nothing wrong.
Test(cachestore, is_bounded)
{
    enum { LIMIT = 10 << 20, N = 6000 };
    char *dir = scratch(), path[200];
    struct sand_diag diag = {0};
    struct sand_cachestore_info info;
    struct stat status;
    struct sand_cachestore *store = sand_cachestore_open(dir, LIMIT, &diag);
    for (uint32_t i = 0; i < N; i++)
        keep(store, i, &diag);
    cr_assert_eq(sand_cachestore_info(store, &info, &diag), 1);
    cr_assert_leq(info.used_B, LIMIT);
    cr_assert_gt(info.entries, 0);
    cr_assert_eq(find(store, N - 1, &diag), 1);
    sand_cachestore_close(store, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(diag.n_messages, 0);
    data_file(dir, path);
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_leq(status.st_size, LIMIT);
    clean(dir);
}

// ---- several at once ----------------------------------------------------------------------------

static pid_t fork_writer(const char *dir, uint32_t first, uint32_t n)
{
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    setpgid(0, 0); // its store's process dies with it
    struct sand_cachestore *store = sand_cachestore_open(dir, SAND_CACHE_LIMIT_B, NULL);
    for (uint32_t i = first; i < first + n; i++)
        keep(store, i, NULL);
    sand_cachestore_close(store, NULL);
    _exit(store == NULL);
}

Test(cachestore, takes_two_writers_at_once)
{
    char *dir = scratch();
    size_t warnings;
    int status;
    const pid_t one = fork_writer(dir, 0, 600), other = fork_writer(dir, 400, 600);
    cr_assert_eq(waitpid(one, &status, 0), one);
    cr_assert_eq(status, 0);
    cr_assert_eq(waitpid(other, &status, 0), other);
    cr_assert_eq(status, 0);
    cr_assert_eq(read_all(dir, 1000, &warnings), 1000);
    cr_assert_eq(warnings, 0);
    clean(dir);
}

// Killed from 0 to 30 ms after its start, with its store's process, while another one writes on.
Test(cachestore, survives_killed_writers)
{
    char *dir = scratch();
    size_t warnings;
    int status;
    fill(dir, 50);
    for (uint32_t trial = 0; trial < 30; trial++) {
        const pid_t steady = fork_writer(dir, 50 * trial, 100);
        const pid_t pid = fork_writer(dir, 1000, 100000);
        setpgid(pid, pid); // whoever comes first
        usleep(1000 * trial);
        kill(-pid, SIGKILL);
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_assert_eq(waitpid(steady, &status, 0), steady);
        cr_assert_eq(status, 0);
        cr_assert_eq(read_all(dir, 50, &warnings), 50);
        cr_assert_eq(warnings, 0);
    }
    read_all(dir, 3000, &warnings);
    cr_assert_eq(warnings, 0);
    clean(dir);
}

Test(cachestore, can_be_deleted_while_it_is_used)
{
    char *dir = scratch();
    size_t warnings;
    struct sand_diag diag = {0};
    fill(dir, 50);
    struct sand_cachestore *store = open_store(dir);
    cr_assert_eq(sand_cachestore_clear(dir, NULL), SAND_OK);
    cr_assert_eq(find(store, 7, &diag), 1); // it goes on with what it has
    keep(store, 60, &diag);
    cr_assert_eq(read_all(dir, 61, &warnings), 0);
    sand_cachestore_close(store, &diag);
    cr_assert_eq(diag.n_messages, 0);
    cr_assert_eq(sand_cachestore_clear(dir, NULL), SAND_OK);
    cr_assert_eq(sand_cachestore_clear(dir, NULL), SAND_OK); // nothing there is fine
    clean(dir);
}

// Somebody holds the writers' lock and has been stopped: reading goes on, writing is given up with
// one warning after five seconds, and the run with it is as good as ever.
Test(cachestore, does_not_wait_for_a_stopped_writer)
{
    char *dir = scratch(), path[200], byte;
    int ready[2], status;
    struct sand_diag diag = {0};
    fill(dir, 10);
    snprintf(path, sizeof path, "%s/steps-1", dir);
    cr_assert_eq(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        MDB_env *env;
        MDB_txn *txn;
        if (mdb_env_create(&env) == 0 && mdb_env_open(env, path, 0, 0600) == 0 &&
            mdb_txn_begin(env, NULL, 0, &txn) == 0 && write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    struct sand_cachestore *store = open_store(dir);
    cr_assert_eq(find(store, 7, &diag), 1);
    keep(store, 20, &diag);
    cr_assert_eq(diag.n_messages, 0);
    sand_cachestore_close(store, &diag);
    cr_assert_eq(diag.n_warnings, 1);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    fill(dir, 12); // the dead writer's lock is taken over
    size_t warnings;
    cr_assert_eq(read_all(dir, 12, &warnings), 12);
    cr_assert_eq(warnings, 0);
    sand_diag_clear(&diag);
    clean(dir);
}

// ---- what is no store ---------------------------------------------------------------------------

static void expect_refused(const char *dir, const char *word)
{
    struct sand_diag diag = {0};
    cr_assert_null(sand_cachestore_open(dir, SAND_CACHE_LIMIT_B, &diag));
    cr_assert_eq(diag.n_warnings, 1);
    cr_assert_eq(diag.n_errors, 0);
    cr_assert_not_null(strstr(diag.messages[0].text, word), "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
}

static void write_file(const char *dir, const void *bytes, size_t size)
{
    char path[200];
    snprintf(path, sizeof path, "%s/steps-1", dir);
    mkdir(path, 0700);
    data_file(dir, path);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

Test(cachestore, refuses_a_foreign_file)
{
    char *dir = scratch();
    char text[20000];
    memset(text, 'x', sizeof text);
    write_file(dir, text, sizeof text);
    expect_refused(dir, "no store of Sandtable's");
    write_file(dir, text, 10);
    expect_refused(dir, "no store of Sandtable's");
    clean(dir);
}

Test(cachestore, refuses_another_programs_lmdb)
{
    char *dir = scratch(), path[200];
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val value = {5, "other"};
    snprintf(path, sizeof path, "%s/steps-1", dir);
    mkdir(path, 0700);
    cr_assert_eq(mdb_env_create(&env), 0);
    cr_assert_eq(mdb_env_open(env, path, 0, 0600), 0);
    cr_assert_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
    cr_assert_eq(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    cr_assert_eq(mdb_put(txn, dbi, &value, &value, 0), 0);
    cr_assert_eq(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    expect_refused(dir, "no store of Sandtable's");
    clean(dir);
}

Test(cachestore, refuses_a_directory_it_cannot_make)
{
    char *dir = scratch(), path[200], below[250];
    snprintf(path, sizeof path, "%s/file", dir);
    FILE *file = fopen(path, "w");
    fclose(file);
    snprintf(below, sizeof below, "%s/cache", path);
    expect_refused(below, "going on without it");
    unlink(path);
    clean(dir);
}

// Any length: refused, or found out when the missing pages are read; one warning at most.
Test(cachestore, survives_truncated_files)
{
    char *dir = scratch(), path[200];
    size_t warnings;
    struct stat status;
    data_file(dir, path);
    for (int eighths = 0; eighths < 8; eighths++) {
        fill(dir, 200);
        cr_assert_eq(stat(path, &status), 0);
        cr_assert_eq(truncate(path, status.st_size * eighths / 8), 0);
        const uint32_t found = read_all(dir, 200, &warnings);
        cr_assert_eq(warnings, eighths > 0, "%d/8: %zu warnings", eighths, warnings);
        cr_assert_eq(found, 0); // an empty file is an empty store
        cr_assert_eq(sand_cachestore_clear(dir, NULL), SAND_OK);
    }
    clean(dir);
}

// Cut off under a process that has it open: its store dies of it, it does not.
Test(cachestore, survives_truncation_while_it_is_used)
{
    char *dir = scratch(), path[200];
    struct sand_diag diag = {0};
    fill(dir, 200);
    struct sand_cachestore *store = open_store(dir);
    data_file(dir, path);
    cr_assert_eq(truncate(path, 8192), 0);
    for (uint32_t i = 0; i < 200; i++)
        find(store, i, &diag);
    keep(store, 1, &diag);
    sand_cachestore_close(store, &diag);
    cr_assert_eq(diag.n_warnings, 1);
    sand_diag_clear(&diag);
    clean(dir);
}

// Every 61st byte of the file inverted in one place after the other: what is found is right.
Test(cachestore, never_gives_a_damaged_value)
{
    enum { N = 60, PLACES = 60 };
    char *dir = scratch(), path[200];
    size_t warnings, warned = 0;
    struct stat status;
    data_file(dir, path);
    for (int place = 0; place < PLACES; place++) {
        fill(dir, N);
        cr_assert_eq(stat(path, &status), 0);
        const int fd = open(path, O_RDWR);
        const off_t length = status.st_size / PLACES, from = length * place;
        for (off_t at = from; at < from + length; at += 61) {
            uint8_t byte;
            cr_assert_eq(pread(fd, &byte, 1, at), 1);
            byte = (uint8_t)~byte;
            cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
        }
        close(fd);
        const uint32_t found = read_all(dir, N, &warnings);
        cr_assert_leq(found, N);
        cr_assert_leq(warnings, 1);
        warned += warnings;
        cr_assert_eq(sand_cachestore_clear(dir, NULL), SAND_OK);
    }
    cr_assert_gt(warned, PLACES / 2); // most of the file is values
    clean(dir);
}
