// Small things in an HDF5 file: attributes, texts, and the types and names all files of ours share.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_STORE_H5ITEM_H
#define SAND_ANALYSIS_STORE_H5ITEM_H

#include <stddef.h>
#include <stdint.h>

#include "h5file.h"
#include "mem.h"
#include "results.h"

#define SAND_H5_CONVENTIONS "Sandtable-1"
#define SAND_H5_RESULTS "results"
#define SAND_H5_SHARD "shard"

// Constants of the layout. The hostile build makes every table cross a boundary.
#ifdef SAND_HOSTILE
#define SAND_H5_CHUNK_ROWS 3
#else
#define SAND_H5_CHUNK_ROWS 8192 // 64 KiB of a number, 512 KiB of a text
#endif

// Functions here return 0, or -1 after HDF5 has reported why (sand_h5_fail).

// Types of a cell in memory and in the file (little-endian, texts NUL-padded UTF-8). The caller
// closes them with H5Tclose.
hid_t sand_h5_cell_memory_type(enum sand_column_type type);
hid_t sand_h5_cell_file_type(enum sand_column_type type);

// Attributes of `at`.
int sand_h5_put_text(hid_t at, const char *name, const char *text);
int sand_h5_put_u32(hid_t at, const char *name, uint32_t value);
int sand_h5_put_u64(hid_t at, const char *name, uint64_t value);
int sand_h5_put_i64(hid_t at, const char *name, int64_t value);
// An attribute of the cell's own type, for _FillValue.
int sand_h5_put_cell(hid_t at, const char *name, enum sand_column_type type, const void *value);

// *value is NULL when there is no such attribute.
int sand_h5_get_text(struct sand_h5 *file, hid_t at, const char *name, struct sand_arena *arena,
                     const char **value);
int sand_h5_get_number(hid_t at, const char *name, hid_t memory_type, void *value);

// A data set of n texts of equal width, `width` >= 1 bytes each; scalar when n is 0 and `rows` is
// one text.
int sand_h5_write_texts(hid_t at, const char *name, const char *rows, size_t width, size_t n);
// Reads it back, each row NUL-terminated at a distance of *width; *n = 1 for a scalar.
int sand_h5_read_texts(struct sand_h5 *file, hid_t at, const char *name, struct sand_arena *arena,
                       char **rows, size_t *width, size_t *n);

// Elements of a data set of one dimension whose type in the file is `type` (closed here), or -1.
hssize_t sand_h5_list_length(hid_t set, hid_t type);

// Elements first .. first + n of a data set of one dimension; `type` is theirs in memory.
int sand_h5_read_block(hid_t set, hid_t type, hsize_t first, hsize_t n, void *elements);
int sand_h5_write_block(hid_t set, hid_t type, hsize_t first, hsize_t n, const void *elements);

// A creation list for groups or data sets: no times, creation order tracked.
hid_t sand_h5_quiet_list(hid_t class_id);

// Marks the file's root with conventions, content and format version.
int sand_h5_mark(struct sand_h5 *file, const char *content);
// Refuses a file without the marks, of other content or of a newer format.
enum sand_rc sand_h5_check_marks(struct sand_h5 *file, const char *content, struct sand_diag *diag);

#endif
