// The XML that imports write: a comment block that says where everything comes from, then the
// element. SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "importjob.h"

// A comment may hold neither "--" nor control characters, whatever the input does: the second dash
// becomes the character reference that it would be elsewhere in XML. Returns whether one did.
static int write_comment(FILE *out, const char *text)
{
    int changed = 0;
    char before = ' ';
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        char shown = c < ' ' || c >= 127 ? '?' : *text;
        if (shown == '-' && before == '-') {
            fputs("&#45;", out);
            before = ';';
            changed = 1;
        } else {
            fputc(shown, out);
            before = shown;
        }
    }
    if (before == '-')
        fputc(' ', out);
    return changed;
}

int import_xml_open(struct import_job *job, struct import_xml *xml)
{
    *xml = (struct import_xml){0};
    xml->out = open_memstream(&xml->text, &xml->size);
    if (xml->out == NULL)
        return import_no_memory(job);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Imported by `sandtable import ",
          xml->out);
    write_comment(xml->out, sand_import_format_name(job->format));
    fputs("' from ", xml->out);
    int changed = write_comment(xml->out, job->options->file);
    for (size_t i = 0; i < job->n_notes; i++) {
        fputs("\n     ", xml->out);
        changed |= write_comment(xml->out, job->notes[i]);
    }
    if (changed)
        fputs("\n     Written &#45; above: a second dash in a row, which no XML comment may hold.",
              xml->out);
    fputs(" -->\n", xml->out);
    return 1;
}

static void write_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '&')
            fputs("&amp;", out);
        else if (c == '<')
            fputs("&lt;", out);
        else if (c == '"')
            fputs("&quot;", out);
        else
            fputc(c < ' ' || c >= 127 ? '?' : *text, out);
    }
}

void import_xml_attribute(struct import_xml *xml, const char *name, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(xml->out, " %s=\"", name);
    write_escaped(xml->out, text);
    fputc('"', xml->out);
}

int import_xml_close(struct import_job *job, struct import_xml *xml)
{
    int failed = ferror(xml->out) != 0;
    failed = fclose(xml->out) != 0 || failed;
    char *kept = failed ? NULL : sand_calloc(xml->size + 1, 1);
    if (kept != NULL) {
        memcpy(kept, xml->text, xml->size);
        job->result->xml = kept;
        job->result->size = xml->size;
    }
    free(xml->text); // of open_memstream
    return kept != NULL ? 1 : import_no_memory(job);
}
