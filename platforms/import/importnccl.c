// NCCL topology XML: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads.
// Source of the grammar: NVIDIA/nccl, src/graph/topo.cc and xml.cc, version 1 of the format;
// ROCm/rccl, the same files, versions 1 and 2.
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
    uint32_t n_bare_gpus, n_bare_nics; // devices of these classes that only <pci> shows
    const char *gcn;                   // AMD's name of the GPU's instruction set; NULL: NVIDIA's
    const char *vendor, *device;       // of the first GPU's PCI; NULL: not said
    const char *host;                  // host_hash of the current <cpu>, "" without
    long gpu_line;
    const char *link_speed, *link_width; // of the GPUs' PCIe
    struct nccl_net nets[MAX_NETS];
    uint32_t n_nets;
    struct import_index busids, hosts;
};

// What the format has, per element; everything else is reported once per name.
static const struct {
    const char *element;
    const char *attributes;
} known[] = {
    {"system", " version "},
    {"cpu", " host_hash numaid affinity arch vendor familyid modelid "},
    {"pci", " busid class vendor device subsystem_vendor subsystem_device link_speed link_width "},
    {"gpu", " dev sm rank gdr mnnvl gcn arch cu "},
    {"nvlink", " target count tclass "},
    {"xgmi", " target count tclass "},
    {"c2c", " bw count "},
    {"nic", " "},
    {"net", " name dev speed latency port guid maxconn gdr keep coll gin net forced_pci "},
    {"pcilink", " target "},
};

static const char *attributes_of(const char *element)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].element, element) == 0)
            return known[i].attributes;
    return NULL;
}

static void report_once(struct import_job *job, const xmlNode *node, const char *attribute)
{
    const char *what =
        sand_arena_printf(&job->arena, "<%s>%s%s", (const char *)node->name,
                          attribute ? " attribute " : "", attribute ? attribute : "");
    if (what == NULL) {
        import_no_memory(job);
        return;
    }
    if (import_first_time(job, what))
        import_unknown(job, import_markup_line(node),
                       "%.120s is not understood; passed over here and below", what);
}

static void check_known(struct import_job *job, const xmlNode *node)
{
    const char *attributes = attributes_of((const char *)node->name);
    if (attributes == NULL) {
        report_once(job, node, NULL);
        return;
    }
    for (const xmlAttr *a = node->properties; a != NULL; a = a->next) {
        const char *name = (const char *)a->name;
        if (!import_in_words(attributes, name, strncmp))
            report_once(job, node, name);
    }
}

// ---- elements ----

static uint32_t count_nvlinks(const xmlNode *gpu)
{
    uint32_t n = 0, count = 0;
    for (const xmlNode *child = gpu->children; child; child = child->next)
        if ((import_markup_is(child, "nvlink") || import_markup_is(child, "xgmi")) &&
            import_markup_count(import_markup_attribute(child, "count"), &count) && count < 1000)
            n += count;
    return n;
}

// What the first GPU and the <pci> around it say stands for all of them.
static void take_first(struct nccl_node *n, const xmlNode *pci, long line)
{
    n->gpu_line = line;
    n->link_speed = pci ? import_markup_attribute(pci, "link_speed") : NULL;
    n->link_width = pci ? import_markup_attribute(pci, "link_width") : NULL;
    n->vendor = pci ? import_markup_attribute(pci, "vendor") : NULL;
    n->device = pci ? import_markup_attribute(pci, "device") : NULL;
}

static void take_gpu(struct import_job *job, struct nccl_node *n, const xmlNode *gpu)
{
    uint32_t sm = 0;
    const uint32_t nvlinks = count_nvlinks(gpu);
    long line = import_markup_line(gpu);
    if (!import_markup_count(import_markup_attribute(gpu, "sm"), &sm)) {
        import_refuse(job, line, "a gpu has no compute capability (attribute sm)");
        return;
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
        n->gcn = import_markup_attribute(gpu, "gcn");
        take_first(n, gpu->parent, line);
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
    const char *whole = sand_arena_printf(&job->arena, "%s%s%s port %s", n->host,
                                          *n->host ? " " : "", name ? name : "", port ? port : "");
    for (uint32_t i = 0; i < n->n_nets && whole; i++)
        if (strcmp(n->nets[i].name, whole) == 0)
            import_refuse(job, line, "net \"%.100s\" stands there twice, first in line %ld", whole,
                          n->nets[i].line);
    n->nets[n->n_nets++] = (struct nccl_net){whole ? whole : "", Mbps * 1e6 / 8, line};
}

static int has_element(const xmlNode *node)
{
    for (const xmlNode *child = node->children; child; child = child->next)
        if (child->type == XML_ELEMENT_NODE)
            return 1;
    return 0;
}

// Files that clouds give to their guests show devices by their class alone: 0x03.... (or 0x12....)
// is a GPU, 0x02.... a NIC (PCI Code and ID Assignment Specification).
static void take_bare(struct nccl_node *n, const xmlNode *pci)
{
    const char *class = import_markup_attribute(pci, "class");
    if (class == NULL || has_element(pci))
        return;
    if (strncmp(class, "0x02", 4) == 0) {
        n->n_bare_nics++;
    } else if (strncmp(class, "0x03", 4) == 0 || strncmp(class, "0x12", 4) == 0) {
        if (n->n_bare_gpus++ == 0 && n->n_gpus == 0)
            take_first(n, pci, import_markup_line(pci));
    }
}

// Hosts that share a scale-up domain stand in one file, each with bus ids of its own.
static void take_pci(struct import_job *job, struct nccl_node *n, const xmlNode *pci)
{
    const char *busid = import_markup_attribute(pci, "busid");
    if (busid == NULL || *busid == '\0') {
        import_refuse(job, import_markup_line(pci), "a pci device has no busid");
        return;
    }
    const char *whole =
        sand_arena_printf(&job->arena, "%s%s%s", n->host, *n->host ? " " : "", busid);
    import_index_add(job, &n->busids, whole ? whole : busid, (size_t)import_markup_line(pci));
    take_bare(n, pci);
}

static void take_cpu(struct import_job *job, struct nccl_node *n, const xmlNode *cpu)
{
    const char *host = import_markup_attribute(cpu, "host_hash");
    n->host = host ? host : "";
    import_index_add(job, &n->hosts, n->host, 0);
}

// In document order, without recursion: documents may nest as deep as they like.
static void walk(struct import_job *job, struct nccl_node *n, const xmlNode *root)
{
    const xmlNode *at = root;
    while (at != NULL && job->rc == SAND_OK) {
        if (at->type == XML_ELEMENT_NODE) {
            check_known(job, at);
            if (import_markup_is(at, "gpu"))
                take_gpu(job, n, at);
            else if (import_markup_is(at, "net"))
                take_net(job, n, at);
            else if (import_markup_is(at, "pci"))
                take_pci(job, n, at);
            else if (import_markup_is(at, "cpu"))
                take_cpu(job, n, at);
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

// The catalogue's PCIe links have 16 lanes. "16 GT/s", "16.0 GT/s" and "16.0 GT/s PCIe" are what
// kernels of several years write.
static const char *host_link_of(struct import_job *job, const struct nccl_node *n)
{
    if (n->link_speed == NULL || n->link_width == NULL || *n->link_speed == '\0')
        return NULL;
    char *end;
    const double GTps = strtod(n->link_speed, &end);
    const int is_wide = strcmp(n->link_width, "16") == 0 && strncmp(end, " GT/s", 5) == 0;
    if (is_wide && GTps > 15.9 && GTps < 16.1)
        return "sandtable:link/pcie4-x16";
    if (is_wide && GTps > 31.9 && GTps < 32.1)
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

// The class alone counts where no <gpu> and no <net> says more.
static void count_bare(struct import_job *job, const struct nccl_node *n,
                       struct import_node_type *type)
{
    if (n->n_gpus == 0 && n->n_bare_gpus > 0) {
        type->n_gpus = n->n_bare_gpus;
        type->has_scaleup = 1;
        import_assume(job,
                      "%" PRIu32 " PCI devices of class 0x03 or 0x12 are the GPUs, with the "
                      "scale-up links of that node type: no <gpu> describes them",
                      n->n_bare_gpus);
    } else if (n->n_bare_gpus > 0) {
        import_unknown(job, 0,
                       "%" PRIu32 " PCI devices are GPUs by their class, but have no <gpu>; "
                       "left out",
                       n->n_bare_gpus);
    }
    if (n->n_nets == 0 && n->n_bare_nics > 0) {
        type->n_nics = n->n_bare_nics;
        import_assume(job,
                      "%" PRIu32 " PCI devices of class 0x02 are the NICs, all for training: no "
                      "<net> describes them",
                      n->n_bare_nics);
    } else if (n->n_bare_nics > 0) {
        import_unknown(job, 0,
                       "%" PRIu32 " PCI devices are NICs by their class, but have no <net>; "
                       "left out",
                       n->n_bare_nics);
    }
}

// AMD's MI250X is two devices, of one die each; the catalogue has the whole of it.
static void join_dies(struct import_job *job, const struct nccl_node *n,
                      struct import_node_type *type)
{
    if (type->like == NULL || strstr(type->like, "mi250x") == NULL || type->n_gpus % 2 != 0)
        return;
    type->n_gpus /= 2;
    import_assume(job, "%" PRIu32 " GPUs: two dies of an MI250X, which \"%s\" is, are one",
                  type->n_gpus,
                  n->gcn      ? n->gcn
                  : n->device ? n->device
                              : "");
}

static uint32_t count_hosts(struct nccl_node *n)
{
    uint32_t hosts = 0;
    import_index_sort(&n->hosts);
    for (size_t i = 0; i < n->hosts.n; i++)
        hosts += i == 0 || strcmp(n->hosts.entries[i - 1].name, n->hosts.entries[i].name) != 0;
    return hosts;
}

// What NCCL dumps of a scale-up domain of several hosts becomes one of them.
static int split_hosts(struct import_job *job, struct nccl_node *n, struct import_node_type *type)
{
    const uint32_t hosts = count_hosts(n);
    if (hosts < 2)
        return 1;
    if (type->n_gpus % hosts != 0 || type->n_nics % hosts != 0 || type->n_storage_nics % hosts != 0)
        return import_refuse(job, 0,
                             "%" PRIu32 " hosts (host_hash) with %" PRIu32 " GPUs and %" PRIu32
                             " nets are no equal nodes; import the file of a single host",
                             hosts, type->n_gpus, n->n_nets);
    type->n_gpus /= hosts;
    type->n_nics /= hosts;
    type->n_storage_nics /= hosts;
    type->scaleup_nodes = hosts;
    import_assume(job,
                  "%" PRIu32 " hosts (host_hash) share one scale-up domain: one of them is the "
                  "node",
                  hosts);
    return 1;
}

static const char *say_because(struct import_job *job, const struct nccl_node *n,
                               struct import_node_type *type)
{
    type->like = import_node_of_pci(n->vendor, n->device);
    if (type->like != NULL)
        return sand_arena_printf(&job->arena, "its GPUs are the PCI device %s %s", n->vendor,
                                 n->device);
    if (n->gcn != NULL) {
        type->like = import_node_of_gcn(n->gcn);
        return sand_arena_printf(&job->arena, "its GPUs are \"%s\"", n->gcn);
    }
    type->like = n->n_gpus > 0 ? import_node_of_sm(n->sm) : NULL;
    return sand_arena_printf(&job->arena, "its GPUs have compute capability %" PRIu32, n->sm);
}

static int write_node(struct import_job *job, struct nccl_node *n)
{
    struct import_node_type type = {.n_gpus = n->n_gpus, .has_scaleup = n->nvlinks > 0};
    if (n->n_gpus + n->n_bare_gpus == 0)
        return import_refuse(job, 0, "has no GPU; a node of a cluster needs one");
    type.because = say_because(job, n, &type);
    if (type.because == NULL)
        return import_no_memory(job);
    if (type.like == NULL && job->options->node == NULL && n->n_gpus == 0)
        return import_refuse(job, n->gpu_line,
                             "what the GPUs are is not said; name the node type with --node=ID");
    if (type.like == NULL && job->options->node == NULL)
        return import_refuse(job, n->gpu_line,
                             "compute capability %" PRIu32
                             "%s%s is of no node type known here; name "
                             "the nearest with --node=ID",
                             n->sm, n->gcn ? ", " : "", n->gcn ? n->gcn : "");
    count_bare(job, n, &type);
    join_dies(job, n, &type);
    type.host_link = host_link_of(job, n);
    if (n->n_gpus > 0)
        import_comment(job,
                       "Read: %" PRIu32 " GPUs of compute capability %" PRIu32 " with %" PRIu32
                       " NVLinks each, %" PRIu32 " nets",
                       n->n_gpus, n->sm, n->nvlinks, n->n_nets);
    if (n->n_nets > 0)
        sort_nets(job, n, &type);
    return split_hosts(job, n, &type) && import_node_type_write(job, &type);
}

static int read_system(struct import_job *job, struct nccl_node *n, const xmlNode *root)
{
    const char *version = import_markup_attribute(root, "version");
    if (!import_markup_is(root, "system"))
        return import_refuse(job, import_markup_line(root),
                             "the root is <%s>, not <system>; this is no NCCL topology",
                             (const char *)root->name);
    if (version == NULL || (strcmp(version, "1") != 0 && strcmp(version, "2") != 0))
        return import_refuse(
            job, import_markup_line(root),
            "system has version \"%.20s\"; version 1 (NCCL, RCCL) and 2 (RCCL) are "
            "understood",
            version ? version : "");
    n->host = "";
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
    import_index_free(&node->hosts);
    xmlFreeDoc(document);
    return done;
}
