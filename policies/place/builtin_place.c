// The list of built-in place policies, in the order in which they are printed.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "builtin_place.h"

extern const struct sandtable_place sand_place_first_fit;
extern const struct sandtable_place sand_place_packed;

const struct sandtable_place *const sand_builtin_place[] = {&sand_place_first_fit,
                                                            &sand_place_packed, NULL};
