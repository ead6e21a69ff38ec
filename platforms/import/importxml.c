// The XML that imports write: a comment block that says where everything comes from, then the
// element. SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "importjob.h"
#include "xmltext.h"

int import_xml_open(struct import_job *job, struct import_xml *xml)
{
    *xml = (struct import_xml){0};
    xml->out = open_memstream(&xml->text, &xml->size);
    if (xml->out == NULL)
        return import_no_memory(job);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Imported by `sandtable import ",
          xml->out);
    sand_xml_comment(xml->out, sand_import_format_name(job->format));
    fputs("' from ", xml->out);
    int changed = sand_xml_comment(xml->out, job->options->file);
    for (size_t i = 0; i < job->n_notes; i++) {
        fputs("\n     ", xml->out);
        changed |= sand_xml_comment(xml->out, job->notes[i]);
    }
    if (changed)
        fputs("\n     Written &#45; above: a second dash in a row, which no XML comment may hold.",
              xml->out);
    fputs(" -->\n", xml->out);
    return 1;
}

void import_xml_attribute(struct import_xml *xml, const char *name, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(xml->out, " %s=\"", name);
    sand_xml_text(xml->out, text);
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
