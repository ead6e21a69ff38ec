// Table descriptions, made from results.def.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "results.h"

#include <string.h>

// A column that the row struct lacks, or has with another type, does not compile.
#define TABLE(name, doc)
#define COL(table, type, name, unit, doc)                                                          \
    _Static_assert(sizeof(((struct sand_##table##_row *)0)->name) == sizeof(sand_cell_##type),     \
                   "results_rows.h: " #table "." #name);
#include "results.def"
#undef TABLE
#undef COL

struct sand_tagged_column {
    enum sand_table table;
    struct sand_column column;
};

static const struct sand_tagged_column all_columns[] = {
#define TABLE(name, doc)
#define COL(table, type, name, unit, doc)                                                          \
    {SAND_TABLE_##table,                                                                           \
     {#name, unit, doc, SAND_COL_##type, offsetof(struct sand_##table##_row, name),                \
      sizeof(sand_cell_##type)}},
#include "results.def"
#undef TABLE
#undef COL
};

enum { N_COLUMNS = sizeof all_columns / sizeof all_columns[0] };

static struct sand_column columns[N_COLUMNS];
static struct sand_table_info tables[SAND_TABLES] = {
#define TABLE(name, doc) {#name, doc, NULL, 0, sizeof(struct sand_##name##_row)},
#define COL(table, type, name, unit, doc)
#include "results.def"
#undef TABLE
#undef COL
};

// Fills the derived arrays once; they are constant afterwards.
static void index_columns(void)
{
    for (size_t i = 0; i < N_COLUMNS; i++) {
        struct sand_table_info *info = &tables[all_columns[i].table];
        columns[i] = all_columns[i].column;
        if (info->n_columns == 0)
            info->columns = &columns[i];
        info->n_columns++;
    }
}

const struct sand_table_info *sand_table_info(enum sand_table table)
{
    if (tables[0].n_columns == 0)
        index_columns();
    return &tables[table];
}

// The most bytes of `text`, of which there are more, that fit and end with a whole UTF-8 letter: a
// byte 10xxxxxx goes on with the one before it, and a letter has at most three of them (RFC 3629).
static size_t whole_letters(const char *text)
{
    const size_t room = SAND_STR_SIZE - 1;
    size_t length = room;
    while (room - length < 3 && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--;
    return ((unsigned char)text[length] & 0xC0) == 0x80 ? room : length; // no UTF-8: cut anywhere
}

void sand_cell_set(sand_cell_str *cell, const char *text)
{
    memset(cell->text, 0, sizeof cell->text);
    const size_t length = strlen(text);
    memcpy(cell->text, text, length < sizeof cell->text ? length : whole_letters(text));
}
