// Small helpers of the three writers: canonical text, schema, format page.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SPEC_SPECWRITE_H
#define SAND_SIM_SPEC_SPECWRITE_H

#include <stdio.h>

#include "rc.h"
#include "spectable.h"

// "a time", "one of none, full", "reference to a gpu": the type of a field in words.
void spec_write_type(FILE *out, const struct spec_field *field);

// SAND_ERR_IO if something written to `out` was lost.
enum sand_rc spec_write_end(FILE *out);

#endif
