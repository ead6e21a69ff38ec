// Measured training steps as a CSV gives them: texts by column, nothing interpreted.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_STEPROWS_H
#define SAND_ANALYSIS_VALIDATE_STEPROWS_H

#include "csvrows.h"

enum sand_step_column {
    SAND_STEP_ID,
    SAND_STEP_SOURCE,
    SAND_STEP_CONFIRMED,
    SAND_STEP_MODEL,
    SAND_STEP_LAYERS,
    SAND_STEP_HIDDEN,
    SAND_STEP_HEADS,
    SAND_STEP_KV_HEADS,
    SAND_STEP_FFN,
    SAND_STEP_VOCAB,
    SAND_STEP_SEQUENCE,
    SAND_STEP_EXPERTS,
    SAND_STEP_TOP_K,
    SAND_STEP_GPU,
    SAND_STEP_GPUS,
    SAND_STEP_NODES,
    SAND_STEP_TP,
    SAND_STEP_PP,
    SAND_STEP_VP,
    SAND_STEP_CP,
    SAND_STEP_EP,
    SAND_STEP_SHARDING,
    SAND_STEP_MICRO_BATCH,
    SAND_STEP_GLOBAL_BATCH,
    SAND_STEP_PRECISION,
    SAND_STEP_RECOMPUTE,
    SAND_STEP_SEQUENCE_PARALLEL,
    SAND_STEP_NETWORK,
    SAND_STEP_TIME,
    SAND_STEP_TOKENS,
    SAND_STEP_TFLOPS,
    SAND_STEP_COLUMNS
};
const char *sand_step_column_name(enum sand_step_column column);

struct sand_step_row {
    const char *cell[SAND_STEP_COLUMNS]; // "" where empty
    const char *fault;                   // NULL, or why the row could not be read
};

struct sand_step_rows {
    struct sand_step_row *rows; // the cells of `table`
    size_t n;
    struct sand_csv_rows table;
};

// Reads a CSV as sand_csv_rows_read does: only layers, hidden, seq_len, gpu, gpus, TP, PP and
// global_batch need be columns. Clear in any case. O(bytes).
enum sand_rc sand_step_rows_read(const char *path, struct sand_step_rows *rows,
                                 struct sand_diag *diag);
void sand_step_rows_clear(struct sand_step_rows *rows);

#endif
