// Text in XML; see xmltext.h.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "xmltext.h"

#include "utf8.h"

// One letter as it is, or a question mark; returns the bytes read.
static size_t put_letter(FILE *out, const char *at)
{
    const size_t n = sand_utf8_length(at);
    const unsigned char c = (unsigned char)*at;
    if (n == 0 || c < ' ' || c == 127)
        fputc('?', out);
    else
        fwrite(at, 1, n, out);
    return n > 0 ? n : 1;
}

void sand_xml_text(FILE *out, const char *text)
{
    while (*text != '\0') {
        const char c = *text;
        if (c == '&')
            fputs("&amp;", out);
        else if (c == '<')
            fputs("&lt;", out);
        else if (c == '>')
            fputs("&gt;", out);
        else if (c == '"')
            fputs("&quot;", out);
        else if (c == '\t' || c == '\n' || c == '\r' || c == 127)
            fprintf(out, "&#%d;", c);
        else {
            text += put_letter(out, text);
            continue;
        }
        text++;
    }
}

int sand_xml_comment(FILE *out, const char *text)
{
    int changed = 0;
    char before = ' ';
    while (*text != '\0') {
        if (*text == '-' && before == '-') {
            fputs("&#45;", out);
            before = ';';
            changed = 1;
            text++;
        } else {
            before = *text;
            text += put_letter(out, text);
        }
    }
    if (before == '-')
        fputc(' ', out);
    return changed;
}
