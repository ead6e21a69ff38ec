// A libFuzzer target: any bytes as one import format, chosen when it is built.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sand_import_options options = {.file = "input", .data = SAND_SOURCE_DIR};
    struct sand_import_result result;
    struct sand_diag diag = {0};
    char *text = sand_calloc(size + 1, 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    enum sand_rc rc = sand_import(SAND_FUZZ_FORMAT, text, size, &options, &result, &diag);
    // Refused with a reason, or answered: nothing in between.
    if (rc == SAND_OK ? result.xml == NULL : diag.n_errors == 0)
        abort();
    sand_free(result.xml);
    sand_free(text);
    sand_diag_clear(&diag);
    return 0;
}
