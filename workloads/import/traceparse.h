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
    enum trace_notation { TRACE_AS_NUMBER, TRACE_AS_DATE, TRACE_AS_CLOCK, TRACE_AS_TRES } notation;
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

// Slurm's times: "[D-]HH:MM:SS[.digits]", "D-HH[:MM]" and "MM:SS", as nanoseconds.
int trace_clock(const char *text, int64_t *value);

// The amount of a resource in "billing=8,cpu=64,gres/gpu=8,gres/gpu:h100=8", in units of 1e-9: of
// `key` itself, else of all its types, else 0. 0 is returned if `text` is no such list.
int trace_tres(const char *text, const char *key, int64_t *value);

// Whether a field says that its value is not known, or has no bound: "", "Unknown", "UNLIMITED" ...
int trace_is_unknown(const char *text);

#endif
