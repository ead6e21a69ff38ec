// The built-in variants of other simulators' schedule policies: a NULL-terminated array of tables.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_BUILTIN_PEERS_H
#define SAND_POLICIES_BUILTIN_PEERS_H

#include "sandtable/policy.h"

extern const struct sandtable_schedule *const sand_builtin_peers[];

#endif
