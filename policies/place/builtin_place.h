// The built-in place policies: a static, NULL-terminated array of tables.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_BUILTIN_PLACE_H
#define SAND_POLICIES_BUILTIN_PLACE_H

#include "sandtable/policy.h"

extern const struct sandtable_place *const sand_builtin_place[];

#endif
