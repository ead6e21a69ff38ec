// Quantities to text.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dimension.h"

// snprintf and strtod with a decimal point whatever the locale of the process is.
static locale_t enter_c_locale(locale_t *c)
{
    *c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return *c ? uselocale(*c) : (locale_t)0;
}

static void leave_c_locale(locale_t c, locale_t before)
{
    if (!c)
        return;
    uselocale(before);
    freelocale(c);
}

// `value` rounded to `digits` significant digits, so that 999.96 s with 4 digits counts as 1000 s.
static double round_digits(double value, int digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    return strtod(text, NULL);
}

static double in_unit(double value, const struct sand_unit *unit)
{
    double power = pow(10.0, abs(unit->exponent)); // exact up to 1e22
    double scaled = unit->exponent < 0 ? value * power : value / power;
    return scaled * unit->per / unit->times;
}

// The largest printed unit that leaves at least 1, or the smallest one.
static const struct sand_unit *choose_unit(const struct sand_dimension *dimension, double value,
                                           int digits)
{
    const struct sand_unit *chosen = NULL;
    for (size_t i = 0; i < dimension->n_rows; i++) {
        const struct sand_unit *row = &dimension->rows[i];
        if (row->printed && (!chosen || fabs(round_digits(in_unit(value, row), digits)) >= 1.0))
            chosen = row;
    }
    return chosen;
}

// %g, but without an exponent for what has at most 15 digits before the point.
static void print_digits(double value, int digits, char *buffer, size_t size)
{
    if (fabs(value) >= pow(10.0, digits) && fabs(value) < 1e15)
        snprintf(buffer, size, "%.0f", value);
    else
        snprintf(buffer, size, "%.*g", digits, value);
}

static void print_plain(double value, enum sand_dim dim, int digits, char *buffer, size_t size)
{
    char number[64];
    double shown = dim == SAND_DIM_COUNT ? value : round_digits(value, digits);
    print_digits(shown, dim == SAND_DIM_COUNT ? 17 : digits, number, sizeof number);
    const char *tail = dim == SAND_DIM_RATIO && value >= 1.0 ? ":1" : "";
    snprintf(buffer, size, "%s%s", number, tail);
}

static void print_with_unit(double value, const struct sand_dimension *dimension, int digits,
                            char *buffer, size_t size)
{
    char number[64];
    // Zero in the SI unit: "0 s", not "0 d".
    const struct sand_unit *unit = choose_unit(dimension, value, digits);
    const char *name = value == 0.0 && dimension->si[0] ? dimension->si : unit->name;
    print_digits(in_unit(value, unit), digits, number, sizeof number);
    const char *gap = name[0] == '/' || name[0] == '%' ? "" : " ";
    snprintf(buffer, size, "%s%s%s", number, gap, name);
}

char *sand_quantity_format(double value, enum sand_dim dim, int digits, char *buffer, size_t size)
{
    const struct sand_dimension *dimension = sand_dimension(dim);
    int shown = digits < 1 ? 1 : digits > 17 ? 17 : digits;
    locale_t c, before = enter_c_locale(&c);
    if (isnan(value))
        snprintf(buffer, size, "-");
    else if (isinf(value))
        snprintf(buffer, size, "%s", value > 0.0 ? "infinite" : "-infinite");
    else if (dimension->n_rows == 0)
        print_plain(value, dim, shown, buffer, size);
    else
        print_with_unit(value, dimension, shown, buffer, size);
    leave_c_locale(c, before);
    return buffer;
}

char *sand_quantity_canonical(double value, enum sand_dim dim, char *buffer, size_t size)
{
    locale_t c, before = enter_c_locale(&c);
    char number[64] = "";
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value)
            break;
    }
    snprintf(buffer, size, "%s%s", number, sand_dimension(dim)->si);
    leave_c_locale(c, before);
    return buffer;
}
