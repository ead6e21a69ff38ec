// Text in XML that we write: whatever it is, the document stays well-formed.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_XMLTEXT_H
#define SAND_SIM_BASE_XMLTEXT_H

#include <stdio.h>

// In an attribute or element: markup, tabs, line ends and deletes become references; the control
// characters that XML 1.0 does not have and bytes that are no UTF-8 become question marks.
void sand_xml_text(FILE *out, const char *text);

// In a comment, which may hold no "--" and no reference either: the second dash is written as the
// reference that it would be elsewhere, control characters as question marks. Returns whether a
// dash was.
int sand_xml_comment(FILE *out, const char *text);

#endif
