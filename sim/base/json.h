// Text for JSON output. Documents are few and flat, so only strings need a function.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_JSON_H
#define SAND_SIM_BASE_JSON_H

#include <stdio.h>

// Writes `text` as a JSON string, quotes included; bytes that are no UTF-8 become U+FFFD (RFC
// 8259).
void sand_json_string(FILE *out, const char *text);

// Writes a number that reads back to the same double; null for what JSON has no number for.
void sand_json_number(FILE *out, double value);

#endif
