// Which file an href names, and whether it may be read.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xmlprivate.h"

static const char scheme_of_ours[] = "sandtable:";

// Whether real path `real` lies under `area`.
static int contains(const struct sand__xml_area *area, const char *real)
{
    size_t length = strlen(area->real);
    return strncmp(real, area->real, length) == 0 && real[length] == '/';
}

static enum sand_rc out_of_memory(struct sand_diag *diag, const char *what)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", what);
}

// ---- the catalogue ----

// 0 leaves in errno why not.
static int holds_catalogue(const char *dir)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/platforms/catalogue", dir);
    errno = ENAMETOOLONG;
    return n > 0 && (size_t)n < sizeof path && access(path, R_OK | X_OK) == 0;
}

// Beside the running program, or above it; *found stays NULL where there is none.
static enum sand_rc search_program(struct sand_arena *arena, const char **found)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return SAND_OK;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    *slash = '\0';
    const char *shared = sand_arena_printf(arena, "%s/../share/sandtable", path);
    if (!shared)
        return SAND_ERR_NOMEM;
    if (holds_catalogue(shared)) {
        *found = shared;
        return SAND_OK;
    }
    for (; slash; slash = strrchr(path, '/')) {
        *slash = '\0';
        if (!holds_catalogue(path))
            continue;
        *found = sand_arena_strdup(arena, path);
        return *found ? SAND_OK : SAND_ERR_NOMEM;
    }
    return SAND_OK;
}

// The directory that was named, with what named it; afterwards xml->no_data says why if it is none.
static enum sand_rc take_data(struct sand_xml *xml, const char *data, const char *named_by)
{
    char real[PATH_MAX];
    if (!holds_catalogue(data) || !realpath(data, real)) {
        xml->no_data =
            sand_arena_printf(&xml->arena, "%s\"%s\", whose platforms/catalogue cannot be read: %s",
                              named_by, data, strerror(errno));
        xml->data = NULL;
        return xml->no_data ? SAND_OK : SAND_ERR_NOMEM;
    }
    const char *kept = sand_arena_strdup(&xml->arena, data);
    xml->catalogue.real = sand_arena_strdup(&xml->arena, real);
    if (!kept || !xml->catalogue.real)
        return SAND_ERR_NOMEM;
    xml->data = kept;
    return SAND_OK;
}

// Where the catalogue is: as given, else $SANDTABLE_DATA, else share/sandtable beside the program
// or the source tree above it. Afterwards xml->data is NULL if there is none.
static enum sand_rc find_data(struct sand_xml *xml)
{
    const char *data = xml->data, *variable = getenv("SANDTABLE_DATA");
    if (xml->data_known)
        return SAND_OK;
    const char *named_by = data ? "" : "SANDTABLE_DATA, which is ";
    if (!data && variable && *variable)
        data = variable;
    else if (!data)
        SAND_TRY(search_program(&xml->arena, &data));
    if (data)
        SAND_TRY(take_data(xml, data, named_by));
    xml->catalogue.name = "the catalogue";
    xml->data_known = 1;
    return SAND_OK;
}

static int is_plain_name(const char *text, size_t length)
{
    if (length == 0 || text[0] == '.' || text[0] == '-')
        return 0;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
            return 0;
    return 1;
}

static const char *entry_directory(struct sand_arena *arena, const char *kind, size_t length)
{
    static const struct {
        const char *kind, *directory;
    } special[] = {{"model", "workloads/models"},
                   {"mix", "workloads/mixes"},
                   {"cluster", "platforms/clusters"},
                   {"faults", "platforms/faults"}};
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        if (strlen(special[i].kind) == length && strncmp(special[i].kind, kind, length) == 0)
            return special[i].directory;
    return sand_arena_printf(arena, "platforms/catalogue/%.*s", (int)length, kind);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The ids in a directory of the catalogue, sorted so that "did you mean" does not depend on the
// file system's order.
static size_t list_ids(struct sand_arena *arena, const char *path, const char **ids, size_t limit)
{
    DIR *dir = opendir(path);
    size_t n = 0;
    if (!dir)
        return 0;
    for (struct dirent *entry; n < limit && (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name);
        if (length <= 4 || strcmp(entry->d_name + length - 4, ".xml") != 0)
            continue;
        ids[n] = sand_arena_printf(arena, "%.*s", (int)(length - 4), entry->d_name);
        n += ids[n] != NULL;
    }
    closedir(dir);
    qsort(ids, n, sizeof *ids, compare_names);
    return n;
}

static enum sand_rc refuse_entry(struct sand_xml *xml, const char *directory, const char *name,
                                 struct sand_xml_place place, struct sand_diag *diag)
{
    const char *ids[512];
    const char *id = strchr(name, '/') + 1;
    const char *path = sand_arena_printf(&xml->arena, "%s/%s", xml->data, directory);
    size_t n = path ? list_ids(&xml->arena, path, ids, sizeof ids / sizeof ids[0]) : 0;
    const char *near = sand_nearest(id, ids, n);
    if (near)
        sand_diag_add(
            diag, SAND_ERROR, place.file, place.line,
            "\"sandtable:%s\" is not in the catalogue; did you mean \"sandtable:%.*s%s\"?", name,
            (int)(id - name), name, near);
    else
        sand_diag_add(diag, SAND_ERROR, place.file, place.line,
                      "\"sandtable:%s\" is not in the catalogue: there is no %s/%s.xml in %s", name,
                      directory, id, xml->data);
    return SAND_ERR_INPUT;
}

static enum sand_rc check_entry_name(struct sand_xml *xml, const char *name,
                                     struct sand_xml_place place, struct sand_diag *diag)
{
    const char *slash = strchr(name, '/');
    if (!slash || !is_plain_name(name, (size_t)(slash - name)) ||
        !is_plain_name(slash + 1, strlen(slash + 1))) {
        sand_diag_add(diag, SAND_ERROR, place.file, place.line,
                      "\"sandtable:%s\" is no name in the catalogue; write sandtable:KIND/ID, such "
                      "as \"sandtable:gpu/h100-sxm-80g\"",
                      name);
        return SAND_ERR_INPUT;
    }
    if (find_data(xml) != SAND_OK)
        return out_of_memory(diag, name);
    if (xml->data)
        return SAND_OK;
    sand_diag_add(diag, SAND_ERROR, place.file, place.line,
                  "\"sandtable:%s\": no catalogue found%s%s; set SANDTABLE_DATA to the directory "
                  "that holds platforms/catalogue",
                  name, xml->no_data ? " in " : ", neither beside the program nor above it",
                  xml->no_data ? xml->no_data : "");
    return SAND_ERR_INPUT;
}

// The same for catalogue entry "kind/id".
static enum sand_rc locate_entry(struct sand_xml *xml, const char *name,
                                 struct sand_xml_place place, struct sand__xml_file *file,
                                 struct sand_diag *diag)
{
    SAND_TRY(check_entry_name(xml, name, place, diag));
    const char *slash = strchr(name, '/');
    const char *directory = entry_directory(&xml->arena, name, (size_t)(slash - name));
    file->shown =
        directory ? sand_arena_printf(&xml->arena, "%s/%s/%s.xml", xml->data, directory, slash + 1)
                  : NULL;
    if (!file->shown)
        return out_of_memory(diag, name);
    char real[PATH_MAX];
    if (!realpath(file->shown, real))
        return refuse_entry(xml, directory, name, place, diag);
    if (!contains(&xml->catalogue, real)) {
        sand_diag_add(diag, SAND_ERROR, place.file, place.line,
                      "\"sandtable:%s\" leads out of the catalogue through a symbolic link", name);
        return SAND_ERR_INPUT;
    }
    file->area = &xml->catalogue;
    file->real = sand_arena_strdup(&xml->arena, real);
    return file->real ? SAND_OK : out_of_memory(diag, name);
}

enum sand_rc sand_xml_entry(struct sand_xml *xml, const char *kind, const char *id,
                            struct sand_xml_place place, xmlNode **root, struct sand_diag *diag)
{
    struct sand__xml_file *file = sand__xml_file_new(xml, NULL);
    const char *name = sand_arena_printf(&xml->arena, "%s/%s", kind, id);
    if (!file || !name)
        return out_of_memory(diag, id);
    SAND_TRY(locate_entry(xml, name, place, file, diag));
    SAND_TRY(sand__xml_read(xml, file, place, diag));
    *root = xmlDocGetRootElement(file->doc);
    return SAND_OK;
}

int sand_xml_has_entry(struct sand_xml *xml, const char *kind, const char *id)
{
    struct sand__xml_file file = {0};
    const char *name = sand_arena_printf(&xml->arena, "%s/%s", kind, id);
    return name && locate_entry(xml, name, (struct sand_xml_place){0}, &file, NULL) == SAND_OK;
}

// ---- paths ----

static int has_scheme(const char *href)
{
    size_t n = 0;
    while (isalnum((unsigned char)href[n]) || (n > 0 && strchr("+.-", href[n]) && href[n]))
        n++;
    return n > 0 && isalpha((unsigned char)href[0]) && href[n] == ':';
}

// Depth of the directory of `real` below `area`.
static long depth_below(const struct sand__xml_area *area, const char *real)
{
    long depth = -1;
    for (const char *c = real + strlen(area->real); *c; c++)
        depth += *c == '/';
    return depth;
}

// Whether following `href` from `depth` directories below the area ever climbs above it. A check of
// the text alone, before the file system is asked about places outside.
static int climbs_out(const char *href, long depth)
{
    while (*href) {
        size_t n = strcspn(href, "/");
        if (n == 2 && strncmp(href, "..", 2) == 0)
            depth--;
        else if (n > 0 && !(n == 1 && *href == '.'))
            depth++;
        if (depth < 0)
            return 1;
        href += n + (href[n] == '/');
    }
    return 0;
}

static const char *refused_form(const struct sand__xml_file *from, const char *href)
{
    if (has_scheme(href))
        return "is a URL: nothing is fetched; copy the file beside the experiment and write its "
               "path";
    if (href[0] == '/')
        return "is an absolute path: refused; write a path relative to this file";
    if (climbs_out(href, depth_below(from->area, from->real)))
        return "leads out of";
    return NULL;
}

static enum sand_rc refuse_path(const struct sand__xml_file *from, const char *href,
                                const char *reason, struct sand_xml_place place,
                                struct sand_diag *diag)
{
    const char *area = strncmp(reason, "leads out", 9) == 0 ? from->area->name : "";
    sand_diag_add(diag, SAND_ERROR, place.file, place.line, "\"%s\" %s%s%s", href, reason,
                  *area ? " " : "", area);
    return SAND_ERR_INPUT;
}

// The real path of `href` as written in `from`, checked to lie in from's area.
static enum sand_rc resolve(struct sand_xml *xml, const struct sand__xml_file *from,
                            const char *href, struct sand_xml_place place, const char **real,
                            struct sand_diag *diag)
{
    const char *reason = refused_form(from, href);
    if (reason)
        return refuse_path(from, href, reason, place, diag);
    const char *slash = strrchr(from->real, '/');
    const char *path =
        sand_arena_printf(&xml->arena, "%.*s/%s", (int)(slash - from->real), from->real, href);
    char buffer[PATH_MAX];
    if (!path)
        return out_of_memory(diag, href);
    if (!realpath(path, buffer)) {
        sand_diag_add(diag, SAND_ERROR, place.file, place.line, "\"%s\" cannot be read: %s", href,
                      strerror(errno));
        return SAND_ERR_INPUT;
    }
    if (!contains(from->area, buffer))
        return refuse_path(from, href, "leads out through a symbolic link: out of", place, diag);
    *real = sand_arena_strdup(&xml->arena, buffer);
    return *real ? SAND_OK : out_of_memory(diag, href);
}

enum sand_rc sand__xml_locate(struct sand_xml *xml, const struct sand__xml_file *from,
                              const char *href, struct sand_xml_place place,
                              struct sand__xml_file *file, struct sand_diag *diag)
{
    size_t prefix = sizeof scheme_of_ours - 1;
    if (strncmp(href, scheme_of_ours, prefix) == 0)
        return locate_entry(xml, href + prefix, place, file, diag);
    SAND_TRY(resolve(xml, from, href, place, &file->real, diag));
    const char *slash = strrchr(from->shown, '/');
    int directory = slash ? (int)(slash - from->shown) + 1 : 0;
    file->area = from->area;
    file->shown = sand_arena_printf(&xml->arena, "%.*s%s", directory, from->shown, href);
    return file->shown ? SAND_OK : out_of_memory(diag, href);
}

enum sand_rc sand_xml_inside(struct sand_xml *xml, const xmlNode *node, const char *relative,
                             struct sand_xml_place place, const char **real, struct sand_diag *diag)
{
    const struct sand__xml_file *from = sand__xml_file_of(node);
    if (!from || !from->real)
        from = xml->main; // an element made by --set
    struct sand__xml_file *file = sand__xml_file_new(xml, NULL);
    if (!file)
        return out_of_memory(diag, relative);
    SAND_TRY(resolve(xml, from, relative, place, &file->real, diag));
    *real = file->real;
    return SAND_OK;
}
