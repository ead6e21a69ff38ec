// The format page docs/formats/results.md, made from results.def.
//   results-page          prints it
//   results-page FILE     0 if FILE is what would be printed
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filegate.h"
#include "mem.h"
#include "missing.h"
#include "store.h"

static const char head[] =
    "# The results file\n"
    "\n"
    "<!-- Made by tests/results/resultspage.c from sim/model/results.def; a test compares. -->\n"
    "\n"
    "`sandtable run` writes one HDF5 file, `results.h5`. It needs nothing but HDF5 to be read: a "
    "group\n"
    "per table, a data set per column, all columns of a table equally long. Every column carries\n"
    "`units` and `long_name`, every table `long_name` and a dimension scale `row`. Numbers are\n"
    "little-endian, texts are UTF-8 of 64 bytes, padded with NUL. `_FillValue` is what stands "
    "where a\n"
    "value is missing. The same experiment gives the same bytes: no dates of writing, no host "
    "names.\n"
    "\n"
    "## The root and /meta\n"
    "\n"
    "| attribute of the root | type | meaning |\n"
    "| --- | --- | --- |\n"
    "| `Conventions` | text | `Sandtable-1`: how to know such a file |\n"
    "| `content` | text | `results`; `shard` in the files of single run units, which are not for "
    "you |\n"
    "| `format_version` | u32 | %d; readers refuse a greater one |\n"
    "| `title`, `source` | text | for people and for netCDF tools |\n"
    "\n"
    "| in /meta | type | meaning |\n"
    "| --- | --- | --- |\n"
    "| attribute `name` | text | name of the experiment |\n"
    "| attribute `digest` | text | SHA-256 of the resolved spec |\n"
    "| attribute `seed` | u64 | seed of the experiment |\n"
    "| attribute `replications` | u32 | how often it was simulated |\n"
    "| attribute `duration_ns` | i64 | simulated time of each, in ns |\n"
    "| attribute `program_version` | text | version of sandtable |\n"
    "| attribute `physics_version` | text | changes when the same spec gives other numbers |\n"
    "| data set `spec` | text | the resolved spec, every default written out |\n"
    "| data set `assumptions` | texts | hardware figures without a source, absent if there are "
    "none |\n"
    "\n"
    "## Tables\n"
    "\n"
    "Dates are nanoseconds since the start of the experiment. An index counts from 0.\n";

static const char tail[] =
    "\n"
    "## Reading it with Python\n"
    "\n"
    "With Debian's python3-h5py and python3-pandas; a test runs these lines on a sample.\n"
    "\n"
    "```python\n"
    "import sys\n"
    "\n"
    "import h5py\n"
    "import pandas as pd\n"
    "\n"
    "\n"
    "def table(path, name):\n"
    "    with h5py.File(path) as f:\n"
    "        frame = pd.DataFrame({c: f[name][c][:] for c in f[name] if c != \"row\"})\n"
    "    texts = frame.select_dtypes(object).columns\n"
    "    frame[texts] = frame[texts].apply(lambda column: column.str.decode(\"utf-8\"))\n"
    "    return frame\n"
    "\n"
    "\n"
    "incidents = table(sys.argv[1], \"incidents\")\n"
    "# What struck during a recovery is in the loss of that recovery: count the loss of roots "
    "alone.\n"
    "roots = incidents[incidents.parent == 4294967295]\n"
    "print(roots.groupby(\"cause\").lost_gpu_s.agg([\"count\", \"sum\"]) / [1, 3600])\n"
    "```\n"
    "\n"
    "## Reading it with R\n"
    "\n"
    "With Debian's r-cran-hdf5r; not run by a test.\n"
    "\n"
    "```r\n"
    "library(hdf5r)\n"
    "read_table <- function(path, name) {\n"
    "  file <- H5File$new(path, mode = \"r\")\n"
    "  on.exit(file$close_all())\n"
    "  group <- file[[name]]\n"
    "  columns <- setdiff(names(group), \"row\")\n"
    "  as.data.frame(sapply(columns, function(c) group[[c]][], simplify = FALSE))\n"
    "}\n"
    "jobs <- read_table(\"results.h5\", \"jobs\")\n"
    "aggregate(mfu ~ id, data = jobs, FUN = mean)\n"
    "```\n";

static const char *type_name(enum sand_column_type type)
{
    static const char *const names[] = {[SAND_COL_i64] = "i64",
                                        [SAND_COL_u32] = "u32",
                                        [SAND_COL_u64] = "u64",
                                        [SAND_COL_f64] = "f64",
                                        [SAND_COL_str] = "text"};
    return names[type];
}

static const char *missing_name(enum sand_table table, const struct sand_column *column)
{
    if (sand_missing_cell(table, column) == NULL)
        return "";
    if (column->type == SAND_COL_f64)
        return "NaN";
    return column->type == SAND_COL_i64 ? "-1" : "4294967295";
}

static void print_table(enum sand_table table, FILE *out)
{
    const struct sand_table_info *const info = sand_table_info(table);
    fprintf(out, "\n### /%s\n\n%s.\n\n", info->name, info->doc);
    fputs("| column | type | unit | missing | meaning |\n| --- | --- | --- | --- | --- |\n", out);
    for (size_t i = 0; i < info->n_columns; i++) {
        const struct sand_column *const column = &info->columns[i];
        fprintf(out, "| `%s` | %s | %s | %s | %s |\n", column->name, type_name(column->type),
                column->unit, missing_name(table, column), column->doc);
    }
}

static void print_page(FILE *out)
{
    fprintf(out, head, SAND_RESULTS_FORMAT);
    for (size_t i = 0; i < SAND_TABLES; i++)
        print_table((enum sand_table)i, out);
    fputs(tail, out);
}

static int compare(const char *path)
{
    char *page = NULL, *file;
    size_t page_size = 0, file_size;
    struct sand_diag diag = {0};
    if (sand_file_read(path, 1u << 24, &file, &file_size, &diag) != SAND_OK) {
        sand_diag_print(&diag, stderr);
        return 1;
    }
    FILE *const out = open_memstream(&page, &page_size);
    print_page(out);
    fclose(out);
    const int same = page_size == file_size && memcmp(page, file, page_size) == 0;
    if (!same)
        fprintf(stderr, "%s is not what results.def says; refresh it with: results-page > %s\n",
                path, path);
    free(page);
    sand_free(file);
    return !same;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return compare(argv[1]);
    print_page(stdout);
    return 0;
}
