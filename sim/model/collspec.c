// Names of algorithms and protocols.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "collspec.h"

const char *sand_algorithm_name(enum sand_algorithm algorithm)
{
    static const char *const names[SAND_ALGORITHMS] = {"ring",     "tree",  "nvls",
                                                       "nvlstree", "sharp", "symmetric",
                                                       "pairwise", "pxn",   "hierarchical"};
    return algorithm < SAND_ALGORITHMS ? names[algorithm] : "?";
}

const char *sand_protocol_name(enum sand_protocol protocol)
{
    static const char *const names[SAND_PROTOCOLS] = {"LL", "LL128", "Simple"};
    return protocol < SAND_PROTOCOLS ? names[protocol] : "?";
}
