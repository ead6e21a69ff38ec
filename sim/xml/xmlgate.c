// RELAX NG validation, with the real file and line of every problem.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <libxml/relaxng.h>

#include "xmlprivate.h"

enum { MAX_REPORTS = 20 };

struct sand_xml_schema {
    xmlRelaxNG *compiled;
};

struct report {
    struct sand_diag *diag;
    struct sand_xml_place fallback;
    size_t n;
};

static void on_error(void *context, sand__xml_error error)
{
    struct report *report = context;
    if (report->n++ >= MAX_REPORTS)
        return;
    struct sand_xml_place place = report->fallback;
    if (error->node)
        place = sand_xml_place(error->node);
    sand__xml_report(report->diag, place, error);
}

static xmlRelaxNG *compile(const char *text, size_t size, struct sand_diag *diag)
{
    xmlRelaxNGParserCtxt *parser = xmlRelaxNGNewMemParserCtxt(text, (int)size);
    if (!parser)
        return NULL;
    struct report report = {.diag = diag, .fallback = {.file = "schema"}};
    xmlRelaxNGSetParserStructuredErrors(parser, on_error, &report);
    xmlRelaxNG *compiled = xmlRelaxNGParse(parser);
    xmlRelaxNGFreeParserCtxt(parser);
    return compiled;
}

enum sand_rc sand_xml_schema_open(const char *text, size_t size, struct sand_xml_schema **schema,
                                  struct sand_diag *diag)
{
    struct sand_xml_schema *opened = sand_calloc(1, sizeof *opened);
    if (!opened)
        return sand_fail(diag, SAND_ERR_NOMEM, "schema: out of memory");
    opened->compiled = compile(text, size, diag);
    if (!opened->compiled) {
        sand_free(opened);
        return sand_fail(diag, SAND_ERR_INTERNAL, "the generated schema does not compile");
    }
    *schema = opened;
    return SAND_OK;
}

void sand_xml_schema_close(struct sand_xml_schema *schema)
{
    if (!schema)
        return;
    xmlRelaxNGFree(schema->compiled);
    sand_free(schema);
}

enum sand_rc sand_xml_schema_check(const struct sand_xml_schema *schema, const xmlNode *root,
                                   struct sand_diag *diag)
{
    xmlRelaxNGValidCtxt *validator = xmlRelaxNGNewValidCtxt(schema->compiled);
    if (!validator)
        return sand_fail(diag, SAND_ERR_NOMEM, "schema: out of memory");
    struct report report = {.diag = diag, .fallback = sand_xml_place(root)};
    xmlRelaxNGSetValidStructuredErrors(validator, on_error, &report);
    int result = xmlRelaxNGValidateDoc(validator, root->doc);
    xmlRelaxNGFreeValidCtxt(validator);
    if (result == 0)
        return SAND_OK;
    if (report.n == 0)
        sand_diag_add(diag, SAND_ERROR, report.fallback.file, report.fallback.line,
                      "does not match the schema");
    return result > 0 ? SAND_ERR_INPUT : SAND_ERR_INTERNAL;
}
