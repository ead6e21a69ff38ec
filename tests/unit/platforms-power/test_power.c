// Watts of a server: hand-computed points of the line between idle and maximum, and its ends.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "power.h"

static const struct sand_node_type server = {.max_W = 10200.0, .idle_W = 2200.0};

Test(power, states_have_their_watts)
{
    cr_assert_eq(sand_power_node_W(&server, SAND_POWER_OFF, 1.0), 0.0, "off draws nothing");
    cr_assert_eq(sand_power_node_W(&server, SAND_POWER_IDLE, 1.0), 2200.0, "activity is ignored");
    cr_assert_float_eq(sand_power_node_W(&server, SAND_POWER_STEPPING, 0.25), 4200.0, 1e-9);
    cr_assert_eq(sand_power_node_W(&server, SAND_POWER_STEPPING, 0.0), 2200.0);
    cr_assert_eq(sand_power_node_W(&server, SAND_POWER_STEPPING, 1.0), 10200.0);
}

Test(power, activity_outside_0_to_1_is_clamped)
{
    cr_assert_eq(sand_power_node_W(&server, SAND_POWER_STEPPING, -3.0), 2200.0);
    cr_assert_eq(sand_power_node_W(&server, SAND_POWER_STEPPING, 1.5), 10200.0);
    cr_assert_eq(sand_power_node_W(&server, SAND_POWER_STEPPING, (double)NAN), 2200.0);
}

Test(power, grows_with_activity)
{
    double before = 0.0;
    for (int i = 0; i <= 100; i++) {
        const double watts = sand_power_node_W(&server, SAND_POWER_STEPPING, i / 100.0);
        cr_assert_gt(watts, before, "at activity %d %%", i);
        before = watts;
    }
}
