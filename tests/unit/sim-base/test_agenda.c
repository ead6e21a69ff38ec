// The agenda: order by date, class and sequence for any order of insertion.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "agenda.h"
#include "mem.h"
#include "rng.h"

static int in_order(const struct sand_agenda_entry *a, const struct sand_agenda_entry *b)
{
    if (a->date != b->date)
        return a->date < b->date;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return a->sequence < b->sequence;
}

// 20,000 entries on 100 dates and 4 classes, taken out in between: the order is strict.
Test(agenda, comes_out_by_date_class_and_sequence)
{
    struct sand_agenda agenda = {0};
    struct sand_rng rng = {3, 0};
    struct sand_agenda_entry last = {.date = -1}, entry;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t bits = sand_rng_u64(rng, SAND_STREAM_TEST, 0, i), sequence;
        entry = (struct sand_agenda_entry){
            .date = (int64_t)(bits % 100), .rank = (uint32_t)(bits >> 32) % 4, .subject = i};
        cr_assert_eq(sand_agenda_put(&agenda, entry, &sequence), SAND_OK);
        cr_assert_eq(sequence, i);
    }
    size_t n = 0;
    while (sand_agenda_peek(&agenda)) {
        struct sand_agenda_entry first = *sand_agenda_peek(&agenda);
        cr_assert(sand_agenda_take(&agenda, &entry));
        cr_assert_eq(entry.sequence, first.sequence);
        cr_assert_eq(entry.subject, entry.sequence);
        cr_assert(n == 0 || in_order(&last, &entry));
        last = entry;
        n++;
    }
    cr_assert_eq(n, 20000);
    cr_assert_not(sand_agenda_take(&agenda, &entry));
    sand_agenda_clear(&agenda);
}

// Hold model: take one, put one later; the date never goes back.
Test(agenda, interleaved_puts_and_takes_keep_time_monotone)
{
    struct sand_agenda agenda = {0};
    struct sand_rng rng = {4, 0};
    struct sand_agenda_entry entry = {0};
    int64_t now = 0;
    for (uint64_t i = 0; i < 50; i++)
        cr_assert_eq(sand_agenda_put(&agenda, entry, NULL), SAND_OK);
    for (uint64_t i = 0; i < 20000; i++) {
        cr_assert(sand_agenda_take(&agenda, &entry));
        cr_assert_geq(entry.date, now);
        now = entry.date;
        entry.date = now + (int64_t)(sand_rng_u64(rng, SAND_STREAM_TEST, 1, i) % 1000);
        cr_assert_eq(sand_agenda_put(&agenda, entry, NULL), SAND_OK);
    }
    sand_agenda_clear(&agenda);
}

Test(agenda, out_of_memory_leaves_it_whole)
{
    struct sand_agenda agenda = {0};
    struct sand_agenda_entry entry = {.date = 5};
    sand_mem_fail_at(1);
    cr_assert_eq(sand_agenda_put(&agenda, entry, NULL), SAND_ERR_NOMEM);
    cr_assert_null(sand_agenda_peek(&agenda));
    cr_assert_eq(sand_agenda_put(&agenda, entry, NULL), SAND_OK);
    cr_assert_eq(sand_agenda_peek(&agenda)->date, 5);
    sand_agenda_clear(&agenda);
}
