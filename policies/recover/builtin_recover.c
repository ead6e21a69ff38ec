// The list of built-in recover policies, in the order in which they are printed.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "builtin_recover.h"

extern const struct sandtable_recover sand_recover_spare, sand_recover_wait;

const struct sandtable_recover *const sand_builtin_recover[] = {&sand_recover_spare,
                                                                &sand_recover_wait, NULL};
