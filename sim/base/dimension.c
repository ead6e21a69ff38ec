// The units of every dimension.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "dimension.h"

// U(name, exponent, times, per, printed)
#define TIME_UNITS(U)                                                                              \
    U("ns", -9, 1, 1, 1)                                                                           \
    U("us", -6, 1, 1, 1)                                                                           \
    U("ms", -3, 1, 1, 1)                                                                           \
    U("s", 0, 1, 1, 1)                                                                             \
    U("min", 0, 60, 1, 1)                                                                          \
    U("h", 0, 3600, 1, 1)                                                                          \
    U("d", 0, 86400, 1, 1)
#define BYTE_UNITS(U)                                                                              \
    U("B", 0, 1, 1, 1)                                                                             \
    U("kB", 3, 1, 1, 1)                                                                            \
    U("MB", 6, 1, 1, 1)                                                                            \
    U("GB", 9, 1, 1, 1)                                                                            \
    U("TB", 12, 1, 1, 1)                                                                           \
    U("PB", 15, 1, 1, 1)                                                                           \
    U("KiB", 0, 1024, 1, 0)                                                                        \
    U("MiB", 0, 0x1p20, 1, 0)                                                                      \
    U("GiB", 0, 0x1p30, 1, 0)                                                                      \
    U("TiB", 0, 0x1p40, 1, 0)
#define BANDWIDTH_UNITS(U)                                                                         \
    U("B/s", 0, 1, 1, 1)                                                                           \
    U("kB/s", 3, 1, 1, 1)                                                                          \
    U("MB/s", 6, 1, 1, 1)                                                                          \
    U("GB/s", 9, 1, 1, 1)                                                                          \
    U("TB/s", 12, 1, 1, 1)                                                                         \
    U("PB/s", 15, 1, 1, 1)                                                                         \
    U("Bps", 0, 1, 1, 0)                                                                           \
    U("kBps", 3, 1, 1, 0)                                                                          \
    U("MBps", 6, 1, 1, 0)                                                                          \
    U("GBps", 9, 1, 1, 0)                                                                          \
    U("TBps", 12, 1, 1, 0)                                                                         \
    U("KiB/s", 0, 1024, 1, 0)                                                                      \
    U("MiB/s", 0, 0x1p20, 1, 0)                                                                    \
    U("GiB/s", 0, 0x1p30, 1, 0)                                                                    \
    U("TiB/s", 0, 0x1p40, 1, 0)                                                                    \
    U("bps", 0, 1, 8, 0)                                                                           \
    U("kbps", 3, 1, 8, 0)                                                                          \
    U("Mbps", 6, 1, 8, 0)                                                                          \
    U("Gbps", 9, 1, 8, 0)                                                                          \
    U("Tbps", 12, 1, 8, 0)                                                                         \
    U("b/s", 0, 1, 8, 0)                                                                           \
    U("kb/s", 3, 1, 8, 0)                                                                          \
    U("Mb/s", 6, 1, 8, 0)                                                                          \
    U("Gb/s", 9, 1, 8, 0)                                                                          \
    U("Tb/s", 12, 1, 8, 0)
#define FLOPS_UNITS(U)                                                                             \
    U("FLOPS", 0, 1, 1, 1)                                                                         \
    U("MFLOPS", 6, 1, 1, 1)                                                                        \
    U("GFLOPS", 9, 1, 1, 1)                                                                        \
    U("TFLOPS", 12, 1, 1, 1)                                                                       \
    U("PFLOPS", 15, 1, 1, 1)                                                                       \
    U("EFLOPS", 18, 1, 1, 1)
#define POWER_UNITS(U)                                                                             \
    U("W", 0, 1, 1, 1)                                                                             \
    U("kW", 3, 1, 1, 1)                                                                            \
    U("MW", 6, 1, 1, 1)
#define RATE_UNITS(U)                                                                              \
    U("/d", 0, 1, 86400, 1)                                                                        \
    U("/h", 0, 1, 3600, 1)                                                                         \
    U("/min", 0, 1, 60, 1)                                                                         \
    U("/s", 0, 1, 1, 1)
#define LENGTH_UNITS(U)                                                                            \
    U("m", 0, 1, 1, 1)                                                                             \
    U("km", 3, 1, 1, 1)
#define FRACTION_UNITS(U) U("%", -2, 1, 1, 1)

#define ROW(name, exponent, times, per, printed) {name, exponent, times, per, printed},
#define JOIN(name, exponent, times, per, printed) " " name

static const struct sand_unit time_rows[] = {TIME_UNITS(ROW)};
static const struct sand_unit byte_rows[] = {BYTE_UNITS(ROW)};
static const struct sand_unit bandwidth_rows[] = {BANDWIDTH_UNITS(ROW)};
static const struct sand_unit flops_rows[] = {FLOPS_UNITS(ROW)};
static const struct sand_unit power_rows[] = {POWER_UNITS(ROW)};
static const struct sand_unit rate_rows[] = {RATE_UNITS(ROW)};
static const struct sand_unit length_rows[] = {LENGTH_UNITS(ROW)};
static const struct sand_unit fraction_rows[] = {FRACTION_UNITS(ROW)};

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define UNITS(list, rows) &(list(JOIN))[1], rows, COUNT(rows)

static const struct sand_dimension dimensions[] = {
    [SAND_DIM_NUMBER] = {"a number", "0.5", "", "", "", NULL, 0},
    [SAND_DIM_COUNT] = {"a whole number", "8", "", "", "", NULL, 0},
    [SAND_DIM_FRACTION] = {"a fraction", "41%", "", "", UNITS(FRACTION_UNITS, fraction_rows)},
    [SAND_DIM_RATIO] = {"a ratio", "7:1", "", "", "", NULL, 0},
    [SAND_DIM_TIME] = {"a time", "10min", "s", "s", UNITS(TIME_UNITS, time_rows)},
    [SAND_DIM_BYTES] = {"an amount of bytes", "80GB", "GB", "B", UNITS(BYTE_UNITS, byte_rows)},
    [SAND_DIM_BANDWIDTH] = {"a bandwidth", "400Gbps", "Gbps", "B/s",
                            UNITS(BANDWIDTH_UNITS, bandwidth_rows)},
    [SAND_DIM_FLOPS] = {"a FLOP rate", "989TFLOPS", "TFLOPS", "FLOPS",
                        UNITS(FLOPS_UNITS, flops_rows)},
    [SAND_DIM_POWER] = {"a power", "700W", "W", "W", UNITS(POWER_UNITS, power_rows)},
    [SAND_DIM_RATE] = {"a rate of events", "2.0e-5/h", "/h", "/s", UNITS(RATE_UNITS, rate_rows)},
    [SAND_DIM_LENGTH] = {"a length", "30m", "m", "m", UNITS(LENGTH_UNITS, length_rows)},
};

const struct sand_dimension *sand_dimension(enum sand_dim dim)
{
    size_t index = (size_t)dim;
    return &dimensions[index < COUNT(dimensions) ? index : SAND_DIM_NUMBER];
}

const char *sand_dim_name(enum sand_dim dim)
{
    return sand_dimension(dim)->name;
}

const char *sand_dim_example(enum sand_dim dim)
{
    return sand_dimension(dim)->example;
}

const char *sand_dim_units(enum sand_dim dim)
{
    return sand_dimension(dim)->units;
}
