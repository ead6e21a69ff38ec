// Reads a mix file for the tests, until the binder of sim/spec does.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_MIXFILE_H
#define SAND_TESTS_MIXFILE_H

#include "mem.h"
#include "mix.h"

// Reads workloads/mixes/ID.xml; every attribute and element must be known. Memory in `arena`.
struct sand_mix read_mix(const char *id, struct sand_arena *arena);

#endif
