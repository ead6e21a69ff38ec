// A secure reader: one expanded XML tree from an experiment and the files it includes, and the
// entries of the catalogue, with the file and line that every node really comes from.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_XML_XMLTREE_H
#define SAND_SIM_XML_XMLTREE_H

#include <stddef.h>

#include "diag.h"

// libxml2's nodes, so that this header can be read without it.
typedef struct _xmlNode xmlNode;
typedef struct _xmlAttr xmlAttr;

// Bounds on what is read. A document that needs more is refused with the bound in the message.
enum {
    SAND_XML_MAX_FILE_B = 64 << 20,   // of one file
    SAND_XML_MAX_TOTAL_B = 256 << 20, // of all files together
    SAND_XML_MAX_FILES = 1000,        // inclusions, counted each time
    SAND_XML_MAX_INCLUDE_DEPTH = 16
};

struct sand_xml; // every document read for one experiment

struct sand_xml_place {
    const char *file; // as the user would name it; lives as long as the struct sand_xml
    long line;        // 0: none
};

// Reads `path` and replaces each <xi:include href="..."/> by the root element of the file it names.
//
// An href is a path that stays inside the directory of `path` (inside the catalogue, for files of
// the catalogue), also after symbolic links are followed, or `sandtable:kind/id`, which names a
// file of the catalogue. Refused, each with its file and line: a DOCTYPE (hence every entity),
// anything but parse="xml" of a whole file, xi:fallback, absolute paths, every URL scheme, a cycle
// (the chain is printed), and what exceeds the bounds above. No network, no system XML catalogue.
//
// `data` is the directory that holds platforms/ and workloads/; NULL: $SANDTABLE_DATA, else
// ../share/sandtable beside the running program, else the nearest directory above the program that
// holds platforms/catalogue (a build tree).
// All problems of all files are reported, then SAND_ERR_INPUT (SAND_ERR_IO if `path` itself cannot
// be read). On success *xml is to be closed. O(bytes read).
enum sand_rc sand_xml_open(const char *path, const char *data, struct sand_xml **xml,
                           struct sand_diag *diag);
void sand_xml_close(struct sand_xml *xml); // NULL is fine

// The root element, includes replaced. Owned by `xml`.
xmlNode *sand_xml_root(const struct sand_xml *xml);

// The real path of the experiment's directory ("" for the root directory).
const char *sand_xml_directory(const struct sand_xml *xml);

// The real paths of what was read or resolved so far, some more than once; owned by `xml`. Returns
// their number and stores the first `room` of them.
size_t sand_xml_inputs(const struct sand_xml *xml, const char **paths, size_t room);

// The root element of catalogue entry `kind/id`: <data>/workloads/models/ID.xml for models,
// <data>/workloads/mixes/ID.xml for mixes,
// <data>/platforms/clusters and platforms/faults for those, <data>/platforms/catalogue/KIND/ID.xml
// for the rest. Owned by `xml`; read again at each call. A missing entry is reported at `place`
// with the nearest id.
enum sand_rc sand_xml_entry(struct sand_xml *xml, const char *kind, const char *id,
                            struct sand_xml_place place, xmlNode **root, struct sand_diag *diag);

// Whether the catalogue has the entry.
int sand_xml_has_entry(struct sand_xml *xml, const char *kind, const char *id);

// Where an element or attribute comes from.
struct sand_xml_place sand_xml_place(const xmlNode *node);
struct sand_xml_place sand_xml_attr_place(const xmlAttr *attr);

// Sets an attribute, or adds an empty child element, on behalf of `origin` ("--set a/@b=c"), which
// is then its place. SAND_ERR_NOMEM or SAND_OK.
enum sand_rc sand_xml_override(struct sand_xml *xml, xmlNode *node, const char *attribute,
                               const char *value, const char *origin);
enum sand_rc sand_xml_add(struct sand_xml *xml, xmlNode *parent, const char *name,
                          const char *origin, xmlNode **child);

// Moves every child of `node` but its first element into a document of its own, whose root is a
// copy of `node` without children; *rest is that root. Places stay as they are. For schema checks
// of long lists: under an <interleave> libxml2 takes time quadratic in their length, at the root
// linear.
enum sand_rc sand_xml_split(struct sand_xml *xml, xmlNode *node, xmlNode **rest);

// The value of an attribute without a namespace: NULL if absent. Owned by the tree.
const char *sand_xml_attribute(const xmlNode *node, const char *name);
const char *sand_xml_value(const xmlAttr *attr);

// The real path of `relative`, which must lie inside the directory of the file that `place` names
// and exist; *real is owned by `xml`. For files that are not XML, such as plug-ins.
enum sand_rc sand_xml_inside(struct sand_xml *xml, const xmlNode *node, const char *relative,
                             struct sand_xml_place place, const char **real,
                             struct sand_diag *diag);

// A compiled RELAX NG schema (XML syntax).
struct sand_xml_schema;
enum sand_rc sand_xml_schema_open(const char *text, size_t size, struct sand_xml_schema **schema,
                                  struct sand_diag *diag);
void sand_xml_schema_close(struct sand_xml_schema *schema); // NULL is fine

// Validates the document whose root element is `root`; problems with their real file and line.
enum sand_rc sand_xml_schema_check(const struct sand_xml_schema *schema, const xmlNode *root,
                                   struct sand_diag *diag);

#endif
