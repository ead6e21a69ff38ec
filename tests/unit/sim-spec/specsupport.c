// What the tests of the spec share.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "specsupport.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum sand_rc spec_load_with(const char *path, const char *a, const char *b, const char *c,
                            struct sand_spec **spec, struct sand_diag *diag)
{
    const char *settings[] = {a, b, c};
    struct sand_spec_options options = {.catalogue = SPEC_CATALOGUE, .settings = settings};
    options.n_settings = !a ? 0 : !b ? 1 : !c ? 2 : 3;
    return sand_spec_load(path, &options, spec, diag);
}

const struct sand_message *spec_message(const struct sand_diag *diag, const char *part)
{
    for (size_t i = 0; i < diag->n_messages; i++)
        if (strstr(diag->messages[i].text, part))
            return &diag->messages[i];
    return NULL;
}

static int is_xml(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 4 && strcmp(entry->d_name + n - 4, ".xml") == 0;
}

char **spec_files(const char *directory)
{
    struct dirent **entries;
    int n = scandir(directory, &entries, is_xml, alphasort);
    cr_assert_gt(n, 0, "no files in %s", directory);
    char **files = calloc((size_t)n + 1, sizeof *files);
    for (int i = 0; i < n; i++) {
        cr_assert_gt(asprintf(&files[i], "%s/%s", directory, entries[i]->d_name), 0);
        free(entries[i]);
    }
    free(entries);
    return files;
}

void spec_files_free(char **files)
{
    for (char **file = files; *file; file++)
        free(*file);
    free(files);
}

void spec_refuses(const char *path, const char *setting, const char *part)
{
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    cr_expect_eq(spec_load_with(path, setting, NULL, NULL, &spec, &diag), SAND_ERR_INPUT, "%s",
                 setting);
    cr_expect(spec_message(&diag, part), "%s: \"%s\" not said, but: %s", setting, part,
              diag.n_messages ? diag.messages[0].text : "nothing");
    cr_expect_null(spec);
    sand_diag_clear(&diag);
}
