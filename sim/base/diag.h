// Diagnostics: every problem found, with file, line and path, in the order found.
// A message names the object, the value, the rule and the way out.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_DIAG_H
#define SAND_SIM_BASE_DIAG_H

#include <stddef.h>
#include <stdio.h>

#include "rc.h"

enum sand_severity { SAND_NOTE, SAND_WARNING, SAND_ERROR };

struct sand_message {
    enum sand_severity severity;
    char *file; // NULL: none
    long line;  // 0: unknown
    char *text;
};

// Zero-initialise to start (`struct sand_diag diag = {0};`), sand_diag_clear() to end. Functions
// that take a `struct sand_diag *` as last parameter accept NULL and then drop the messages.
struct sand_diag {
    struct sand_message *messages;
    size_t n_messages, capacity;
    size_t n_errors, n_warnings;
};

// Appends one message. `file` may be NULL. Out of memory drops the text but still counts the error,
// and so does the same message twice in a row.
void sand_diag_add(struct sand_diag *diag, enum sand_severity severity, const char *file, long line,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

// Appends an error without a place and returns `rc`: `return sand_fail(diag, SAND_ERR_IO, "...");`
enum sand_rc sand_fail(struct sand_diag *diag, enum sand_rc rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Prints every message as `file:line: severity: text`, one line each.
void sand_diag_print(const struct sand_diag *diag, FILE *out);

// Frees the messages and zeroes the struct.
void sand_diag_clear(struct sand_diag *diag);

// The member of `names` nearest to `word` by edit distance, or NULL if none is near (at most a
// third of its letters differ). O(n x length^2).
const char *sand_nearest(const char *word, const char *const *names, size_t n_names);

#endif
