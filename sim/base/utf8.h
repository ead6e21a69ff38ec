// Well-formed UTF-8, told from other bytes.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_UTF8_H
#define SAND_SIM_BASE_UTF8_H

#include <stddef.h>

// Length of the well-formed sequence that a text holds at `at`, 0 if there is none (RFC 3629 table
// 3-7: no overlong forms, no surrogates, nothing above U+10FFFF); 1 at the text's end.
size_t sand_utf8_length(const char *at);

#endif
