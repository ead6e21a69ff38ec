// Rows come out in order and none is lost, in memory and through a file; failures are said.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filegate.h"
#include "mem.h"
#include "sorter.h"

// 1 KiB a row: 2,048 of them fill the memory of a sorter.
struct row {
    uint64_t key;
    char rest[1016];
};

static int compare(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static struct sand_sorter *open_sorter(void)
{
    struct sand_sorter *sorter = NULL;
    cr_assert_eq(sand_sorter_open(sizeof(struct row), compare, NULL, &sorter), SAND_OK);
    return sorter;
}

// The k-th of n keys in a scattered order that meets each once; n is prime to the step.
static uint64_t key_of(uint64_t k, uint64_t n)
{
    return k * 7919 % n;
}

static enum sand_rc add(struct sand_sorter *sorter, uint64_t n, struct sand_diag *diag)
{
    struct row row = {0};
    for (uint64_t k = 0; k < n; k++) {
        row.key = key_of(k, n);
        memset(row.rest, (int)(row.key % 251), sizeof row.rest);
        SAND_TRY(sand_sorter_add(sorter, &row, diag));
    }
    return SAND_OK;
}

static void check_out(struct sand_sorter *sorter, uint64_t n)
{
    const void *out;
    for (uint64_t k = 0; k < n; k++) {
        cr_assert_eq(sand_sorter_next(sorter, &out, NULL), SAND_OK);
        cr_assert_not_null(out);
        const struct row *row = out;
        cr_assert_eq(row->key, k);
        cr_assert_eq((unsigned char)row->rest[0], k % 251);
        cr_assert_eq((unsigned char)row->rest[1015], k % 251);
    }
    for (int again = 0; again < 2; again++) {
        cr_assert_eq(sand_sorter_next(sorter, &out, NULL), SAND_OK);
        cr_assert_null(out);
    }
}

// Nothing, one row, less than the memory, just filled, one more, many pieces.
Test(sorter, all_rows_come_out_in_order)
{
    static const uint64_t counts[] = {0, 1, 100, 2048, 2049, 4096, 20011};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct sand_sorter *sorter = open_sorter();
        cr_assert_eq(add(sorter, counts[i], NULL), SAND_OK);
        check_out(sorter, counts[i]);
        sand_sorter_close(sorter);
    }
    sand_sorter_close(NULL);
}

Test(sorter, equal_rows_all_come)
{
    struct sand_sorter *sorter = open_sorter();
    const struct row row = {.key = 5};
    const void *out;
    for (int i = 0; i < 5000; i++)
        cr_assert_eq(sand_sorter_add(sorter, &row, NULL), SAND_OK);
    size_t n = 0;
    for (;; n++) {
        cr_assert_eq(sand_sorter_next(sorter, &out, NULL), SAND_OK);
        if (!out)
            break;
    }
    cr_expect_eq(n, 5000);
    sand_sorter_close(sorter);
}

Test(sorter, a_full_disk_is_said)
{
    struct sand_sorter *sorter = open_sorter();
    struct sand_diag diag = {0};
    sand_file_fail_at(2, ENOSPC); // making the file is the first
    cr_expect_eq(add(sorter, 3000, &diag), SAND_ERR_IO);
    cr_assert_eq(diag.n_messages, 1);
    cr_expect(strstr(diag.messages[0].text, "temporary file"), "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
    sand_sorter_close(sorter);
}

Test(sorter, a_directory_that_is_none_is_said)
{
    struct sand_sorter *sorter = NULL;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_sorter_open(sizeof(struct row), compare, "/nowhere/at/all", &sorter),
                 SAND_OK);
    cr_expect_eq(add(sorter, 3000, &diag), SAND_ERR_IO);
    cr_expect(strstr(diag.messages[0].text, "/nowhere/at/all"), "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
    sand_sorter_close(sorter);
}

Test(sorter, out_of_memory_anywhere)
{
    for (uint64_t fail = 1; fail < 40; fail++) {
        struct sand_sorter *sorter = open_sorter();
        const void *out = NULL;
        sand_mem_fail_at(fail);
        enum sand_rc rc = add(sorter, 4500, NULL);
        if (rc == SAND_OK)
            rc = sand_sorter_next(sorter, &out, NULL);
        sand_mem_fail_at(0);
        cr_expect(rc == SAND_ERR_NOMEM || (rc == SAND_OK && ((const struct row *)out)->key == 0));
        sand_sorter_close(sorter);
    }
}
