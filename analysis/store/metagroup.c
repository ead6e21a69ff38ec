// The group /meta, one attribute per figure; the two long items are data sets.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "metagroup.h"

#include <string.h>

// ---- writing
// --------------------------------------------------------------------------------------

static int write_attributes(hid_t group, const struct sand_meta *meta)
{
    if (sand_h5_put_text(group, "name", meta->name) < 0 ||
        sand_h5_put_text(group, "digest", meta->digest) < 0 ||
        sand_h5_put_u64(group, "seed", meta->seed) < 0 ||
        sand_h5_put_u32(group, "replications", meta->replications) < 0 ||
        sand_h5_put_i64(group, "duration_ns", meta->duration_ns) < 0 ||
        sand_h5_put_text(group, "program_version", meta->program_version) < 0 ||
        sand_h5_put_text(group, "physics_version", meta->physics_version) < 0)
        return -1;
    return 0;
}

static size_t longest(const char *const *texts, size_t n)
{
    size_t width = 1;
    for (size_t i = 0; i < n; i++)
        if (strlen(texts[i]) > width)
            width = strlen(texts[i]);
    return width;
}

// No assumptions, no data set: an absent list cannot be mistaken for a list of one empty text.
static int write_assumptions(struct sand_h5 *file, hid_t group, const struct sand_meta *meta)
{
    if (meta->n_assumptions == 0)
        return 0;
    const size_t width = longest(meta->assumptions, meta->n_assumptions);
    char *const rows = sand_calloc(meta->n_assumptions, width);
    file->no_memory = rows == NULL;
    if (rows == NULL)
        return -1;
    for (size_t i = 0; i < meta->n_assumptions; i++)
        memcpy(rows + i * width, meta->assumptions[i], strlen(meta->assumptions[i]));
    const int status = sand_h5_write_texts(group, "assumptions", rows, width, meta->n_assumptions);
    sand_free(rows);
    return status;
}

static int write_group(struct sand_h5 *file, hid_t group, const struct sand_meta *meta)
{
    const size_t size = strlen(meta->canonical);
    if (write_attributes(group, meta) < 0 || write_assumptions(file, group, meta) < 0)
        return -1;
    return sand_h5_write_texts(group, "spec", meta->canonical, size > 0 ? size : 1, 0);
}

static int write_titles(struct sand_h5 *file, const struct sand_meta *meta)
{
    struct sand_arena arena = {0};
    const char *const title = sand_arena_printf(&arena, "Sandtable results: %s", meta->name);
    const char *const source = sand_arena_printf(&arena, "sandtable %s, physics %s",
                                                 meta->program_version, meta->physics_version);
    int status = -1;
    file->no_memory = title == NULL || source == NULL;
    if (!file->no_memory && sand_h5_put_text(file->id, "title", title) == 0)
        status = sand_h5_put_text(file->id, "source", source);
    sand_arena_clear(&arena);
    return status;
}

int sand_metagroup_write(struct sand_h5 *file, const struct sand_meta *meta)
{
    if (write_titles(file, meta) < 0)
        return -1;
    const hid_t list = sand_h5_quiet_list(H5P_GROUP_CREATE);
    if (list < 0)
        return -1;
    const hid_t group = H5Gcreate2(file->id, "meta", H5P_DEFAULT, list, H5P_DEFAULT);
    H5Pclose(list);
    if (group < 0)
        return -1;
    const int status = write_group(file, group, meta);
    return H5Gclose(group) < 0 ? -1 : status;
}

// ---- reading
// --------------------------------------------------------------------------------------

static int get_needed_text(struct sand_h5 *file, hid_t group, const char *name,
                           struct sand_arena *arena, const char **value)
{
    return sand_h5_get_text(file, group, name, arena, value) < 0 || *value == NULL ? -1 : 0;
}

static int read_attributes(struct sand_h5 *file, hid_t group, struct sand_arena *arena,
                           struct sand_meta *meta)
{
    if (get_needed_text(file, group, "name", arena, &meta->name) < 0 ||
        get_needed_text(file, group, "digest", arena, &meta->digest) < 0 ||
        get_needed_text(file, group, "program_version", arena, &meta->program_version) < 0 ||
        get_needed_text(file, group, "physics_version", arena, &meta->physics_version) < 0 ||
        sand_h5_get_number(group, "seed", H5T_NATIVE_UINT64, &meta->seed) < 0 ||
        sand_h5_get_number(group, "replications", H5T_NATIVE_UINT32, &meta->replications) < 0 ||
        sand_h5_get_number(group, "duration_ns", H5T_NATIVE_INT64, &meta->duration_ns) < 0)
        return -1;
    return 0;
}

static int read_assumptions(struct sand_h5 *file, hid_t group, struct sand_arena *arena,
                            struct sand_meta *meta)
{
    char *rows;
    size_t width, n;
    const htri_t exists = H5Lexists(group, "assumptions", H5P_DEFAULT);
    if (exists <= 0)
        return exists < 0 ? -1 : 0;
    if (sand_h5_read_texts(file, group, "assumptions", arena, &rows, &width, &n) < 0)
        return -1;
    const char **const texts = sand_arena_alloc(arena, n > 0 ? n : 1, sizeof *texts);
    file->no_memory = texts == NULL;
    if (texts == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        texts[i] = rows + i * width;
    meta->assumptions = texts;
    meta->n_assumptions = n;
    return 0;
}

static int read_group(struct sand_h5 *file, hid_t group, struct sand_arena *arena,
                      struct sand_meta *meta)
{
    char *spec;
    size_t width, n;
    if (read_attributes(file, group, arena, meta) < 0 ||
        read_assumptions(file, group, arena, meta) < 0 ||
        H5Lexists(group, "spec", H5P_DEFAULT) <= 0 ||
        sand_h5_read_texts(file, group, "spec", arena, &spec, &width, &n) < 0 || n != 1)
        return -1;
    meta->canonical = spec;
    return 0;
}

int sand_metagroup_read(struct sand_h5 *file, struct sand_arena *arena, struct sand_meta *meta)
{
    *meta = (struct sand_meta){0};
    if (H5Lexists(file->id, "meta", H5P_DEFAULT) <= 0)
        return -1;
    const hid_t group = H5Gopen2(file->id, "meta", H5P_DEFAULT);
    if (group < 0)
        return -1;
    const int status = read_group(file, group, arena, meta);
    H5Gclose(group);
    return status;
}
