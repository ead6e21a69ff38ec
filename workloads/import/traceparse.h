// Numbers, times and dates of traces, exact and without a locale (private to workloads/import).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_IMPORT_TRACEPARSE_H
#define SAND_WORKLOADS_IMPORT_TRACEPARSE_H

#include <stdint.h>

#define TRACE_UNKNOWN INT64_MIN

// A unit as times * 10^exponent nanoseconds (of a size: thousand-millionths).
struct trace_unit {
    const char *name;
    int64_t times;
    int exponent;
    int date; // a civil date instead of a number
};

// The unit of a time or of a size; NULL if there is none of that name.
const struct trace_unit *trace_time_unit(const char *name);
const struct trace_unit *trace_size_unit(const char *name);

// Reads the whole of `text` as a decimal number, an exponent allowed, in units of 1e-9 (the
// nearest; halves away from zero). 0 if it is no number or its value does not fit; *value is then
// unchanged.
int trace_number(const char *text, const struct trace_unit *unit, int64_t *value);

// Whether `text` is a decimal number of any size.
int trace_is_number(const char *text);

// Reads "YYYY-MM-DD[ HH:MM[:SS[.digits]]][Z|+HH:MM|-HH:MM]" as nanoseconds since 1970, UTC; 'T' and
// '/' are fine too. A date without a zone is `utc_offset_s` east of Greenwich.
int trace_date(const char *text, int32_t utc_offset_s, int64_t *value);

#endif
