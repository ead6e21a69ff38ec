// The built-in recover policies: a static, NULL-terminated array of tables.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_BUILTIN_RECOVER_H
#define SAND_POLICIES_BUILTIN_RECOVER_H

#include "sandtable/policy.h"

extern const struct sandtable_recover *const sand_builtin_recover[];

#endif
