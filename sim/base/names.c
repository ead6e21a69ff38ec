// Open addressing over FNV-1a of the text; numbers are the order of first sight.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "names.h"

#include <string.h>

#ifdef SAND_HOSTILE
enum { FIRST_SLOTS = 2 };
#else
enum { FIRST_SLOTS = 64 };
#endif

// Fowler, Noll and Vo's hash of 64 bits, in its variant 1a (IETF draft-eastlake-fnv).
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

// The slot that holds the text, or the free one where it belongs.
static size_t slot_of(const struct sand_names *names, const char *text)
{
    size_t slot = (size_t)hash_of(text) & (names->n_slots - 1);
    while (names->slots[slot] != 0 && strcmp(names->texts[names->slots[slot] - 1], text) != 0)
        slot = (slot + 1) & (names->n_slots - 1);
    return slot;
}

// Half of the slots stay free.
static enum sand_rc widen(struct sand_names *names)
{
    if (2 * (names->n + 1) <= names->n_slots)
        return SAND_OK;
    const size_t n_slots = names->n_slots > 0 ? 2 * names->n_slots : FIRST_SLOTS;
    uint32_t *slots = sand_calloc(n_slots, sizeof *slots);
    if (!slots)
        return SAND_ERR_NOMEM;
    sand_free(names->slots);
    names->slots = slots;
    names->n_slots = n_slots;
    for (size_t i = 0; i < names->n; i++)
        slots[slot_of(names, names->texts[i])] = (uint32_t)i + 1;
    return SAND_OK;
}

enum sand_rc sand_names_add(struct sand_names *names, const char *text, uint32_t *number)
{
    SAND_TRY(widen(names));
    const size_t slot = slot_of(names, text);
    if (names->slots[slot] == 0) {
        void *texts = names->texts;
        SAND_TRY(sand_grow(&texts, &names->capacity, names->n + 1, sizeof *names->texts));
        names->texts = texts;
        names->texts[names->n] = sand_arena_strdup(&names->arena, text);
        if (!names->texts[names->n])
            return SAND_ERR_NOMEM;
        names->slots[slot] = (uint32_t)++names->n;
    }
    *number = names->slots[slot] - 1;
    return SAND_OK;
}

const char *sand_names_text(const struct sand_names *names, uint32_t number)
{
    return names->texts[number];
}

void sand_names_clear(struct sand_names *names)
{
    sand_arena_clear(&names->arena);
    sand_free(names->texts);
    sand_free(names->slots);
    *names = (struct sand_names){0};
}
