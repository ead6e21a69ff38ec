// The memory gate and arenas: counted, injectable, aligned, zeroed.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdalign.h>
#include <string.h>

#include "mem.h"

Test(mem, calloc_is_zeroed_and_refuses_overflow)
{
    unsigned char *block = sand_calloc(100, 3);
    cr_assert(block);
    for (int i = 0; i < 300; i++)
        cr_assert_eq(block[i], 0);
    sand_free(block);
    cr_assert_null(sand_calloc(SIZE_MAX, 2));
    void *empty = sand_calloc(0, 8);
    cr_assert_not_null(empty);
    sand_free(empty);
    sand_free(NULL);
}

Test(mem, only_the_nth_allocation_fails)
{
    uint64_t before = sand_mem_count();
    sand_mem_fail_at(2);
    void *first = sand_calloc(1, 8);
    void *second = sand_calloc(1, 8);
    void *third = sand_calloc(1, 8);
    cr_assert(first && !second && third);
    cr_assert_eq(sand_mem_count(), before + 3);
    sand_mem_fail_at(1);
    cr_assert_null(sand_realloc(first, 2, 8)); // and the old block is still ours
    sand_mem_fail_at(1);
    sand_mem_fail_at(0);
    void *moved = sand_realloc(first, 1000, 8);
    cr_assert(moved);
    sand_free(moved);
    sand_free(third);
}

Test(mem, grow_keeps_contents_and_doubles)
{
    void *array = NULL;
    size_t capacity = 0;
    uint64_t before = sand_mem_count();
    for (size_t i = 0; i < 1000; i++) {
        cr_assert_eq(sand_grow(&array, &capacity, i + 1, sizeof(int)), SAND_OK);
        ((int *)array)[i] = (int)i;
    }
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(((int *)array)[i], i);
#ifdef SAND_HOSTILE
    cr_assert_eq(sand_mem_count() - before, 1000);
#else
    cr_assert_leq(sand_mem_count() - before, 8);
#endif
    void *old = array;
    size_t old_capacity = capacity;
    sand_mem_fail_at(1);
    cr_assert_eq(sand_grow(&array, &capacity, 100000, sizeof(int)), SAND_ERR_NOMEM);
    cr_assert(array == old && capacity == old_capacity);
    cr_assert_eq(sand_grow(&array, &capacity, SIZE_MAX, sizeof(int)), SAND_ERR_NOMEM);
    sand_free(array);
}

Test(mem, arena_blocks_are_aligned_zeroed_and_apart)
{
    struct sand_arena arena = {0};
    unsigned char *blocks[200];
    for (size_t i = 0; i < 200; i++) {
        blocks[i] = sand_arena_alloc(&arena, i, 37);
        cr_assert(blocks[i]);
        cr_assert_eq((uintptr_t)blocks[i] % alignof(max_align_t), 0);
        for (size_t k = 0; k < i * 37; k++)
            cr_assert_eq(blocks[i][k], 0);
        memset(blocks[i], (int)(i + 1), i * 37);
    }
    for (size_t i = 1; i < 200; i++)
        cr_assert(blocks[i][0] == i + 1 && blocks[i][i * 37 - 1] == i + 1);
    sand_arena_clear(&arena);
    cr_assert(!arena.chunks && arena.used == 0 && arena.size == 0);
}

Test(mem, arena_survives_failure)
{
    struct sand_arena arena = {0};
    sand_mem_fail_at(1);
    cr_assert_null(sand_arena_alloc(&arena, 1, 8));
    cr_assert_null(sand_arena_alloc(&arena, SIZE_MAX, 8));
    cr_assert_null(sand_arena_alloc(&arena, SIZE_MAX - 4, 1));
    char *text = sand_arena_printf(&arena, "%s-%d", "leaf", 3);
    cr_assert_str_eq(text, "leaf-3");
    cr_assert_str_eq(sand_arena_strdup(&arena, "spine"), "spine");
    sand_arena_clear(&arena);
}
