// NCCL topology XML: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads.
// Source of the grammar: NVIDIA/nccl, src/graph/topo.cc and xml.cc, version 1 of the format.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "importmarkup.h"
#include "importnodetype.h"

enum { MAX_NETS = 1024 };

struct nccl_net {
    const char *name;
    double Bps;
    long line;
};

struct nccl_node {
    uint32_t n_gpus, sm, nvlinks;
    long gpu_line;
    const char *link_speed, *link_width; // of the GPUs' PCIe
    struct nccl_net nets[MAX_NETS];
    uint32_t n_nets;
    struct import_index busids;
    struct import_index reported; // attributes and elements already reported
};

// What the format has, per element; everything else is reported once per name.
static const struct {
    const char *element;
    const char *attributes;
} known[] = {
    {"system", " version "},
    {"cpu", " host_hash numaid affinity arch vendor familyid modelid "},
    {"pci", " busid class vendor device subsystem_vendor subsystem_device link_speed link_width "},
    {"gpu", " dev sm rank gdr mnnvl "},
    {"nvlink", " target count tclass "},
    {"c2c", " bw count "},
    {"nic", " "},
    {"net", " name dev speed latency port guid maxconn gdr keep coll forced_pci "},
    {"pcilink", " target "},
};

static const char *attributes_of(const char *element)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].element, element) == 0)
            return known[i].attributes;
    return NULL;
}

static void report_once(struct import_job *job, struct nccl_node *n, const xmlNode *node,
                        const char *attribute)
{
    const char *what =
        sand_arena_printf(&job->arena, "<%s>%s%s", (const char *)node->name,
                          attribute ? " attribute " : "", attribute ? attribute : "");
    if (what == NULL) {
        import_no_memory(job);
        return;
    }
    for (size_t i = 0; i < n->reported.n; i++)
        if (strcmp(n->reported.entries[i].name, what) == 0)
            return;
    import_unknown(job, import_markup_line(node),
                   "%.120s is not understood; passed over here and below", what);
    import_index_add(job, &n->reported, what, 0);
}

static void check_known(struct import_job *job, struct nccl_node *n, const xmlNode *node)
{
    const char *attributes = attributes_of((const char *)node->name);
    if (attributes == NULL) {
        report_once(job, n, node, NULL);
        return;
    }
    for (const xmlAttr *a = node->properties; a != NULL; a = a->next) {
        const char *name = (const char *)a->name;
        const char *at = strstr(attributes, name);
        if (at == NULL || at[-1] != ' ' || at[strlen(name)] != ' ')
            report_once(job, n, node, name);
    }
}

// ---- elements ----

static void take_gpu(struct import_job *job, struct nccl_node *n, const xmlNode *gpu)
{
    uint32_t sm = 0, nvlinks = 0;
    long line = import_markup_line(gpu);
    if (!import_markup_count(import_markup_attribute(gpu, "sm"), &sm)) {
        import_refuse(job, line, "a gpu has no compute capability (attribute sm)");
        return;
    }
    for (const xmlNode *child = gpu->children; child; child = child->next) {
        uint32_t count = 0;
        if (import_markup_is(child, "nvlink") &&
            import_markup_count(import_markup_attribute(child, "count"), &count) && count < 1000)
            nvlinks += count;
    }
    if (n->n_gpus > 0 && sm != n->sm)
        import_refuse(job, line,
                      "this gpu has compute capability %" PRIu32 ", the one in line %ld %" PRIu32
                      "; nodes here have equal GPUs",
                      sm, n->gpu_line, n->sm);
    else if (n->n_gpus > 0 && nvlinks != n->nvlinks)
        import_deviate(job, line, "this gpu has %" PRIu32 " NVLinks, the first %" PRIu32, nvlinks,
                       n->nvlinks);
    if (n->n_gpus++ == 0) {
        n->sm = sm;
        n->nvlinks = nvlinks;
        n->gpu_line = line;
        n->link_speed = gpu->parent ? import_markup_attribute(gpu->parent, "link_speed") : NULL;
        n->link_width = gpu->parent ? import_markup_attribute(gpu->parent, "link_width") : NULL;
    }
}

static void take_net(struct import_job *job, struct nccl_node *n, const xmlNode *net)
{
    const char *name = import_markup_attribute(net, "name");
    const char *port = import_markup_attribute(net, "port");
    uint32_t Mbps = 0;
    long line = import_markup_line(net);
    if (!import_markup_count(import_markup_attribute(net, "speed"), &Mbps) || Mbps == 0) {
        import_unknown(job, line, "net \"%.100s\" has no speed; left out", name ? name : "");
        return;
    }
    if (n->n_nets == MAX_NETS) {
        import_refuse(job, line, "has more than %d nets", MAX_NETS);
        return;
    }
    const char *whole =
        sand_arena_printf(&job->arena, "%s port %s", name ? name : "", port ? port : "");
    for (uint32_t i = 0; i < n->n_nets && whole; i++)
        if (strcmp(n->nets[i].name, whole) == 0)
            import_refuse(job, line, "net \"%.100s\" stands there twice, first in line %ld", whole,
                          n->nets[i].line);
    n->nets[n->n_nets++] = (struct nccl_net){whole ? whole : "", Mbps * 1e6 / 8, line};
}

static void take_pci(struct import_job *job, struct nccl_node *n, const xmlNode *pci)
{
    const char *busid = import_markup_attribute(pci, "busid");
    if (busid == NULL || *busid == '\0')
        import_refuse(job, import_markup_line(pci), "a pci device has no busid");
    else
        import_index_add(job, &n->busids, busid, (size_t)import_markup_line(pci));
}

// In document order, without recursion: documents may nest as deep as they like.
static void walk(struct import_job *job, struct nccl_node *n, const xmlNode *root)
{
    const xmlNode *at = root;
    while (at != NULL && job->rc == SAND_OK) {
        if (at->type == XML_ELEMENT_NODE) {
            check_known(job, n, at);
            if (import_markup_is(at, "gpu"))
                take_gpu(job, n, at);
            else if (import_markup_is(at, "net"))
                take_net(job, n, at);
            else if (import_markup_is(at, "pci"))
                take_pci(job, n, at);
        }
        if (at->children != NULL && at->type == XML_ELEMENT_NODE) {
            at = at->children;
            continue;
        }
        while (at != root && at->next == NULL)
            at = at->parent;
        at = at == root ? NULL : at->next;
    }
}

// ---- what it means ----

static int check_busids(struct import_job *job, struct nccl_node *n)
{
    size_t a, b;
    import_index_sort(&n->busids);
    const char *twice = import_index_twice(&n->busids, &a, &b);
    if (twice != NULL)
        return import_refuse(job, (long)b, "pci \"%s\" stands there twice, first in line %zu",
                             twice, a);
    return 1;
}

// The catalogue's PCIe links have 16 lanes.
static const char *host_link_of(struct import_job *job, const struct nccl_node *n)
{
    if (n->link_speed == NULL || n->link_width == NULL || *n->link_speed == '\0')
        return NULL;
    int is_wide = strcmp(n->link_width, "16") == 0;
    if (is_wide && strncmp(n->link_speed, "16.0 GT/s", 9) == 0)
        return "sandtable:link/pcie4-x16";
    if (is_wide && strncmp(n->link_speed, "32.0 GT/s", 9) == 0)
        return "sandtable:link/pcie5-x16";
    import_deviate(job, n->gpu_line,
                   "GPUs have PCIe of \"%.60s\" x%.20s, which the catalogue lacks", n->link_speed,
                   n->link_width);
    return NULL;
}

// The rate that most NICs have is that of training; others are taken for storage.
static void sort_nets(struct import_job *job, const struct nccl_node *n,
                      struct import_node_type *type)
{
    double *rates = sand_arena_alloc(&job->arena, n->n_nets, sizeof *rates);
    if (rates == NULL) {
        import_no_memory(job);
        return;
    }
    for (uint32_t i = 0; i < n->n_nets; i++)
        rates[i] = n->nets[i].Bps;
    type->nic_Bps = import_mode_real(rates, n->n_nets);
    for (uint32_t i = 0; i < n->n_nets; i++) {
        if (n->nets[i].Bps >= type->nic_Bps && n->nets[i].Bps <= type->nic_Bps) {
            type->n_nics++;
            continue;
        }
        import_assume(job, "net %s is for storage: most nets have another rate", n->nets[i].name);
        type->n_storage_nics++;
        type->has_storage_nics = 1;
        type->storage_nic_Bps = n->nets[i].Bps;
    }
}

static int write_node(struct import_job *job, const struct nccl_node *n)
{
    struct import_node_type type = {
        .n_gpus = n->n_gpus, .has_scaleup = n->nvlinks > 0, .like = import_node_of_sm(n->sm)};
    if (n->n_gpus == 0 || n->n_nets == 0)
        return import_refuse(job, 0,
                             "has %" PRIu32 " GPUs and %" PRIu32 " nets; a node of a cluster "
                             "needs both",
                             n->n_gpus, n->n_nets);
    if (type.like == NULL && job->options->node == NULL)
        return import_refuse(job, n->gpu_line,
                             "compute capability %" PRIu32
                             " is of no node type known here; name the "
                             "nearest with --node=ID",
                             n->sm);
    type.because =
        sand_arena_printf(&job->arena, "its GPUs have compute capability %" PRIu32, n->sm);
    if (type.because == NULL)
        return import_no_memory(job);
    type.host_link = host_link_of(job, n);
    import_comment(job,
                   "Read: %" PRIu32 " GPUs of compute capability %" PRIu32 " with %" PRIu32
                   " NVLinks each, %" PRIu32 " nets",
                   n->n_gpus, n->sm, n->nvlinks, n->n_nets);
    sort_nets(job, n, &type);
    return import_node_type_write(job, &type);
}

static int read_system(struct import_job *job, struct nccl_node *n, const xmlNode *root)
{
    const char *version = import_markup_attribute(root, "version");
    if (!import_markup_is(root, "system"))
        return import_refuse(job, import_markup_line(root),
                             "the root is <%s>, not <system>; this is no NCCL topology",
                             (const char *)root->name);
    if (version == NULL || strcmp(version, "1") != 0)
        return import_refuse(job, import_markup_line(root),
                             "system has version \"%.20s\"; version 1 is understood",
                             version ? version : "");
    walk(job, n, root);
    return job->rc == SAND_OK && job->n_refused == 0 && check_busids(job, n) && write_node(job, n);
}

int import_nccl_topo(struct import_job *job)
{
    struct nccl_node *node = sand_arena_alloc(&job->arena, 1, sizeof *node);
    if (node == NULL)
        return import_no_memory(job);
    xmlDoc *document = import_markup_parse(job);
    if (document == NULL)
        return 0;
    int done = read_system(job, node, xmlDocGetRootElement(document));
    import_index_free(&node->busids);
    import_index_free(&node->reported);
    xmlFreeDoc(document);
    return done;
}
