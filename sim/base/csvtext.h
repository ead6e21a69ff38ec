// Text in CSV that we write.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_CSVTEXT_H
#define SAND_SIM_BASE_CSVTEXT_H

#include <stdio.h>

// A cell, quoted only where RFC 4180 asks for it.
void sand_csv_text(FILE *out, const char *text);

#endif
