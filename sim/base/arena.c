// Arenas: chunks from the memory gate, handed out front to back, freed together.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "mem.h"

#ifdef SAND_HOSTILE
enum { FIRST_CHUNK = 64, LAST_CHUNK = 64 };
#else
enum { FIRST_CHUNK = 4096, LAST_CHUNK = 1 << 20 };
#endif

struct sand_arena_chunk {
    struct sand_arena_chunk *next; // older
    alignas(max_align_t) unsigned char bytes[];
};

static size_t next_chunk_size(const struct sand_arena *arena, size_t need)
{
    size_t size = arena->size * 2;
    if (size < FIRST_CHUNK)
        size = FIRST_CHUNK;
    if (size > LAST_CHUNK)
        size = LAST_CHUNK;
    return size < need ? need : size;
}

static int add_chunk(struct sand_arena *arena, size_t need)
{
    size_t size = next_chunk_size(arena, need), total;
    if (__builtin_add_overflow(size, sizeof(struct sand_arena_chunk), &total))
        return 0;
    struct sand_arena_chunk *chunk = sand_calloc(1, total);
    if (!chunk)
        return 0;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->used = 0;
    arena->size = size;
    return 1;
}

void *sand_arena_alloc(struct sand_arena *arena, size_t n, size_t size)
{
    const size_t align = alignof(max_align_t);
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - align)
        return NULL;
    bytes = bytes > 0 ? (bytes + align - 1) / align * align : align;
    if (!arena->chunks || arena->size - arena->used < bytes)
        if (!add_chunk(arena, bytes))
            return NULL;
    void *block = arena->chunks->bytes + arena->used;
    arena->used += bytes;
    return block;
}

char *sand_arena_strdup(struct sand_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = sand_arena_alloc(arena, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

static char *arena_vprintf(struct sand_arena *arena, int length, const char *format, va_list args)
{
    if (length < 0)
        return NULL;
    size_t size = (size_t)length + 1;
    char *text = sand_arena_alloc(arena, size, 1);
    if (text)
        vsnprintf(text, size, format, args);
    return text;
}

char *sand_arena_printf(struct sand_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    char *text = arena_vprintf(arena, vsnprintf(NULL, 0, format, args), format, again);
    va_end(again);
    va_end(args);
    return text;
}

void sand_arena_clear(struct sand_arena *arena)
{
    while (arena->chunks) {
        struct sand_arena_chunk *older = arena->chunks->next;
        sand_free(arena->chunks);
        arena->chunks = older;
    }
    *arena = (struct sand_arena){0};
}
