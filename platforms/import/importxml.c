// The XML that imports write: a comment block that says where everything comes from, then the
// element. SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "importjob.h"

// A comment may hold neither "--" nor control characters, whatever the input does.
static void write_comment(FILE *out, const char *text)
{
    char before = ' ';
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        char shown = c < ' ' || c >= 127 ? '?' : *text;
        if (shown == '-' && before == '-')
            fputc(' ', out);
        fputc(shown, out);
        before = shown;
    }
    if (before == '-')
        fputc(' ', out);
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
    write_comment(xml->out, job->options->file);
    for (size_t i = 0; i < job->n_notes; i++) {
        fputs("\n     ", xml->out);
        write_comment(xml->out, job->notes[i]);
    }
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
