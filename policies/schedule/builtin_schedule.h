// The built-in schedule policies: a static, NULL-terminated array of tables.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_BUILTIN_SCHEDULE_H
#define SAND_POLICIES_BUILTIN_SCHEDULE_H

#include "sandtable/policy.h"

extern const struct sandtable_schedule *const sand_builtin_schedule[];

#endif
