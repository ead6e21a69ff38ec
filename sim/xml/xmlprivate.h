// What the sources of the XML reader share.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_XML_XMLPRIVATE_H
#define SAND_SIM_XML_XMLPRIVATE_H

#include "xmltree.h"

#include <libxml/tree.h>
#include <libxml/xmlerror.h>

#include "mem.h"

// The type of an error in the structured error callback.
#if LIBXML_VERSION >= 21200
typedef const xmlError *sand__xml_error;
#else
typedef xmlErrorPtr sand__xml_error;
#endif

// A directory that files may be read from.
struct sand__xml_area {
    const char *name; // for messages: "the experiment's directory"
    const char *real; // real path without a trailing slash ("" for the root directory)
};

// One read of one file, or (doc NULL) an origin such as a --set.
struct sand__xml_file {
    struct sand__xml_file *next;         // in sand_xml.files
    const struct sand__xml_file *parent; // the file that includes it, NULL for none
    const struct sand__xml_area *area;
    const char *shown, *real;
    size_t depth; // of inclusion
    xmlDoc *doc;
};

struct sand_xml {
    struct sand_arena arena;
    struct sand__xml_area experiment, catalogue;
    const char *data;    // as given or found, NULL: none
    const char *no_data; // why what was given is none
    int data_known;      // data, or no_data, and catalogue.real are set
    struct sand__xml_file *files;
    struct sand__xml_file *main;
    xmlDict *dict; // shared, so that nodes can move between documents
    size_t n_files, total_B;
};

// Reads, parses and expands `file`, whose shown, real, area and parent are set. Problems of access
// are reported at `place` (the include or reference; file NULL: none).
enum sand_rc sand__xml_read(struct sand_xml *xml, struct sand__xml_file *file,
                            struct sand_xml_place place, struct sand_diag *diag);

// Parses `size` bytes into file->doc.
enum sand_rc sand__xml_parse(struct sand_xml *xml, struct sand__xml_file *file, const char *bytes,
                             size_t size, struct sand_diag *diag);

// Replaces every xi:include of file->doc.
enum sand_rc sand__xml_expand(struct sand_xml *xml, struct sand__xml_file *file,
                              struct sand_diag *diag);

// A new record, linked into xml->files.
struct sand__xml_file *sand__xml_file_new(struct sand_xml *xml, const char *shown);

// Fills shown, real and area from an href in `from` at `place`.
enum sand_rc sand__xml_locate(struct sand_xml *xml, const struct sand__xml_file *from,
                              const char *href, struct sand_xml_place place,
                              struct sand__xml_file *file, struct sand_diag *diag);

// Reports a libxml2 error at `place`, its message on one line.
void sand__xml_report(struct sand_diag *diag, struct sand_xml_place place, sand__xml_error error);

// The file record of a node: that of the nearest ancestor that has one.
const struct sand__xml_file *sand__xml_file_of(const xmlNode *node);

#endif
