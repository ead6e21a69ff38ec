// The columns of measured training steps.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "steprows.h"

static const char *const names[SAND_STEP_COLUMNS] = {"id",
                                                     "source",
                                                     "confirmed",
                                                     "model",
                                                     "layers",
                                                     "hidden",
                                                     "heads",
                                                     "kv_heads",
                                                     "ffn_hidden",
                                                     "vocab",
                                                     "seq_len",
                                                     "moe_experts",
                                                     "moe_topk",
                                                     "gpu",
                                                     "gpus",
                                                     "nodes",
                                                     "TP",
                                                     "PP",
                                                     "VP",
                                                     "CP",
                                                     "EP",
                                                     "zero_or_fsdp",
                                                     "micro_batch",
                                                     "global_batch",
                                                     "precision",
                                                     "recompute",
                                                     "seq_parallel",
                                                     "network",
                                                     "iter_time_s",
                                                     "tokens_per_s_gpu",
                                                     "tflops_per_gpu"};

// Without these no row can be predicted.
static uint64_t needed_columns(void)
{
    return (uint64_t)1 << SAND_STEP_LAYERS | (uint64_t)1 << SAND_STEP_HIDDEN |
           (uint64_t)1 << SAND_STEP_SEQUENCE | (uint64_t)1 << SAND_STEP_GPU |
           (uint64_t)1 << SAND_STEP_GPUS | (uint64_t)1 << SAND_STEP_TP |
           (uint64_t)1 << SAND_STEP_PP | (uint64_t)1 << SAND_STEP_GLOBAL_BATCH;
}

const char *sand_step_column_name(enum sand_step_column column)
{
    return names[column];
}

_Static_assert(sizeof(struct sand_step_row) == (SAND_STEP_COLUMNS + 1) * sizeof(const char *),
               "a row is its cells and its fault");

enum sand_rc sand_step_rows_read(const char *path, struct sand_step_rows *rows,
                                 struct sand_diag *diag)
{
    *rows = (struct sand_step_rows){0};
    const enum sand_rc rc =
        sand_csv_rows_read(path, names, SAND_STEP_COLUMNS, needed_columns(), &rows->table, diag);
    rows->rows = (struct sand_step_row *)rows->table.cells;
    rows->n = rows->table.n;
    return rc;
}

void sand_step_rows_clear(struct sand_step_rows *rows)
{
    sand_csv_rows_clear(&rows->table);
    *rows = (struct sand_step_rows){0};
}
