// Helpers to read traces in tests.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_TRACEFIXTURE_H
#define SAND_TESTS_TRACEFIXTURE_H

#include <stddef.h>

#include "trace.h"

// What was said about rows, in the order said.
struct heard {
    long line;
    enum sand_trace_reason reason;
};

static const struct sand_transformer any_model = {.id = "m"};
static const struct sand_software any_software = {.id = "s"};

struct reading {
    enum sand_rc rc;
    struct sand_diag diag;
    struct sand_trace_job *jobs; // texts copied
    char (*texts)[6][48];
    size_t n;
    struct heard *heard;
    size_t n_heard;
    struct sand_trace_report report;
    char *printed; // the report as text
};

const char *data_path(const char *name);

// Writes a file below a temporary directory of this process and returns its path.
const char *write_file(const char *name, const void *data, size_t size);

// Opens, reads to the end, and closes.
struct reading read_trace(const char *path, enum sand_trace_format format,
                          const struct sand_trace_options *options);
void reading_clear(struct reading *reading);

// The column map of tests/data/traces/quirks.csv, gpus bounded to 1024.
struct sand_trace_options quirks_options(void);

#endif
