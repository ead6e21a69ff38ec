// The built-in checkpoint policies: a static, NULL-terminated array of tables.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_BUILTIN_CHECKPOINT_H
#define SAND_POLICIES_BUILTIN_CHECKPOINT_H

#include "sandtable/policy.h"

extern const struct sandtable_checkpoint *const sand_builtin_checkpoint[];

#endif
