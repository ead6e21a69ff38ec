// The group /meta: what was run, with which seed, by which versions.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_STORE_METAGROUP_H
#define SAND_ANALYSIS_STORE_METAGROUP_H

#include "h5item.h"
#include "store.h"

// Writes /meta and the root's title and source. 0, or -1 after HDF5 or malloc has failed.
int sand_metagroup_write(struct sand_h5 *file, const struct sand_meta *meta);

// Reads it back into `arena`.
int sand_metagroup_read(struct sand_h5 *file, struct sand_arena *arena, struct sand_meta *meta);

#endif
