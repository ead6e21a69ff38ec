// Which policies of an experiment are foreign code.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_PLUGINS_H
#define SAND_SIM_MODEL_PLUGINS_H

#include <stddef.h>

#include "experiment.h"

// The types of its policies that come from plug-ins, each once: "schedule/mine, place/mine", at
// most size bytes and cut to whole types; empty: none does. O(jobs).
void sand_plugins_list(const struct sand_experiment *experiment, char *text, size_t size);

#endif
