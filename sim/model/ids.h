// Typed ids: an index that cannot be mixed up with another room's.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_IDS_H
#define SAND_SIM_MODEL_IDS_H

#include <stdint.h>

#define SAND_NONE UINT32_MAX // "no such thing" for every index

struct sand_node_id {
    uint32_t index;
};
struct sand_job_id {
    uint32_t index;
};
struct sand_link_id {
    uint32_t index;
};

#endif
