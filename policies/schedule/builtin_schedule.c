// The list of built-in schedule policies, in the order in which they are printed.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "builtin_schedule.h"

extern const struct sandtable_schedule sand_schedule_fifo, sand_schedule_easy,
    sand_schedule_recorded;

const struct sandtable_schedule *const sand_builtin_schedule[] = {
    &sand_schedule_fifo, &sand_schedule_easy, &sand_schedule_recorded, NULL};
