// Classes of jobs by size, in tables of results.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_SIZEGROUP_H
#define SAND_SIM_MODEL_SIZEGROUP_H

#include <stdint.h>

// "2-8 GPUs": the class of a job that holds so many.
const char *sand_size_group(uint64_t gpus);

#endif
