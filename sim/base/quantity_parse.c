// Quantities from text.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "diag.h"
#include "dimension.h"

enum { MAX_NUMBER = 63 };

// A number as written, with its value in the unit it was written in, later in SI.
struct number {
    char text[MAX_NUMBER + 1];
    double value;
};

// Where the reason for a refusal goes.
struct why {
    char *text;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static enum sand_rc refuse(struct why why, const char *format,
                                                                 ...)
{
    va_list args;
    va_start(args, format);
    if (why.text && why.size > 0)
        vsnprintf(why.text, why.size, format, args);
    va_end(args);
    return SAND_ERR_INPUT;
}

// ---- numbers
// --------------------------------------------------------------------------------------

static size_t span_digits(const char *text)
{
    size_t n = 0;
    while (isdigit((unsigned char)text[n]))
        n++;
    return n;
}

// Length of the decimal number at the start of `text`, 0 if there is none. "1e3" has an exponent,
// "1EFLOPS" has none.
static size_t span_number(const char *text)
{
    size_t n = text[0] == '-' || text[0] == '+';
    size_t whole = span_digits(text + n), fraction = 0;
    n += whole;
    if (text[n] == '.') {
        fraction = span_digits(text + n + 1);
        n += 1 + fraction;
    }
    if (whole + fraction == 0)
        return 0;
    if (text[n] == 'e' || text[n] == 'E') {
        size_t sign = text[n + 1] == '-' || text[n + 1] == '+';
        size_t digits = span_digits(text + n + 1 + sign);
        n += digits > 0 ? 1 + sign + digits : 0;
    }
    return n;
}

// strtod with a decimal point whatever the locale. In glibc the C locale costs no allocation.
static double parse_double(const char *text)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = c ? strtod_l(text, NULL, c) : strtod(text, NULL);
    if (c)
        freelocale(c);
    return value;
}

// The number times 10^exponent, rounded once.
static double parse_scaled(const char *text, int exponent)
{
    char shifted[MAX_NUMBER + 32];
    size_t digits = strcspn(text, "eE");
    long written = text[digits] ? strtol(text + digits + 1, NULL, 10) : 0;
    if (labs(written) > 100000)
        return parse_double(text); // over- or underflows with any of our exponents
    snprintf(shifted, sizeof shifted, "%.*se%ld", (int)digits, text, written + exponent);
    return parse_double(shifted);
}

static enum sand_rc read_number(const char *text, struct number *number, const char **rest,
                                const struct sand_dimension *dimension, struct why why)
{
    size_t n = span_number(text);
    if (n == 0)
        return refuse(why, "is not %s; write it like \"%s\"", dimension->name, dimension->example);
    if (n > MAX_NUMBER)
        return refuse(why, "has a number of %zu digits; write at most %d", n, MAX_NUMBER);
    memcpy(number->text, text, n);
    number->text[n] = '\0';
    number->value = parse_double(number->text);
    if (!isfinite(number->value))
        return refuse(why, "is too large for a number; write less than 1.7e308");
    *rest = text + n;
    return SAND_OK;
}

// ---- units
// ----------------------------------------------------------------------------------------

static const struct sand_unit *find_unit(const struct sand_dimension *dimension, const char *name)
{
    for (size_t i = 0; i < dimension->n_rows; i++)
        if (strcmp(dimension->rows[i].name, name) == 0)
            return &dimension->rows[i];
    return NULL;
}

// The dimension a unit belongs to, other than `known`; NULL if it is no unit at all.
static const struct sand_dimension *other_dimension(const char *unit,
                                                    const struct sand_dimension *known)
{
    for (int dim = SAND_DIM_NUMBER; dim <= SAND_DIM_LENGTH; dim++) {
        const struct sand_dimension *dimension = sand_dimension((enum sand_dim)dim);
        if (dimension != known && find_unit(dimension, unit))
            return dimension;
    }
    return NULL;
}

// Units that differ from `unit` in case only: first and last in table order, both NULL if none.
static void case_twins(const struct sand_dimension *dimension, const char *unit, const char **first,
                       const char **last)
{
    *first = *last = NULL;
    for (size_t i = 0; i < dimension->n_rows; i++) {
        if (strcasecmp(dimension->rows[i].name, unit) != 0)
            continue;
        *last = dimension->rows[i].name;
        if (!*first)
            *first = *last;
    }
}

static const char *nearest_unit(const struct sand_dimension *dimension, const char *unit)
{
    const char *names[32];
    size_t n = dimension->n_rows < 32 ? dimension->n_rows : 32;
    for (size_t i = 0; i < n; i++)
        names[i] = dimension->rows[i].name;
    return sand_nearest(unit, names, n);
}

static enum sand_rc refuse_unit(const struct number *number, const char *unit,
                                const struct sand_dimension *dimension, struct why why)
{
    const char *first, *last;
    case_twins(dimension, unit, &first, &last);
    if (first && first != last)
        return refuse(why,
                      "has the unknown unit \"%s\"; did you mean \"%s%s\" (bytes) or \"%s%s\" "
                      "(bits)?",
                      unit, number->text, first, number->text, last);
    const char *near = first ? first : nearest_unit(dimension, unit);
    const struct sand_dimension *other = other_dimension(unit, dimension);
    if (other && !first)
        return refuse(why, "is %s, but %s is needed; write it like \"%s\"", other->name,
                      dimension->name, dimension->example);
    if (near)
        return refuse(why, "has the unknown unit \"%s\"; did you mean \"%s%s\"?", unit,
                      number->text, near);
    if (dimension->n_rows == 0)
        return refuse(why, "has a unit, \"%s\", but %s has none; write \"%s\"", unit,
                      dimension->name, number->text);
    return refuse(why, "has the unknown unit \"%s\"; %s is written in %s", unit, dimension->name,
                  dimension->units);
}

// Both the unit that is usual and the one that programs mean by a plain number.
static enum sand_rc refuse_bare(const struct number *number, const struct sand_dimension *dimension,
                                struct why why)
{
    if (strcmp(dimension->usual, dimension->si) == 0 || !find_unit(dimension, dimension->si))
        return refuse(why, "has no unit; write \"%s%s\"", number->text, dimension->usual);
    return refuse(why, "has no unit; write \"%s%s\" or \"%s%s\"", number->text, dimension->usual,
                  number->text, dimension->si);
}

static enum sand_rc apply_unit(struct number *number, const char *unit,
                               const struct sand_dimension *dimension, struct why why)
{
    if (*unit == ' ')
        unit++;
    if (*unit == '\0' && dimension->usual[0] == '\0')
        return SAND_OK;
    if (*unit == '\0')
        return refuse_bare(number, dimension, why);
    const struct sand_unit *row = find_unit(dimension, unit);
    if (!row)
        return refuse_unit(number, unit, dimension, why);
    double value = parse_scaled(number->text, row->exponent) * row->times / row->per;
    if (!isfinite(value))
        return refuse(why, "is too large for %s", dimension->name);
    number->value = value;
    return SAND_OK;
}

// ---- ratios
// ---------------------------------------------------------------------------------------

static enum sand_rc parse_ratio(const char *text, struct number *number, struct why why)
{
    const struct sand_dimension *dimension = sand_dimension(SAND_DIM_RATIO);
    const char *rest;
    SAND_TRY(read_number(text, number, &rest, dimension, why));
    struct number up = {.text = "1", .value = 1.0};
    if (*rest == ':')
        SAND_TRY(read_number(rest + 1, &up, &rest, dimension, why));
    if (*rest != '\0')
        return refuse(why, "has \"%s\" after the ratio; write it like \"7:1\", \"7\" or \"0.5\"",
                      rest);
    if (!(number->value > 0.0) || !(up.value > 0.0))
        return refuse(why, "is no ratio of two numbers above zero; write it like \"7:1\"");
    double ratio = number->value / up.value;
    if (strchr(text, ':') && ratio < 1.0)
        return refuse(why,
                      "is up:down, but a ratio is down:up; did you mean \"%s:%s\", or \"%.4g\"?",
                      up.text, number->text, ratio);
    if (!isfinite(ratio))
        return refuse(why, "is too large for a ratio");
    number->value = ratio;
    return SAND_OK;
}

// ---- the whole
// ------------------------------------------------------------------------------------

static enum sand_rc check_range(const struct number *number, enum sand_dim dim, struct why why)
{
    const struct sand_dimension *dimension = sand_dimension(dim);
    double value = number->value;
    if (dim != SAND_DIM_NUMBER && value < 0.0)
        return refuse(why, "is negative; %s is at least 0", dimension->name);
    if (dim == SAND_DIM_COUNT && (value != floor(value) || value > 0x1p53))
        return refuse(why, "is no whole number up to 2^53; write it like \"%s\"",
                      dimension->example);
    if (dim == SAND_DIM_FRACTION && value > 1.0)
        return refuse(why, "is more than 1; did you mean \"%s%%\"?", number->text);
    return SAND_OK;
}

enum sand_rc sand_quantity_parse(const char *text, enum sand_dim dim, double *value, char *why,
                                 size_t why_size)
{
    const struct sand_dimension *dimension = sand_dimension(dim);
    struct why reason = {why, why_size};
    struct number number = {.value = 0.0};
    const char *unit;
    if (dim == SAND_DIM_RATIO) {
        SAND_TRY(parse_ratio(text, &number, reason));
    } else {
        SAND_TRY(read_number(text, &number, &unit, dimension, reason));
        SAND_TRY(apply_unit(&number, unit, dimension, reason));
    }
    SAND_TRY(check_range(&number, dim, reason));
    *value = number.value + 0.0; // no negative zero
    return SAND_OK;
}

int64_t sand_ns_from_s(double seconds)
{
    if (!(seconds > 0.0))
        return 0;
    double ns = round(seconds * (double)SAND_NS_PER_S);
    return ns >= 0x1p63 ? INT64_MAX : (int64_t)ns;
}
