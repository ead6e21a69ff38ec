// State of a server -> watts.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "power.h"

// Negated comparisons, so that NaN counts as no activity.
static double clamp_share(double share)
{
    if (!(share > 0.0))
        return 0.0;
    return share < 1.0 ? share : 1.0;
}

double sand_power_node_W(const struct sand_node_type *type, enum sand_power_state state,
                         double activity)
{
    switch (state) {
    case SAND_POWER_OFF:
        return 0.0;
    case SAND_POWER_STEPPING:
        return type->idle_W + (type->max_W - type->idle_W) * clamp_share(activity);
    case SAND_POWER_IDLE:
        break;
    }
    return type->idle_W;
}
