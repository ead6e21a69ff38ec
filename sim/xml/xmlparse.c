// Parses one document with every dangerous feature of XML refused.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include <libxml/parser.h>

#include "xmlprivate.h"

// One broken tag can raise hundreds of messages; the first ones tell.
enum { MAX_REPORTS = 20 };

struct parse_state {
    const struct sand__xml_file *file;
    struct sand_diag *diag;
    size_t n_reports;
    int refused; // stopped by us: what the parser says afterwards is noise
};

void sand__xml_report(struct sand_diag *diag, struct sand_xml_place place, sand__xml_error error)
{
    char text[400];
    const char *message = error->message ? error->message : "unknown error";
    size_t n = 0;
    for (const char *c = message; *c && n + 1 < sizeof text; c++)
        text[n++] = (unsigned char)*c < ' ' ? ' ' : *c;
    while (n > 0 && text[n - 1] == ' ')
        n--;
    text[n] = '\0';
    enum sand_severity severity = error->level == XML_ERR_WARNING ? SAND_WARNING : SAND_ERROR;
    sand_diag_add(diag, severity, place.file, place.line, "XML: %s", text);
}

static void on_error(void *context, sand__xml_error error)
{
    xmlParserCtxt *parser = context;
    struct parse_state *state = parser->_private;
    if (state->refused || state->n_reports++ >= MAX_REPORTS)
        return;
    struct sand_xml_place place = {state->file->shown, error->line};
    sand__xml_report(state->diag, place, error);
}

// A DOCTYPE is where entities come from: file disclosure, network access, exponential expansion.
static void refuse_doctype(void *context, const xmlChar *name, const xmlChar *external,
                           const xmlChar *system)
{
    (void)external, (void)system;
    xmlParserCtxt *parser = context;
    struct parse_state *state = parser->_private;
    long line = parser->input ? parser->input->line : 0;
    sand_diag_add(state->diag, SAND_ERROR, state->file->shown, line,
                  "has a document type declaration (<!DOCTYPE %s ...>), which is refused because "
                  "entities can read other files; delete it",
                  name ? (const char *)name : "");
    state->n_reports++;
    state->refused = 1;
    xmlStopParser(parser);
}

// A parser whose names live in the shared dictionary.
static xmlParserCtxt *new_parser(struct sand_xml *xml, struct parse_state *state)
{
    xmlParserCtxt *parser = xmlNewParserCtxt();
    if (!parser)
        return NULL;
    xmlDictFree(parser->dict);
    parser->dict = xml->dict;
    xmlDictReference(parser->dict);
    parser->_private = state;
    parser->sax->serror = on_error;
    parser->sax->internalSubset = refuse_doctype;
    return parser;
}

static enum sand_rc parse(xmlParserCtxt *parser, struct parse_state *state,
                          struct sand__xml_file *file, const char *bytes, size_t size)
{
    // Without NOENT and HUGE: entities stay unexpanded and the parser's own bounds hold (names,
    // text of 10 MB, nesting of 256). BIG_LINES: right line numbers beyond 65535.
    const int options = XML_PARSE_NONET | XML_PARSE_BIG_LINES;
    file->doc = xmlCtxtReadMemory(parser, bytes, (int)size, file->shown, NULL, options);
    xmlNode *root = file->doc ? xmlDocGetRootElement(file->doc) : NULL;
    if (state->refused)
        return SAND_ERR_INPUT;
    if (root && parser->wellFormed && parser->nsWellFormed) {
        root->_private = file;
        return SAND_OK;
    }
    if (state->n_reports == 0)
        sand_diag_add(state->diag, SAND_ERROR, file->shown, 0, "is no well-formed XML document");
    return SAND_ERR_INPUT;
}

// libxml2 takes a NUL after the root element for the end of the document and ignores what follows.
static int check_bytes(const struct sand__xml_file *file, const char *bytes, size_t size,
                       struct sand_diag *diag)
{
    const char *nul = memchr(bytes, '\0', size);
    long line = 1;
    if (size == 0)
        sand_diag_add(diag, SAND_ERROR, file->shown, 0, "is empty; an XML document is expected");
    if (!nul)
        return size > 0;
    for (const char *c = bytes; c < nul; c++)
        line += *c == '\n';
    sand_diag_add(diag, SAND_ERROR, file->shown, line,
                  "holds a NUL byte; write the document in UTF-8");
    return 0;
}

enum sand_rc sand__xml_parse(struct sand_xml *xml, struct sand__xml_file *file, const char *bytes,
                             size_t size, struct sand_diag *diag)
{
    if (!check_bytes(file, bytes, size, diag))
        return SAND_ERR_INPUT;
    struct parse_state state = {.file = file, .diag = diag};
    xmlParserCtxt *parser = new_parser(xml, &state);
    if (!parser)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", file->shown);
    enum sand_rc rc = parse(parser, &state, file, bytes, size);
    xmlFreeParserCtxt(parser);
    return rc;
}
