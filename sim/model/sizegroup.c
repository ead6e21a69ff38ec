// The bounds are a GPU, a server of eight, and powers of eight beyond it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sizegroup.h"

#include <stddef.h>

// Text order is order of size.
const char *sand_size_group(uint64_t gpus)
{
    static const struct {
        uint64_t most;
        const char *name;
    } sizes[] = {{1, "1 GPU"}, {8, "2-8 GPUs"}, {64, "9-64 GPUs"}, {512, "65-512 GPUs"}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (gpus <= sizes[i].most)
            return sizes[i].name;
    return "above 512 GPUs";
}
