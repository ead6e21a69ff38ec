// Slurm inventories: `scontrol show node`, NodeName lines of slurm.conf, and `sinfo` tables.
// Source of the grammar: scontrol(1), sinfo(1) and slurm.conf(5), Slurm 22.05.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hostlist.h"
#include "importtree.h"

enum { MAX_PAIRS = 64, MAX_COLUMNS = 32 };

struct machine {
    const char *name;
    long line;
    const char *gres; // "gpu:h100:8", "" if none
    const char *state;
};

struct inventory {
    struct machine *machines;
    size_t n, capacity;
    struct machine defaults;     // of NodeName=DEFAULT
    struct import_index unknown; // keys reported already
};

static int add_machines(struct import_job *job, struct inventory *inventory, const char *names,
                        struct machine made)
{
    struct sand_hostlist list;
    char why[160];
    enum sand_rc rc = sand_hostlist_expand(names, &job->arena, &list, why, sizeof why);
    if (rc == SAND_ERR_NOMEM)
        return import_no_memory(job);
    if (rc != SAND_OK)
        return import_refuse(job, made.line, "the nodes are \"%.200s\": %s", names, why);
    for (size_t i = 0; i < list.n; i++) {
        void *machines = inventory->machines;
        if (sand_grow(&machines, &inventory->capacity, inventory->n + 1,
                      sizeof *inventory->machines) != SAND_OK)
            return import_no_memory(job);
        inventory->machines = machines;
        made.name = list.names[i];
        inventory->machines[inventory->n++] = made;
    }
    return 1;
}

// ---- key=value records ----

// What scontrol prints of a node that no cluster description needs.
static const char *const passed_over[] = {"Arch",
                                          "CoresPerSocket",
                                          "CPUAlloc",
                                          "CPUEfctv",
                                          "CPUTot",
                                          "CPULoad",
                                          "CPUErr",
                                          "AvailableFeatures",
                                          "ActiveFeatures",
                                          "NodeAddr",
                                          "NodeHostName",
                                          "Version",
                                          "OS",
                                          "RealMemory",
                                          "AllocMem",
                                          "FreeMem",
                                          "Sockets",
                                          "Boards",
                                          "ThreadsPerCore",
                                          "TmpDisk",
                                          "Weight",
                                          "Owner",
                                          "MCS_label",
                                          "Partitions",
                                          "BootTime",
                                          "SlurmdStartTime",
                                          "LastBusyTime",
                                          "ResumeAfterTime",
                                          "CfgTRES",
                                          "AllocTRES",
                                          "CapWatts",
                                          "CurrentWatts",
                                          "AveWatts",
                                          "ExtSensorsJoules",
                                          "ExtSensorsWatts",
                                          "ExtSensorsTemp",
                                          "Reason",
                                          "Comment",
                                          "Extra",
                                          "MemSpecLimit",
                                          "CoreSpecCount",
                                          "CPUSpecList",
                                          "GresUsed",
                                          "GresDrain",
                                          "Port",
                                          "SocketsPerBoard",
                                          "CPUs",
                                          "Procs",
                                          "Feature",
                                          "Features",
                                          "NextState",
                                          "InstanceId",
                                          "InstanceType",
                                          "cpu",
                                          "mem",
                                          "billing",
                                          "gres/gpu"};

static int is_passed_over(const char *key)
{
    for (size_t i = 0; i < sizeof passed_over / sizeof *passed_over; i++)
        if (import_same_word(key, passed_over[i]))
            return 1;
    return 0;
}

static int report_once(struct import_job *job, struct inventory *inventory, long line,
                       const char *key)
{
    for (size_t i = 0; i < inventory->unknown.n; i++)
        if (strcmp(inventory->unknown.entries[i].name, key) == 0)
            return 1;
    import_unknown(job, line, "\"%.100s\" is not understood; passed over here and below", key);
    return import_index_add(job, &inventory->unknown, key, 0);
}

// NodeName=DEFAULT names no node: its values hold for the lines below it, and a later one changes
// only what it says (slurm.conf(5), "NodeName").
static int take_record(struct import_job *job, struct inventory *inventory, const char **names,
                       struct machine *current)
{
    int done = 1;
    if (*names != NULL && import_same_word(*names, "DEFAULT"))
        inventory->defaults = *current;
    else if (*names != NULL)
        done = add_machines(job, inventory, *names, *current);
    *names = NULL;
    *current = inventory->defaults;
    return done;
}

static int read_records(struct import_job *job, struct inventory *inventory,
                        const struct import_lines *lines)
{
    const char *names = NULL;
    struct machine current = inventory->defaults;
    for (size_t i = 0; i < lines->n; i++) {
        struct import_pair pairs[MAX_PAIRS];
        char *text = lines->lines[i].text;
        if (*text == '\0' || *text == '#')
            continue;
        const char *whole = sand_arena_strdup(&job->arena, text);
        size_t n = import_pairs(text, pairs, MAX_PAIRS);
        if (n == 0)
            import_unknown(job, lines->lines[i].number, "\"%.200s\" is not understood; passed over",
                           whole ? whole : "");
        for (size_t k = 0; k < n; k++) {
            if (import_same_word(pairs[k].key, "NodeName")) {
                if (!take_record(job, inventory, &names, &current) && job->rc != SAND_OK)
                    return 0;
                names = pairs[k].value;
                current.line = lines->lines[i].number;
            } else if (import_same_word(pairs[k].key, "Gres")) {
                current.gres = pairs[k].value;
            } else if (import_same_word(pairs[k].key, "State")) {
                current.state = pairs[k].value;
            } else if (!is_passed_over(pairs[k].key) &&
                       !report_once(job, inventory, lines->lines[i].number, pairs[k].key)) {
                return 0;
            }
        }
    }
    return take_record(job, inventory, &names, &current) || job->rc == SAND_OK;
}

// ---- sinfo tables ----

static size_t split_words(char *text, char **words, size_t most)
{
    size_t n = 0;
    while (*text != '\0' && n < most) {
        while (isspace((unsigned char)*text))
            *text++ = '\0';
        if (*text == '\0')
            break;
        words[n++] = text;
        while (*text != '\0' && !isspace((unsigned char)*text))
            text++;
    }
    while (isspace((unsigned char)*text))
        *text++ = '\0';
    return n;
}

struct columns {
    size_t n, nodes, state, gres; // SIZE_MAX: there is none
};

static int read_header(char *text, struct columns *c)
{
    char *words[MAX_COLUMNS];
    *c = (struct columns){split_words(text, words, MAX_COLUMNS), SIZE_MAX, SIZE_MAX, SIZE_MAX};
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(words[i], "NODELIST") == 0)
            c->nodes = i;
        else if (strcmp(words[i], "STATE") == 0)
            c->state = i;
        else if (strcmp(words[i], "GRES") == 0)
            c->gres = i;
    }
    return c->nodes != SIZE_MAX;
}

// A node is in a row for each of its partitions: rows that agree are one.
static int read_table(struct import_job *job, struct inventory *inventory,
                      const struct import_lines *lines, size_t at, const struct columns *c)
{
    for (size_t i = at; i < lines->n; i++) {
        char *words[MAX_COLUMNS];
        size_t n = split_words(lines->lines[i].text, words, MAX_COLUMNS);
        if (n == 0)
            continue;
        if (n != c->n) {
            import_unknown(job, lines->lines[i].number,
                           "has %zu columns, the header %zu; passed over", n, c->n);
            continue;
        }
        struct machine made = {.line = lines->lines[i].number,
                               .gres = c->gres != SIZE_MAX ? words[c->gres] : "",
                               .state = c->state != SIZE_MAX ? words[c->state] : ""};
        if (!add_machines(job, inventory, words[c->nodes], made) && job->rc != SAND_OK)
            return 0;
    }
    return 1;
}

static int read_inventory(struct import_job *job, struct inventory *inventory)
{
    struct import_lines lines;
    struct columns columns;
    if (!import_lines_of(job, &lines))
        return 0;
    for (size_t i = 0; i < lines.n; i++) {
        if (strncmp(lines.lines[i].text, "NodeName=", 9) == 0)
            return read_records(job, inventory, &lines);
        if (strstr(lines.lines[i].text, "NODELIST") == NULL)
            continue;
        for (size_t k = 0; k < i; k++)
            if (lines.lines[k].text[0] != '\0')
                import_unknown(job, lines.lines[k].number,
                               "\"%.200s\" stands before the table; passed over",
                               lines.lines[k].text);
        if (!read_header(lines.lines[i].text, &columns))
            return import_refuse(job, lines.lines[i].number,
                                 "is no header: a column must be called NODELIST");
        return read_table(job, inventory, &lines, i + 1, &columns);
    }
    return import_refuse(job, 0,
                         "holds no NodeName= and no NODELIST column; this is no output of scontrol "
                         "show node or sinfo");
}

// ---- one kind of node ----

// Removes rows that say the same node again; refuses what contradicts itself.
static int merge_machines(struct import_job *job, struct inventory *inventory)
{
    struct import_index index = {0};
    int done = 1;
    for (size_t i = 0; i < inventory->n && done; i++)
        done = import_index_add(job, &index, inventory->machines[i].name, i);
    import_index_sort(&index);
    for (size_t i = 1; i < index.n && done; i++) {
        struct machine *a = &inventory->machines[index.entries[i - 1].value];
        struct machine *b = &inventory->machines[index.entries[i].value];
        if (strcmp(index.entries[i - 1].name, index.entries[i].name) != 0)
            continue;
        if (a->line == b->line || strcmp(a->gres, b->gres) != 0)
            import_refuse(job, b->line, "node \"%s\" is described twice, first in line %ld",
                          b->name, a->line);
        a->line = 0; // the later row stands
    }
    import_index_free(&index);
    size_t kept = 0;
    for (size_t i = 0; i < inventory->n; i++)
        if (inventory->machines[i].line > 0)
            inventory->machines[kept++] = inventory->machines[i];
    inventory->n = kept;
    return done && job->n_refused == 0;
}

// "gpu:h100:8(S:0-1)" -> "gpu:h100:8".
static const char *bare_gres(struct import_job *job, const char *gres)
{
    const char *bare = sand_arena_printf(&job->arena, "%.*s", (int)strcspn(gres, "("), gres);
    return bare ? bare : "";
}

static uint32_t gpus_of(const char *gres)
{
    const char *last = strrchr(gres, ':');
    long n = last != NULL && strncmp(gres, "gpu", 3) == 0 ? strtol(last + 1, NULL, 10) : 0;
    return n > 0 && n < 1000000 ? (uint32_t)n : 0;
}

static int is_out(const char *state)
{
    static const char *const words[] = {"DOWN", "DRAIN", "FAIL", "MAINT", "UNKNOWN", "NO_RESPOND"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(state, words[i]) != NULL)
            return 1;
    return 0;
}

// What slurm.conf writes of a node it has not asked yet: no sign of trouble, so said once.
static int is_unasked(const struct machine *m)
{
    return import_same_word(m->state, "UNKNOWN");
}

static void comment_unasked(struct import_job *job, const struct inventory *inventory)
{
    const struct machine *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < inventory->n; i++) {
        if (!is_unasked(&inventory->machines[i]))
            continue;
        if (n++ == 0)
            first = &inventory->machines[i];
    }
    if (n > 0)
        import_note(job, first->line, "%zu nodes, the first \"%s\", are %s; they are counted", n,
                    first->name, first->state);
}

static void comment_machines(struct import_job *job, const struct inventory *inventory,
                             const char *gres)
{
    comment_unasked(job, inventory);
    for (size_t i = 0; i < inventory->n; i++) {
        const struct machine *m = &inventory->machines[i];
        if (strcmp(m->gres, gres) != 0)
            import_deviate(job, m->line, "node \"%s\" has \"%s\", most have \"%s\"; it is left out",
                           m->name, m->gres, gres);
        else if (is_out(m->state) && !is_unasked(m))
            import_note(job, m->line, "node \"%s\" is %s; it is counted, as it will come back",
                        m->name, m->state);
    }
}

// The most frequent GRES with GPUs, the first of equals.
static const char *usual_gres(struct import_job *job, struct inventory *inventory, uint32_t *n)
{
    struct import_index index = {0};
    const char *best = NULL;
    *n = 0;
    for (size_t i = 0; i < inventory->n; i++) {
        inventory->machines[i].gres = bare_gres(job, inventory->machines[i].gres);
        if (gpus_of(inventory->machines[i].gres) > 0 &&
            !import_index_add(job, &index, inventory->machines[i].gres, i))
            break;
    }
    import_index_sort(&index);
    for (size_t i = 0, end; i < index.n; i = end) {
        for (end = i + 1;
             end < index.n && strcmp(index.entries[i].name, index.entries[end].name) == 0;)
            end++;
        if (end - i > *n) {
            *n = (uint32_t)(end - i);
            best = index.entries[i].name;
        }
    }
    import_index_free(&index);
    return best;
}

static int write_inventory(struct import_job *job, struct inventory *inventory)
{
    struct import_node node;
    uint32_t n = 0;
    const char *gres = usual_gres(job, inventory, &n);
    if (gres == NULL)
        return import_refuse(job, 0,
                             "no node has GPUs (Gres=gpu:...); there is no GPU cluster in it");
    comment_machines(job, inventory, gres);
    const char *because = sand_arena_printf(&job->arena, "the nodes have \"%s\"", gres);
    if (!import_node_choose(job, import_node_of_gpu(gres), because ? because : "", &node))
        return 0;
    if (gpus_of(gres) != node.n_gpus)
        import_deviate(job, 0, "nodes have %" PRIu32 " GPUs, node type %s has %" PRIu32,
                       gpus_of(gres), node.id, node.n_gpus);
    import_assume(job, "one leaf joins all nodes: an inventory says nothing of the fabric; import "
                       "topology.conf or ibnetdiscover for it");
    struct import_leaf leaf = {"all nodes", 0, n * node.n_nics, 0, 0};
    struct import_pod pod = {.name = "all nodes"};
    struct import_tree tree = {.leaves = &leaf,
                               .n_leaves = 1,
                               .pods = &pod,
                               .n_pods = 1,
                               .n_tiers = 2,
                               .n_nodes = n,
                               .nics_per_node = node.n_nics};
    return import_tree_write(job, &tree, &node);
}

int import_slurm_nodes(struct import_job *job)
{
    struct inventory inventory = {.defaults = {.gres = "", .state = ""}};
    int done = read_inventory(job, &inventory) && job->n_refused == 0;
    if (done && inventory.n == 0)
        done = import_refuse(job, 0, "names no node");
    done = done && merge_machines(job, &inventory) && write_inventory(job, &inventory);
    sand_free(inventory.machines);
    import_index_free(&inventory.unknown);
    return done;
}
