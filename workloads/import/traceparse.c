// Decimal text to integers, so that no time passes through a rounded double.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "traceparse.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

static const struct trace_unit time_units[] = {
    {"s", 1, 9, TRACE_AS_NUMBER},    {"ms", 1, 6, TRACE_AS_NUMBER},
    {"us", 1, 3, TRACE_AS_NUMBER},   {"ns", 1, 0, TRACE_AS_NUMBER},
    {"min", 6, 10, TRACE_AS_NUMBER}, {"h", 36, 11, TRACE_AS_NUMBER},
    {"d", 864, 11, TRACE_AS_NUMBER}, {"date", 1, 9, TRACE_AS_DATE},
    {"clock", 1, 9, TRACE_AS_CLOCK}};
static const struct trace_unit size_units[] = {
    {"1", 1, 9, TRACE_AS_NUMBER}, {"milli", 1, 6, TRACE_AS_NUMBER}, {"tres", 1, 9, TRACE_AS_TRES}};

static const struct trace_unit *find_unit(const struct trace_unit *units, size_t n,
                                          const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    return NULL;
}

const struct trace_unit *trace_time_unit(const char *name)
{
    return find_unit(time_units, sizeof time_units / sizeof time_units[0], name);
}

const struct trace_unit *trace_size_unit(const char *name)
{
    return find_unit(size_units, sizeof size_units / sizeof size_units[0], name);
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

struct decimal {
    int64_t digits;
    int exponent, n_digits, after_point, full;
};

// Digits that no longer fit only count as a place: they are below 1e-18 of the value.
static const char *read_digits(const char *p, struct decimal *d)
{
    for (; is_digit(*p); p++) {
        int64_t next;
        d->n_digits++;
        if (!d->full && !__builtin_mul_overflow(d->digits, 10, &next) &&
            !__builtin_add_overflow(next, *p - '0', &next)) {
            d->digits = next;
            d->exponent -= d->after_point;
        } else {
            d->full = 1;
            d->exponent += !d->after_point;
        }
    }
    return p;
}

static const char *read_exponent(const char *p, struct decimal *d)
{
    int value = 0, negative = p[1] == '-';
    p += p[1] == '-' || p[1] == '+' ? 2 : 1;
    if (!is_digit(*p))
        return NULL;
    for (; is_digit(*p); p++)
        if (value < 1000)
            value = value * 10 + (*p - '0');
    d->exponent += negative ? -value : value;
    return p;
}

static int read_decimal(const char *p, struct decimal *d)
{
    p = read_digits(p, d);
    if (*p == '.') {
        d->after_point = 1;
        p = read_digits(p + 1, d);
    }
    if (d->n_digits == 0)
        return 0;
    if (*p == 'e' || *p == 'E')
        p = read_exponent(p, d);
    return p && *p == '\0';
}

// digits * 10^exponent to the nearest integer; 0 if it does not fit.
static int scale(int64_t *digits, int exponent)
{
    for (; exponent > 0 && *digits != 0; exponent--)
        if (__builtin_mul_overflow(*digits, 10, digits))
            return 0;
    for (; exponent < -1 && *digits != 0; exponent++)
        *digits /= 10;
    if (exponent == -1)
        *digits = (*digits + 5) / 10;
    return 1;
}

int trace_is_number(const char *text)
{
    struct decimal d = {0};
    return read_decimal(text + (*text == '-' || *text == '+'), &d);
}

int trace_number(const char *text, const struct trace_unit *unit, int64_t *value)
{
    struct decimal d = {0};
    int negative = *text == '-';
    if (!read_decimal(text + (*text == '-' || *text == '+'), &d))
        return 0;
    for (; d.digits > INT64_MAX / unit->times; d.exponent++)
        d.digits /= 10;
    d.digits *= unit->times;
    if (!scale(&d.digits, d.exponent + unit->exponent))
        return 0;
    *value = negative ? -d.digits : d.digits;
    return 1;
}

// ---- dates
// ---------------------------------------------------------------------------------------

// Exactly `n` digits; NULL if there are fewer or the value is above `max`.
static const char *read_part(const char *p, int n, int max, int *value)
{
    *value = 0;
    for (int i = 0; i < n; i++, p++) {
        if (!is_digit(*p))
            return NULL;
        *value = *value * 10 + (*p - '0');
    }
    return *value <= max ? p : NULL;
}

static const char *read_day(const char *p, struct tm *tm)
{
    if (!(p = read_part(p, 4, 9999, &tm->tm_year)) || (*p != '-' && *p != '/'))
        return NULL;
    char separator = *p;
    if (!(p = read_part(p + 1, 2, 12, &tm->tm_mon)) || *p != separator)
        return NULL;
    p = read_part(p + 1, 2, 31, &tm->tm_mday);
    tm->tm_year -= 1900;
    tm->tm_mon -= 1;
    return p;
}

static const char *read_fraction(const char *p, int64_t *nanoseconds)
{
    int64_t place = 100000000;
    if (!is_digit(p[1]))
        return NULL;
    for (p++; is_digit(*p); p++, place /= 10)
        *nanoseconds += (*p - '0') * place;
    return p;
}

static const char *read_clock(const char *p, struct tm *tm, int64_t *nanoseconds)
{
    if (!(p = read_part(p + 1, 2, 23, &tm->tm_hour)) || *p != ':' ||
        !(p = read_part(p + 1, 2, 59, &tm->tm_min)))
        return NULL;
    if (*p == ':')
        p = read_part(p + 1, 2, 60, &tm->tm_sec); // 60: a leap second
    return p && *p == '.' ? read_fraction(p, nanoseconds) : p;
}

static const char *read_zone(const char *p, int32_t *offset_s)
{
    int hours, minutes;
    if (*p == 'Z') {
        *offset_s = 0;
        return p + 1;
    }
    if (*p != '+' && *p != '-')
        return p;
    int sign = *p == '-' ? -1 : 1;
    if (!(p = read_part(p + 1, 2, 14, &hours)))
        return NULL;
    if (!(p = read_part(p + (*p == ':'), 2, 59, &minutes)))
        return NULL;
    *offset_s = sign * (hours * 3600 + minutes * 60);
    return p;
}

static int days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month] + (month == 1 && leap);
}

int trace_date(const char *text, int32_t utc_offset_s, int64_t *value)
{
    struct tm tm = {0};
    int64_t nanoseconds = 0;
    const char *p = read_day(text, &tm);
    if (p && (*p == ' ' || *p == 'T'))
        p = read_clock(p, &tm, &nanoseconds);
    if (p)
        p = read_zone(p, &utc_offset_s);
    int month = tm.tm_mon, day = tm.tm_mday;
    if (!p || *p != '\0' || month < 0 || day < 1)
        return 0;
    if (day > days_of(tm.tm_year + 1900, month))
        return 0;
    int64_t seconds = timegm(&tm); // reads neither zone nor locale
    if (__builtin_mul_overflow(seconds - utc_offset_s, 1000000000, &seconds))
        return 0;
    return !__builtin_add_overflow(seconds, nanoseconds, value);
}
