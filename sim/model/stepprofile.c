// Names of link classes.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepprofile.h"

const char *sand_link_class_name(enum sand_link_class link_class)
{
    static const char *const names[SAND_LINK_CLASSES] = {
        "scaleup_out", "scaleup_in", "nic_up", "nic_down", "leaf_up", "leaf_down",
        "spine_up",    "spine_down", "local",  "global",   "torus"};
    return link_class < SAND_LINK_CLASSES ? names[link_class] : "?";
}
