// Reads what people write about collectives they measured.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "collcase.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csvrows.h"
#include "namewords.h"

enum { MOST_GPUS = 1 << 20 }; // of a row: its fabric is built

static const char *const names[SAND_COLL_COLUMNS] = {
    "id",         "source",     "confirmed", "platform", "gpu",          "gpus",          "nodes",
    "network",    "collective", "algo",      "proto",    "nccl_version", "message_bytes", "time_us",
    "algbw_GBps", "busbw_GBps"};

enum sand_rc sand_coll_rows_read(const char *path, struct sand_csv_rows *rows,
                                 struct sand_diag *diag)
{
    const uint64_t needed = 1u << SAND_COLL_GPU | 1u << SAND_COLL_GPUS |
                            1u << SAND_COLL_COLLECTIVE | 1u << SAND_COLL_BYTES;
    return sand_csv_rows_read(path, names, SAND_COLL_COLUMNS, needed, rows, diag);
}

// ---- model --------------------------------------------------------------------------------------

enum sand_rc sand_coll_model_open(struct sand_coll_model *model,
                                  const struct sand_coll_rules *rules, struct sand_diag *diag)
{
    const struct sand_collectives *constants = rules->collectives;
    *model = (struct sand_coll_model){.constants = *constants, .rules = rules};
    if (constants->n_kernels > SAND_COLL_KERNELS)
        return sand_fail(diag, SAND_ERR_INPUT, "collectives \"%s\": more than %d kernels",
                         constants->id, SAND_COLL_KERNELS);
    memcpy(model->kernels, constants->kernels, constants->n_kernels * sizeof *constants->kernels);
    model->constants.kernels = model->kernels;
    return SAND_OK;
}

// The model's copy of a link; NULL if there is no room.
static const struct sand_link_type *adopt(struct sand_coll_model *model,
                                          const struct sand_link_type *link)
{
    for (size_t i = 0; i < model->n_links; i++)
        if (strcmp(model->links[i].id, link->id) == 0)
            return &model->links[i];
    if (model->n_links == SAND_COLL_LINKS)
        return NULL;
    model->links[model->n_links] = *link;
    return &model->links[model->n_links++];
}

// ---- cells --------------------------------------------------------------------------------------

__attribute__((format(printf, 3, 4))) static void
judge(struct sand_coll_case *c, enum sand_coll_class class, const char *format, ...)
{
    if (class <= c->class)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
    c->class = class;
}

// "512", "1.5e6", "64M", "64 MiB": binary multiples, as nccl-tests takes them. 0: no such number.
static double number(const char *text)
{
    static const char letters[] = "KMGT";
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || !(value > 0) || value > 1e18)
        return 0;
    while (*end == ' ')
        end++;
    const char *letter = *end != '\0' ? strchr(letters, toupper((unsigned char)*end)) : NULL;
    if (letter != NULL) {
        for (const char *l = letters; l <= letter; l++)
            value *= 1024;
        end++;
        end += *end == 'i';
    }
    end += *end == 'B';
    return *end == '\0' ? value : 0;
}

// Bytes and GPUs are whole, so "1,024" is no decimal comma there; in a time it may be one.
static double counted(const struct sand_coll_case *c, enum sand_coll_column column)
{
    char plain[SAND_CSV_NUMBER];
    return number(sand_csv_ungrouped(c->cell[column], plain));
}

static uint32_t whole(const struct sand_coll_case *c, enum sand_coll_column column)
{
    const double value = counted(c, column);
    return value >= 1 && value <= 1e9 && value == (double)(uint32_t)value ? (uint32_t)value : 0;
}

static void note_bad_number(struct sand_coll_case *c, enum sand_coll_column column)
{
    const int counts =
        column == SAND_COLL_BYTES || column == SAND_COLL_GPUS || column == SAND_COLL_NODES;
    if (c->cell[column][0] != '\0' &&
        !((counts ? counted(c, column) : number(c->cell[column])) > 0))
        judge(c, SAND_COLL_SKIPPED, "%s \"%.40s\" is no positive number", names[column],
              c->cell[column]);
}

// Half a unit of the last digit that is printed, relative to the value.
static double coarseness(const char *text)
{
    const double value = number(text);
    const char *point = strchr(text, '.');
    double unit = 1;
    for (const char *p = point; p != NULL && isdigit((unsigned char)p[1]); p++)
        unit /= 10;
    return value > 0 ? 0.5 * unit / value : 0;
}

// ---- what was measured --------------------------------------------------------------------------

// Letters only, small: "All-Reduce", "all_reduce_perf", "AllReduce" are one.
static void squeeze(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; *text != '\0' && n + 1 < size; text++)
        if (isalnum((unsigned char)*text))
            out[n++] = (char)tolower((unsigned char)*text);
    out[n] = '\0';
}

static void read_kind(struct sand_coll_case *c)
{
    static const struct {
        const char *begin;
        enum sand_collective_kind kind;
    } words[] = {{"allreduce", SAND_ALL_REDUCE},
                 {"allgather", SAND_ALL_GATHER},
                 {"reducescatter", SAND_REDUCE_SCATTER},
                 {"alltoall", SAND_ALL_TO_ALL},
                 {"all2all", SAND_ALL_TO_ALL},
                 {"sendrecv", SAND_SEND},
                 {"pointtopoint", SAND_SEND},
                 {"p2p", SAND_SEND},
                 {"broadcast", SAND_BROADCAST},
                 {"bcast", SAND_BROADCAST}, // MPI's
                 {"reduce", SAND_REDUCE}};
    char word[64];
    squeeze(c->cell[SAND_COLL_COLLECTIVE], word, sizeof word);
    c->collective.kind = SAND_COLLECTIVES;
    for (size_t i = sizeof words / sizeof words[0]; i-- > 0;)
        if (sand_name_begins(word, words[i].begin))
            c->collective.kind = words[i].kind;
    if (c->collective.kind == SAND_COLLECTIVES)
        judge(c, SAND_COLL_SKIPPED, "collective \"%.40s\" is not modelled",
              c->cell[SAND_COLL_COLLECTIVE]);
    if (strstr(word, "moe") || strstr(word, "dispatch") || strstr(word, "combine"))
        judge(c, SAND_COLL_SKIPPED,
              "expert traffic, of which the row does not say who sends how much to whom");
}

// The time, or what gives it: nccl-tests' definitions of its bandwidths.
static void read_measured(struct sand_coll_case *c)
{
    const double bytes = counted(c, SAND_COLL_BYTES);
    const double algbw = number(c->cell[SAND_COLL_ALGBW]) * 1e9;
    const double busbw = number(c->cell[SAND_COLL_BUSBW]) * 1e9;
    const double factor = sand_collective_bus_factor(c->collective.kind, c->collective.ranks);
    c->collective.bytes = bytes;
    c->measured_s = number(c->cell[SAND_COLL_TIME]) * 1e-6;
    if (!(bytes > 0)) {
        judge(c, SAND_COLL_SKIPPED, "message_bytes is not given: a peak or a statement in prose");
    } else if (!(c->measured_s > 0) && busbw > 0 && factor > 0) {
        c->measured_s = bytes * factor / busbw;
        if (coarseness(c->cell[SAND_COLL_BUSBW]) > 0.05)
            judge(c, SAND_COLL_LISTED, "only a bandwidth, printed to less than 5 %%");
    } else if (!(c->measured_s > 0) && algbw > 0) {
        c->measured_s = bytes / algbw;
        if (coarseness(c->cell[SAND_COLL_ALGBW]) > 0.05)
            judge(c, SAND_COLL_LISTED, "only a bandwidth, printed to less than 5 %%");
    }
    if (!(c->measured_s > 0))
        judge(c, SAND_COLL_SKIPPED, "neither a time nor a bandwidth");
    else if (c->measured_s < 1e-9 || !(c->measured_s < 1e9))
        judge(c, SAND_COLL_SKIPPED, "a collective of %.3g s: must be 1 ns to 30 years",
              c->measured_s);
}

// The algorithm that was forced or is said to have run. What is only expected, or not printed, is
// left to the model.
static void read_wish(struct sand_coll_case *c)
{
    const char *text = c->cell[SAND_COLL_ALGORITHM];
    char word[64];
    c->wish = (struct sand_coll_wish){SAND_ALGORITHMS, SAND_PROTOCOLS};
    squeeze(text, word, sizeof word);
    if (sand_name_begins(word, "ring"))
        c->wish.algorithm = SAND_ALG_RING;
    else if (sand_name_begins(word, "tree"))
        c->wish.algorithm = SAND_ALG_TREE;
    else if (sand_name_begins(word, "nvlstree"))
        c->wish.algorithm = SAND_ALG_NVLSTREE;
    else if (sand_name_begins(word, "nvls") || sand_name_begins(word, "statedasnvls"))
        c->wish.algorithm = SAND_ALG_NVLS;
    else if (sand_name_begins(word, "symmetric"))
        c->comm.options.symmetric = 1;
    else if ((sand_name_begins(word, "sharp") || sand_name_begins(word, "collnet")) &&
             !strstr(text, "not printed"))
        c->comm.options.sharp = 1;
    squeeze(c->cell[SAND_COLL_PROTOCOL], word, sizeof word);
    for (int p = 0; p < SAND_PROTOCOLS; p++) {
        char name[16];
        squeeze(sand_protocol_name((enum sand_protocol)p), name, sizeof name);
        if (strcmp(word, name) == 0)
            c->wish.protocol = (enum sand_protocol)p;
    }
    if (strstr(text, "DeepEP") || strstr(text, "NCCL EP"))
        judge(c, SAND_COLL_SKIPPED, "expert kernels of their own");
}

// ---- where --------------------------------------------------------------------------------------

// "8x400 Gb/s" and "NDR400x8": ports and the rate of each in Gb/s. 0: not there.
static int read_ports(const char *text, uint32_t *ports, double *Gbps)
{
    for (const char *x = strchr(text, 'x'); x != NULL; x = strchr(x + 1, 'x')) {
        const char *left = x;
        while (left > text && isdigit((unsigned char)left[-1]))
            left--;
        if (left == x || !isdigit((unsigned char)x[1]))
            continue;
        const double a = strtod(left, NULL), b = strtod(x + 1, NULL);
        const int rate_first = left > text && isalpha((unsigned char)left[-1]);
        *Gbps = rate_first ? a : b;
        *ports = (uint32_t)(rate_first ? b : a);
        if (*Gbps >= 10 && *Gbps <= 3200 && *ports >= 1 && *ports <= 64)
            return 1;
    }
    return 0;
}

// The rule of most words that the GPU has all, letter by letter before others; NULL: none. "A100
// 40GB PCIe" is no "A100".
static const struct sand_coll_machine *find_machine(const struct sand_coll_rules *rules,
                                                    const struct sand_coll_case *c)
{
    const char *gpu = c->cell[SAND_COLL_GPU];
    const struct sand_coll_machine *best = NULL;
    int most = 0;
    for (size_t i = 0; i < rules->n_machines; i++) {
        const struct sand_coll_machine *m = &rules->machines[i];
        if (!sand_name_contains(c->cell[SAND_COLL_PLATFORM], m->platform) ||
            !sand_name_contains(c->cell[SAND_COLL_NETWORK], m->network))
            continue;
        const int words = m->gpu != NULL ? sand_name_words(m->gpu, gpu) : 0;
        const int weight = 2 * words + (sand_name_begins(gpu, m->gpu) ? 1 : 0);
        if (weight > most) {
            most = weight;
            best = m;
        }
    }
    return best;
}

static void find_rules(const struct sand_coll_rules *rules, struct sand_coll_case *c)
{
    const char *gpu = c->cell[SAND_COLL_GPU], *platform = c->cell[SAND_COLL_PLATFORM];
    const char *network = c->cell[SAND_COLL_NETWORK];
    c->machine = find_machine(rules, c);
    for (size_t i = rules->n_networks; i-- > 0;) {
        const struct sand_coll_network *n = &rules->networks[i];
        if (sand_name_contains(network, n->contains) && sand_name_contains(platform, n->platform))
            c->network = n;
    }
    for (size_t i = 0; i < rules->n_flags; i++) {
        const struct sand_coll_flag *f = &rules->flags[i];
        if (sand_name_contains(c->cell[SAND_COLL_SOURCE], f->source) &&
            (f->row == NULL || strcmp(c->cell[SAND_COLL_ID], f->row) == 0))
            judge(c, SAND_COLL_LISTED, "%s", f->why);
    }
    if (c->machine == NULL)
        judge(c, SAND_COLL_SKIPPED,
              "no rule knows the GPU \"%.40s\"; add a <machine> with its node to a copy of "
              "platforms/catalogue/collective_rules/measured.xml and name that by --rules",
              gpu);
}

// A node of as many GPUs as the row uses of each, with the ports that the row or its rule states.
static void build_node(struct sand_coll_case *c, uint32_t per_node, struct sand_node_type *node,
                       struct sand_link_type *nic)
{
    const struct sand_node_type *whole_node = c->machine->node;
    uint32_t ports = 0;
    double Gbps = 0;
    *node = *whole_node;
    *nic = c->network != NULL ? *c->network->link : *node->nic;
    node->nic = nic;
    node->n_gpus = per_node;
    node->n_nics = (uint32_t)((uint64_t)whole_node->n_nics * per_node / whole_node->n_gpus);
    if (c->network != NULL && c->network->rate_Bps > 0)
        nic->rate_Bps = c->network->rate_Bps;
    if (c->network != NULL && c->network->ports > 0)
        node->n_nics = c->network->ports;
    if (read_ports(c->cell[SAND_COLL_NETWORK], &ports, &Gbps)) {
        node->n_nics = ports;
        nic->rate_Bps = Gbps * 1e9 / 8;
    }
    if (node->n_nics == 0)
        node->n_nics = 1;
}

// Nodes and GPUs of each. A machine of trays may be counted in racks.
static int count_nodes(struct sand_coll_case *c, uint32_t *n_nodes, uint32_t *per_node)
{
    const uint32_t most = c->machine->node->n_gpus, gpus = c->collective.ranks;
    *n_nodes = whole(c, SAND_COLL_NODES);
    if (*n_nodes == 0)
        *n_nodes = (gpus + most - 1) / most;
    if (gpus % *n_nodes == 0 && gpus / *n_nodes > most && gpus % most == 0)
        *n_nodes = gpus / most;
    *per_node = gpus / *n_nodes;
    if (gpus % *n_nodes == 0 && *per_node <= most)
        return 1;
    judge(c, SAND_COLL_SKIPPED, "%u GPUs on %u nodes of %u do not go evenly", gpus, *n_nodes, most);
    return 0;
}

static enum sand_rc place(struct sand_coll_case *c, const struct sand_cluster *cluster)
{
    struct sand_fabric *fabric = NULL;
    struct sand_diag diag = {0};
    const struct sand_comm_options options = c->comm.options;
    enum sand_rc rc = sand_fabric_build(cluster, &fabric, &diag);
    if (rc == SAND_OK)
        rc = sand_comm_place(cluster, fabric, c->collective.ranks, 0, &options, &c->comm, &diag);
    if (rc != SAND_OK)
        judge(c, SAND_COLL_SKIPPED, "%.200s",
              diag.n_messages > 0 ? diag.messages[0].text : "cannot be placed");
    sand_fabric_free(fabric);
    sand_diag_clear(&diag);
    return rc == SAND_ERR_NOMEM ? rc : SAND_OK;
}

// Predicted over the machine's own network all the same.
static void judge_network(struct sand_coll_case *c)
{
    const char *text = c->cell[SAND_COLL_NETWORK];
    if (text[0] == '\0' || strcasestr(text, "not stated") != NULL)
        judge(c, SAND_COLL_LISTED, "the network is not stated");
    else
        judge(c, SAND_COLL_LISTED, "no rule knows the network \"%.60s\"", text);
}

// A fat tree without oversubscription: no row describes its fabric beyond the NICs. Domains share
// the nodes evenly.
static enum sand_rc build_and_place(struct sand_coll_model *model, struct sand_coll_case *c)
{
    struct sand_node_type node;
    struct sand_link_type nic;
    uint32_t n_nodes = 0, per_node = 0;
    if (!count_nodes(c, &n_nodes, &per_node))
        return SAND_OK;
    build_node(c, per_node, &node, &nic);
    const uint32_t each = node.scaleup_nodes > 0 ? node.scaleup_nodes : 1;
    // Nodes that would share a domain, but exchange over ports that the row names, are in several.
    const int apart = each > 1 && n_nodes > 1 && n_nodes <= each && c->network != NULL;
    const uint32_t domains = apart ? n_nodes : (n_nodes + each - 1) / each;
    node.scaleup_nodes = (n_nodes + domains - 1) / domains;
    struct sand_cluster cluster = {.name = c->machine->id,
                                   .node_type = &node,
                                   .n_nodes = n_nodes,
                                   .nodes_per_rack = 4,
                                   .racks_per_row = 8,
                                   .rows_per_hall = 4,
                                   .pue = 1};
    cluster.fabric = (struct sand_fabric_spec){.n_tiers = 2,
                                               .endpoints_per_leaf = 4 * node.n_nics,
                                               .leaf_oversubscription = 1,
                                               .pod_oversubscription = 1,
                                               .spines = 1,
                                               .spreading = SAND_SPREAD_EVEN,
                                               .sharp = nic.sharp,
                                               .link = &nic};
    SAND_TRY(place(c, &cluster));
    if (domains > 1 && c->network == NULL)
        judge_network(c);
    c->comm.nic = adopt(model, &nic);
    c->comm.host = adopt(model, node.host_link);
    c->comm.scaleup =
        adopt(model, node.scaleup == SAND_SCALEUP_NONE ? node.host_link : node.scaleup_link);
    return c->comm.nic && c->comm.host && c->comm.scaleup ? SAND_OK : SAND_ERR_NOMEM;
}

// ---- all together -------------------------------------------------------------------------------

// The id up to its last "-number", else the source itself.
static void name_source(struct sand_coll_case *c)
{
    const char *id = c->cell[SAND_COLL_ID], *dash = strrchr(id, '-');
    if (dash != NULL && dash > id && isdigit((unsigned char)dash[1]))
        snprintf(c->source, sizeof c->source, "%.*s", (int)(dash - id), id);
    else
        snprintf(c->source, sizeof c->source, "%.60s", c->cell[SAND_COLL_SOURCE]);
}

enum sand_rc sand_coll_case_read(struct sand_coll_model *model, const char *const *cell,
                                 struct sand_coll_case *out)
{
    static const enum sand_coll_column numbers[] = {SAND_COLL_GPUS, SAND_COLL_NODES,
                                                    SAND_COLL_BYTES, SAND_COLL_TIME};
    *out = (struct sand_coll_case){.cell = cell, .class = SAND_COLL_SCORED};
    name_source(out);
    if (cell[SAND_COLL_FAULT] != NULL) {
        judge(out, SAND_COLL_SKIPPED, "%s", cell[SAND_COLL_FAULT]);
        return SAND_OK;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        note_bad_number(out, numbers[i]);
    find_rules(model->rules, out);
    out->collective.ranks = whole(out, SAND_COLL_GPUS);
    if (out->collective.ranks < 2)
        judge(out, SAND_COLL_SKIPPED, "gpus is not given, or is 1");
    if (out->collective.ranks > MOST_GPUS)
        judge(out, SAND_COLL_SKIPPED, "more than %d GPUs", MOST_GPUS);
    read_kind(out);
    read_measured(out);
    read_wish(out);
    if (strcmp(cell[SAND_COLL_CONFIRMED], "no") == 0)
        judge(out, SAND_COLL_LISTED, "recalled, not read in the source");
    return out->class == SAND_COLL_SKIPPED ? SAND_OK : build_and_place(model, out);
}

enum sand_rc sand_coll_case_predict(const struct sand_coll_model *model,
                                    const struct sand_coll_case *c, struct sand_coll_terms *terms)
{
    const struct sand_coll_wish fallback = {SAND_ALGORITHMS, SAND_PROTO_SIMPLE};
    struct sand_diag diag = {0};
    enum sand_rc rc =
        sand_coll_best(&model->constants, &c->comm, &c->collective, c->wish, terms, &diag);
    if (rc == SAND_ERR_INPUT && c->wish.algorithm != SAND_ALGORITHMS)
        rc = sand_coll_best(&model->constants, &c->comm, &c->collective, fallback, terms, &diag);
    sand_diag_clear(&diag);
    return rc;
}
