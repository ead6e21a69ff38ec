// The agenda's binary heap.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "agenda.h"

#include "mem.h"

static int before(const struct sand_agenda_entry *a, const struct sand_agenda_entry *b)
{
    if (a->date != b->date)
        return a->date < b->date;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return a->sequence < b->sequence;
}

// Moves the hole at `i` up until `entry` fits there.
static void sift_up(struct sand_agenda_entry *heap, size_t i, const struct sand_agenda_entry *entry)
{
    while (i > 0 && before(entry, &heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = *entry;
}

// Moves the hole at the root down until `entry` fits there; n entries, the hole counted.
static void sift_down(struct sand_agenda_entry *heap, size_t n,
                      const struct sand_agenda_entry *entry)
{
    size_t i = 0;
    for (size_t child = 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], entry))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = *entry;
}

enum sand_rc sand_agenda_put(struct sand_agenda *agenda, struct sand_agenda_entry entry,
                             uint64_t *sequence)
{
    void *heap = agenda->heap;
    SAND_TRY(sand_grow(&heap, &agenda->capacity, agenda->n + 1, sizeof *agenda->heap));
    agenda->heap = heap;
    entry.sequence = agenda->next_sequence++;
    if (sequence)
        *sequence = entry.sequence;
    sift_up(agenda->heap, agenda->n++, &entry);
    return SAND_OK;
}

const struct sand_agenda_entry *sand_agenda_peek(const struct sand_agenda *agenda)
{
    return agenda->n > 0 ? agenda->heap : NULL;
}

int sand_agenda_take(struct sand_agenda *agenda, struct sand_agenda_entry *entry)
{
    if (agenda->n == 0)
        return 0;
    *entry = agenda->heap[0];
    agenda->n--;
    if (agenda->n > 0) {
        struct sand_agenda_entry last = agenda->heap[agenda->n];
        sift_down(agenda->heap, agenda->n, &last);
    }
    return 1;
}

void sand_agenda_clear(struct sand_agenda *agenda)
{
    sand_free(agenda->heap);
    *agenda = (struct sand_agenda){0};
}
