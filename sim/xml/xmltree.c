// Opens and closes the documents of an experiment; places, attributes, overrides.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "xmltree.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/catalog.h>
#include <libxml/parser.h>

#include "filegate.h"
#include "xmlprivate.h"

struct sand__xml_file *sand__xml_file_new(struct sand_xml *xml, const char *shown)
{
    struct sand__xml_file *file = sand_arena_alloc(&xml->arena, 1, sizeof *file);
    if (!file)
        return NULL;
    file->shown = shown ? sand_arena_strdup(&xml->arena, shown) : NULL;
    if (shown && !file->shown)
        return NULL;
    file->next = xml->files;
    xml->files = file;
    return file;
}

static enum sand_rc refuse_size(const struct sand__xml_file *file, struct sand_diag *diag)
{
    sand_diag_add(diag, SAND_ERROR, file->shown, 0,
                  "the files of this experiment are too many: at most %d inclusions and %d MiB are "
                  "read; does a file include others many times over?",
                  SAND_XML_MAX_FILES, SAND_XML_MAX_TOTAL_B >> 20);
    return SAND_ERR_INPUT;
}

// Repeats the message of the file gate at the place that wants the file.
static void report_unreadable(const struct sand_diag *why, struct sand_xml_place place,
                              const struct sand__xml_file *file, struct sand_diag *diag)
{
    const char *text = why->n_messages > 0 ? why->messages[0].text : "cannot read";
    const char *at = place.file ? place.file : file->shown;
    sand_diag_add(diag, SAND_ERROR, at, place.line, "%s", text);
}

enum sand_rc sand__xml_read(struct sand_xml *xml, struct sand__xml_file *file,
                            struct sand_xml_place place, struct sand_diag *diag)
{
    if (++xml->n_files > SAND_XML_MAX_FILES)
        return refuse_size(file, diag);
    char *bytes;
    size_t size;
    struct sand_diag why = {0};
    enum sand_rc rc = sand_file_read(file->real, SAND_XML_MAX_FILE_B, &bytes, &size, &why);
    if (rc != SAND_OK)
        report_unreadable(&why, place, file, diag);
    sand_diag_clear(&why);
    if (rc == SAND_ERR_IO && file != xml->main)
        rc = SAND_ERR_INPUT;
    SAND_TRY(rc);
    xml->total_B += size;
    if (xml->total_B > SAND_XML_MAX_TOTAL_B)
        rc = refuse_size(file, diag);
    if (rc == SAND_OK)
        rc = sand__xml_parse(xml, file, bytes, size, diag);
    sand_free(bytes);
    SAND_TRY(rc);
    return sand__xml_expand(xml, file, diag);
}

// The experiment's area is the directory that `path` names its file in.
static enum sand_rc set_experiment_area(struct sand_xml *xml, const char *path,
                                        struct sand_diag *diag)
{
    char real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *dir = !slash ? sand_arena_strdup(&xml->arena, ".")
                             : sand_arena_printf(&xml->arena, "%.*s/", (int)(slash - path), path);
    if (!dir)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    xml->experiment.name = "the experiment's directory";
    if (!realpath(dir, real)) {
        sand_diag_add(diag, SAND_ERROR, path, 0, "its directory does not exist");
        return SAND_ERR_IO;
    }
    xml->experiment.real = sand_arena_strdup(&xml->arena, strcmp(real, "/") == 0 ? "" : real);
    return xml->experiment.real ? SAND_OK : SAND_ERR_NOMEM;
}

static enum sand_rc open_main(struct sand_xml *xml, const char *path, const char *data,
                              struct sand_diag *diag)
{
    xml->dict = xmlDictCreate();
    xml->main = sand__xml_file_new(xml, path);
    if (data)
        xml->data = sand_arena_strdup(&xml->arena, data);
    if (!xml->dict || !xml->main || (data && !xml->data))
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    SAND_TRY(set_experiment_area(xml, path, diag));
    const char *slash = strrchr(path, '/');
    xml->main->area = &xml->experiment;
    xml->main->real =
        sand_arena_printf(&xml->arena, "%s/%s", xml->experiment.real, slash ? slash + 1 : path);
    if (!xml->main->real)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    return sand__xml_read(xml, xml->main, (struct sand_xml_place){0}, diag);
}

enum sand_rc sand_xml_open(const char *path, const char *data, struct sand_xml **xml,
                           struct sand_diag *diag)
{
    xmlInitParser();
    // Never consult /etc/xml/catalog: it maps names to files and to the network.
    xmlCatalogSetDefaults(XML_CATA_ALLOW_NONE);
    struct sand_xml *opened = sand_calloc(1, sizeof *opened);
    if (!opened)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    enum sand_rc rc = open_main(opened, path, data, diag);
    if (rc != SAND_OK) {
        sand_xml_close(opened);
        return rc;
    }
    *xml = opened;
    return SAND_OK;
}

void sand_xml_close(struct sand_xml *xml)
{
    if (!xml)
        return;
    for (struct sand__xml_file *file = xml->files; file; file = file->next)
        xmlFreeDoc(file->doc);
    xmlDictFree(xml->dict);
    sand_arena_clear(&xml->arena);
    sand_free(xml);
}

xmlNode *sand_xml_root(const struct sand_xml *xml)
{
    return xmlDocGetRootElement(xml->main->doc);
}

const char *sand_xml_directory(const struct sand_xml *xml)
{
    return xml->experiment.real;
}

size_t sand_xml_inputs(const struct sand_xml *xml, const char **paths, size_t room)
{
    size_t n = 0;
    for (const struct sand__xml_file *file = xml->files; file; file = file->next) {
        if (file->real && n < room)
            paths[n] = file->real;
        n += file->real != NULL;
    }
    return n;
}

const struct sand__xml_file *sand__xml_file_of(const xmlNode *node)
{
    while (node && node->type != XML_DOCUMENT_NODE && !node->_private)
        node = node->parent;
    return node ? node->_private : NULL;
}

struct sand_xml_place sand_xml_place(const xmlNode *node)
{
    const struct sand__xml_file *file = sand__xml_file_of(node);
    if (!file)
        return (struct sand_xml_place){0};
    long line = file->real ? xmlGetLineNo(node) : 0; // an origin has no lines
    return (struct sand_xml_place){.file = file->shown, .line = line > 0 ? line : 0};
}

struct sand_xml_place sand_xml_attr_place(const xmlAttr *attr)
{
    const struct sand__xml_file *origin = attr->_private;
    if (origin)
        return (struct sand_xml_place){.file = origin->shown};
    return sand_xml_place(attr->parent);
}

enum sand_rc sand_xml_override(struct sand_xml *xml, xmlNode *node, const char *attribute,
                               const char *value, const char *origin)
{
    struct sand__xml_file *file = sand__xml_file_new(xml, origin);
    xmlAttr *attr = xmlSetProp(node, (const xmlChar *)attribute, (const xmlChar *)value);
    if (!file || !attr)
        return SAND_ERR_NOMEM;
    attr->_private = file;
    return SAND_OK;
}

enum sand_rc sand_xml_add(struct sand_xml *xml, xmlNode *parent, const char *name,
                          const char *origin, xmlNode **child)
{
    struct sand__xml_file *file = sand__xml_file_new(xml, origin);
    xmlNode *node = xmlNewChild(parent, parent->ns, (const xmlChar *)name, NULL);
    if (!file || !node)
        return SAND_ERR_NOMEM;
    node->_private = file;
    *child = node;
    return SAND_OK;
}

// A document with a copy of `node`, childless, as root.
static xmlNode *begin_split(struct sand_xml *xml, const xmlNode *node)
{
    const struct sand__xml_file *from = sand__xml_file_of(node);
    struct sand__xml_file *file = sand__xml_file_new(xml, from->shown);
    if (!file)
        return NULL;
    file->real = from->real;
    file->doc = xmlNewDoc((const xmlChar *)"1.0");
    if (!file->doc)
        return NULL;
    file->doc->dict = xml->dict;
    xmlDictReference(xml->dict);
    const int without_children = 2;
    xmlNode *root = xmlDocCopyNode((xmlNode *)(uintptr_t)node, file->doc, without_children);
    if (!root)
        return NULL;
    root->_private = file;
    xmlDocSetRootElement(file->doc, root);
    return root;
}

enum sand_rc sand_xml_split(struct sand_xml *xml, xmlNode *node, xmlNode **rest)
{
    xmlNode *root = begin_split(xml, node);
    xmlNode *first = xmlFirstElementChild(node);
    if (!root)
        return SAND_ERR_NOMEM;
    while (first && first->next) {
        xmlNode *child = first->next;
        xmlUnlinkNode(child);
        xmlAddChild(root, child);
    }
    *rest = root;
    return SAND_OK;
}

const char *sand_xml_value(const xmlAttr *attr)
{
    // Without entities an attribute's value is at most one text node.
    const xmlNode *text = attr->children;
    return text && text->content ? (const char *)text->content : "";
}

const char *sand_xml_attribute(const xmlNode *node, const char *name)
{
    for (const xmlAttr *attr = node->properties; attr; attr = attr->next)
        if (!attr->ns && strcmp((const char *)attr->name, name) == 0)
            return sand_xml_value(attr);
    return NULL;
}
