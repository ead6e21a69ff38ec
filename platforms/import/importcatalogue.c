// Looks things up in the catalogue, so that no number of an imported cluster stands in C.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <libxml/parser.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filegate.h"
#include "importjob.h"
#include "units.h"

enum { MAX_ENTRY_B = 1 << 20 };

// ---- entries ----

static void be_silent(void *context, const char *format, ...)
{
    (void)context;
    (void)format;
}

static int by_text(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static int is_entry(const struct dirent *file)
{
    size_t n = strlen(file->d_name);
    return n > 4 && strcmp(file->d_name + n - 4, ".xml") == 0;
}

// Names the nearest entry of that kind, or all there are.
static int refuse_absent(struct import_job *job, const char *kind, const char *id)
{
    enum { MOST = 128, LIST = 400 };
    const char *names[MOST];
    char list[LIST] = "";
    size_t n_names = 0, used = 0;
    struct dirent **files = NULL;
    const char *folder =
        sand_arena_printf(&job->arena, "%s/platforms/catalogue/%s", job->options->data, kind);
    int n = folder ? scandir(folder, &files, is_entry, by_text) : -1;
    for (int i = 0; i < n; i++) {
        char *name = sand_arena_printf(&job->arena, "%.*s", (int)strlen(files[i]->d_name) - 4,
                                       files[i]->d_name);
        if (name != NULL && n_names < MOST)
            names[n_names++] = name;
        free(files[i]); // of scandir
    }
    free(files);
    const char *nearest = sand_nearest(id, names, n_names);
    if (nearest != NULL)
        return import_refuse(job, 0,
                             "there is no %s \"%.80s\" in the catalogue; did you mean \"%s\"?",
                             kind, id, nearest);
    for (size_t i = 0; i < n_names && used < LIST; i++)
        used += (size_t)snprintf(list + used, LIST - used, "%s%s", i > 0 ? ", " : "", names[i]);
    return import_refuse(job, 0, "there is no %s \"%.80s\" in the catalogue (%s); there %s%s", kind,
                         id, folder ? folder : "", n_names > 0 ? "are " : "is none",
                         n_names > 0 ? list : "");
}

int import_entry_open(struct import_job *job, const char *kind, const char *id,
                      struct import_entry_of *entry)
{
    *entry = (struct import_entry_of){kind, id, NULL};
    char *text = NULL;
    size_t size = 0;
    const char *path = sand_arena_printf(&job->arena, "%s/platforms/catalogue/%s/%s.xml",
                                         job->options->data, kind, id);
    if (path == NULL)
        return import_no_memory(job);
    if (strchr(id, '/') != NULL || sand_file_read(path, MAX_ENTRY_B, &text, &size, NULL) != SAND_OK)
        return refuse_absent(job, kind, id);
    xmlSetGenericErrorFunc(NULL, be_silent);
    entry->document = xmlReadMemory(text, (int)size, path, NULL,
                                    XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    sand_free(text);
    if (entry->document == NULL || xmlDocGetRootElement(entry->document) == NULL) {
        import_entry_close(entry);
        return import_refuse(job, 0, "%s of the catalogue is no XML", path);
    }
    return 1;
}

const char *import_entry_value(const struct import_entry_of *entry, const char *attribute)
{
    const xmlNode *root = xmlDocGetRootElement(entry->document);
    for (const xmlAttr *a = root->properties; a != NULL; a = a->next)
        if (a->ns == NULL && strcmp((const char *)a->name, attribute) == 0)
            return a->children && a->children->content ? (const char *)a->children->content : "";
    return NULL;
}

void import_entry_close(struct import_entry_of *entry)
{
    xmlFreeDoc(entry->document);
    entry->document = NULL;
}

static double value_of(const char *text, enum sand_dim dim)
{
    double value = 0;
    char why[160];
    if (text == NULL || sand_quantity_parse(text, dim, &value, why, sizeof why) != SAND_OK)
        return 0;
    return value;
}

// ---- node types ----

static const char *const link_prefix = "sandtable:link/";

static const char *bare_link(const char *reference)
{
    size_t n = strlen(link_prefix);
    return reference && strncmp(reference, link_prefix, n) == 0 ? reference + n : NULL;
}

static int read_link(struct import_job *job, struct import_node *node)
{
    struct import_entry_of link;
    const char *id = bare_link(node->nic);
    if (id == NULL)
        return import_refuse(job, 0, "node type \"%s\" names no link of the catalogue", node->id);
    if (!import_entry_open(job, "link", id, &link))
        return 0;
    const char *rate = import_entry_value(&link, "rate");
    node->nic_rate = sand_arena_strdup(&job->arena, rate ? rate : "");
    node->nic_Bps = value_of(rate, SAND_DIM_BANDWIDTH);
    import_entry_close(&link);
    return node->nic_rate != NULL ? 1 : import_no_memory(job);
}

static int read_node(struct import_job *job, const char *id, struct import_node *node)
{
    struct import_entry_of entry;
    if (!import_entry_open(job, "node", id, &entry))
        return 0;
    const char *nic = import_entry_value(&entry, "nic");
    *node = (struct import_node){
        .id = id,
        .n_gpus = (uint32_t)value_of(import_entry_value(&entry, "gpus"), SAND_DIM_COUNT),
        .n_nics = (uint32_t)value_of(import_entry_value(&entry, "nics"), SAND_DIM_COUNT),
        .nic = nic ? sand_arena_strdup(&job->arena, nic) : NULL};
    import_entry_close(&entry);
    if (node->n_gpus == 0 || node->n_nics == 0)
        return import_refuse(job, 0, "node type \"%s\" of the catalogue has no GPUs or NICs", id);
    return read_link(job, node);
}

int import_node_choose(struct import_job *job, const char *suggested, const char *because,
                       struct import_node *node)
{
    if (job->options->node != NULL)
        return read_node(job, job->options->node, node);
    if (suggested != NULL)
        import_assume(job, "node type %s, because %s; the option `node' chooses another", suggested,
                      because);
    else
        import_assume(
            job, "node type dgx-h100: the input does not say; the option `node' chooses another");
    return read_node(job, suggested ? suggested : "dgx-h100", node);
}

// What each generation is called by nvidia-smi and Slurm, its compute capability (CUDA C++
// Programming Guide 12.9, table of compute capabilities; 0: never asked by it), and a node type of
// the catalogue with it. The first that matches counts: "gb200" contains "b200".
static const struct {
    const char *word;
    uint32_t sm;
    const char *node;
} generations[] = {
    {"gb200", 0, "gb200-nvl72"},   {"gb300", 0, "gb300-nvl72"},   {"gh200", 0, "gh200-4x200"},
    {"a800", 0, "a800-8x200"},     {"mi350x", 0, "mi350x-8x400"}, {"h100", 90, "dgx-h100"},
    {"h200", 90, "dgx-h200"},      {"h800", 90, "h800-8x400"},    {"h20", 90, "h20-8x400"},
    {"a100", 80, "dgx-a100"},      {"l40s", 89, "l40s-8"},        {"b200", 100, "dgx-b200"},
    {"b300", 103, "dgx-b300"},     {"mi250x", 0, "mi250x-4x200"}, {"mi300x", 0, "mi300x-8x400"},
    {"mi325x", 0, "mi325x-8x400"}, {"mi355x", 0, "mi355x-8x400"}, {"v100", 70, "dgx2-v100"}};

const char *import_node_of_gpu(const char *gpu_name)
{
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++)
        if (strcasestr(gpu_name, generations[i].word) != NULL)
            return generations[i].node;
    return NULL;
}

const char *import_node_of_sm(uint32_t sm)
{
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++)
        if (generations[i].sm == sm)
            return generations[i].node;
    return NULL;
}

static int same_hex(const char *a, const char *b)
{
    return a != NULL && strtoul(a, NULL, 16) == strtoul(b, NULL, 16);
}

// The PCI ID Repository (pci-ids.ucw.cz), as read in 2026. It tells GPUs apart that have the same
// compute capability.
const char *import_node_of_pci(const char *vendor, const char *device)
{
    static const struct {
        const char *vendor, *device, *node;
    } devices[] = {
        {"10de", "20b0", "dgx-a100-40g"}, // A100 SXM4 40GB
        {"10de", "20b2", "dgx-a100"},     // A100 SXM4 80GB
        {"10de", "2330", "dgx-h100"},     // H100 SXM5 80GB
        {"10de", "2335", "dgx-h200"},     // H200 SXM 141GB
        {"10de", "2324", "h800-8x400"},   // H800
        {"10de", "2329", "h20-8x400"},    // H20
        {"10de", "26b9", "l40s-8"},       // L40S
        {"10de", "2901", "dgx-b200"},     // B200
        {"10de", "2941", "gb200-nvl72"},  // HGX GB200
        {"10de", "3182", "dgx-b300"},     // B300 SXM6
        {"10de", "2342", "gh200-4x200"},  // GH200 120GB
        {"10de", "31c2", "gb300-nvl72"},  // GB300
        {"1002", "740c", "mi250x-4x200"}, // MI250X
        {"1002", "74a1", "mi300x-8x400"}, // MI300X
        {"1002", "74a5", "mi325x-8x400"}, // MI325X
        {"1002", "75a0", "mi350x-8x400"}, // MI350X
        {"1002", "75a3", "mi355x-8x400"}, // MI355X
    };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (same_hex(vendor, devices[i].vendor) && same_hex(device, devices[i].device))
            return devices[i].node;
    return NULL;
}

// "gfx942:sramecc+:xnack-", or 942 as older ones wrote it; 910 was gfx90a (LLVM, "User Guide for
// AMDGPU Backend", table of processors).
const char *import_node_of_gcn(const char *gcn)
{
    static const struct {
        const char *name, *number, *node;
    } sets[] = {{"gfx90a", "910", "mi250x-4x200"},
                {"gfx942", "942", "mi300x-8x400"},
                {"gfx950", "950", "mi355x-8x400"}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strncmp(gcn, sets[i].name, 6) == 0 || strcmp(gcn, sets[i].number) == 0)
            return sets[i].node;
    return NULL;
}

// ---- links by rate ----

static int is_network_link(const struct dirent *file)
{
    static const char *const inside[] = {"nvlink", "pcie", "xgmi", "infinity", "ici"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (strncmp(file->d_name, inside[i], strlen(inside[i])) == 0)
            return 0;
    return is_entry(file);
}

static int has_rate(struct import_job *job, const char *id, double Bps)
{
    struct import_entry_of entry;
    if (!import_entry_open(job, "link", id, &entry))
        return 0;
    double rate = value_of(import_entry_value(&entry, "rate"), SAND_DIM_BANDWIDTH);
    import_entry_close(&entry);
    return fabs(rate - Bps) <= 1e-6 * Bps;
}

const char *import_link_of_rate(struct import_job *job, double Bps, const char *first_choice)
{
    const char *first = bare_link(first_choice);
    if (first != NULL && has_rate(job, first, Bps))
        return first_choice;
    const char *folder =
        sand_arena_printf(&job->arena, "%s/platforms/catalogue/link", job->options->data);
    struct dirent **files = NULL;
    int n = folder ? scandir(folder, &files, is_network_link, by_text) : -1;
    const char *found = NULL;
    for (int i = 0; i < n; i++) {
        char *id = sand_arena_printf(&job->arena, "%.*s", (int)strlen(files[i]->d_name) - 4,
                                     files[i]->d_name);
        if (found == NULL && id != NULL && has_rate(job, id, Bps))
            found = sand_arena_printf(&job->arena, "%s%s", link_prefix, id);
        free(files[i]); // of scandir
    }
    free(files);
    return found;
}
