// The file gate: a file is whole or absent whatever fails; hashes against FIPS 180-4 examples.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filegate.h"
#include "mem.h"

static char dir[64], path[128], part[160];

static void make_dir(void)
{
    snprintf(dir, sizeof dir, "/tmp/sand-filegate-XXXXXX");
    cr_assert(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/file", dir);
    snprintf(part, sizeof part, "%s.part", path);
}

static void remove_dir(void)
{
    unlink(path);
    unlink(part);
    rmdir(dir);
}

static void assert_content(const char *expected)
{
    char *data = NULL;
    size_t size = 0;
    cr_assert_eq(sand_file_read(path, 1 << 20, &data, &size, NULL), SAND_OK);
    cr_assert_eq(size, strlen(expected));
    cr_assert_str_eq(data, expected);
    sand_free(data);
}

TestSuite(filegate, .init = make_dir, .fini = remove_dir);

Test(filegate, writes_and_reads_back)
{
    cr_assert_eq(sand_file_write(path, "old", 3, NULL), SAND_OK);
    cr_assert_eq(sand_file_write(path, "newer", 5, NULL), SAND_OK);
    assert_content("newer");
    cr_assert_neq(access(part, F_OK), 0);
}

Test(filegate, appends_and_reports_a_full_disk)
{
    cr_assert_eq(sand_file_append(path, "one\n", 4, NULL), SAND_OK);
    cr_assert_eq(sand_file_append(path, "two\n", 4, NULL), SAND_OK);
    assert_content("one\ntwo\n");
    sand_file_fail_at(1, ENOSPC);
    cr_assert_eq(sand_file_append(path, "three\n", 6, NULL), SAND_ERR_IO);
    assert_content("one\ntwo\n");
}

// Every write and rename in turn fails: an error, the old file as it was, and no .part.
Test(filegate, failure_leaves_the_old_file)
{
    cr_assert_eq(sand_file_write(path, "old", 3, NULL), SAND_OK);
    for (uint64_t n = 1; n <= 2; n++) {
        struct sand_diag diag = {0};
        sand_file_fail_at(n, ENOSPC);
        cr_assert_eq(sand_file_write(path, "newer", 5, &diag), SAND_ERR_IO);
        cr_assert_not_null(strstr(diag.messages[0].text, "No space left on device"));
        cr_assert_not_null(strstr(diag.messages[0].text, path));
        sand_diag_clear(&diag);
        assert_content("old");
        cr_assert_neq(access(part, F_OK), 0);
    }
    cr_assert_eq(sand_file_write(path, "newer", 5, NULL), SAND_OK); // only the n-th
}

// The same from the kernel: a file size limit instead of an injected error.
Test(filegate, real_write_error_leaves_the_old_file)
{
    cr_assert_eq(sand_file_write(path, "old", 3, NULL), SAND_OK);
    struct rlimit limit, small = {1000, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &limit);
    small.rlim_max = limit.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    char block[5000] = "";
    enum sand_rc rc = sand_file_write(path, block, sizeof block, NULL);
    setrlimit(RLIMIT_FSIZE, &limit);
    cr_assert_eq(rc, SAND_ERR_IO);
    assert_content("old");
    cr_assert_neq(access(part, F_OK), 0);
}

// What is no file is never replaced by one: a link, a pipe.
Test(filegate, only_files_are_replaced)
{
    struct stat info;
    struct sand_diag diag = {0};
    cr_assert_eq(symlink("elsewhere", path), 0);
    cr_assert_eq(sand_file_write(path, "x", 1, &diag), SAND_ERR_IO);
    cr_assert_eq(lstat(path, &info), 0);
    cr_assert(S_ISLNK(info.st_mode), "the link is still there");
    cr_assert(strstr(diag.messages[0].text, "symbolic link"));
    unlink(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(sand_file_write(path, "x", 1, &diag), SAND_ERR_IO);
    cr_assert_neq(access(part, F_OK), 0, "nothing half-written is left");
    sand_diag_clear(&diag);
}

Test(filegate, out_of_memory_is_reported)
{
    sand_mem_fail_at(1);
    cr_assert_eq(sand_file_write(path, "x", 1, NULL), SAND_ERR_NOMEM);
    cr_assert_eq(sand_file_write(path, "x", 1, NULL), SAND_OK);
    char *data = NULL;
    size_t size;
    sand_mem_fail_at(1);
    cr_assert_eq(sand_file_read(path, 10, &data, &size, NULL), SAND_ERR_NOMEM);
    cr_assert_null(data);
}

Test(filegate, read_refuses_what_is_no_small_regular_file)
{
    char *data = NULL;
    size_t size;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_file_read(path, 10, &data, &size, &diag), SAND_ERR_IO);
    cr_assert_not_null(strstr(diag.messages[0].text, "No such file"));
    cr_assert_eq(sand_file_read(dir, 10, &data, &size, &diag), SAND_ERR_IO);
    cr_assert_not_null(strstr(diag.messages[1].text, "no regular file"));
    cr_assert_eq(sand_file_write(path, "0123456789A", 11, NULL), SAND_OK);
    cr_assert_eq(sand_file_read(path, 10, &data, &size, &diag), SAND_ERR_IO);
    cr_assert_not_null(strstr(diag.messages[2].text, "11 bytes"));
    unlink(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(sand_file_read(path, 10, &data, &size, NULL), SAND_ERR_IO); // and does not hang
    sand_diag_clear(&diag);
}

Test(filegate, directories_are_made_with_parents)
{
    char deep[160];
    snprintf(deep, sizeof deep, "%s/a/b//c/", dir);
    cr_assert_eq(sand_dir_make(deep, NULL), SAND_OK);
    cr_assert_eq(sand_dir_make(deep, NULL), SAND_OK);
    cr_assert_eq(sand_file_write(path, "x", 1, NULL), SAND_OK);
    struct sand_diag diag = {0};
    snprintf(deep, sizeof deep, "%s/file/sub", dir);
    cr_assert_eq(sand_dir_make(deep, &diag), SAND_ERR_IO);
    cr_assert_eq(diag.n_errors, 1);
    sand_diag_clear(&diag);
    static const char *const made[] = {"a/b/c", "a/b", "a"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(deep, sizeof deep, "%s/%s", dir, made[i]);
        cr_assert_eq(rmdir(deep), 0);
    }
}

Test(hash, fips_180_4_examples)
{
    char hex[65];
    sand_sha256_hex("abc", 3, hex);
    cr_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sand_sha256_hex("", 0, hex);
    cr_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    struct sand_hash hash;
    uint8_t out[32];
    sand_hash_init(&hash);
    sand_hash_add(&hash, "abcdbcdecdefdefgefghfghighijhi", 30);
    sand_hash_add(&hash, "jkijkljklmklmnlmnomnopnopq", 26);
    sand_hash_end(&hash, out);
    cr_assert_eq(out[0], 0x24);
    cr_assert_eq(out[31], 0xc1);
}

// FIPS 180-2, appendix B.1: "abc"; and a file longer than one piece against the block function.
Test(filegate, digest_of_a_file, .init = make_dir, .fini = remove_dir)
{
    enum { LONG = 200001 };
    char hex[65], expected[65];
    cr_assert_eq(sand_file_write(path, "abc", 3, NULL), SAND_OK);
    cr_assert_eq(sand_file_digest(path, hex, NULL), SAND_OK);
    cr_expect_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    char *text = sand_calloc(LONG, 1);
    for (size_t i = 0; i < LONG; i++)
        text[i] = (char)(i % 251);
    cr_assert_eq(sand_file_write(path, text, LONG, NULL), SAND_OK);
    cr_assert_eq(sand_file_digest(path, hex, NULL), SAND_OK);
    sand_sha256_hex(text, LONG, expected);
    cr_expect_str_eq(hex, expected);
    sand_free(text);
    unlink(path);
    cr_expect_eq(sand_file_digest(path, hex, NULL), SAND_ERR_IO, "it is gone");
    cr_expect_eq(sand_file_digest(dir, hex, NULL), SAND_ERR_IO, "a directory is no file");
}
