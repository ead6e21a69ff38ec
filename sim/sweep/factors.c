// Parses factors and counts their points off.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "factors.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "filegate.h"

static enum sand_rc no_memory(struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
}

// ---- parsing
// ------------------------------------------------------------------------------------

// The first "=" outside of brackets: keys of a path hold some, "job[@id='a=b']/@nodes".
static const char *end_of_path(const char *text)
{
    int depth = 0;
    for (; *text; text++) {
        depth += (*text == '[') - (*text == ']');
        if (*text == '=' && depth == 0)
            return text;
    }
    return NULL;
}

// The attribute's name; of a parameter's value, "param[@name='interval']/@value", the parameter's.
static const char *label_of(const char *path, struct sand_arena *arena)
{
    const char *end = strrchr(path, '@'), *key = strstr(path, "/@value");
    while (key && key > path && *key != '=')
        key--;
    if (key && key[0] == '=' && (key[1] == '\'' || key[1] == '"') && key[2] != key[1])
        return sand_arena_printf(arena, "%.*s", (int)strcspn(key + 2, "'\""), key + 2);
    if (!end)
        end = strrchr(path, '/');
    return end && end[1] ? end + 1 : path;
}

static int is_comma(const char *text, const char *at)
{
    return *at == ',' && (at == text || at[-1] != '\\');
}

static uint32_t count_values(const char *text)
{
    uint32_t n = 1;
    for (const char *c = text; *c; c++)
        if (is_comma(text, c))
            n++;
    return n;
}

// Takes the value that begins at *text, without blanks around it and without escapes.
static const char *take_value(const char **text, struct sand_arena *arena)
{
    const char *begin = *text + strspn(*text, " "), *end = begin;
    while (*end && !is_comma(*text, end))
        end++;
    *text = *end ? end + 1 : end;
    while (end > begin && end[-1] == ' ')
        end--;
    char *value = sand_arena_alloc(arena, (size_t)(end - begin) + 1, 1), *out = value;
    for (const char *c = begin; value && c < end; c++)
        if (*c != '\\' || c[1] != ',')
            *out++ = *c;
    return value;
}

static enum sand_rc read_values(struct sand_factor *factor, const char *text,
                                struct sand_arena *arena, struct sand_diag *diag)
{
    const uint32_t n = count_values(text);
    factor->values = sand_arena_alloc(arena, n, sizeof *factor->values);
    if (!factor->values)
        return no_memory(diag);
    for (uint32_t i = 0; i < n; i++) {
        const char *value = take_value(&text, arena);
        if (!value)
            return no_memory(diag);
        if (*value == '\0')
            return sand_fail(diag, SAND_ERR_USAGE, "%s: value %" PRIu32 " of %" PRIu32 " is empty",
                             factor->path, i + 1, n);
        factor->values[factor->n++] = value;
    }
    return SAND_OK;
}

// A value twice is a slip, unless what goes along with it differs: the second factor of two may
// repeat.
static enum sand_rc check_twice(const struct sand_factors *factors,
                                const struct sand_factor *factor, int along, struct sand_diag *diag)
{
    for (uint32_t i = 0; i < factors->n; i++)
        if (strcmp(factors->factors[i].path, factor->path) == 0)
            return sand_fail(diag, SAND_ERR_USAGE,
                             "%s is varied twice; give all its values at once", factor->path);
    for (uint32_t i = 0; !along && i < factor->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(factor->values[i], factor->values[k]) == 0)
                return sand_fail(diag, SAND_ERR_USAGE, "%s: \"%s\" is there twice", factor->path,
                                 factor->values[i]);
    return SAND_OK;
}

static enum sand_rc place(struct sand_factors *factors, struct sand_factor *factor, int along,
                          struct sand_diag *diag)
{
    const struct sand_factor *before = factors->n > 0 ? &factors->factors[factors->n - 1] : NULL;
    if (!along) {
        factor->dimension = before ? before->dimension + 1 : 0;
        if ((uint64_t)sand_factors_points(factors) * factor->n > SAND_POINTS_MOST)
            return sand_fail(diag, SAND_ERR_USAGE,
                             "%s: more than %d combinations; vary fewer values at a time",
                             factor->path, SAND_POINTS_MOST);
        return SAND_OK;
    }
    if (!before)
        return sand_fail(diag, SAND_ERR_USAGE,
                         "%s goes along with nothing; vary another path first", factor->path);
    factor->dimension = before->dimension;
    if (factor->n != before->n)
        return sand_fail(diag, SAND_ERR_USAGE,
                         "%s has %" PRIu32 " value%s, but %s, along which it goes, has %" PRIu32,
                         factor->path, factor->n, factor->n == 1 ? "" : "s", before->path,
                         before->n);
    return SAND_OK;
}

enum sand_rc sand_factors_add(struct sand_factors *factors, const char *text, int along,
                              struct sand_diag *diag)
{
    const char *equals = end_of_path(text);
    if (!equals || equals == text)
        return sand_fail(diag, SAND_ERR_USAGE,
                         "\"%s\" has no path; write PATH=VALUE,VALUE, e.g. "
                         "\"policies/@hot_spares=8,16\"",
                         text);
    if (factors->n == SAND_FACTORS_MOST)
        return sand_fail(diag, SAND_ERR_USAGE, "\"%s\": at most %d paths are varied at a time",
                         text, SAND_FACTORS_MOST);
    struct sand_factor factor = {0};
    factor.path = sand_arena_printf(&factors->arena, "%.*s", (int)(equals - text), text);
    factor.label = factor.path ? label_of(factor.path, &factors->arena) : NULL;
    if (!factor.label)
        return no_memory(diag);
    SAND_TRY(read_values(&factor, equals + 1, &factors->arena, diag));
    SAND_TRY(check_twice(factors, &factor, along, diag));
    SAND_TRY(place(factors, &factor, along, diag));
    factors->factors[factors->n++] = factor;
    return SAND_OK;
}

void sand_factors_clear(struct sand_factors *factors)
{
    sand_arena_clear(&factors->arena);
    *factors = (struct sand_factors){0};
}

// ---- points
// -------------------------------------------------------------------------------------

static int begins_dimension(const struct sand_factors *factors, uint32_t i)
{
    return i == 0 || factors->factors[i].dimension != factors->factors[i - 1].dimension;
}

uint32_t sand_factors_points(const struct sand_factors *factors)
{
    uint32_t points = 1;
    for (uint32_t i = 0; i < factors->n; i++)
        if (begins_dimension(factors, i))
            points *= factors->factors[i].n;
    return points;
}

const char *sand_factors_value(const struct sand_factors *factors, uint32_t point, uint32_t factor)
{
    uint32_t below = 1; // points of the dimensions that run faster
    for (uint32_t i = factor + 1; i < factors->n; i++)
        if (begins_dimension(factors, i))
            below *= factors->factors[i].n;
    return factors->factors[factor].values[point / below % factors->factors[factor].n];
}

// ---- names
// --------------------------------------------------------------------------------------

static char safe(char c)
{
    return isalnum((unsigned char)c) || strchr("._+-:@%", c) ? c : '_';
}

// Whether a value is told apart by its own text in a name.
static int is_plain(const char *value)
{
    for (; *value; value++)
        if (safe(*value) != *value)
            return 0;
    return 1;
}

static void digest_of(const struct sand_factors *factors, uint32_t point, char hex[65])
{
    struct sand_hash hash;
    sand_hash_init(&hash);
    for (uint32_t i = 0; i < factors->n; i++) {
        const char *value = sand_factors_value(factors, point, i);
        sand_hash_add(&hash, factors->factors[i].path, strlen(factors->factors[i].path) + 1);
        sand_hash_add(&hash, value, strlen(value) + 1);
    }
    sand_hash_end_hex(&hash, hex);
}

const char *sand_factors_name(const struct sand_factors *factors, uint32_t point,
                              struct sand_arena *arena)
{
    enum { LONGEST = 200, DIGEST = 12 };
    char name[LONGEST + 1 + DIGEST + 1], hex[65];
    size_t length = 0;
    int plain = 1;
    for (uint32_t i = 0; i < factors->n; i++) {
        const char *value = sand_factors_value(factors, point, i);
        const char *parts[] = {i > 0 ? "," : "", factors->factors[i].label, "=", value};
        plain &= is_plain(value);
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            for (const char *c = parts[p]; *c && length < LONGEST; c++)
                name[length++] = p == 0 || p == 2 ? *c : safe(*c);
    }
    name[length] = '\0';
    if (length == 0)
        return sand_arena_strdup(arena, "base");
    if (plain && length < LONGEST)
        return sand_arena_strdup(arena, name);
    digest_of(factors, point, hex);
    return sand_arena_printf(arena, "%s,%.*s", name, DIGEST, hex);
}
