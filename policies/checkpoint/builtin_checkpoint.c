// The list of built-in checkpoint policies, in the order in which they are printed.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "builtin_checkpoint.h"

extern const struct sandtable_checkpoint sand_checkpoint_none, sand_checkpoint_fixed,
    sand_checkpoint_young, sand_checkpoint_daly;

const struct sandtable_checkpoint *const sand_builtin_checkpoint[] = {
    &sand_checkpoint_none, &sand_checkpoint_fixed, &sand_checkpoint_young, &sand_checkpoint_daly,
    NULL};
