// What the tests of the spec share: paths, loading, looking through messages.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_UNIT_SIM_SPEC_SPECSUPPORT_H
#define SAND_TESTS_UNIT_SIM_SPEC_SPECSUPPORT_H

#include <stddef.h>

#include "spec.h"

#define SPEC_DATA SAND_TEST_DATA "/spec"
#define SPEC_CATALOGUE SPEC_DATA "/data"
#define SPEC_VALID(name) SPEC_DATA "/valid/" name ".xml"

// Loads with the catalogue of the tests and up to three settings (NULL: none).
enum sand_rc spec_load_with(const char *path, const char *a, const char *b, const char *c,
                            struct sand_spec **spec, struct sand_diag *diag);

// The first message whose text contains `part`; NULL if there is none.
const struct sand_message *spec_message(const struct sand_diag *diag, const char *part);

// The paths of the .xml files in a directory, sorted, NULL-terminated. Asserts there are any.
char **spec_files(const char *directory);
void spec_files_free(char **files);

// Loads `path` with settings, which must fail; asserts a message that contains `part`.
void spec_refuses(const char *path, const char *setting, const char *part);

#endif
