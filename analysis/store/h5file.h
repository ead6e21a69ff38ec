// One HDF5 file, opened through a file driver of ours, and what went wrong with it.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_STORE_H5FILE_H
#define SAND_ANALYSIS_STORE_H5FILE_H

#include <hdf5.h>

#include "diag.h"

// HDF5 1.10 cannot survive a failed write: after a full disk H5Fclose fails, the file stays open
// and the library crashes at exit. So the driver keeps the first error, lets the library believe in
// success, and the error comes out in sand_h5_commit() or sand_h5_fail().
struct sand_h5 {
    hid_t id; // the file, for HDF5's calls
    hid_t driver;
    int fd;
    int error_number; // errno of the first read or write that failed, 0: none
    char *path;       // as the user knows it
    char *part;       // written until commit; NULL when reading
    int no_memory;    // set by whoever ran out of it
    char reason[160]; // HDF5's own innermost message, "" if none
};

// Creates `path`.part for writing: fixed library bounds, no times, creation order tracked.
enum sand_rc sand_h5_create(const char *path, struct sand_h5 **file, struct sand_diag *diag);

// Closes, syncs and renames to its path, or leaves nothing behind. Frees `file` in any case.
enum sand_rc sand_h5_commit(struct sand_h5 *file, struct sand_diag *diag);

// Opens for reading; says what the file is when it is no HDF5 file.
enum sand_rc sand_h5_open(const char *path, struct sand_h5 **file, struct sand_diag *diag);

// Closes a file being read; closes and removes one being written. NULL is fine.
void sand_h5_close(struct sand_h5 *file);

// HDF5 reports the next failures to `file`. create and open do it by themselves; call it when
// turning back to a file after another one was open.
void sand_h5_listen(struct sand_h5 *file);

// 1 once a read or write of the operating system has failed, or memory has run out.
int sand_h5_failed(const struct sand_h5 *file);

// "path: cannot <what>: <errno text, or HDF5's message>", SAND_ERR_IO (or SAND_ERR_NOMEM).
enum sand_rc sand_h5_fail(const struct sand_h5 *file, const char *what, struct sand_diag *diag);

#endif
