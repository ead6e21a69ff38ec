// XInclude of whole files: each xi:include becomes the root element of the file it names.
// libxml2's own processor opens files by URL itself, reports a cycle as success, names the outer
// file for what it included and leaves the tree half done after an error (2.9.14); here the files
// pass our checks first, and nodes are moved, not copied, so that file and line stay exact.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include <libxml/xinclude.h>

#include "xmlprivate.h"

static int is_named(const xmlNode *node, const char *name)
{
    // The recommendation kept the namespace of 2001, which libxml2 calls the old one.
    return node->type == XML_ELEMENT_NODE && node->ns && node->ns->href &&
           (xmlStrEqual(node->ns->href, XINCLUDE_OLD_NS) ||
            xmlStrEqual(node->ns->href, XINCLUDE_NS)) &&
           strcmp((const char *)node->name, name) == 0;
}

// The node after `node` in document order, not below it.
static xmlNode *next_beside(xmlNode *node)
{
    while (node && !node->next)
        node = node->parent && node->parent->type == XML_ELEMENT_NODE ? node->parent : NULL;
    return node ? node->next : NULL;
}

static xmlNode *next_node(xmlNode *node)
{
    return node->type == XML_ELEMENT_NODE && node->children ? node->children : next_beside(node);
}

// Only <xi:include href="..."/> and <xi:include href="..." parse="xml"/>.
static int check_form(const xmlNode *include, struct sand_diag *diag)
{
    struct sand_xml_place place = sand_xml_place(include);
    int good = 1;
    for (const xmlAttr *attr = include->properties; attr; attr = attr->next) {
        const char *name = (const char *)attr->name, *value = sand_xml_value(attr);
        if (!attr->ns && strcmp(name, "href") == 0)
            continue;
        if (!attr->ns && strcmp(name, "parse") == 0 && strcmp(value, "xml") == 0)
            continue;
        sand_diag_add(diag, SAND_ERROR, place.file, place.line,
                      "xi:include attribute \"%s\" is \"%s\": refused; only whole XML files are "
                      "included, write <xi:include href=\"FILE\"/>",
                      name, value);
        good = 0;
    }
    for (const xmlNode *child = include->children; child; child = child->next) {
        if (child->type != XML_ELEMENT_NODE)
            continue;
        sand_diag_add(diag, SAND_ERROR, place.file, place.line,
                      "xi:include has a child \"%s\": refused; a missing file is an error here",
                      (const char *)child->name);
        good = 0;
    }
    return good;
}

// Writes "a.xml -> b.xml -> a.xml" from the first of the cycle to `file`.
static void print_chain(const struct sand__xml_file *first, const struct sand__xml_file *file,
                        char *text, size_t size)
{
    if (file != first)
        print_chain(first, file->parent, text, size);
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? " -> " : "", file->shown);
}

static enum sand_rc refuse_cycle(const struct sand__xml_file *file, struct sand_xml_place place,
                                 struct sand_diag *diag)
{
    for (const struct sand__xml_file *above = file->parent; above; above = above->parent) {
        if (strcmp(above->real, file->real) != 0)
            continue;
        char chain[600] = "";
        print_chain(above, file, chain, sizeof chain);
        sand_diag_add(diag, SAND_ERROR, place.file, place.line, "include cycle: %s", chain);
        return SAND_ERR_INPUT;
    }
    if (file->depth > SAND_XML_MAX_INCLUDE_DEPTH) {
        sand_diag_add(diag, SAND_ERROR, place.file, place.line,
                      "\"%s\" would be included %zu levels deep; at most %d are read", file->shown,
                      file->depth, SAND_XML_MAX_INCLUDE_DEPTH);
        return SAND_ERR_INPUT;
    }
    return SAND_OK;
}

static enum sand_rc include_one(struct sand_xml *xml, const struct sand__xml_file *from,
                                xmlNode *include, xmlNode **root, struct sand_diag *diag)
{
    struct sand_xml_place place = sand_xml_place(include);
    if (!check_form(include, diag))
        return SAND_ERR_INPUT;
    const char *href = sand_xml_attribute(include, "href");
    if (!href || !*href) {
        sand_diag_add(diag, SAND_ERROR, place.file, place.line,
                      "xi:include has no href; write <xi:include href=\"FILE\"/>");
        return SAND_ERR_INPUT;
    }
    struct sand__xml_file *file = sand__xml_file_new(xml, NULL);
    if (!file)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", href);
    file->parent = from;
    file->depth = from->depth + 1;
    SAND_TRY(sand__xml_locate(xml, from, href, place, file, diag));
    SAND_TRY(refuse_cycle(file, place, diag));
    SAND_TRY(sand__xml_read(xml, file, place, diag));
    *root = xmlDocGetRootElement(file->doc);
    return SAND_OK;
}

enum sand_rc sand__xml_expand(struct sand_xml *xml, struct sand__xml_file *file,
                              struct sand_diag *diag)
{
    enum sand_rc result = SAND_OK;
    xmlNode *node = xmlDocGetRootElement(file->doc);
    while (node) {
        if (!is_named(node, "include")) {
            node = next_node(node);
            continue;
        }
        xmlNode *root = NULL;
        enum sand_rc rc = include_one(xml, file, node, &root, diag);
        xmlNode *next = next_beside(node);
        if (rc == SAND_OK) {
            // The emptied document is freed at the end with the others; the names of the moved
            // nodes live in the shared dictionary.
            xmlReplaceNode(node, root);
            xmlFreeNode(node);
        } else if (result != SAND_ERR_NOMEM) {
            result = rc;
        }
        // Too many files: going on would report the same at every further include.
        if (rc == SAND_ERR_NOMEM || xml->n_files > SAND_XML_MAX_FILES)
            break;
        node = next;
    }
    return result;
}
