// Lists of node ranges; see noderange.h.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "noderange.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "mem.h"

// A whole number at *text, which moves past it; UINT32_MAX if there is none.
static uint32_t read_number(const char **text)
{
    uint64_t value = 0;
    if (!isdigit((unsigned char)**text))
        return UINT32_MAX;
    for (; isdigit((unsigned char)**text); (*text)++)
        value = value < UINT32_MAX ? value * 10 + (uint64_t)(**text - '0') : value;
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX - 1;
}

enum sand_rc sand_cli_next_nodes(const char *option, const char **text, uint32_t n_nodes,
                                 uint32_t *first, uint32_t *last, struct sand_diag *diag)
{
    const char *begin = *text;
    *first = *last = read_number(text);
    if (*first != UINT32_MAX && **text == '-') {
        (*text)++;
        *last = read_number(text);
    }
    if (*first == UINT32_MAX || *last == UINT32_MAX || (**text != ',' && **text != '\0') ||
        *last < *first)
        return sand_fail(diag, SAND_ERR_USAGE,
                         "%s: \"%.60s\" must begin with a node or a rising range of nodes, such as "
                         "0-255,3840-4095",
                         option, begin);
    if (*last >= n_nodes)
        return sand_fail(diag, SAND_ERR_USAGE, "%s: node %" PRIu32 " is beyond the last, %" PRIu32,
                         option, *last, n_nodes - 1);
    if (**text == ',')
        (*text)++;
    return SAND_OK;
}

enum sand_rc sand_cli_nodes(const char *option, const char *text, uint32_t n_nodes, uint32_t *nodes,
                            uint32_t n, struct sand_diag *diag)
{
    uint64_t given = 0;
    uint8_t *taken = sand_calloc(n_nodes, sizeof *taken);
    enum sand_rc rc = taken ? SAND_OK : sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    do {
        uint32_t first = 0, last = 0;
        if (rc == SAND_OK)
            rc = sand_cli_next_nodes(option, &text, n_nodes, &first, &last, diag);
        for (uint32_t node = first; rc == SAND_OK && node <= last; node++) {
            if (taken[node]++)
                rc = sand_fail(diag, SAND_ERR_USAGE, "%s: node %" PRIu32 " stands there twice",
                               option, node);
            if (given < n)
                nodes[given] = node;
            given++;
        }
    } while (rc == SAND_OK && *text != '\0');
    if (rc == SAND_OK && given != n)
        rc = sand_fail(diag, SAND_ERR_USAGE, "%s lists %" PRIu64 " nodes, but the job has %" PRIu32,
                       option, given, n);
    sand_free(taken);
    return rc;
}
