// Words for tiers and kinds, in any case.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "importwords.h"

#include <string.h>
#include <strings.h>

int import_word_tier(const char *word)
{
    static const char *const names[3][3] = {
        {"leaf", "tor", "0"}, {"spine", "aggregation", "1"}, {"core", "superspine", "2"}};
    for (int tier = 0; tier < 3; tier++)
        for (size_t i = 0; i < 3; i++)
            if (strcasecmp(word, names[tier][i]) == 0)
                return tier;
    return -1;
}

enum import_vertex import_word_kind(const char *word)
{
    static const char *const hosts[] = {"host", "server", "node", "nic", "endpoint", "hca"};
    static const char *const switches[] = {"switch", "router", "edge", "agg"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (strcasecmp(word, hosts[i]) == 0)
            return IMPORT_VERTEX_HOST;
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (strcasecmp(word, switches[i]) == 0)
            return IMPORT_VERTEX_SWITCH;
    return import_word_tier(word) >= 0 ? IMPORT_VERTEX_SWITCH : IMPORT_VERTEX_UNKNOWN;
}

enum import_vertex import_name_kind(const char *name)
{
    static const char *const parts[] = {"switch", "leaf", "spine", "core", "agg", "router"};
    static const char *const beginnings[] = {"sw", "tor"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(name, parts[i]) != NULL)
            return IMPORT_VERTEX_SWITCH;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncasecmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return IMPORT_VERTEX_SWITCH;
    return IMPORT_VERTEX_HOST;
}
