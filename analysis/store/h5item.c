// Attributes, texts and types, and the marks by which a file of ours is known.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "h5item.h"

#include <string.h>

#include "store.h"

// ---- types
// ----------------------------------------------------------------------------------------

static hid_t text_type(size_t width)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, width) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 ||
                      H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

hid_t sand_h5_cell_memory_type(enum sand_column_type type)
{
    switch (type) {
    case SAND_COL_i64:
        return H5Tcopy(H5T_NATIVE_INT64);
    case SAND_COL_u32:
        return H5Tcopy(H5T_NATIVE_UINT32);
    case SAND_COL_u64:
        return H5Tcopy(H5T_NATIVE_UINT64);
    case SAND_COL_f64:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    case SAND_COL_str:
        break;
    }
    return text_type(SAND_STR_SIZE);
}

hid_t sand_h5_cell_file_type(enum sand_column_type type)
{
    switch (type) {
    case SAND_COL_i64:
        return H5Tcopy(H5T_STD_I64LE);
    case SAND_COL_u32:
        return H5Tcopy(H5T_STD_U32LE);
    case SAND_COL_u64:
        return H5Tcopy(H5T_STD_U64LE);
    case SAND_COL_f64:
        return H5Tcopy(H5T_IEEE_F64LE);
    case SAND_COL_str:
        break;
    }
    return text_type(SAND_STR_SIZE);
}

// ---- attributes
// -----------------------------------------------------------------------------------

static int put(hid_t at, const char *name, hid_t file_type, hid_t memory_type, const void *value)
{
    int status = -1;
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = space < 0
                                ? H5I_INVALID_HID
                                : H5Acreate2(at, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0 && H5Awrite(attribute, memory_type, value) >= 0)
        status = 0;
    if (attribute >= 0 && H5Aclose(attribute) < 0)
        status = -1;
    if (space >= 0)
        H5Sclose(space);
    return status;
}

int sand_h5_put_text(hid_t at, const char *name, const char *text)
{
    const size_t length = strlen(text);
    const hid_t type = text_type(length > 0 ? length : 1);
    if (type < 0)
        return -1;
    const int status = put(at, name, type, type, text);
    H5Tclose(type);
    return status;
}

int sand_h5_put_u32(hid_t at, const char *name, uint32_t value)
{
    return put(at, name, H5T_STD_U32LE, H5T_NATIVE_UINT32, &value);
}

int sand_h5_put_u64(hid_t at, const char *name, uint64_t value)
{
    return put(at, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

int sand_h5_put_i64(hid_t at, const char *name, int64_t value)
{
    return put(at, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

int sand_h5_put_cell(hid_t at, const char *name, enum sand_column_type type, const void *value)
{
    const hid_t file_type = sand_h5_cell_file_type(type);
    const hid_t memory_type = sand_h5_cell_memory_type(type);
    int status = -1;
    if (file_type >= 0 && memory_type >= 0)
        status = put(at, name, file_type, memory_type, value);
    if (file_type >= 0)
        H5Tclose(file_type);
    if (memory_type >= 0)
        H5Tclose(memory_type);
    return status;
}

// Reads a fixed-size text attribute; anything else is refused.
static int read_text(struct sand_h5 *file, hid_t attribute, struct sand_arena *arena,
                     const char **value)
{
    int status = -1;
    const hid_t stored = H5Aget_type(attribute);
    const size_t width = stored >= 0 ? H5Tget_size(stored) : 0;
    const int fixed = width > 0 && H5Tget_class(stored) == H5T_STRING &&
                      H5Tis_variable_str(stored) == 0 && H5Aget_storage_size(attribute) == width;
    char *const text = fixed ? sand_arena_alloc(arena, width + 1, 1) : NULL;
    if (fixed && text == NULL)
        file->no_memory = 1;
    if (text != NULL && H5Aread(attribute, stored, text) >= 0) {
        *value = text;
        status = 0;
    }
    if (stored >= 0)
        H5Tclose(stored);
    return status;
}

int sand_h5_get_text(struct sand_h5 *file, hid_t at, const char *name, struct sand_arena *arena,
                     const char **value)
{
    *value = NULL;
    const htri_t exists = H5Aexists(at, name);
    if (exists <= 0)
        return exists < 0 ? -1 : 0;
    const hid_t attribute = H5Aopen(at, name, H5P_DEFAULT);
    if (attribute < 0)
        return -1;
    const int status = read_text(file, attribute, arena, value);
    H5Aclose(attribute);
    return status;
}

int sand_h5_get_number(hid_t at, const char *name, hid_t memory_type, void *value)
{
    if (H5Aexists(at, name) <= 0)
        return -1;
    const hid_t attribute = H5Aopen(at, name, H5P_DEFAULT);
    if (attribute < 0)
        return -1;
    const hid_t space = H5Aget_space(attribute);
    int status = -1;
    if (space >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
        H5Aread(attribute, memory_type, value) >= 0)
        status = 0;
    if (space >= 0)
        H5Sclose(space);
    H5Aclose(attribute);
    return status;
}

// ---- data sets of texts
// ---------------------------------------------------------------------------

// `there` in the set, `here` in memory.
struct block {
    hid_t there, here;
};

static int open_block(struct block *block, hid_t set, hsize_t first, hsize_t n)
{
    block->there = H5Dget_space(set);
    block->here = H5Screate_simple(1, &n, NULL);
    return block->there >= 0 && block->here >= 0 &&
                   H5Sselect_hyperslab(block->there, H5S_SELECT_SET, &first, NULL, &n, NULL) >= 0
               ? 0
               : -1;
}

static void close_block(const struct block *block)
{
    if (block->here >= 0)
        H5Sclose(block->here);
    if (block->there >= 0)
        H5Sclose(block->there);
}

hssize_t sand_h5_list_length(hid_t set, hid_t type)
{
    const hid_t stored = H5Dget_type(set);
    const hid_t space = H5Dget_space(set);
    hssize_t n = -1;
    if (stored >= 0 && type >= 0 && space >= 0 && H5Tequal(stored, type) > 0 &&
        H5Sget_simple_extent_ndims(space) == 1)
        n = H5Sget_simple_extent_npoints(space);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (stored >= 0)
        H5Tclose(stored);
    return n;
}

int sand_h5_read_block(hid_t set, hid_t type, hsize_t first, hsize_t n, void *elements)
{
    struct block block;
    const int status = open_block(&block, set, first, n) < 0 || type < 0
                           ? -1
                           : H5Dread(set, type, block.here, block.there, H5P_DEFAULT, elements);
    close_block(&block);
    return status < 0 ? -1 : 0;
}

int sand_h5_write_block(hid_t set, hid_t type, hsize_t first, hsize_t n, const void *elements)
{
    struct block block;
    const int status = open_block(&block, set, first, n) < 0 || type < 0
                           ? -1
                           : H5Dwrite(set, type, block.here, block.there, H5P_DEFAULT, elements);
    close_block(&block);
    return status < 0 ? -1 : 0;
}

hid_t sand_h5_quiet_list(hid_t class_id)
{
    const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    const hid_t list = H5Pcreate(class_id);
    if (list < 0)
        return list;
    const int is_group = H5Pisa_class(list, H5P_GROUP_CREATE) > 0;
    if (H5Pset_obj_track_times(list, 0) < 0 || H5Pset_attr_creation_order(list, order) < 0 ||
        H5Pset_attr_phase_change(list, 64, 32) < 0 ||
        (is_group && H5Pset_link_creation_order(list, order) < 0) ||
        (!is_group && H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) < 0)) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

static int write_texts(hid_t at, const char *name, const char *rows, hid_t type, hid_t space)
{
    int status = -1;
    const hid_t list = sand_h5_quiet_list(H5P_DATASET_CREATE);
    const hid_t set = list < 0 ? H5I_INVALID_HID
                               : H5Dcreate2(at, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0)
        status = 0;
    if (set >= 0 && H5Dclose(set) < 0)
        status = -1;
    if (list >= 0)
        H5Pclose(list);
    return status;
}

int sand_h5_write_texts(hid_t at, const char *name, const char *rows, size_t width, size_t n)
{
    const hsize_t extent = n;
    const hid_t type = text_type(width);
    const hid_t space = n > 0 ? H5Screate_simple(1, &extent, NULL) : H5Screate(H5S_SCALAR);
    const int status = type >= 0 && space >= 0 ? write_texts(at, name, rows, type, space) : -1;
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

static int read_texts(struct sand_h5 *file, hid_t set, hid_t stored, hid_t space,
                      struct sand_arena *arena, char **rows, size_t *width, size_t *n)
{
    const hssize_t points = H5Sget_simple_extent_npoints(space);
    if (points < 0 || H5Tget_class(stored) != H5T_STRING || H5Tis_variable_str(stored) != 0)
        return -1;
    *n = (size_t)points;
    *width = H5Tget_size(stored) + 1;
    *rows = sand_arena_alloc(arena, *n > 0 ? *n : 1, *width);
    file->no_memory = *rows == NULL;
    const hid_t wider = *rows != NULL ? text_type(*width) : H5I_INVALID_HID;
    if (wider < 0)
        return -1;
    const herr_t status = *n > 0 ? H5Dread(set, wider, H5S_ALL, H5S_ALL, H5P_DEFAULT, *rows) : 0;
    H5Tclose(wider);
    return status < 0 ? -1 : 0;
}

int sand_h5_read_texts(struct sand_h5 *file, hid_t at, const char *name, struct sand_arena *arena,
                       char **rows, size_t *width, size_t *n)
{
    const hid_t set = H5Dopen2(at, name, H5P_DEFAULT);
    if (set < 0)
        return -1;
    const hid_t stored = H5Dget_type(set);
    const hid_t space = H5Dget_space(set);
    int status = -1;
    if (stored >= 0 && space >= 0)
        status = read_texts(file, set, stored, space, arena, rows, width, n);
    if (space >= 0)
        H5Sclose(space);
    if (stored >= 0)
        H5Tclose(stored);
    H5Dclose(set);
    return status;
}

// ---- marks
// ----------------------------------------------------------------------------------------

int sand_h5_mark(struct sand_h5 *file, const char *content)
{
    if (sand_h5_put_text(file->id, "Conventions", SAND_H5_CONVENTIONS) < 0)
        return -1;
    if (sand_h5_put_text(file->id, "content", content) < 0)
        return -1;
    return sand_h5_put_u32(file->id, "format_version", SAND_RESULTS_FORMAT);
}

static enum sand_rc check_marks(struct sand_h5 *file, const char *wanted, struct sand_arena *arena,
                                struct sand_diag *diag)
{
    const char *conventions = NULL, *content = NULL;
    uint32_t version = 0;
    sand_h5_get_text(file, file->id, "Conventions", arena, &conventions);
    if (!sand_h5_failed(file))
        sand_h5_get_text(file, file->id, "content", arena, &content);
    if (sand_h5_failed(file))
        return sand_h5_fail(file, "read", diag);
    if (conventions == NULL || strcmp(conventions, SAND_H5_CONVENTIONS) != 0)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: is an HDF5 file, but none of Sandtable's (its attribute Conventions "
                         "is not \"%s\"); results files are made by sandtable run",
                         file->path, SAND_H5_CONVENTIONS);
    if (sand_h5_get_number(file->id, "format_version", H5T_NATIVE_UINT32, &version) < 0 ||
        content == NULL)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: lacks the root attribute format_version or content; it is damaged",
                         file->path);
    if (version > SAND_RESULTS_FORMAT)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: has format version %u, this program reads up to %u; use the newer "
                         "sandtable that wrote it",
                         file->path, version, (unsigned)SAND_RESULTS_FORMAT);
    if (strcmp(content, wanted) != 0)
        return sand_fail(
            diag, SAND_ERR_INPUT, "%s: holds a %s, not %s; %s", file->path, content, wanted,
            strcmp(wanted, SAND_H5_RESULTS) == 0 ? "open the results.h5 made of all shards"
                                                 : "only shards of run units can be merged");
    return SAND_OK;
}

enum sand_rc sand_h5_check_marks(struct sand_h5 *file, const char *content, struct sand_diag *diag)
{
    struct sand_arena arena = {0};
    const enum sand_rc rc = check_marks(file, content, &arena, diag);
    sand_arena_clear(&arena);
    return rc;
}
