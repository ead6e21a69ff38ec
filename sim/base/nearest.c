// "Did you mean": the nearest of some names by edit distance.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <string.h>

#include "diag.h"

enum { MAX_WORD = 64 };

// Cost in half letters: another letter 2, the same letter in the other case 1.
static unsigned letter_cost(char a, char b)
{
    if (a == b)
        return 0;
    return tolower((unsigned char)a) == tolower((unsigned char)b) ? 1 : 2;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

// Optimal string alignment distance (insertion, deletion, substitution, swap of neighbours), row by
// row; rows[0] is two letters back.
static unsigned distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    unsigned rows[3][MAX_WORD + 1] = {{0}};
    for (size_t j = 0; j <= n_b; j++)
        rows[2][j] = 2 * (unsigned)j;
    for (size_t i = 1; i <= n_a; i++) {
        memcpy(rows[0], rows[1], sizeof rows[0]);
        memcpy(rows[1], rows[2], sizeof rows[1]);
        rows[2][0] = 2 * (unsigned)i;
        for (size_t j = 1; j <= n_b; j++) {
            unsigned cost = smaller(rows[1][j], rows[2][j - 1]) + 2;
            cost = smaller(cost, rows[1][j - 1] + letter_cost(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost = smaller(cost, rows[0][j - 2] + 2);
            rows[2][j] = cost;
        }
    }
    return rows[2][n_b];
}

const char *sand_nearest(const char *word, const char *const *names, size_t n_names)
{
    size_t length = strlen(word);
    if (length > MAX_WORD)
        return NULL;
    const char *best = NULL;
    unsigned best_cost = 0;
    for (size_t i = 0; i < n_names; i++) {
        size_t n = strlen(names[i]);
        if (n > MAX_WORD)
            continue;
        unsigned cost = distance(word, length, names[i], n);
        size_t letters = n > length ? n : length;
        if (3 * (size_t)cost <= 2 * letters && (!best || cost < best_cost)) {
            best = names[i];
            best_cost = cost;
        }
    }
    return best;
}
