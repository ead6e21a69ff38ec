// The shipped mixes as C tables, written by mixes_as_c.py when the test is built.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_MIXTABLES_H
#define SAND_TESTS_MIXTABLES_H

#include <stddef.h>

#include "mix.h"

extern const struct sand_mix shipped_mixes[];
extern const size_t n_shipped_mixes;

#endif
