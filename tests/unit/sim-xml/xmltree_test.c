// The secure reader: what it includes and where it says things stand; what it refuses and how.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filegate.h"
#include "xmltree.h"

// libxml2's own, to look at the tree without its headers.
xmlNode *xmlFirstElementChild(xmlNode *parent);
xmlNode *xmlNextElementSibling(xmlNode *node);

#define XI "xmlns:xi=\"http://www.w3.org/2001/XInclude\""
#define INCLUDE(href) "<a " XI "><xi:include href=\"" href "\"/></a>"

static char dir[64];

static void make_dir(void)
{
    strcpy(dir, "/tmp/sandtable-xml-XXXXXX");
    cr_assert(mkdtemp(dir));
    char path[128];
    snprintf(path, sizeof path, "%s/in/sub", dir);
    cr_assert_eq(sand_dir_make(path, NULL), SAND_OK);
    snprintf(path, sizeof path, "%s/data/platforms/catalogue/gpu", dir);
    cr_assert_eq(sand_dir_make(path, NULL), SAND_OK);
}

static void remove_dir(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    cr_assert_eq(system(command), 0);
}

TestSuite(xmltree, .init = make_dir, .fini = remove_dir, .timeout = 30);

static const char *in(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", dir, name);
    return path;
}

static void put_bytes(const char *name, const char *bytes, size_t size)
{
    char path[128];
    cr_assert_eq(sand_file_write(in(name, path), bytes, size, NULL), SAND_OK);
}

static void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

static enum sand_rc open_it(const char *name, struct sand_xml **xml, struct sand_diag *diag)
{
    char path[128], data[128];
    *xml = NULL;
    return sand_xml_open(in(name, path), in("data", data), xml, diag);
}

// Opening fails with `rc` and one message at `file`:`line` that contains `part`.
static void refuses_at(const char *name, enum sand_rc rc, const char *file, long line,
                       const char *part)
{
    struct sand_xml *xml;
    struct sand_diag diag = {0};
    char path[128];
    cr_expect_eq(open_it(name, &xml, &diag), rc, "%s", part);
    cr_expect_null(xml);
    cr_assert_gt(diag.n_messages, 0, "silence instead of: %s", part);
    const struct sand_message *message = &diag.messages[0];
    cr_expect(strstr(message->text, part), "not \"%s\" but: %s", part, message->text);
    if (file)
        cr_expect_str_eq(message->file, in(file, path));
    if (line)
        cr_expect_eq(message->line, line, "line %ld, not %ld: %s", message->line, line, part);
    sand_diag_clear(&diag);
}

static void refuses(const char *text, const char *part)
{
    put("in/x.xml", text);
    refuses_at("in/x.xml", SAND_ERR_INPUT, "in/x.xml", 0, part);
}

// ---- what is read ----

Test(xmltree, includes_are_replaced_and_keep_their_place)
{
    char path[128];
    put("in/x.xml", "<a " XI ">\n<b/>\n<xi:include href=\"sub/y.xml\"/>\n<c/>\n</a>");
    put("in/sub/y.xml", "<!-- head -->\n\n<y " XI "><xi:include href=\"../z.xml\"/></y>");
    put("in/z.xml", "\n\n\n\n<z\nkey='v'/>");
    struct sand_xml *xml;
    struct sand_diag diag = {0};
    cr_assert_eq(open_it("in/x.xml", &xml, &diag), SAND_OK);
    xmlNode *b = xmlFirstElementChild(sand_xml_root(xml)), *y = xmlNextElementSibling(b);
    xmlNode *z = xmlFirstElementChild(y), *c = xmlNextElementSibling(y);
    struct sand_xml_place place = sand_xml_place(y);
    cr_expect_str_eq(place.file, in("in/sub/y.xml", path));
    cr_expect_eq(place.line, 3);
    place = sand_xml_place(z);
    cr_expect_str_eq(place.file, in("in/sub/../z.xml", path));
    cr_expect_eq(place.line, 6, "libxml2 gives the last line of a start tag");
    cr_expect_str_eq(sand_xml_attribute(z, "key"), "v");
    place = sand_xml_place(c);
    cr_expect_str_eq(place.file, in("in/x.xml", path), "after the include, the outer file again");
    cr_expect_eq(place.line, 4);
    cr_expect_null(xmlNextElementSibling(c));
    sand_xml_close(xml);
}

Test(xmltree, a_file_may_be_included_twice)
{
    put("in/x.xml", "<a " XI "><xi:include href=\"z.xml\"/><xi:include href=\"./z.xml\"/></a>");
    put("in/z.xml", "<z key='v'><deep/></z>");
    struct sand_xml *xml;
    cr_assert_eq(open_it("in/x.xml", &xml, NULL), SAND_OK);
    xmlNode *first = xmlFirstElementChild(sand_xml_root(xml));
    xmlNode *second = xmlNextElementSibling(first);
    cr_assert(second);
    cr_expect_str_eq(sand_xml_attribute(first, "key"), "v");
    cr_expect_str_eq(sand_xml_attribute(second, "key"), "v");
    cr_expect(xmlFirstElementChild(second));
    sand_xml_close(xml);
}

// 16 bits of line number are not enough for a trace of jobs.
Test(xmltree, lines_beyond_65535_are_right_also_in_included_files)
{
    size_t n = 70000;
    char *text = calloc(n + 64, 1), path[128];
    strcpy(text, "<y>");
    memset(text + 3, '\n', n);
    strcpy(text + 3 + n, "<late/>\n</y>\n");
    put("in/y.xml", text);
    put("in/x.xml", INCLUDE("y.xml"));
    free(text);
    struct sand_xml *xml;
    cr_assert_eq(open_it("in/x.xml", &xml, NULL), SAND_OK);
    xmlNode *late = xmlFirstElementChild(xmlFirstElementChild(sand_xml_root(xml)));
    // Beyond 65535 libxml2 knows the line of the text beside an element only, here one further.
    cr_expect_eq(sand_xml_place(late).line, 70002, "%ld", sand_xml_place(late).line);
    cr_expect_str_eq(sand_xml_place(late).file, in("in/y.xml", path));
    sand_xml_close(xml);
}

Test(xmltree, catalogue_entries_resolve_and_misses_name_the_nearest)
{
    put("in/x.xml", INCLUDE("sandtable:gpu/h100"));
    put("data/platforms/catalogue/gpu/h100.xml", "<gpu id='h100'/>");
    struct sand_xml *xml;
    cr_assert_eq(open_it("in/x.xml", &xml, NULL), SAND_OK);
    cr_expect_str_eq(sand_xml_attribute(xmlFirstElementChild(sand_xml_root(xml)), "id"), "h100");
    cr_expect(sand_xml_has_entry(xml, "gpu", "h100"));
    cr_expect_not(sand_xml_has_entry(xml, "gpu", "h200"));
    sand_xml_close(xml);
    refuses(INCLUDE("sandtable:gpu/h10"), "did you mean \"sandtable:gpu/h100\"?");
    refuses(INCLUDE("sandtable:zzz/x"), "there is no platforms/catalogue/zzz/x.xml");
    refuses(INCLUDE("sandtable:gpu/../gpu/h100"), "is no name in the catalogue");
    refuses(INCLUDE("sandtable:../gpu/h100"), "is no name in the catalogue");
    refuses(INCLUDE("sandtable:gpu"), "is no name in the catalogue");
    refuses(INCLUDE("sandtable:gpu/"), "is no name in the catalogue");
}

// A file of the catalogue may not reach the experiment's files, nor others of the machine.
Test(xmltree, catalogue_files_stay_in_the_catalogue)
{
    char target[128], link[128];
    put("in/secret.xml", "<secret/>");
    put("data/platforms/catalogue/gpu/up.xml", INCLUDE("../../../../in/secret.xml"));
    put("in/x.xml", INCLUDE("sandtable:gpu/up"));
    refuses_at("in/x.xml", SAND_ERR_INPUT, "data/platforms/catalogue/gpu/up.xml", 1,
               "leads out of the catalogue");
    cr_assert_eq(
        symlink(in("in/secret.xml", target), in("data/platforms/catalogue/gpu/link.xml", link)), 0);
    refuses(INCLUDE("sandtable:gpu/link"), "leads out of the catalogue through a symbolic link");
}

// ---- what is refused ----

Test(xmltree, doctypes_are_refused_before_any_entity_counts)
{
    refuses("<?xml version='1.0'?>\n<!DOCTYPE a>\n<a/>", "document type declaration");
    refuses_at("in/x.xml", SAND_ERR_INPUT, "in/x.xml", 2, "(<!DOCTYPE a ...>), which is refused");
    refuses("<!DOCTYPE a [<!ENTITY b \"x\">]><a>&b;</a>", "document type declaration");
    refuses("<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a b='&b;'/>",
            "document type declaration");
    refuses("<!DOCTYPE a SYSTEM \"http://localhost:1/a.dtd\"><a/>", "document type declaration");
    refuses("<!DOCTYPE a [<!ENTITY % p SYSTEM \"http://localhost:1/\"> %p;]><a/>",
            "document type declaration");
    // Billion laughs: 10^9 copies if it were expanded.
    refuses(
        "<!DOCTYPE a [<!ENTITY l0 \"ha\"><!ENTITY l1 \"&l0;&l0;&l0;&l0;&l0;&l0;&l0;&l0;&l0;&l0;\">"
        "<!ENTITY l2 \"&l1;&l1;&l1;&l1;&l1;&l1;&l1;&l1;&l1;&l1;\">"
        "<!ENTITY l3 \"&l2;&l2;&l2;&l2;&l2;&l2;&l2;&l2;&l2;&l2;\">]><a>&l3;</a>",
        "document type declaration");
    put("in/y.xml", "<!DOCTYPE y [<!ENTITY b \"x\">]><y/>");
    put("in/x.xml", INCLUDE("y.xml"));
    refuses_at("in/x.xml", SAND_ERR_INPUT, "in/y.xml", 1, "document type declaration");
}

Test(xmltree, only_paths_inside_are_followed)
{
    char target[128], link[128];
    put("secret.xml", "<secret/>");
    refuses(INCLUDE("../secret.xml"), "\"../secret.xml\" leads out of the experiment's directory");
    refuses(INCLUDE("sub/../../secret.xml"), "leads out of the experiment's directory");
    refuses(INCLUDE("../in/z.xml"), "leads out of the experiment's directory");
    refuses(INCLUDE("/etc/passwd"), "is an absolute path");
    refuses(INCLUDE("file:///etc/passwd"), "is a URL: nothing is fetched");
    refuses(INCLUDE("http://localhost:1/x.xml"), "is a URL: nothing is fetched");
    refuses(INCLUDE("C:/x.xml"), "is a URL: nothing is fetched");
    cr_assert_eq(symlink(in("secret.xml", target), in("in/link.xml", link)), 0);
    refuses(INCLUDE("link.xml"), "through a symbolic link");
    cr_assert_eq(symlink(dir, in("in/sub/up", link)), 0);
    refuses(INCLUDE("sub/up/secret.xml"), "through a symbolic link");
    refuses(INCLUDE("none.xml"), "\"none.xml\" cannot be read: No such file or directory");
    refuses(INCLUDE("sub"), "is no regular file");
    refuses(INCLUDE(""), "has no href");
}

Test(xmltree, only_whole_xml_files_are_included)
{
    refuses("<a " XI "><xi:include href='z.txt' parse='text'/></a>",
            "xi:include attribute \"parse\" is \"text\": refused");
    refuses("<a " XI "><xi:include href='z.xml' xpointer='element(/1)'/></a>",
            "xi:include attribute \"xpointer\"");
    refuses("<a " XI "><xi:include href='z.xml'><xi:fallback/></xi:include></a>",
            "has a child \"fallback\": refused");
    refuses("<a " XI "><xi:include/></a>", "has no href");
}

Test(xmltree, cycles_are_named)
{
    put("in/x.xml", "<a " XI ">\n<xi:include href=\"y.xml\"/></a>");
    put("in/y.xml", "<a " XI ">\n\n<xi:include href=\"x.xml\"/></a>");
    refuses_at("in/x.xml", SAND_ERR_INPUT, "in/y.xml", 3, "include cycle: ");
    refuses_at("in/x.xml", SAND_ERR_INPUT, "in/y.xml", 3, "/in/x.xml -> ");
    put("in/x.xml", INCLUDE("x.xml"));
    refuses_at("in/x.xml", SAND_ERR_INPUT, "in/x.xml", 1, "include cycle: ");
}

Test(xmltree, depth_and_number_of_files_are_bounded)
{
    char name[32], text[1024] = "<a " XI ">";
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "in/f%d.xml", i);
        snprintf(text, sizeof text, "<a " XI "><xi:include href=\"f%d.xml\"/></a>", i + 1);
        put(name, text);
    }
    refuses_at("in/f0.xml", SAND_ERR_INPUT, "in/f16.xml", 1, "17 levels deep; at most 16");
    // Ten includes at each of five levels: 10^5 files if they were all read.
    for (int i = 0; i < 6; i++) {
        size_t used = (size_t)snprintf(text, sizeof text, "<a " XI ">");
        for (int j = 0; i < 5 && j < 10; j++)
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "<xi:include href=\"f%d.xml\"/>", i + 1);
        snprintf(text + used, sizeof text - used, "</a>");
        snprintf(name, sizeof name, "in/f%d.xml", i);
        put(name, text);
    }
    refuses_at("in/f0.xml", SAND_ERR_INPUT, NULL, 0, "at most 1000 inclusions");
}

// Problems of several files are all reported, each in its own.
Test(xmltree, every_problem_is_reported)
{
    put("in/y.xml", "<y>\n<");
    put("in/x.xml", "<a " XI "><xi:include href=\"y.xml\"/>\n<xi:include href=\"none.xml\"/>\n"
                    "<xi:include href=\"/abs.xml\"/></a>");
    struct sand_xml *xml;
    struct sand_diag diag = {0};
    char path[128];
    cr_assert_eq(open_it("in/x.xml", &xml, &diag), SAND_ERR_INPUT);
    cr_assert_geq(diag.n_messages, 3);
    cr_expect_str_eq(diag.messages[0].file, in("in/y.xml", path));
    cr_expect_eq(diag.messages[0].line, 2);
    const struct sand_message *last = &diag.messages[diag.n_messages - 1];
    cr_expect_str_eq(last->file, in("in/x.xml", path));
    cr_expect_eq(last->line, 3);
    sand_diag_clear(&diag);
}

Test(xmltree, garbage_is_refused)
{
    refuses("", "is empty");
    refuses("   ", "XML: ");
    refuses("plain text", "XML: ");
    refuses("<a>", "XML: ");
    refuses("<a></b>", "XML: ");
    refuses("<a x='1' x='2'/>", "XML: ");
    refuses("<a>&undefined;</a>", "XML: ");
    refuses("<p:a/>", "XML: ");
    refuses("<a b='caf\xe9'/>", "XML: ");
    refuses("<?xml version='1.0' encoding='no-such'?><a/>", "XML: ");
    put_bytes("in/x.xml", "<a>\0</a>", 8);
    refuses_at("in/x.xml", SAND_ERR_INPUT, "in/x.xml", 1, "holds a NUL byte");
    // libxml2 would take the NUL for the end.
    put_bytes("in/x.xml", "<a/>\n\0<b/>", 10);
    refuses_at("in/x.xml", SAND_ERR_INPUT, "in/x.xml", 2, "holds a NUL byte");
}

Test(xmltree, missing_files_and_directories_are_io_errors)
{
    refuses_at("in/none.xml", SAND_ERR_IO, "in/none.xml", 0, "No such file");
    refuses_at("in", SAND_ERR_IO, "in", 0, "is no regular file");
    refuses_at("nowhere/x.xml", SAND_ERR_IO, "nowhere/x.xml", 0, "directory does not exist");
}

static void put_repeated(const char *head, const char *body, size_t n, const char *tail)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs(head, out);
    for (size_t i = 0; i < n; i++)
        fputs(body, out);
    fputs(tail, out);
    fclose(out);
    put_bytes("in/x.xml", text, size);
    free(text);
}

Test(xmltree, size_and_nesting_are_bounded)
{
    put_repeated("<a b='", "0123456789", 1100000, "'/>");
    refuses_at("in/x.xml", SAND_ERR_INPUT, "in/x.xml", 1, "XML: AttValue length too long");
    put_repeated("", "<a>", 100000, "");
    refuses_at("in/x.xml", SAND_ERR_INPUT, "in/x.xml", 1, "XML: Excessive depth");
    char path[128];
    put("in/x.xml", "<a/>");
    cr_assert_eq(truncate(in("in/x.xml", path), SAND_XML_MAX_FILE_B + 1L), 0);
    refuses_at("in/x.xml", SAND_ERR_IO, "in/x.xml", 0, "more than the 67108864 allowed");
}

// ---- overrides and files beside ----

Test(xmltree, overrides_name_their_origin)
{
    put("in/x.xml", "<a/>");
    struct sand_xml *xml;
    xmlNode *child;
    cr_assert_eq(open_it("in/x.xml", &xml, NULL), SAND_OK);
    cr_assert_eq(sand_xml_add(xml, sand_xml_root(xml), "b", "--set b/@c=<&\"", &child), SAND_OK);
    cr_assert_eq(sand_xml_override(xml, child, "c", "<&\"", "--set b/@c=<&\""), SAND_OK);
    cr_expect_str_eq(sand_xml_attribute(child, "c"), "<&\"", "taken literally");
    cr_expect_str_eq(sand_xml_place(child).file, "--set b/@c=<&\"");
    cr_expect_eq(sand_xml_place(child).line, 0);
    sand_xml_close(xml);
}

Test(xmltree, plugins_lie_in_the_experiments_directory)
{
    char path[128];
    put("in/x.xml", "<a/>");
    put("in/sub/p.so", "x");
    put("p.so", "x");
    struct sand_xml *xml;
    const char *real = NULL;
    struct sand_diag diag = {0};
    cr_assert_eq(open_it("in/x.xml", &xml, NULL), SAND_OK);
    const xmlNode *root = sand_xml_root(xml);
    struct sand_xml_place place = sand_xml_place(root);
    cr_assert_eq(sand_xml_inside(xml, root, "sub/p.so", place, &real, NULL), SAND_OK);
    cr_expect_str_eq(real, in("in/sub/p.so", path));
    cr_expect_eq(sand_xml_inside(xml, root, "../p.so", place, &real, &diag), SAND_ERR_INPUT);
    cr_expect_eq(sand_xml_inside(xml, root, "/lib/p.so", place, &real, &diag), SAND_ERR_INPUT);
    cr_expect_eq(sand_xml_inside(xml, root, "none.so", place, &real, &diag), SAND_ERR_INPUT);
    cr_expect_eq(diag.n_errors, 3);
    sand_diag_clear(&diag);
    sand_xml_close(xml);
}
