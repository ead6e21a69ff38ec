// Which columns may lack a value, and what stands there then.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "missing.h"

#include <math.h>
#include <string.h>

// Indices and dates that can be missing. Every f64 can. A reader that honours _FillValue turns a
// masked integer column into floating point, so the columns that are always there are not listed.
static const struct {
    enum sand_table table;
    const char *column;
} nullable[] = {
    {SAND_TABLE_jobs, "start_ns"},          {SAND_TABLE_jobs, "end_ns"},
    {SAND_TABLE_attempts, "profile"},       {SAND_TABLE_incidents, "parent"},
    {SAND_TABLE_incidents, "job"},          {SAND_TABLE_incidents, "node"},
    {SAND_TABLE_incidents, "component"},    {SAND_TABLE_incidents, "recovered_ns"},
    {SAND_TABLE_incidents, "replacement"},  {SAND_TABLE_checkpoints, "resume_ns"},
    {SAND_TABLE_degradations, "job"},       {SAND_TABLE_degradations, "noticed_ns"},
    {SAND_TABLE_degradations, "healed_ns"}, {SAND_TABLE_checkpoints, "durable_ns"},
    {SAND_TABLE_decisions, "job"},          {SAND_TABLE_decisions, "node"},
};

static const double no_number = NAN;
static const uint32_t no_index = UINT32_MAX;
static const int64_t no_date = -1;

static int is_nullable(enum sand_table table, const char *column)
{
    for (size_t i = 0; i < sizeof nullable / sizeof nullable[0]; i++)
        if (nullable[i].table == table && strcmp(nullable[i].column, column) == 0)
            return 1;
    return 0;
}

const void *sand_missing_cell(enum sand_table table, const struct sand_column *column)
{
    if (column->type == SAND_COL_f64)
        return &no_number;
    if (!is_nullable(table, column->name))
        return NULL;
    return column->type == SAND_COL_i64 ? (const void *)&no_date : (const void *)&no_index;
}
