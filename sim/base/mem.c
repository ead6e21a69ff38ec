// The memory gate: every allocation of the program passes here and can be made to fail.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "mem.h"

#include <stdlib.h>

static uint64_t allocations; // so far in this process
static uint64_t fail_at;     // the allocation that fails, 0: none

// Counts an allocation; 1 if this is the one that must fail.
static int gate_closes(void)
{
    allocations++;
    return allocations == fail_at;
}

// n * size, at least 1 so that an empty block has an address of its own; 0 on overflow.
static size_t block_size(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return 0;
    return bytes > 0 ? bytes : 1;
}

void *sand_calloc(size_t n, size_t size)
{
    size_t bytes = block_size(n, size);
    if (gate_closes() || bytes == 0)
        return NULL;
    return calloc(1, bytes);
}

void *sand_realloc(void *block, size_t n, size_t size)
{
    size_t bytes = block_size(n, size);
    if (gate_closes() || bytes == 0)
        return NULL;
    return realloc(block, bytes);
}

void sand_free(void *block)
{
    free(block);
}

// The hostile build grows one by one, so that every growth moves the array and shows stale
// pointers.
static size_t grown_capacity(size_t capacity, size_t need)
{
#ifdef SAND_HOSTILE
    (void)capacity;
    return need;
#else
    size_t doubled = capacity < 8 ? 8 : capacity;
    while (doubled < need && doubled <= SIZE_MAX / 2)
        doubled *= 2;
    return doubled < need ? need : doubled;
#endif
}

enum sand_rc sand_grow(void **array, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return SAND_OK;
    size_t grown = grown_capacity(*capacity, need);
    void *moved = sand_realloc(*array, grown, size);
    if (!moved)
        return SAND_ERR_NOMEM;
    *array = moved;
    *capacity = grown;
    return SAND_OK;
}

void sand_mem_fail_at(uint64_t n)
{
    fail_at = n > 0 ? allocations + n : 0;
}

uint64_t sand_mem_count(void)
{
    return allocations;
}
