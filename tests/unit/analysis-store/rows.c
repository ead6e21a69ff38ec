// Made-up rows for every table.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "rows.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const assumptions[] = {"gpu h100-sxm-80g: tile_m",
                                          "node dgx-h100: \xc3\xa9t\xc3\xa9"};

const struct sand_meta sample_meta = {
    .name = "sample",
    .canonical = "<experiment name=\"sample\"/>\n",
    .digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    .program_version = "0.1.0",
    .physics_version = "1",
    .assumptions = assumptions,
    .n_assumptions = 2,
    .seed = 18446744073709551615u,
    .replications = 3,
    .duration_ns = 4665600000000000,
};

static void make_cell(enum sand_table table, size_t column, enum sand_column_type type, size_t i,
                      void *cell)
{
    const uint64_t mix = (i + 1) * 1000003u + column * 101u + (uint64_t)table * 7u;
    const int64_t date = i % 5 == 0 ? -1 : (int64_t)(mix * 1000000007u % 4665600000000000u);
    const uint32_t index = i % 7 == 0 ? UINT32_MAX : (uint32_t)mix;
    const uint64_t big = UINT64_MAX - mix;
    const double number = i % 11 == 0 ? (double)NAN : (double)mix / 3.0;
    switch (type) {
    case SAND_COL_i64:
        memcpy(cell, &date, sizeof date);
        return;
    case SAND_COL_u32:
        memcpy(cell, &index, sizeof index);
        return;
    case SAND_COL_u64:
        memcpy(cell, &big, sizeof big);
        return;
    case SAND_COL_f64:
        memcpy(cell, &number, sizeof number);
        return;
    case SAND_COL_str:
        snprintf(cell, SAND_STR_SIZE, "t%d c%zu r%zu \xe2\x82\xac", (int)table, column, i);
        return;
    }
}

void make_row(enum sand_table table, size_t i, union any_row *row)
{
    const struct sand_table_info *const info = sand_table_info(table);
    cr_assert(info->row_size <= sizeof row->bytes);
    for (size_t k = 0; k < sizeof row->bytes; k++)
        row->bytes[k] = (char)rand(); // rubbish on purpose
    for (size_t c = 0; c < info->n_columns; c++)
        make_cell(table, c, info->columns[c].type, i, row->bytes + info->columns[c].offset);
}

int is_row(enum sand_table table, size_t i, const void *row)
{
    const struct sand_table_info *const info = sand_table_info(table);
    for (size_t c = 0; c < info->n_columns; c++) {
        char cell[SAND_STR_SIZE] = {0};
        make_cell(table, c, info->columns[c].type, i, cell);
        if (memcmp(cell, (const char *)row + info->columns[c].offset, info->columns[c].size) != 0)
            return 0;
    }
    return 1;
}

enum sand_rc write_shard(const char *path, size_t first, size_t n, struct sand_diag *diag)
{
    struct sand_shard *shard;
    enum sand_rc rc = sand_shard_open(path, diag, &shard);
    if (rc != SAND_OK)
        return rc;
    for (size_t i = first; rc == SAND_OK && i < first + n; i++) {
        for (size_t table = 0; rc == SAND_OK && table < SAND_TABLES; table++) {
            union any_row row;
            make_row((enum sand_table)table, i, &row);
            rc = sand_shard_row(shard, (enum sand_table)table, &row);
        }
    }
    if (rc == SAND_OK)
        rc = sand_shard_commit(shard);
    sand_shard_close(shard);
    return rc;
}

const char *scratch_dir(void)
{
    static char dir[] = "/tmp/sand-store-XXXXXX";
    static int made;
    if (!made)
        cr_assert_not_null(mkdtemp(dir));
    made = 1;
    return dir;
}

char *scratch(const char *name)
{
    static char paths[16][256];
    char path[sizeof paths[0]];
    snprintf(path, sizeof path, "%s/%s", scratch_dir(), name);
    for (size_t i = 0; i < 16; i++) {
        if (paths[i][0] == '\0')
            memcpy(paths[i], path, sizeof path);
        if (strcmp(paths[i], path) == 0)
            return paths[i];
    }
    cr_assert_fail("too many scratch names");
    return NULL;
}
