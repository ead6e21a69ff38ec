// Hostlists: by hand, against a generator that knows the answer, and under random bytes.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hostlist.h"
#include "rng.h"

static uint32_t draw(uint64_t entity, uint64_t *index, uint32_t n)
{
    struct sand_rng rng = {11, 0};
    return (uint32_t)(sand_rng_u64(rng, SAND_STREAM_TEST, entity, (*index)++) % n);
}

// Expands, and joins the names with blanks; "!clause" if refused.
static const char *expanded(const char *text, char *buffer, size_t size)
{
    struct sand_arena arena = {0};
    struct sand_hostlist list = {0};
    char why[160] = "";
    size_t used = 0;
    buffer[0] = '\0';
    if (sand_hostlist_expand(text, &arena, &list, why, sizeof why) != SAND_OK)
        snprintf(buffer, size, "!%s", why);
    for (size_t i = 0; i < list.n && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? " " : "", list.names[i]);
    sand_arena_clear(&arena);
    return buffer;
}

Test(hostlist, by_hand)
{
    static const struct {
        const char *text, *names;
    } rows[] = {
        {"tux", "tux"},
        {"tux[0-3,12]", "tux0 tux1 tux2 tux3 tux12"},
        {"tux[08-11]", "tux08 tux09 tux10 tux11"},
        {"a,b[1-2]c,d", "a b1c b2c d"},
        {"r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02"},
        {"n[0-1,a[2-3]]", "n0 n1 na2 na3"},
        {"n[[1-2]x,3]", "n1x n2x n3"},
        {"gpu-[1-2]-ib0", "gpu-1-ib0 gpu-2-ib0"},
        {"n[1-1]", "n1"},
        {"n[0-6:2,9]", "n0 n2 n4 n6 n9"},
        {"n[01-10/4]", "n01 n05 n09"},
        {"n[3-3:7]", "n3"},
        {"n[a-b]", "na-b"}, // no range of numbers: a name
        {"[1-2]", "1 2"},
        {"n[999999998-999999999]", "n999999998 n999999999"},
    };
    char buffer[512];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_str_eq(expanded(rows[i].text, buffer, sizeof buffer), rows[i].names, "%s",
                         rows[i].text);
}

Test(hostlist, refusals)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "empty name"},
        {",a", "empty name"},
        {"a,", "empty name"},
        {"a[]", "empty name"},
        {"a[1,]", "empty name"},
        {"a[1-2", "not closed"},
        {"a]", "not open"},
        {"a[1-3x5]", "\"x5]\" behind a range"},
        {"a[1-3:]", "behind a range"},
        {"a[1-3:0]", "step 0"},
        {"a[3-1]", "falling range 3-1"},
        {"a b", "blank"},
        {"a\tb", "blank"},
        {"a[1 2]", "brackets"},
        {"a[0-9999999]", "more than 1000000"},
        {"a[0-9999][0-9999]", "more than 1000000"},
        {"a[0-9999999999]", "9 digits"},
        {"[[[[[[[[[1]]]]]]]]]", "deeper than 8"},
    };
    char buffer[512];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expanded(rows[i].text, buffer, sizeof buffer);
        cr_expect(buffer[0] == '!' && strstr(buffer, rows[i].why), "%s: %s", rows[i].text, buffer);
    }
}

// ---- a generator that knows the answer ----

struct names {
    char items[4096][64];
    size_t n;
};

// Writes a random item to `text` and its names to `out`.
static void make_item(uint64_t entity, uint64_t *index, int depth, char *text, struct names *out)
{
    static const char *const words[] = {"n", "gpu-", "r", "x.y", "07", "_"};
    struct names *part = calloc(1, sizeof *part), *next = calloc(1, sizeof *next);
    out->n = 1;
    out->items[0][0] = '\0';
    for (uint32_t k = 0, parts = 1 + draw(entity, index, 3); k < parts; k++) {
        part->n = 0;
        if (draw(entity, index, 2) == 0 || depth == 0) {
            const char *word = words[draw(entity, index, 6)];
            strcat(text, word);
            strcpy(part->items[part->n++], word);
        } else {
            strcat(text, "[");
            for (uint32_t e = 0, entries = 1 + draw(entity, index, 3); e < entries; e++) {
                char piece[96];
                strcat(text, e ? "," : "");
                if (draw(entity, index, 3) > 0) {
                    uint32_t low = draw(entity, index, 120), count = 1 + draw(entity, index, 4);
                    int width = (int)draw(entity, index, 4) + 1;
                    snprintf(piece, sizeof piece, "%0*u-%u", width, low, low + count - 1);
                    strcat(text, piece);
                    for (uint32_t v = low; v < low + count; v++)
                        snprintf(part->items[part->n++], 64, "%0*u", (int)strcspn(piece, "-"), v);
                } else {
                    struct names *inner = calloc(1, sizeof *inner);
                    char sub[1024] = "";
                    make_item(entity, index, depth - 1, sub, inner);
                    strcat(text, sub);
                    for (size_t i = 0; i < inner->n; i++)
                        strcpy(part->items[part->n++], inner->items[i]);
                    free(inner);
                }
            }
            strcat(text, "]");
        }
        if (out->n * part->n > 2000)
            break; // never with the counts above
        next->n = 0;
        for (size_t i = 0; i < out->n; i++)
            for (size_t j = 0; j < part->n; j++) {
                strcpy(next->items[next->n], out->items[i]);
                strncat(next->items[next->n++], part->items[j], 30);
            }
        memcpy(out, next, sizeof *out);
    }
    free(part);
    free(next);
}

Test(hostlist, against_a_generator)
{
    struct names *names = calloc(1, sizeof *names);
    uint32_t tested = 0;
    for (uint64_t entity = 0; entity < 400; entity++) {
        uint64_t index = 0;
        char text[4096] = "", why[160] = "";
        struct sand_arena arena = {0};
        struct sand_hostlist list = {0};
        make_item(entity, &index, 1, text, names);
        // A literal beside a range may read as one range ("07" before "-"): the generator's words
        // do not begin with "-", so entries never merge.
        enum sand_rc rc = sand_hostlist_expand(text, &arena, &list, why, sizeof why);
        cr_assert_eq(rc, SAND_OK, "%s: %s", text, why);
        cr_assert_eq(list.n, names->n, "%s: %zu names, not %zu", text, list.n, names->n);
        for (size_t i = 0; i < list.n; i++)
            cr_assert_str_eq(list.names[i], names->items[i], "%s, name %zu", text, i);
        tested += list.n > 1;
        sand_arena_clear(&arena);
    }
    cr_expect_gt(tested, 100);
    free(names);
}

// Random bytes of the grammar's own letters: an answer or a clause, within the bounds.
Test(hostlist, random_bytes)
{
    static const char letters[] = "[[]],,--0129ab .";
    for (uint64_t entity = 1000; entity < 40000; entity++) {
        uint64_t index = 0;
        char text[40], why[160] = "";
        uint32_t n = draw(entity, &index, sizeof text - 1);
        for (uint32_t i = 0; i < n; i++)
            text[i] = letters[draw(entity, &index, sizeof letters - 1)];
        text[n] = '\0';
        struct sand_arena arena = {0};
        struct sand_hostlist list = {0};
        enum sand_rc rc = sand_hostlist_expand(text, &arena, &list, why, sizeof why);
        if (rc == SAND_OK)
            cr_assert(list.n > 0 && list.n <= SAND_HOSTLIST_MAX, "%s", text);
        else
            cr_assert(rc == SAND_ERR_INPUT && why[0] != '\0' && list.n == 0, "%s", text);
        sand_arena_clear(&arena);
    }
}
