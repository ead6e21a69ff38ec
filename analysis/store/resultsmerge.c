// Shards into one results file: counted first, then copied chunk by chunk.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "metagroup.h"
#include "shardread.h"
#include "store.h"
#include "tablewriter.h"

struct merge {
    struct sand_h5 *file;
    struct sand_tablewriter *writers[SAND_TABLES];
    size_t totals[SAND_TABLES];
};

// Column data sets have a fixed length, so the rows are counted before the first is copied.
static enum sand_rc count(struct merge *merge, const char *const *shards, size_t n_shards,
                          struct sand_diag *diag)
{
    for (size_t i = 0; i < n_shards; i++) {
        struct sand_h5 *shard;
        size_t n_rows[SAND_TABLES];
        SAND_TRY(sand_shardread_open(shards[i], &shard, n_rows, diag));
        sand_h5_close(shard);
        for (size_t table = 0; table < SAND_TABLES; table++)
            merge->totals[table] += n_rows[table];
    }
    return SAND_OK;
}

static enum sand_rc write_head(struct merge *merge, const struct sand_meta *meta,
                               struct sand_diag *diag)
{
    if (sand_h5_mark(merge->file, SAND_H5_RESULTS) < 0 ||
        sand_metagroup_write(merge->file, meta) < 0)
        return sand_h5_fail(merge->file, "write", diag);
    for (size_t i = 0; i < SAND_TABLES; i++)
        SAND_TRY(sand_tablewriter_open(merge->file, (enum sand_table)i, merge->totals[i],
                                       &merge->writers[i], diag));
    return SAND_OK;
}

static enum sand_rc copy_table(struct sand_tablewriter *writer, struct sand_h5 *shard,
                               enum sand_table table, size_t n_rows, struct sand_diag *diag)
{
    for (size_t done = 0; done < n_rows;) {
        size_t n;
        void *const room = sand_tablewriter_room(writer, &n);
        if (n > n_rows - done)
            n = n_rows - done;
        if (n == 0)
            return sand_fail(diag, SAND_ERR_IO, "%s: grew while it was merged", shard->path);
        SAND_TRY(sand_shardread_rows(shard, table, done, n, room, diag));
        SAND_TRY(sand_tablewriter_filled(writer, n, diag));
        done += n;
    }
    return SAND_OK;
}

static enum sand_rc copy_shard(struct merge *merge, const char *path, struct sand_diag *diag)
{
    struct sand_h5 *shard;
    size_t n_rows[SAND_TABLES];
    SAND_TRY(sand_shardread_open(path, &shard, n_rows, diag));
    enum sand_rc rc = SAND_OK;
    for (size_t i = 0; rc == SAND_OK && i < SAND_TABLES; i++)
        rc = copy_table(merge->writers[i], shard, (enum sand_table)i, n_rows[i], diag);
    sand_h5_close(shard);
    return rc;
}

// The row count must be what was counted: a shard that shrank would leave chunks never written.
static enum sand_rc check_complete(const struct merge *merge, struct sand_diag *diag)
{
    for (size_t i = 0; i < SAND_TABLES; i++) {
        size_t left;
        sand_tablewriter_room(merge->writers[i], &left);
        if (left > 0)
            return sand_fail(diag, SAND_ERR_IO, "%s: a shard shrank while it was merged",
                             merge->file->path);
    }
    return SAND_OK;
}

static enum sand_rc write_all(struct merge *merge, const char *const *shards, size_t n_shards,
                              const struct sand_meta *meta, struct sand_diag *diag)
{
    SAND_TRY(write_head(merge, meta, diag));
    for (size_t i = 0; i < n_shards; i++)
        SAND_TRY(copy_shard(merge, shards[i], diag));
    return check_complete(merge, diag);
}

enum sand_rc sand_results_merge(const char *const *shards, size_t n_shards,
                                const struct sand_meta *meta, const char *path,
                                struct sand_diag *diag)
{
    struct merge merge = {0};
    SAND_TRY(count(&merge, shards, n_shards, diag));
    SAND_TRY(sand_h5_create(path, &merge.file, diag));
    const enum sand_rc rc = write_all(&merge, shards, n_shards, meta, diag);
    sand_h5_listen(merge.file);
    for (size_t i = 0; i < SAND_TABLES; i++)
        sand_tablewriter_close(merge.writers[i]);
    if (rc == SAND_OK)
        return sand_h5_commit(merge.file, diag);
    sand_h5_close(merge.file);
    return rc;
}
