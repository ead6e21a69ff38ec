// Expands hostlists by recursive descent: every rule yields the list of texts it stands for.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "hostlist.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct reader {
    const char *at;
    struct sand_arena *arena;
    char *why;
    size_t why_size;
    enum sand_rc rc;
    unsigned depth;
};

struct texts {
    const char **items;
    size_t n, capacity;
};

static int refuse(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct reader *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->why, r->why_size, format, arguments);
    va_end(arguments);
    r->rc = SAND_ERR_INPUT;
    return 0;
}

static int no_memory(struct reader *r)
{
    snprintf(r->why, r->why_size, "does not fit into memory");
    r->rc = SAND_ERR_NOMEM;
    return 0;
}

static int add(struct reader *r, struct texts *list, const char *text)
{
    void *items = list->items;
    if (list->n >= SAND_HOSTLIST_MAX)
        return refuse(r, "stands for more than %d names", SAND_HOSTLIST_MAX);
    if (text == NULL ||
        sand_grow(&items, &list->capacity, list->n + 1, sizeof *list->items) != SAND_OK)
        return no_memory(r);
    list->items = items;
    list->items[list->n++] = text;
    return 1;
}

static int add_all(struct reader *r, struct texts *list, const struct texts *more)
{
    for (size_t i = 0; i < more->n; i++)
        if (!add(r, list, more->items[i]))
            return 0;
    return 1;
}

static int is_literal(char c)
{
    return (unsigned char)c > ' ' && c != 127 && c != '[' && c != ']' && c != ',';
}

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789");
}

// ---- parts ----

static int read_literal(struct reader *r, struct texts *out)
{
    size_t n = 0;
    while (is_literal(r->at[n]))
        n++;
    if (n > SAND_HOSTLIST_MAX_NAME)
        return refuse(r, "has a name of more than %d bytes", SAND_HOSTLIST_MAX_NAME);
    const char *text = sand_arena_printf(r->arena, "%.*s", (int)n, r->at);
    r->at += n;
    return add(r, out, text);
}

static uint64_t number_of(const char *digits, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value * 10 + (uint64_t)(digits[i] - '0');
    return value;
}

// "N-M", "N-M:S" or "N-M/S" with at most 9 digits each; the caller has seen that "N-M" is there.
static int read_range(struct reader *r, size_t low_digits, size_t high_digits, struct texts *out)
{
    const char *const high_at = r->at + low_digits + 1, *const after = high_at + high_digits;
    const size_t step_digits = *after == ':' || *after == '/' ? digits_at(after + 1) : 0;
    const char *const end = step_digits > 0 ? after + 1 + step_digits : after;
    if (*end != ',' && *end != ']' && *end != '\0')
        return refuse(r, "has \"%.20s\" behind a range of numbers", after);
    if (low_digits > 9 || high_digits > 9 || step_digits > 9)
        return refuse(r, "has a range of numbers with more than 9 digits");
    uint64_t low = number_of(r->at, low_digits);
    uint64_t high = number_of(high_at, high_digits);
    uint64_t step = step_digits > 0 ? number_of(after + 1, step_digits) : 1;
    if (high < low)
        return refuse(r, "has a falling range %" PRIu64 "-%" PRIu64, low, high);
    if (step == 0)
        return refuse(r, "has a range with step 0");
    if ((high - low) / step >= SAND_HOSTLIST_MAX)
        return refuse(r, "stands for more than %d names", SAND_HOSTLIST_MAX);
    for (uint64_t i = low; i <= high; i += step)
        if (!add(r, out, sand_arena_printf(r->arena, "%0*" PRIu64, (int)low_digits, i)))
            return 0;
    r->at = end;
    return 1;
}

static int read_item(struct reader *r, struct texts *out);

static int read_entry(struct reader *r, struct texts *out)
{
    size_t low = digits_at(r->at);
    if (low > 0 && r->at[low] == '-') {
        size_t high = digits_at(r->at + low + 1);
        if (high > 0)
            return read_range(r, low, high, out);
    }
    return read_item(r, out);
}

static int read_brackets(struct reader *r, struct texts *out)
{
    if (++r->depth > SAND_HOSTLIST_MAX_DEPTH)
        return refuse(r, "nests brackets deeper than %d", SAND_HOSTLIST_MAX_DEPTH);
    do {
        r->at++; // the opening bracket or a comma
        if (!read_entry(r, out))
            return 0;
    } while (*r->at == ',');
    if (*r->at != ']')
        return refuse(r, *r->at == '\0' ? "has a bracket that is not closed"
                                        : "has something else than a name or range in brackets");
    r->at++;
    r->depth--;
    return 1;
}

// ---- items ----

// Every text of `left` with every text of `right` behind it.
static int multiply(struct reader *r, const struct texts *left, const struct texts *right,
                    struct texts *out)
{
    if (left->n > 0 && right->n > SAND_HOSTLIST_MAX / left->n)
        return refuse(r, "stands for more than %d names", SAND_HOSTLIST_MAX);
    for (size_t i = 0; i < left->n; i++)
        for (size_t j = 0; j < right->n; j++) {
            if (strlen(left->items[i]) + strlen(right->items[j]) > SAND_HOSTLIST_MAX_NAME)
                return refuse(r, "has a name of more than %d bytes", SAND_HOSTLIST_MAX_NAME);
            if (!add(r, out, sand_arena_printf(r->arena, "%s%s", left->items[i], right->items[j])))
                return 0;
        }
    return 1;
}

static int read_part(struct reader *r, struct texts *so_far)
{
    struct texts part = {0}, joined = {0};
    int done = *r->at == '[' ? read_brackets(r, &part) : read_literal(r, &part);
    if (done && so_far->n == 0) {
        *so_far = part;
        return 1;
    }
    done = done && multiply(r, so_far, &part, &joined);
    sand_free(part.items);
    sand_free(so_far->items);
    *so_far = joined;
    return done;
}

static int read_item(struct reader *r, struct texts *out)
{
    struct texts texts = {0};
    int done = 1;
    if (*r->at != '[' && !is_literal(*r->at))
        return refuse(r, *r->at == '\0' || *r->at == ',' || *r->at == ']'
                             ? "has an empty name"
                             : "has a blank or control character in it");
    while (done && (*r->at == '[' || is_literal(*r->at)))
        done = read_part(r, &texts);
    done = done && add_all(r, out, &texts);
    sand_free(texts.items);
    return done;
}

static int read_list(struct reader *r, struct texts *out)
{
    for (;;) {
        if (!read_item(r, out))
            return 0;
        if (*r->at == '\0')
            return 1;
        if (*r->at != ',')
            return refuse(r, *r->at == ']' ? "closes a bracket that is not open"
                                           : "has a blank or control character in it");
        r->at++;
    }
}

enum sand_rc sand_hostlist_expand(const char *text, struct sand_arena *arena,
                                  struct sand_hostlist *list, char *why, size_t why_size)
{
    struct reader reader = {text, arena, why, why_size, SAND_OK, 0};
    struct texts texts = {0};
    if (read_list(&reader, &texts)) {
        const char **names = sand_arena_alloc(arena, texts.n, sizeof *names);
        if (names == NULL) {
            no_memory(&reader);
        } else {
            memcpy(names, texts.items, texts.n * sizeof *names);
            *list = (struct sand_hostlist){names, texts.n};
        }
    }
    sand_free(texts.items);
    return reader.rc;
}
