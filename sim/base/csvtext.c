// Text in CSV; see csvtext.h.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "csvtext.h"

#include <string.h>

void sand_csv_text(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}
