// State of a server -> watts.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_POWER_POWER_H
#define SAND_PLATFORMS_POWER_POWER_H

#include "hardware.h"

enum sand_power_state {
    SAND_POWER_OFF,     // down, in repair, not delivered
    SAND_POWER_IDLE,    // powered, no work: idle, spare, waiting, detecting, restarting
    SAND_POWER_STEPPING // executing training steps
};

// Watts of one whole server, before the facility's overhead (multiply by PUE). Stepping
// interpolates between idle and maximum by the share of GPU power in use: idle + (max - idle) *
// activity, with activity in 0..1 (1: every GPU at its TDP). O(1).
double sand_power_node_W(const struct sand_node_type *type, enum sand_power_state state,
                         double activity);

#endif
