// JSON strings.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "json.h"

#include <math.h>

#include "units.h"
#include "utf8.h"

static void put_ascii(FILE *out, unsigned char c)
{
    if (c == '"' || c == '\\')
        fprintf(out, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
        fprintf(out, "\\u%04x", c);
    else
        fputc(c, out);
}

void sand_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const char *s = text; *s != '\0';) {
        size_t n = sand_utf8_length(s);
        if (n == 0)
            fputs("\\ufffd", out);
        else if (n == 1)
            put_ascii(out, (unsigned char)*s);
        else
            fwrite(s, 1, n, out);
        s += n > 0 ? n : 1;
    }
    fputc('"', out);
}

void sand_json_number(FILE *out, double value)
{
    char text[64];
    if (isfinite(value))
        fputs(sand_quantity_canonical(value, SAND_DIM_NUMBER, text, sizeof text), out);
    else
        fputs("null", out);
}
