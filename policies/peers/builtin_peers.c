// The list of peers' variants, in the order in which they are printed.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "builtin_peers.h"

extern const struct sandtable_schedule sand_peer_easy_counted, sand_peer_conservative,
    sand_peer_easy_nodes, sand_peer_easy_no_extra;

const struct sandtable_schedule *const sand_builtin_peers[] = {
    &sand_peer_easy_counted, &sand_peer_easy_nodes, &sand_peer_easy_no_extra,
    &sand_peer_conservative, NULL};
