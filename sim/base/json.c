// JSON strings.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "json.h"

#include <math.h>
#include <stddef.h>

#include "units.h"

// Length of the well-formed UTF-8 sequence at `s`, 0 if there is none (RFC 3629 table 3-7: no
// overlong forms, no surrogates, nothing above U+10FFFF).
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

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
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t n = utf8_length(s);
        if (n == 0)
            fputs("\\ufffd", out);
        else if (n == 1)
            put_ascii(out, *s);
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
