// The index of nothing. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_IDS_H
#define SAND_SIM_MODEL_IDS_H

#include <stdint.h>

#define SAND_NONE UINT32_MAX // "no such thing" for every index

#endif
