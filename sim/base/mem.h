// The one gate for memory, so that failure can be injected, and arenas on top of it.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_MEM_H
#define SAND_SIM_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "rc.h"

// Zeroed memory for n objects of `size` bytes, or NULL (overflow, none left, injected failure).
// n == 0 gives a valid pointer. Free with sand_free().
void *sand_calloc(size_t n, size_t size);

// Like reallocarray(): contents kept, the tail is not zeroed. On NULL the old block stays.
void *sand_realloc(void *block, size_t n, size_t size);

void sand_free(void *block); // NULL is fine

// Grows `*array` (elements of `size` bytes, `*capacity` of them) to hold at least `need`, by
// doubling (amortised O(1); one by one in the hostile build). SAND_ERR_NOMEM leaves all unchanged.
enum sand_rc sand_grow(void **array, size_t *capacity, size_t need, size_t size);

// Fault injection: the n-th allocation from now (1 = the next) and only that one fails; 0 = never.
void sand_mem_fail_at(uint64_t n);
uint64_t sand_mem_count(void); // allocations so far in this process

// An arena: allocate much, free all at once. Zero-initialise; clear to free.
struct sand_arena_chunk;
struct sand_arena {
    struct sand_arena_chunk *chunks;
    size_t used, size;
};

// Zeroed, aligned for any type; NULL when out of memory. O(1).
void *sand_arena_alloc(struct sand_arena *arena, size_t n, size_t size);
char *sand_arena_strdup(struct sand_arena *arena, const char *text);
char *sand_arena_printf(struct sand_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sand_arena_clear(struct sand_arena *arena);

#endif
