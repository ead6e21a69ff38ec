// XML inputs, read as data: no network, no DOCTYPE, a line for everything. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_IMPORT_IMPORTMARKUP_H
#define SAND_PLATFORMS_IMPORT_IMPORTMARKUP_H

#include <libxml/tree.h>

#include "importjob.h"

// Parses the input; every error of libxml2 is reported with its line. NULL after a message.
xmlDoc *import_markup_parse(struct import_job *job);

// The attribute's text, or NULL. Owned by the tree.
const char *import_markup_attribute(const xmlNode *node, const char *name);

int import_markup_is(const xmlNode *node, const char *name); // an element of that name?
// The first element of that name anywhere below a node, in document order; NULL: there is none.
const xmlNode *import_markup_below(const xmlNode *node, const char *name);
long import_markup_line(const xmlNode *node);

// All text directly in an element, trimmed; arena.
const char *import_markup_text(struct import_job *job, const xmlNode *node);

// A whole number of at most nine digits; 0 if it is none.
int import_markup_count(const char *text, uint32_t *value);

#endif
