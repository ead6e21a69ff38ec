// Writes a sample results file through the real store, and prints one as the store reads it.
//   results-sample write FILE     two shards, merged
//   results-sample dump FILE      table, row, column, value: tab-separated, one cell a line
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "store.h"

#define ROWS_PER_SHARD 5

union any_row {
    uint64_t align;
    char bytes[1024];
};

static void make_cell(const struct sand_column *column, uint64_t mix, void *cell)
{
    const int64_t date = mix % 3 == 0 ? -1 : (int64_t)mix * 1000000007;
    const uint32_t index = mix % 4 == 0 ? UINT32_MAX : (uint32_t)mix;
    const uint64_t count = UINT64_MAX - mix;
    const double number = mix % 5 == 0 ? (double)NAN : (double)mix / 3.0;
    const void *const cells[] = {[SAND_COL_i64] = &date,
                                 [SAND_COL_u32] = &index,
                                 [SAND_COL_u64] = &count,
                                 [SAND_COL_f64] = &number};
    if (column->type == SAND_COL_str)
        snprintf(cell, SAND_STR_SIZE, "%s %" PRIu64 " \xc3\xa9", column->name, mix);
    else
        memcpy(cell, cells[column->type], column->size);
}

static enum sand_rc add_rows(struct sand_shard *shard, uint64_t seed)
{
    for (size_t t = 0; t < SAND_TABLES; t++) {
        const struct sand_table_info *const info = sand_table_info((enum sand_table)t);
        for (uint64_t i = 0; i < ROWS_PER_SHARD; i++) {
            union any_row row = {0};
            for (size_t c = 0; c < info->n_columns; c++)
                make_cell(&info->columns[c], seed + t * 7 + i * 11 + c * 3,
                          row.bytes + info->columns[c].offset);
            SAND_TRY(sand_shard_row(shard, (enum sand_table)t, &row));
        }
    }
    return SAND_OK;
}

static enum sand_rc write_shard(const char *path, uint64_t seed, struct sand_diag *diag)
{
    struct sand_shard *shard;
    SAND_TRY(sand_shard_open(path, diag, &shard));
    enum sand_rc rc = add_rows(shard, seed);
    if (rc == SAND_OK)
        rc = sand_shard_commit(shard);
    sand_shard_close(shard);
    return rc;
}

static enum sand_rc write_sample(const char *path, struct sand_diag *diag)
{
    static const char *const assumptions[] = {"gpu h100-sxm-80g: tile_m", "link ndr400-ib: usable"};
    const struct sand_meta meta = {.name = "sample",
                                   .canonical = "<experiment name=\"sample\"/>",
                                   .digest = "00ff",
                                   .program_version = "0.1.0",
                                   .physics_version = "1",
                                   .assumptions = assumptions,
                                   .n_assumptions = 2,
                                   .seed = UINT64_MAX,
                                   .replications = 2,
                                   .duration_ns = 86400000000000};
    char paths[2][512];
    const char *const shards[] = {paths[0], paths[1]};
    for (uint64_t i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s.shard%d", path, (int)i);
        SAND_TRY(write_shard(paths[i], i * 1000, diag));
    }
    const enum sand_rc rc = sand_results_merge(shards, 2, &meta, path, diag);
    unlink(paths[0]);
    unlink(paths[1]);
    return rc;
}

static void print_cell(const struct sand_column *column, const char *cell)
{
    int64_t i64;
    uint32_t u32;
    uint64_t u64;
    double f64;
    switch (column->type) {
    case SAND_COL_i64:
        memcpy(&i64, cell, sizeof i64);
        printf("%" PRId64 "\n", i64);
        return;
    case SAND_COL_u32:
        memcpy(&u32, cell, sizeof u32);
        printf("%" PRIu32 "\n", u32);
        return;
    case SAND_COL_u64:
        memcpy(&u64, cell, sizeof u64);
        printf("%" PRIu64 "\n", u64);
        return;
    case SAND_COL_f64:
        memcpy(&f64, cell, sizeof f64);
        printf(isnan(f64) ? "nan\n" : "%.17g\n", f64);
        return;
    case SAND_COL_str:
        printf("%s\n", cell);
        return;
    }
}

static enum sand_rc dump_table(struct sand_results *results, enum sand_table table,
                               struct sand_diag *diag)
{
    const struct sand_table_info *const info = sand_table_info(table);
    const void *rows;
    size_t n;
    SAND_TRY(sand_results_table(results, table, &rows, &n, diag));
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < info->n_columns; c++) {
            printf("%s\t%zu\t%s\t", info->name, i, info->columns[c].name);
            print_cell(&info->columns[c],
                       (const char *)rows + i * info->row_size + info->columns[c].offset);
        }
    }
    return SAND_OK;
}

static enum sand_rc dump(const char *path, struct sand_diag *diag)
{
    struct sand_results *results;
    SAND_TRY(sand_results_open(path, &results, diag));
    enum sand_rc rc = SAND_OK;
    for (size_t t = 0; rc == SAND_OK && t < SAND_TABLES; t++)
        rc = dump_table(results, (enum sand_table)t, diag);
    sand_results_close(results);
    return rc;
}

int main(int argc, char **argv)
{
    struct sand_diag diag = {0};
    enum sand_rc rc = SAND_ERR_USAGE;
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        rc = write_sample(argv[2], &diag);
    else if (argc == 3 && strcmp(argv[1], "dump") == 0)
        rc = dump(argv[2], &diag);
    else
        fputs("usage: results-sample write|dump FILE\n", stderr);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    return sand_rc_exit_status(rc);
}
