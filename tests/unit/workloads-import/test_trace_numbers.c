// Numbers and dates of traces are exact, whatever the locale, and nothing else passes for one.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "traceparse.h"

Test(trace_numbers, exact_decimals)
{
    const struct {
        const char *text, *unit;
        int64_t value;
    } cases[] = {{"0", "s", 0},
                 {"1", "s", 1000000000},
                 {"-1.5", "s", -1500000000},
                 {"0.1", "s", 100000000},
                 {"66.0", "s", 66000000000},
                 {"1356996147.123456789", "s", 1356996147123456789},
                 {"9223372036.854775807", "s", INT64_MAX},
                 {".5", "s", 500000000},
                 {"5.", "s", 5000000000},
                 {"1.2e3", "s", 1200000000000},
                 {"12E-1", "s", 1200000000},
                 {"0e999", "s", 0},
                 {"1e-300", "s", 0},
                 {"0.0000000004", "s", 0},
                 {"0.0000000005", "s", 1},
                 {"0.00000000149999999999999999999999", "s", 1},
                 {"-0.0000000005", "s", -1},
                 {"1.5", "ms", 1500000},
                 {"3", "us", 3000},
                 {"7", "ns", 7},
                 {"0.5", "min", 30000000000},
                 {"1.25", "h", 4500000000000},
                 {"2", "d", 172800000000000},
                 {"0.123456789012345678", "d", 10666666570667}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = -7;
        cr_assert(trace_number(cases[i].text, trace_time_unit(cases[i].unit), &value), "%s",
                  cases[i].text);
        cr_assert_eq(value, cases[i].value, "%s %s is %lld", cases[i].text, cases[i].unit,
                     (long long)value);
    }
    int64_t milli;
    cr_assert(trace_number("460", trace_size_unit("milli"), &milli) && milli == 460000000);
    cr_assert_null(trace_time_unit("fortnight"));
    cr_assert_null(trace_size_unit("s"));
}

Test(trace_numbers, no_numbers)
{
    const char *const texts[] = {
        "",     "-",     ".",   "1,5",          "1 ",   " 1",
        "0x10", "inf",   "nan", "1e",           "1e+",  "--1",
        "+-1",  "1.2.3", "e5",  "9223372036.9", "1e10", "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t value = -7;
        cr_assert_not(trace_number(texts[i], trace_time_unit("s"), &value), "%s", texts[i]);
        cr_assert_eq(value, -7);
    }
}

Test(trace_numbers, dates)
{
    const struct {
        const char *text;
        int64_t seconds, nanoseconds;
    } cases[] = {{"1970-01-01 00:00:00", 0, 0},
                 {"1969-12-31 23:59:59", -1, 0},
                 {"2017-10-09 07:01:55", 1507532515, 0},
                 {"2000-02-29", 951782400, 0},
                 {"2024/02/29T12:30", 1709209800, 0},
                 {"2024-02-29T12:30:00.000000001Z", 1709209800, 1},
                 {"2024-02-29 12:30:00.25+08:00", 1709181000, 250000000},
                 {"2024-02-29T12:30:00-0130", 1709215200, 0},
                 {"2016-12-31 23:59:60", 1483228800, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = -7;
        cr_assert(trace_date(cases[i].text, 0, &value), "%s", cases[i].text);
        cr_assert_eq(value, cases[i].seconds * 1000000000 + cases[i].nanoseconds, "%s",
                     cases[i].text);
    }
}

Test(trace_numbers, no_dates)
{
    const char *const texts[] = {"",
                                 "2023-02-29",
                                 "1900-02-29",
                                 "2024-13-01",
                                 "2024-00-01",
                                 "2024-01-00",
                                 "2024-01-32",
                                 "2024-04-31",
                                 "2024-1-1",
                                 "2024-01/01",
                                 "24-01-01",
                                 "2024-01-01 24:00:00",
                                 "2024-01-01 00:60",
                                 "2024-01-01 00:00:61",
                                 "2024-01-01 00:00:00.",
                                 "2024-01-01 00:00:00 x",
                                 "2024-01-01Tx",
                                 "1507532515",
                                 "2024-01-01+15:00",
                                 "9999-12-31"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t value = -7;
        cr_assert_not(trace_date(texts[i], 0, &value), "%s", texts[i]);
    }
}

Test(trace_numbers, clocks)
{
    const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"00:00:00", 0},           {"2-03:04:05", 183845000000000},   {"26:00:00", 93600000000000},
        {"1-00", 86400000000000},  {"1-00:30", 88200000000000},       {"05:07", 307000000000},
        {"05:07.5", 307500000000}, {"00:00:01.000000001", 1000000001}};
    static const char *const wrong[] = {"",
                                        "90",
                                        "1:2:3:4",
                                        "-1:00:00",
                                        "1-",
                                        "1-2-3:00",
                                        "1::2",
                                        "01:02.",
                                        "1-00:30.5",
                                        "UNLIMITED",
                                        "1:00 ",
                                        "999999999-00:00:00",
                                        "1234567890:00"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = -7;
        cr_assert(trace_clock(cases[i].text, &value), "%s", cases[i].text);
        cr_assert_eq(value, cases[i].value, "%s is %lld", cases[i].text, (long long)value);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int64_t value = -7;
        cr_assert_not(trace_clock(wrong[i], &value), "%s", wrong[i]);
        cr_assert_eq(value, -7);
    }
}

Test(trace_numbers, resources)
{
    const struct {
        const char *text, *key;
        int64_t value; // -1: no list of resources
    } cases[] = {{"billing=8,cpu=64,gres/gpu=8,gres/gpu:h100=8,mem=1T,node=2", "gres/gpu", 8},
                 {"cpu=8,gres/gpu:a100=3,gres/gpu:h100=1", "gres/gpu", 4},
                 {"cpu=8,mem=64G,node=1", "gres/gpu", 0},
                 {"cpu=8,node=12", "node", 12},
                 {"cpu=8,gres/gpumem=80G", "gres/gpu", 0},
                 {"cpu=8,gres/gpu=", "gres/gpu", -1},
                 {"cpu=8,gres/gpu=x", "gres/gpu", -1},
                 {"gpu:8", "gres/gpu", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = -7;
        const int is_read = trace_tres(cases[i].text, cases[i].key, &value);
        cr_assert_eq(is_read, cases[i].value >= 0, "%s", cases[i].text);
        cr_assert_eq(value, is_read ? cases[i].value * 1000000000 : -7, "%s", cases[i].text);
    }
    cr_assert(trace_is_unknown("Unknown") && trace_is_unknown("") && !trace_is_unknown("0"));
}
