// Parses XML that others wrote.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "importmarkup.h"

#include <ctype.h>
#include <libxml/parser.h>
#include <string.h>

static void report(void *context, xmlError *error)
{
    struct import_job *job = context;
    size_t n = error->message ? strcspn(error->message, "\n") : 0;
    if (error->level >= XML_ERR_ERROR)
        import_refuse(job, error->line, "%.*s", (int)n, error->message ? error->message : "");
}

xmlDoc *import_markup_parse(struct import_job *job)
{
    xmlSetStructuredErrorFunc(job, report);
    xmlDoc *document =
        xmlReadMemory(job->text, (int)job->size, NULL, NULL, XML_PARSE_NONET | XML_PARSE_BIG_LINES);
    xmlSetStructuredErrorFunc(NULL, NULL);
    if (document != NULL && document->intSubset != NULL)
        import_refuse(job, 0, "has a DOCTYPE; remove it: nothing is fetched or expanded here");
    if (document != NULL && xmlDocGetRootElement(document) == NULL)
        import_refuse(job, 0, "has no element");
    if (document == NULL && job->n_refused == 0)
        import_refuse(job, 0, "is no XML");
    if (job->n_refused == 0)
        return document;
    xmlFreeDoc(document);
    return NULL;
}

const char *import_markup_attribute(const xmlNode *node, const char *name)
{
    for (const xmlAttr *a = node->properties; a != NULL; a = a->next)
        if (strcmp((const char *)a->name, name) == 0)
            return a->children && a->children->content ? (const char *)a->children->content : "";
    return NULL;
}

int import_markup_is(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

const xmlNode *import_markup_below(const xmlNode *node, const char *name)
{
    for (const xmlNode *at = node->children; at != NULL;) {
        if (import_markup_is(at, name))
            return at;
        if (at->children != NULL && at->type == XML_ELEMENT_NODE) {
            at = at->children;
            continue;
        }
        while (at != node && at->next == NULL)
            at = at->parent;
        at = at == node ? NULL : at->next;
    }
    return NULL;
}

long import_markup_line(const xmlNode *node)
{
    return xmlGetLineNo(node);
}

const char *import_markup_text(struct import_job *job, const xmlNode *node)
{
    const char *found = "";
    for (const xmlNode *n = node->children; n != NULL; n = n->next)
        if ((n->type == XML_TEXT_NODE || n->type == XML_CDATA_SECTION_NODE) && n->content)
            found = (const char *)n->content;
    while (isspace((unsigned char)*found))
        found++;
    size_t length = strlen(found);
    while (length > 0 && isspace((unsigned char)found[length - 1]))
        length--;
    const char *text = sand_arena_printf(&job->arena, "%.*s", (int)length, found);
    return text ? text : "";
}

int import_markup_count(const char *text, uint32_t *value)
{
    size_t n = text ? strspn(text, "0123456789") : 0;
    if (n == 0 || n > 9 || text[n] != '\0')
        return 0;
    *value = 0;
    for (size_t i = 0; i < n; i++)
        *value = *value * 10 + (uint32_t)(text[i] - '0');
    return 1;
}
