// Open addressing with linear probing; emptying advances an age instead of touching the slots.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "traceset.h"

#include <string.h>

#include "mem.h"

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

struct trace_key trace_key_of(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    struct trace_key key = {0x9e3779b97f4a7c15u + size, 0xc2b2ae3d27d4eb4fu ^ size};
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
        key.a = mix(key.a ^ word);
        key.b = mix(key.b + word) ^ 0xd6e8feb86659fd93u;
    }
    return key;
}

static struct trace_set_slot *slot_of(const struct trace_set *set, struct trace_key key)
{
    size_t i = key.a & (set->capacity - 1);
    while (set->slots[i].age == set->age &&
           (set->slots[i].key.a != key.a || set->slots[i].key.b != key.b))
        i = (i + 1) & (set->capacity - 1);
    return &set->slots[i];
}

static enum sand_rc grow(struct trace_set *set)
{
    struct trace_set next = {.capacity = set->capacity ? set->capacity * 2 : 16, .age = 1};
    next.slots = sand_calloc(next.capacity, sizeof *next.slots);
    if (!next.slots)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i].age == set->age)
            *slot_of(&next, set->slots[i].key) = (struct trace_set_slot){set->slots[i].key, 1};
    next.n = set->n;
    sand_free(set->slots);
    *set = next;
    return SAND_OK;
}

enum sand_rc trace_set_add(struct trace_set *set, struct trace_key key, int *present)
{
    if (2 * (set->n + 1) > set->capacity)
        SAND_TRY(grow(set));
    struct trace_set_slot *slot = slot_of(set, key);
    *present = slot->age == set->age;
    if (!*present) {
        *slot = (struct trace_set_slot){key, set->age};
        set->n++;
    }
    return SAND_OK;
}

void trace_set_empty(struct trace_set *set)
{
    set->n = 0;
    if (++set->age != 0 || !set->slots)
        return;
    memset(set->slots, 0, set->capacity * sizeof *set->slots); // once in 2^32 times
    set->age = 1;
}

void trace_set_clear(struct trace_set *set)
{
    sand_free(set->slots);
    *set = (struct trace_set){0};
}
