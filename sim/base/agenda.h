// An agenda of dated entries: a binary heap ordered by (date, class, sequence).
// Equal dates come out by class, then in the order put in, whatever the heap did in between.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_AGENDA_H
#define SAND_SIM_BASE_AGENDA_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"

struct sand_agenda_entry {
    int64_t date;      // ticks; the caller chooses the unit
    uint32_t rank;     // class: lower first among equal dates
    uint32_t kind;     // the caller's
    uint64_t subject;  // the caller's
    uint64_t sequence; // set by sand_agenda_put
};

// Zero-initialise to start, clear to end.
struct sand_agenda {
    struct sand_agenda_entry *heap;
    size_t n, capacity;
    uint64_t next_sequence;
};

// Adds an entry (O(log n)); `entry.sequence` is ignored and set. *sequence (may be NULL) gets it.
// There is no removal: the owner of a subject keeps the sequence it waits for and skips others.
enum sand_rc sand_agenda_put(struct sand_agenda *agenda, struct sand_agenda_entry entry,
                             uint64_t *sequence);

// The first entry, or NULL when empty. O(1).
const struct sand_agenda_entry *sand_agenda_peek(const struct sand_agenda *agenda);

// Takes the first entry into *entry; returns 0 when empty. O(log n).
int sand_agenda_take(struct sand_agenda *agenda, struct sand_agenda_entry *entry);

void sand_agenda_clear(struct sand_agenda *agenda);

#endif
