// Units: what is accepted, to which SI value, and what a refusal says.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rng.h"
#include "units.h"

struct accepted {
    const char *text;
    enum sand_dim dim;
    double value;
};

Test(units, accepted_quantities_are_exact_in_si)
{
    static const struct accepted cases[] = {
        {"0.5", SAND_DIM_NUMBER, 0.5},
        {"-1e3", SAND_DIM_NUMBER, -1000.0},
        {"+.5", SAND_DIM_NUMBER, 0.5},
        {"7.", SAND_DIM_NUMBER, 7.0},
        {"3072", SAND_DIM_COUNT, 3072.0},
        {"0", SAND_DIM_COUNT, 0.0},
        {"1e3", SAND_DIM_COUNT, 1000.0},
        {"0.41", SAND_DIM_FRACTION, 0.41},
        {"41%", SAND_DIM_FRACTION, 0.41},
        {"100 %", SAND_DIM_FRACTION, 1.0},
        {"7:1", SAND_DIM_RATIO, 7.0},
        {"7", SAND_DIM_RATIO, 7.0},
        {"7:2", SAND_DIM_RATIO, 3.5},
        {"0.5", SAND_DIM_RATIO, 0.5},
        {"1:1", SAND_DIM_RATIO, 1.0},
        {"10min", SAND_DIM_TIME, 600.0},
        {"54d", SAND_DIM_TIME, 54.0 * 86400.0},
        {"8.4us", SAND_DIM_TIME, 8.4e-6},
        {"3.4 us", SAND_DIM_TIME, 3.4e-6},
        {"250ns", SAND_DIM_TIME, 250e-9},
        {"1.5h", SAND_DIM_TIME, 5400.0},
        {"80GB", SAND_DIM_BYTES, 80e9},
        {"80GiB", SAND_DIM_BYTES, 80.0 * 1073741824.0},
        {"13B", SAND_DIM_BYTES, 13.0},
        {"400Gbps", SAND_DIM_BANDWIDTH, 50e9},
        {"400Gb/s", SAND_DIM_BANDWIDTH, 50e9},
        {"50GB/s", SAND_DIM_BANDWIDTH, 50e9},
        {"50GBps", SAND_DIM_BANDWIDTH, 50e9},
        {"3.35TB/s", SAND_DIM_BANDWIDTH, 3.35e12},
        {"1GiB/s", SAND_DIM_BANDWIDTH, 1073741824.0},
        {"989TFLOPS", SAND_DIM_FLOPS, 989e12},
        {"1EFLOPS", SAND_DIM_FLOPS, 1e18},
        {"10.2kW", SAND_DIM_POWER, 10200.0},
        {"5.57e-5/h", SAND_DIM_RATE, 5.57e-5 / 3600.0},
        {"4e-3/d", SAND_DIM_RATE, 4e-3 / 86400.0},
        {"1/s", SAND_DIM_RATE, 1.0},
        {"2km", SAND_DIM_LENGTH, 2000.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = NAN;
        char why[200] = "";
        enum sand_rc rc = sand_quantity_parse(cases[i].text, cases[i].dim, &value, why, sizeof why);
        cr_assert(rc == SAND_OK, "\"%s\" was refused: %s", cases[i].text, why);
        cr_assert(value == cases[i].value, "\"%s\" is %.17g, not %.17g", cases[i].text, value,
                  cases[i].value);
    }
}

struct refused {
    const char *text;
    enum sand_dim dim;
    const char *why; // must occur in the reason
};

Test(units, refusals_name_the_way_out_and_leave_the_value)
{
    static const struct refused cases[] = {
        {"400", SAND_DIM_BANDWIDTH, "has no unit; write \"400Gbps\""},
        {"400gbps", SAND_DIM_BANDWIDTH, "did you mean \"400GBps\" (bytes) or \"400Gbps\" (bits)?"},
        {"400Gbp", SAND_DIM_BANDWIDTH, "did you mean \"400Gbps\"?"},
        {"400Gb", SAND_DIM_BANDWIDTH, "unknown unit \"Gb\""},
        {"80Gb", SAND_DIM_BYTES, "did you mean \"80GB\"?"},
        {"80gb", SAND_DIM_BYTES, "did you mean \"80GB\"?"},
        {"10min", SAND_DIM_BANDWIDTH, "is a time, but a bandwidth is needed"},
        {"10m", SAND_DIM_TIME, "is a length, but a time is needed"},
        {"10 minutes", SAND_DIM_TIME, "is written in ns us ms s min h d"},
        {"10  min", SAND_DIM_TIME, "unknown unit"},
        {"10min ", SAND_DIM_TIME, "did you mean \"10min\"?"},
        {" 10min", SAND_DIM_TIME, "is not a time"},
        {"inf", SAND_DIM_NUMBER, "is not a number"},
        {"nan", SAND_DIM_NUMBER, "is not a number"},
        {"0x10", SAND_DIM_NUMBER, "has a unit, \"x10\""},
        {"1e999", SAND_DIM_NUMBER, "too large"},
        {"1e308PB", SAND_DIM_BYTES, "too large"},
        {"", SAND_DIM_TIME, "is not a time; write it like \"10min\""},
        {".", SAND_DIM_NUMBER, "is not a number"},
        {"1,5", SAND_DIM_NUMBER, "has a unit"},
        {"-1s", SAND_DIM_TIME, "is negative"},
        {"1.5", SAND_DIM_COUNT, "no whole number"},
        {"-1", SAND_DIM_COUNT, "is negative"},
        {"41", SAND_DIM_FRACTION, "did you mean \"41%\"?"},
        {"1:7", SAND_DIM_RATIO, "did you mean \"7:1\", or \"0.1429\"?"},
        {"0", SAND_DIM_RATIO, "above zero"},
        {"7:0", SAND_DIM_RATIO, "above zero"},
        {"7:", SAND_DIM_RATIO, "is not a ratio"},
        {"7:1x", SAND_DIM_RATIO, "after the ratio"},
        {"8", SAND_DIM_BYTES, "has no unit; write \"8GB\" or \"8B\""},
        {"3", SAND_DIM_TIME, "has no unit; write \"3s\""},
        {"3", SAND_DIM_RATE, "has no unit; write \"3/h\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = 12345.0;
        char why[200] = "";
        enum sand_rc rc = sand_quantity_parse(cases[i].text, cases[i].dim, &value, why, sizeof why);
        cr_assert(rc == SAND_ERR_INPUT, "\"%s\" was accepted", cases[i].text);
        cr_assert(strstr(why, cases[i].why) != NULL, "\"%s\": %s", cases[i].text, why);
        cr_assert(value == 12345.0);
    }
}

Test(units, a_refusal_fits_any_buffer)
{
    double value;
    char why[8] = "1234567";
    cr_assert_eq(sand_quantity_parse("400", SAND_DIM_BANDWIDTH, &value, why, 4), SAND_ERR_INPUT);
    cr_assert_str_eq(why, "has");
    cr_assert_eq(why[4], '5');
    cr_assert_eq(sand_quantity_parse("400", SAND_DIM_BANDWIDTH, &value, NULL, 0), SAND_ERR_INPUT);
}

struct formatted {
    double value;
    enum sand_dim dim;
    int digits;
    const char *text;
};

Test(units, formatting_takes_the_largest_unit_that_leaves_one)
{
    static const struct formatted cases[] = {
        {10200.0, SAND_DIM_POWER, 3, "10.2 kW"},
        {10000.0, SAND_DIM_TIME, 3, "2.78 h"},
        {0.0, SAND_DIM_TIME, 3, "0 s"},
        {999.96e-6, SAND_DIM_TIME, 3, "1 ms"},
        {59.99, SAND_DIM_TIME, 3, "1 min"},
        {8.4e-6, SAND_DIM_TIME, 3, "8.4 us"},
        {400.0 * 86400.0, SAND_DIM_TIME, 2, "400 d"},
        {1e-12, SAND_DIM_TIME, 3, "0.001 ns"},
        {-7200.0, SAND_DIM_TIME, 3, "-2 h"},
        {50e9, SAND_DIM_BANDWIDTH, 3, "50 GB/s"},
        {80e9, SAND_DIM_BYTES, 3, "80 GB"},
        {989e12, SAND_DIM_FLOPS, 3, "989 TFLOPS"},
        {4e-3 / 86400.0, SAND_DIM_RATE, 3, "0.004/d"},
        {0.41, SAND_DIM_FRACTION, 3, "41%"},
        {7.0, SAND_DIM_RATIO, 3, "7:1"},
        {0.5, SAND_DIM_RATIO, 3, "0.5"},
        {16384.0, SAND_DIM_COUNT, 3, "16384"},
        {NAN, SAND_DIM_TIME, 3, "-"},
        {INFINITY, SAND_DIM_TIME, 3, "infinite"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        sand_quantity_format(cases[i].value, cases[i].dim, cases[i].digits, text, sizeof text);
        cr_assert_str_eq(text, cases[i].text);
    }
}

// Property over 2,000 random values of each dimension: canonical text reads back to the same bits.
Test(units, canonical_text_round_trips_every_bit)
{
    struct sand_rng rng = {.seed = 1};
    for (int dim = SAND_DIM_NUMBER; dim <= SAND_DIM_LENGTH; dim++) {
        for (uint64_t k = 0; k < 2000; k++) {
            double u = sand_rng_uniform(rng, SAND_STREAM_TEST, (uint64_t)dim, k);
            double scale = pow(10.0, (double)(k % 30) - 12.0);
            double value = dim == SAND_DIM_COUNT      ? floor(u * 1e15)
                           : dim == SAND_DIM_FRACTION ? u
                                                      : u * scale;
            char text[64], why[200] = "";
            double back = NAN;
            sand_quantity_canonical(value, (enum sand_dim)dim, text, sizeof text);
            cr_assert_eq(sand_quantity_parse(text, (enum sand_dim)dim, &back, why, sizeof why),
                         SAND_OK, "%s: %s", text, why);
            cr_assert(back == value, "%s is %.17g, was %.17g", text, back, value);
        }
    }
}

Test(units, canonical_text_is_short)
{
    char text[64];
    cr_assert_str_eq(sand_quantity_canonical(0.1, SAND_DIM_TIME, text, sizeof text), "0.1s");
    cr_assert_str_eq(sand_quantity_canonical(50e9, SAND_DIM_BANDWIDTH, text, sizeof text),
                     "5e+10B/s");
    cr_assert_str_eq(sand_quantity_canonical(0.375, SAND_DIM_FRACTION, text, sizeof text), "0.375");
}

// The format page lists the units from the same table; each of them must parse.
Test(units, every_listed_unit_is_accepted)
{
    for (int dim = SAND_DIM_NUMBER; dim <= SAND_DIM_LENGTH; dim++) {
        char units[512], *save = NULL;
        double value;
        cr_assert_lt(snprintf(units, sizeof units, "%s", sand_dim_units((enum sand_dim)dim)), 512);
        for (char *u = strtok_r(units, " ", &save); u; u = strtok_r(NULL, " ", &save)) {
            char text[64], why[200] = "";
            snprintf(text, sizeof text, "1%s", u);
            cr_assert_eq(sand_quantity_parse(text, (enum sand_dim)dim, &value, why, sizeof why),
                         SAND_OK, "%s: %s", text, why);
        }
        cr_assert_eq(sand_quantity_parse(sand_dim_example((enum sand_dim)dim), (enum sand_dim)dim,
                                         &value, NULL, 0),
                     SAND_OK);
        cr_assert(sand_dim_name((enum sand_dim)dim)[0] == 'a');
    }
    cr_assert_str_eq(sand_dim_units(SAND_DIM_TIME), "ns us ms s min h d");
    cr_assert_str_eq(sand_dim_units(SAND_DIM_COUNT), "");
}

// A locale with a decimal comma must change neither reading nor writing. Where none is installed
// the test repeats the C case.
Test(units, locale_does_not_matter)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C.UTF-8"};
    for (size_t i = 0; i < 4 && !setlocale(LC_ALL, names[i]); i++)
        continue;
    double value = 0.0;
    char text[64];
    cr_assert_eq(sand_quantity_parse("1.5h", SAND_DIM_TIME, &value, NULL, 0), SAND_OK);
    cr_assert_eq(value, 5400.0);
    cr_assert_str_eq(sand_quantity_format(5400.0, SAND_DIM_TIME, 3, text, sizeof text), "1.5 h");
    cr_assert_str_eq(sand_quantity_canonical(0.5, SAND_DIM_TIME, text, sizeof text), "0.5s");
}

Test(units, nanoseconds_are_rounded_to_nearest_and_saturate)
{
    cr_assert_eq(sand_ns_from_s(1.0), 1000000000);
    cr_assert_eq(sand_ns_from_s(1.4e-9), 1);
    cr_assert_eq(sand_ns_from_s(1.6e-9), 2);
    cr_assert_eq(sand_ns_from_s(-3.0), 0);
    cr_assert_eq(sand_ns_from_s(NAN), 0);
    cr_assert_eq(sand_ns_from_s(1e30), INT64_MAX);
    cr_assert_eq(sand_ns_from_s(INFINITY), INT64_MAX);
    cr_assert_eq(sand_ns_from_s(9.3e9), INT64_MAX);
    cr_assert_eq(sand_s_from_ns(1500000000), 1.5);
}
