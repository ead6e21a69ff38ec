// What Slurm's accounting writes instead of numbers: clocks, resources, words for unknown.
// Source of the grammar: sacct(1), "Elapsed", "Timelimit" and "AllocTRES", Slurm 20.11 to 25.11.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <strings.h>

#include "traceparse.h"

int trace_is_unknown(const char *text)
{
    static const char *const words[] = {"",          "Unknown",         "None",   "N/A",
                                        "UNLIMITED", "Partition_Limit", "INVALID"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(text, words[i]) == 0)
            return 1;
    return 0;
}

// At most nine digits; NULL if there is none.
static const char *read_part(const char *p, int64_t *value)
{
    const size_t n = strspn(p, "0123456789");
    *value = 0;
    for (size_t i = 0; i < n && n <= 9; i++)
        *value = *value * 10 + (p[i] - '0');
    return n > 0 && n <= 9 ? p + n : NULL;
}

// ".25" as nanoseconds; NULL if no digit follows.
static const char *read_fraction(const char *p, int64_t *ns)
{
    int64_t place = 100000000;
    if (p[1] < '0' || p[1] > '9')
        return NULL;
    for (p++; *p >= '0' && *p <= '9'; p++, place /= 10)
        *ns += (*p - '0') * place;
    return p;
}

int trace_clock(const char *text, int64_t *value)
{
    int64_t parts[3] = {0}, days = 0, ns = 0;
    const char *const dash = strchr(text, '-');
    const char *p = text;
    int n = 0;
    if (dash != NULL && (p = read_part(text, &days)) != NULL)
        p = p == dash ? dash + 1 : NULL;
    while (p != NULL && n < 3) {
        p = read_part(p, &parts[n++]);
        if (p == NULL || *p != ':')
            break;
        p++;
    }
    const int has_seconds = n == 3 || (n == 2 && dash == NULL);
    if (p != NULL && *p == '.' && has_seconds)
        p = read_fraction(p, &ns);
    if (p == NULL || *p != '\0' || (n == 1 && dash == NULL))
        return 0;
    // From the left hours, minutes, seconds; only "M:S" lacks the hours.
    const int64_t hours = n == 2 && dash == NULL ? 0 : parts[0];
    const int64_t minutes = n == 2 && dash == NULL ? parts[0] : parts[1];
    const int64_t seconds = n == 2 && dash == NULL ? parts[1] : parts[2];
    int64_t total;
    if (__builtin_mul_overflow(((days * 24 + hours) * 60 + minutes) * 60 + seconds, 1000000000,
                               &total))
        return 0;
    *value = total + ns;
    return 1;
}

// The number behind "KEY=" up to the next comma, in units of 1e-9; 0 if it is none.
static int add_amount(const char *at, int64_t *total)
{
    char digits[32];
    int64_t amount;
    const size_t n = strcspn(at, ",");
    if (n == 0 || n >= sizeof digits)
        return 0;
    memcpy(digits, at, n);
    digits[n] = '\0';
    return trace_number(digits, trace_size_unit("1"), &amount) && amount >= 0 &&
           !__builtin_add_overflow(*total, amount, total);
}

int trace_tres(const char *text, const char *key, int64_t *value)
{
    const size_t length = strlen(key);
    int64_t all = 0, typed = 0;
    int has_all = 0;
    for (const char *at = text; *at != '\0';) {
        const size_t n = strcspn(at, ",="), item = strcspn(at, ",");
        if (at[n] != '=')
            return 0;
        const int is_key = n >= length && strncmp(at, key, length) == 0;
        if (is_key && n == length)
            has_all = 1;
        if (is_key && (n == length || at[length] == ':') &&
            !add_amount(at + n + 1, n == length ? &all : &typed))
            return 0;
        at += item + (at[item] == ',' ? 1 : 0);
    }
    *value = has_all ? all : typed;
    return 1;
}
