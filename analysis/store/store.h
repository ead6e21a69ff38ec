// Results in HDF5: light shards while running, one merged file for people.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_STORE_STORE_H
#define SAND_ANALYSIS_STORE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"
#include "results.h"

// Version of the layout of shards and results files. A reader refuses a greater one.
#define SAND_RESULTS_FORMAT 1

struct sand_meta {
    const char *name, *canonical, *digest, *program_version, *physics_version;
    const char *const *assumptions;
    size_t n_assumptions;
    uint64_t seed;
    uint32_t replications;
    int64_t duration_ns;
};

// ---- shard: one run unit, one compound dataset per table ----------------------------------------
struct sand_shard;
// Collects rows and writes them to `path`.part in pieces of 8192 a table; commit makes it `path`
// (fsync, rename), close without commit leaves nothing. What goes wrong goes to `diag`, which
// outlives the shard. Memory: a piece of every table.
enum sand_rc sand_shard_open(const char *path, struct sand_diag *diag, struct sand_shard **shard);
enum sand_rc sand_shard_row(void *shard, enum sand_table table,
                            const void *row); // a sink's function
enum sand_rc sand_shard_commit(struct sand_shard *shard);
void sand_shard_close(struct sand_shard *shard);
// SAND_OK if `path` is a whole shard of this format and of the present tables, so that a later run
// may reuse it; else the code and the reason. Reads the descriptions, not the rows.
enum sand_rc sand_shard_check(const char *path, struct sand_diag *diag);

// ---- merged file
// ------------------------------------------------------------------------------------ Merges
// shards, in the order given, into `path`: a group per table, one dataset per column with units and
// long_name, dimension scales, shuffle + deflate, no times: equal input, equal bytes. Streams:
// holds at most a chunk of rows per table. O(rows).
enum sand_rc sand_results_merge(const char *const *shards, size_t n_shards,
                                const struct sand_meta *meta, const char *path,
                                struct sand_diag *diag);

// ---- other tables
// ----------------------------------------------------------------------------------- A table that
// is no part of results files: numbers (NaN: not known) or texts, one of the two.
struct sand_store_column {
    const char *name, *unit, *long_name;
    const double *numbers;
    const char *const *texts;
};
struct sand_store_columns {
    const char *content;           // what the file is, its attribute `content`: "step-validation"
    const char *group, *long_name; // of the table
    const struct sand_store_column *columns;
    size_t n_columns, n_rows;
};
// Writes `path` (.part, fsync, rename) with one group, one dataset per column with units and
// long_name, no times: equal input, equal bytes.
enum sand_rc sand_store_columns_write(const struct sand_store_columns *table, const char *path,
                                      struct sand_diag *diag);

// ---- reading
// ----------------------------------------------------------------------------------------
struct sand_results;
// Opens a merged file; refuses what is no Sandtable results file, saying what it is.
enum sand_rc sand_results_open(const char *path, struct sand_results **results,
                               struct sand_diag *diag);
void sand_results_close(struct sand_results *results);
// Owned by results.
const struct sand_meta *sand_results_meta(const struct sand_results *results);
// Rows of a table as an array of its row struct, read on first use; owned by results. *rows is
// never NULL on success, also when *n_rows is 0.
enum sand_rc sand_results_table(struct sand_results *results, enum sand_table table,
                                const void **rows, size_t *n_rows, struct sand_diag *diag);

// Whether the file has the table at all: one written before there was such a table has none.
int sand_results_has(struct sand_results *results, enum sand_table table);

// The rows for which `keep` gives 1, which is asked for every row in their order. Memory: those
// kept and a block. Owned by results, until the next pick of the table; *rows as above.
enum sand_rc sand_results_pick(struct sand_results *results, enum sand_table table,
                               int (*keep)(void *self, const void *row), void *self,
                               const void **rows, size_t *n_rows, struct sand_diag *diag);

// Versions, for --version and the run record.
const char *sand_store_hdf5_version(void);

#endif
