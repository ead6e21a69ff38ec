// The file driver: HDF5's reads and writes on a descriptor of ours.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_STORE_H5DRIVER_H
#define SAND_ANALYSIS_STORE_H5DRIVER_H

#include "h5file.h"

// Registers the driver and selects it in the file access list `fapl` for `file`, whose fd is open.
// 0, or -1 with file->driver unchanged.
int sand_h5_driver_use(struct sand_h5 *file, hid_t fapl);

#endif
