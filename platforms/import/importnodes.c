// Slurm inventories: `scontrol show node`, NodeName lines of slurm.conf, and `sinfo` tables.
// Source of the grammar: scontrol(1), sinfo(1) and slurm.conf(5), Slurm 20.11 to 25.11.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hostlist.h"
#include "importtree.h"

enum { MAX_PAIRS = 128, MAX_COLUMNS = 64 };

struct machine {
    const char *name;
    long line;
    const char *gres; // as it stands there, then its GPUs alone: "gpu:h100:8", "" if none
    const char *state;
};

struct inventory {
    struct machine *machines;
    size_t n, capacity;
    struct machine defaults; // of NodeName=DEFAULT
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

// What scontrol prints of a node, and slurm.conf says of it, that no cluster description needs.
static const char passed_over[] =
    " ActiveFeatures AllocMem AllocTRES Arch AvailableFeatures AveWatts BcastAddr Boards "
    " BootTime CapWatts CfgTRES Comment ConsumedJoules CoreSpecCount CoresPerSocket CPUAlloc "
    " CpuBind CPUEfctv CPUErr CPULoad CPUs CPUSpecList CPUTot CurrentWatts EnergyTS Extra "
    " ExtSensorsJoules ExtSensorsTemp ExtSensorsWatts Feature Features FreeMem GresDrain "
    " GresUsed InstanceId InstanceType LastBusyTime LowestJoules MCS_label MemSpecLimit "
    " NextState NodeAddr NodeHostName OS Owner Parameters Partitions Port Procs RealMemory "
    " Reason ReservationName RestrictedCoresPerGPU ResumeAfterTime SlurmdStartTime Sockets "
    " SocketsPerBoard ThreadsPerCore TmpDisk Topology Version Weight ";

static void report_once(struct import_job *job, long line, const char *key)
{
    if (import_first_time(job, key))
        import_unknown(job, line, "\"%.100s\" is not understood; passed over here and below", key);
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

// Comments of slurm.conf; where free text has begun (OS=, Reason=), '#' is part of it.
static void strip_comment(char *text)
{
    static const char *const free_text[] = {"OS=", "Reason=", "Comment=", "Extra="};
    char *hash = text;
    do
        hash = strchr(hash, '#');
    while (hash != NULL && hash > text && !isspace((unsigned char)hash++ [-1]));
    if (hash == NULL)
        return;
    for (size_t i = 0; i < sizeof free_text / sizeof *free_text; i++) {
        const char *begin = strstr(text, free_text[i]);
        if (begin != NULL && begin < hash)
            return;
    }
    hash[hash > text ? -1 : 0] = '\0';
}

// Lines of slurm.conf that speak of something else than nodes, with keys that nodes have too.
static int is_foreign(const char *key)
{
    static const char *const words[] = {"PartitionName", "NodeSet", "DownNodes", "FrontendName"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (import_same_word(key, words[i]))
            return 1;
    return 0;
}

struct record {
    const char *names; // NULL: none begun
    struct machine machine;
};

static int take_pairs(struct import_job *job, struct inventory *inventory, struct record *record,
                      const struct import_pair *pairs, size_t n, long line)
{
    for (size_t k = 0; k < n; k++) {
        const char *key = pairs[k].key;
        if (import_same_word(key, "NodeName")) {
            if (!take_record(job, inventory, &record->names, &record->machine) &&
                job->rc != SAND_OK)
                return 0;
            record->names = pairs[k].value;
            record->machine.line = line;
        } else if (import_same_word(key, "Gres")) {
            record->machine.gres = pairs[k].value;
        } else if (import_same_word(key, "State")) {
            record->machine.state = pairs[k].value;
        } else if (import_same_word(key, "Reason") || import_same_word(key, "Comment")) {
            return 1; // what an administrator wrote, whatever it looks like
        } else if (!import_in_words(passed_over, key, strncasecmp)) {
            report_once(job, line, key);
        }
    }
    return 1;
}

static int read_records(struct import_job *job, struct inventory *inventory,
                        const struct import_lines *lines)
{
    struct record record = {NULL, inventory->defaults};
    for (size_t i = 0; i < lines->n; i++) {
        struct import_pair pairs[MAX_PAIRS];
        char *text = lines->lines[i].text;
        const long line = lines->lines[i].number;
        strip_comment(text);
        if (*text == '\0')
            continue;
        const char *whole = sand_arena_strdup(&job->arena, text);
        size_t n = import_pairs(text, pairs, MAX_PAIRS);
        if (n == 0)
            import_unknown(job, line, "\"%.200s\" is not understood; passed over",
                           whole ? whole : "");
        else if (is_foreign(pairs[0].key))
            import_unknown(job, line, "\"%.200s\" is of no node; passed over", whole ? whole : "");
        else if (!take_pairs(job, inventory, &record, pairs, n, line))
            return 0;
    }
    return take_record(job, inventory, &record.names, &record.machine) || job->rc == SAND_OK;
}

// ---- sinfo tables ----

// Words between blanks, or between the bars of `sinfo -o "%N|%G"`. The last word is the rest of the
// line if there are more than `most`.
static size_t split_words(char *text, char **words, size_t most)
{
    static const char *const between = " \t|";
    size_t n = 0;
    while (n < most && *(text += strspn(text, between)) != '\0') {
        words[n++] = text;
        if (n == most)
            break;
        text += strcspn(text, between);
        if (*text != '\0')
            *text++ = '\0';
    }
    return n;
}

struct columns {
    size_t n, nodes, state, gres; // SIZE_MAX: there is none
    int has_text;                 // the last column holds free text
};

static int is_node_column(const char *word)
{
    return strcmp(word, "NODELIST") == 0 || strcmp(word, "HOSTNAMES") == 0 ||
           strcmp(word, "NODE_HOST") == 0;
}

static int read_header(const char *line, struct import_job *job, struct columns *c)
{
    char *words[MAX_COLUMNS], *text = sand_arena_strdup(&job->arena, line);
    if (text == NULL)
        return import_no_memory(job);
    *c = (struct columns){split_words(text, words, MAX_COLUMNS), SIZE_MAX, SIZE_MAX, SIZE_MAX, 0};
    for (size_t i = 0; i < c->n; i++) {
        if (is_node_column(words[i]))
            c->nodes = i;
        else if (strcmp(words[i], "STATE") == 0)
            c->state = i;
        else if (strcmp(words[i], "GRES") == 0)
            c->gres = i;
    }
    c->has_text = c->n > 0 && (strcmp(words[c->n - 1], "REASON") == 0 ||
                               strcmp(words[c->n - 1], "COMMENT") == 0);
    return c->nodes != SIZE_MAX;
}

// A node is in a row for each of its partitions: rows that agree are one.
static int read_table(struct import_job *job, struct inventory *inventory,
                      const struct import_lines *lines, size_t at, const struct columns *c)
{
    for (size_t i = at; i < lines->n; i++) {
        char *words[MAX_COLUMNS];
        size_t n = split_words(lines->lines[i].text, words, c->has_text ? c->n : MAX_COLUMNS);
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
    struct columns columns = {0};
    if (!import_lines_of(job, &lines) || !import_lines_join(job, &lines))
        return 0;
    for (size_t i = 0; i < lines.n; i++) {
        if (strncasecmp(lines.lines[i].text, "NodeName=", 9) == 0)
            return read_records(job, inventory, &lines);
        if (!read_header(lines.lines[i].text, job, &columns))
            continue;
        for (size_t k = 0; k < i; k++)
            if (lines.lines[k].text[0] != '\0')
                import_unknown(job, lines.lines[k].number,
                               "\"%.200s\" stands before the table; passed over",
                               lines.lines[k].text);
        return read_table(job, inventory, &lines, i + 1, &columns);
    }
    return import_refuse(
        job, 0,
        "holds no NodeName= and no table with a column NODELIST or HOSTNAMES; this "
        "is no output of scontrol show node or sinfo");
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

// ---- generic resources ----
// gres = item { "," item };  item = name [ ":" type ] [ ":" count ] [ "(" where ")" ]

// The end of an item: the next comma outside parentheses.
static size_t item_length(const char *text)
{
    size_t n = 0;
    for (int depth = 0; text[n] != '\0' && (depth > 0 || text[n] != ','); n++)
        depth += text[n] == '(' ? 1 : text[n] == ')' ? -1 : 0;
    return n;
}

static int is_gpu_item(const char *item)
{
    return strncasecmp(item, "gpu", 3) == 0 && (item[3] == '\0' || strchr(":(,", item[3]) != NULL);
}

// The GPUs of a Gres alone, without where they sit: "gpu:h100:8(S:0-1),nvme:2" -> "gpu:h100:8".
static const char *gpus_alone(struct import_job *job, const char *gres, long line)
{
    const char *kept = "";
    for (size_t n; *gres != '\0' && kept != NULL; gres += n + (gres[n] == ',' ? 1 : 0)) {
        n = item_length(gres);
        const size_t bare = strcspn(gres, "(") < n ? strcspn(gres, "(") : n;
        const char *name =
            sand_arena_printf(&job->arena, "gres %.*s", (int)strcspn(gres, ":(,"), gres);
        if (is_gpu_item(gres))
            kept =
                sand_arena_printf(&job->arena, "%s%s%.*s", kept, *kept ? "," : "", (int)bare, gres);
        else if (bare > 0 && name != NULL)
            report_once(job, line, name);
    }
    return kept != NULL ? kept : "";
}

static uint32_t gpus_of(const char *gres)
{
    uint32_t n = 0;
    for (size_t length; *gres != '\0'; gres += length + (gres[length] == ',' ? 1 : 0)) {
        length = item_length(gres);
        size_t at = length;
        while (at > 0 && gres[at - 1] >= '0' && gres[at - 1] <= '9')
            at--;
        const long count = at > 0 && gres[at - 1] == ':' ? strtol(gres + at, NULL, 10) : 1;
        n += count > 0 && count < 1000000 ? (uint32_t)count : 0;
    }
    return n;
}

// ---- what is said of the nodes ----

static int is_out(const char *state)
{
    static const char *const words[] = {"DOWN", "DRAIN", "FAIL", "MAINT", "UNKNOWN", "NO_RESPOND"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(state, words[i]) != NULL)
            return 1;
    return 0;
}

// One message for all nodes of which the same is said: an inventory may hold thousands of them.
static void tell_groups(struct import_job *job, const struct inventory *inventory,
                        const struct import_index *index, int is_difference, const char *usual)
{
    for (size_t i = 0, end; i < index->n; i = end) {
        const char *what = index->entries[i].name;
        for (end = i + 1; end < index->n && strcmp(what, index->entries[end].name) == 0;)
            end++;
        const struct machine *m = &inventory->machines[index->entries[i].value];
        const size_t n = end - i;
        const char *who =
            n == 1 ? sand_arena_printf(&job->arena, "node \"%.60s\" ", m->name)
                   : sand_arena_printf(&job->arena, "%zu nodes, the first \"%.60s\", ", n, m->name);
        if (who == NULL) {
            import_no_memory(job);
        } else if (is_difference) {
            import_deviate(job, m->line, "%s%s \"%.200s\", most have \"%.200s\"; left out", who,
                           n == 1 ? "has" : "have", what, usual);
        } else {
            import_note(job, m->line, "%s%s %.200s; counted%s", who, n == 1 ? "is" : "are", what,
                        import_same_word(what, "UNKNOWN") ? "" : ", as they will come back");
        }
    }
}

static void comment_machines(struct import_job *job, const struct inventory *inventory,
                             const char *gres)
{
    struct import_index other = {0}, out = {0};
    int done = 1;
    for (size_t i = 0; i < inventory->n && done; i++) {
        const struct machine *m = &inventory->machines[i];
        if (strcmp(m->gres, gres) != 0)
            done = import_index_add(job, &other, m->gres, i);
        else if (is_out(m->state))
            done = import_index_add(job, &out, m->state, i);
    }
    import_index_sort(&other);
    import_index_sort(&out);
    tell_groups(job, inventory, &other, 1, gres);
    tell_groups(job, inventory, &out, 0, gres);
    import_index_free(&other);
    import_index_free(&out);
}

// The most frequent GRES with GPUs, the first of equals.
static const char *usual_gres(struct import_job *job, const struct inventory *inventory,
                              uint32_t *n)
{
    struct import_index index = {0};
    const char *best = NULL;
    *n = 0;
    for (size_t i = 0; i < inventory->n; i++) {
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

// Where no line tells of GPUs, --node does, of every node.
static const char *gres_of_option(struct import_job *job, const struct inventory *inventory,
                                  uint32_t *n)
{
    *n = (uint32_t)inventory->n;
    if (job->options->node != NULL) {
        import_assume(job,
                      "every node has the GPUs of %s: the input does not say (sinfo shows them "
                      "with -o \"%%N %%t %%G\")",
                      job->options->node);
        return "";
    }
    import_refuse(job, 0,
                  "no node has GPUs (Gres=gpu:...); name the nodes' type with --node=ID, or import "
                  "the output of scontrol show node or of sinfo -o \"%%N %%t %%G\"");
    return NULL;
}

static void find_gpus(struct import_job *job, struct inventory *inventory)
{
    for (size_t i = 0; i < inventory->n; i++) {
        struct machine *m = &inventory->machines[i];
        const int is_as_before = i > 0 && m->line == m[-1].line;
        m->gres = is_as_before ? m[-1].gres : gpus_alone(job, m->gres, m->line);
    }
}

static int write_inventory(struct import_job *job, struct inventory *inventory)
{
    struct import_node node;
    uint32_t n = 0;
    const char *gres = usual_gres(job, inventory, &n);
    if (gres == NULL && (gres = gres_of_option(job, inventory, &n)) == NULL)
        return 0;
    comment_machines(job, inventory, gres);
    const char *because = sand_arena_printf(&job->arena, "the nodes have \"%s\"", gres);
    if (!import_node_choose(job, import_node_of_gpu(gres), because ? because : "", &node))
        return 0;
    if (*gres != '\0' && gpus_of(gres) != node.n_gpus)
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
    if (done)
        find_gpus(job, &inventory);
    done = done && merge_machines(job, &inventory) && write_inventory(job, &inventory);
    sand_free(inventory.machines);
    return done;
}
