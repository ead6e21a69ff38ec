// Quantities with units: one table of dimensions and units for parsing and printing.
// Inside the program everything is SI (s, B, B/s, FLOP/s, W, 1/s, m); dates are int64 nanoseconds.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_UNITS_H
#define SAND_SIM_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"

enum sand_dim {
    SAND_DIM_NUMBER,    // plain number, no unit
    SAND_DIM_COUNT,     // whole number >= 0, no unit
    SAND_DIM_FRACTION,  // 0..1, or a percentage: "41%"
    SAND_DIM_RATIO,     // down/up: "7:1", "7"; below 1 only as a number, "0.5"; "1:7" is refused
    SAND_DIM_TIME,      // ns us ms s min h d
    SAND_DIM_BYTES,     // B kB MB GB TB PB, KiB MiB GiB TiB
    SAND_DIM_BANDWIDTH, // B/s kB/s ... (also Bps, GBps), bit rates Gbps Mbps, GiB/s
    SAND_DIM_FLOPS,     // FLOPS GFLOPS TFLOPS PFLOPS
    SAND_DIM_POWER,     // W kW MW
    SAND_DIM_RATE,      // events per time: "4e-3/d", "2.0e-5/h", "1/s"
    SAND_DIM_LENGTH     // m km
};

// Parses `text` as a quantity of dimension `dim` into SI. Numbers are C-locale decimals with an
// optional exponent; inf, nan and hex are refused; one space before the unit is allowed. On failure
// returns SAND_ERR_INPUT, leaves *value unchanged and writes into `why` a clause that completes
// 'attribute "x" is "400": ...', e.g. `has no unit; write "400Gbps"`. O(length).
enum sand_rc sand_quantity_parse(const char *text, enum sand_dim dim, double *value, char *why,
                                 size_t why_size);

// Writes a value in the largest unit that leaves at least 1 ("10.2 kW", "2.78 h"), with `digits`
// significant digits; C locale. Returns buffer.
char *sand_quantity_format(double value, enum sand_dim dim, int digits, char *buffer, size_t size);

// The text of an exact round trip for the canonical spec: "%.17g" shortened, plus the SI unit.
char *sand_quantity_canonical(double value, enum sand_dim dim, char *buffer, size_t size);

// Name for messages ("a time", "a bandwidth") and an example ("10min", "400Gbps").
const char *sand_dim_name(enum sand_dim dim);
const char *sand_dim_example(enum sand_dim dim);

// The units accepted for `dim`, space-separated, for format pages. "" for plain numbers.
const char *sand_dim_units(enum sand_dim dim);

#define SAND_NS_PER_S 1000000000

// Nearest nanosecond; saturates at INT64_MAX (about 292 years). Negative and NaN give 0.
int64_t sand_ns_from_s(double seconds);
static inline double sand_s_from_ns(int64_t ns)
{
    return (double)ns / (double)SAND_NS_PER_S;
}

#endif
