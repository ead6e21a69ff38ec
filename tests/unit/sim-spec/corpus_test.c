// The corpus: every valid file loads, every invalid one is refused with exactly its messages at
// their file and line, and the generated schema agrees with the binder on each.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "filegate.h"
#include "mem.h"
#include "specsupport.h"
#include "xmltree.h"

static struct sand_xml_schema *open_schema(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct sand_xml_schema *schema = NULL;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_spec_write_schema(out), SAND_OK);
    fclose(out);
    cr_assert_eq(sand_xml_schema_open(text, size, &schema, &diag), SAND_OK);
    cr_assert_eq(diag.n_messages, 0, "the schema compiles without a word");
    free(text);
    return schema;
}

static enum sand_rc check_by_schema(const struct sand_xml_schema *schema, const char *path)
{
    struct sand_xml *xml;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_xml_open(path, SPEC_CATALOGUE, &xml, &diag), SAND_OK, "%s", path);
    enum sand_rc rc = sand_xml_schema_check(schema, sand_xml_root(xml), &diag);
    sand_xml_close(xml);
    sand_diag_clear(&diag);
    return rc;
}

Test(corpus, valid_files_load_without_a_word, .timeout = 30)
{
    char **files = spec_files(SPEC_DATA "/valid");
    for (char **file = files; *file; file++) {
        struct sand_spec *spec = NULL;
        struct sand_diag diag = {0};
        cr_expect_eq(spec_load_with(*file, NULL, NULL, NULL, &spec, &diag), SAND_OK, "%s", *file);
        cr_expect_eq(diag.n_messages, 0, "%s: %s", *file,
                     diag.n_messages ? diag.messages[0].text : "");
        sand_spec_free(spec);
        sand_diag_clear(&diag);
    }
    spec_files_free(files);
}

// Takes "<!-- expect LINE: TEXT -->" out of `text` at *at; LINE 0: in another file.
static int next_expectation(const char **at, long *line, char part[512])
{
    static const char head[] = "<!-- expect ";
    const char *found = strstr(*at, head);
    if (!found)
        return 0;
    char *text;
    *line = strtol(found + sizeof head - 1, &text, 10);
    const char *end = strstr(text, " -->");
    snprintf(part, 512, "%.*s", (int)(end - text - 2), text + 2);
    *at = end;
    return 1;
}

static void check_messages(const char *path, const char *text, const struct sand_diag *diag)
{
    char part[512];
    long line;
    size_t n = 0;
    for (const char *at = text; next_expectation(&at, &line, part); n++) {
        const struct sand_message *message = spec_message(diag, part);
        cr_expect(message, "%s: not said: %s", path, part);
        if (!message)
            continue;
        cr_expect_eq(message->severity, SAND_ERROR);
        cr_assert(message->file, "%s: no file: %s", path, part);
        cr_expect_eq(strcmp(message->file, path) == 0, line > 0, "%s: in %s", path, message->file);
        if (line > 0)
            cr_expect_eq(message->line, line, "%s: line %ld, not %ld: %s", path, message->line,
                         line, part);
    }
    cr_expect_gt(n, 0, "%s expects nothing", path);
    cr_expect_eq(diag->n_messages, n, "%s: %zu messages, not %zu; last: %s", path, diag->n_messages,
                 n, diag->n_messages ? diag->messages[diag->n_messages - 1].text : "");
}

Test(corpus, invalid_files_are_refused_with_their_messages, .timeout = 60)
{
    char **files = spec_files(SPEC_DATA "/invalid");
    for (char **file = files; *file; file++) {
        struct sand_spec *spec = NULL;
        struct sand_diag diag = {0};
        char *text;
        size_t size;
        cr_assert_eq(sand_file_read(*file, 1 << 20, &text, &size, NULL), SAND_OK);
        cr_expect_eq(spec_load_with(*file, NULL, NULL, NULL, &spec, &diag), SAND_ERR_INPUT, "%s",
                     *file);
        cr_expect_null(spec);
        check_messages(*file, text, &diag);
        sand_free(text);
        sand_diag_clear(&diag);
    }
    spec_files_free(files);
}

// Files marked "gate: binder" break a rule that RELAX NG cannot state (references, sums,
// uniqueness): exactly those pass the schema.
Test(corpus, schema_and_binder_agree, .timeout = 60)
{
    struct sand_xml_schema *schema = open_schema();
    char **files = spec_files(SPEC_DATA "/valid");
    for (char **file = files; *file; file++)
        cr_expect_eq(check_by_schema(schema, *file), SAND_OK, "schema refuses %s", *file);
    spec_files_free(files);
    files = spec_files(SPEC_DATA "/invalid");
    for (char **file = files; *file; file++) {
        char *text;
        size_t size;
        cr_assert_eq(sand_file_read(*file, 1 << 20, &text, &size, NULL), SAND_OK);
        int beyond = strstr(text, "<!-- gate: binder -->") != NULL;
        cr_expect_eq(check_by_schema(schema, *file), beyond ? SAND_OK : SAND_ERR_INPUT, "%s",
                     *file);
        sand_free(text);
    }
    spec_files_free(files);
    sand_xml_schema_close(schema);
}

static void expect_same(const char *path, enum sand_rc (*write)(FILE *))
{
    char *shipped, *made = NULL;
    size_t shipped_size, made_size = 0;
    FILE *out = open_memstream(&made, &made_size);
    cr_assert_eq(write(out), SAND_OK);
    fclose(out);
    cr_assert_eq(sand_file_read(path, 1 << 20, &shipped, &shipped_size, NULL), SAND_OK);
    cr_expect(shipped_size == made_size && memcmp(shipped, made, made_size) == 0,
              "%s is not what the tables generate; write it anew with `sandtable schema`", path);
    sand_free(shipped);
    free(made);
}

Test(corpus, shipped_schema_is_the_generated_one, .timeout = 10)
{
    expect_same(SAND_SOURCE_DIR "/docs/formats/experiment.rng", sand_spec_write_schema);
}

Test(corpus, shipped_page_is_the_generated_one, .timeout = 10)
{
    expect_same(SAND_SOURCE_DIR "/docs/formats/experiment.md", sand_spec_write_format);
}
