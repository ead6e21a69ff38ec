// topology.yaml: several topologies in one file, of which one is the cluster's.
// Source of the grammar: topology.yaml(5), Slurm 25.05.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <yaml.h>

#include "importslurm.h"

struct yaml_file {
    struct import_job *job;
    yaml_document_t *document;
};

int import_slurm_is_yaml(const char *text, size_t size)
{
    size_t at = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < size) {
        at += strspn(text + at, " \t\r\n");
        if (at >= size || text[at] != '#')
            break;
        while (at < size && text[at] != '\n')
            at++;
    }
    return at < size && text[at] == '-';
}

// ---- nodes of the document ----

static yaml_node_t *node_of(const struct yaml_file *f, int index)
{
    return yaml_document_get_node(f->document, index);
}

static long line_of(const yaml_node_t *node)
{
    return (long)node->start_mark.line + 1;
}

// The text of a scalar; "" for anything else.
static const char *text_of(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

static const yaml_node_t *value_of(const struct yaml_file *f, const yaml_node_t *mapping,
                                   const char *key)
{
    if (mapping->type != YAML_MAPPING_NODE)
        return NULL;
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
         p < mapping->data.mapping.pairs.top; p++)
        if (strcmp(text_of(node_of(f, p->key)), key) == 0)
            return node_of(f, p->value);
    return NULL;
}

// Reports every key of a mapping that is not in `known` (" a b c ").
static void check_keys(const struct yaml_file *f, const yaml_node_t *mapping, const char *known)
{
    if (mapping->type != YAML_MAPPING_NODE) {
        import_unknown(f->job, line_of(mapping), "is no mapping of keys; passed over");
        return;
    }
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
         p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = node_of(f, p->key);
        if (!import_in_words(known, text_of(key), strncmp))
            import_unknown(f->job, line_of(key), "\"%.100s\" is not understood; passed over",
                           text_of(key));
    }
}

// A copy of a list of hosts, which may be a text or a sequence of texts; NULL: it is not there.
static const char *hosts_of(const struct yaml_file *f, const yaml_node_t *mapping, const char *key)
{
    const yaml_node_t *value = value_of(f, mapping, key);
    if (value == NULL)
        return NULL;
    if (value->type != YAML_SEQUENCE_NODE)
        return sand_arena_strdup(&f->job->arena, text_of(value));
    const char *joined = "";
    for (const yaml_node_item_t *i = value->data.sequence.items.start;
         i < value->data.sequence.items.top && joined != NULL; i++)
        joined = sand_arena_printf(&f->job->arena, "%s%s%s", joined, *joined ? "," : "",
                                   text_of(node_of(f, *i)));
    return joined;
}

// ---- one topology ----

static int read_unit(const struct yaml_file *f, const yaml_node_t *unit, const char *name_key,
                     struct slurm_tree *tree)
{
    const yaml_node_t *name = value_of(f, unit, name_key);
    check_keys(f, unit, tree->has_blocks ? " block nodes " : " switch children nodes ");
    if (name == NULL || *text_of(name) == '\0')
        return import_refuse(f->job, line_of(unit), "has no %s: a name must stand there", name_key);
    struct slurm_switch made = {.name = sand_arena_strdup(&f->job->arena, text_of(name)),
                                .line = line_of(unit),
                                .parent = -1,
                                .children_text =
                                    tree->has_blocks ? NULL : hosts_of(f, unit, "children"),
                                .nodes_text = hosts_of(f, unit, "nodes")};
    if (made.name == NULL)
        return import_no_memory(f->job);
    return import_slurm_add(f->job, tree, made);
}

static int read_topology(const struct yaml_file *f, const yaml_node_t *topology,
                         struct slurm_tree *tree)
{
    const yaml_node_t *blocks = value_of(f, topology, "block");
    const yaml_node_t *kind = blocks ? blocks : value_of(f, topology, "tree");
    const yaml_node_t *units = value_of(f, kind, blocks ? "blocks" : "switches");
    tree->has_blocks = blocks != NULL;
    check_keys(f, topology, " topology cluster_default block tree ");
    check_keys(f, kind, blocks ? " block_sizes blocks " : " switches ");
    if (units == NULL || units->type != YAML_SEQUENCE_NODE)
        return import_refuse(f->job, line_of(kind), "has no list of %s",
                             blocks ? "blocks" : "switches");
    for (const yaml_node_item_t *i = units->data.sequence.items.start;
         i < units->data.sequence.items.top; i++)
        if (!read_unit(f, node_of(f, *i), blocks ? "block" : "switch", tree) &&
            f->job->rc != SAND_OK)
            return 0; // else: report the problems of the other units too
    if (tree->n == 0 && f->job->n_refused == 0)
        return import_refuse(f->job, line_of(kind), "lists no switch and no block");
    return f->job->n_refused == 0;
}

// ---- which of them ----

static int says_how_nodes_are_joined(const struct yaml_file *f, const yaml_node_t *topology)
{
    return value_of(f, topology, "tree") != NULL || value_of(f, topology, "block") != NULL;
}

static int is_default(const struct yaml_file *f, const yaml_node_t *topology)
{
    const yaml_node_t *value = value_of(f, topology, "cluster_default");
    return value != NULL && import_same_word(text_of(value), "true");
}

// The default of the cluster if it is a tree or has blocks, else the first that is or has; every
// other one is reported.
static const yaml_node_t *choose(const struct yaml_file *f, const yaml_node_t *root)
{
    const yaml_node_item_t *begin = root->data.sequence.items.start;
    const yaml_node_item_t *end = root->data.sequence.items.top;
    const yaml_node_t *chosen = NULL;
    for (const yaml_node_item_t *i = begin; i < end; i++) {
        const yaml_node_t *topology = node_of(f, *i);
        if (says_how_nodes_are_joined(f, topology) &&
            (chosen == NULL || (is_default(f, topology) && !is_default(f, chosen))))
            chosen = topology;
    }
    for (const yaml_node_item_t *i = begin; i < end && chosen != NULL; i++) {
        const yaml_node_t *topology = node_of(f, *i), *name = value_of(f, topology, "topology");
        if (topology != chosen)
            import_unknown(f->job, line_of(topology), "topology \"%.100s\" is passed over: %s",
                           name ? text_of(name) : "",
                           says_how_nodes_are_joined(f, topology)
                               ? "another one is taken for the cluster's"
                               : "it is neither a tree nor of blocks");
    }
    return chosen;
}

static int read_document(const struct yaml_file *f, struct slurm_tree *tree)
{
    const yaml_node_t *root = yaml_document_get_root_node(f->document);
    if (root == NULL || root->type != YAML_SEQUENCE_NODE)
        return import_refuse(f->job, 1, "is no list of topologies; this is no topology.yaml");
    const yaml_node_t *topology = choose(f, root);
    if (topology == NULL)
        return import_refuse(f->job, line_of(root),
                             "holds no topology with tree: or block:; there is no fabric in it");
    return read_topology(f, topology, tree);
}

static int refuse_parse(struct import_job *job, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return import_no_memory(job);
    return import_refuse(job, (long)parser->problem_mark.line + 1, "is no YAML: %.200s",
                         parser->problem ? parser->problem : "it cannot be read");
}

// Slurm reads the first document of a file; a second one is reported.
static int check_end(struct import_job *job, yaml_parser_t *parser)
{
    yaml_document_t document;
    if (!yaml_parser_load(parser, &document))
        return refuse_parse(job, parser);
    const yaml_node_t *root = yaml_document_get_root_node(&document);
    if (root != NULL)
        import_unknown(job, line_of(root), "a second document begins here; passed over");
    yaml_document_delete(&document);
    return 1;
}

int import_slurm_read_yaml(struct import_job *job, struct slurm_tree *tree)
{
    yaml_parser_t parser;
    yaml_document_t document;
    if (!yaml_parser_initialize(&parser))
        return import_no_memory(job);
    yaml_parser_set_input_string(&parser, (const unsigned char *)job->text, job->size);
    int done = yaml_parser_load(&parser, &document);
    if (done) {
        done = read_document(&(struct yaml_file){job, &document}, tree) && check_end(job, &parser);
        yaml_document_delete(&document);
    } else {
        refuse_parse(job, &parser);
    }
    yaml_parser_delete(&parser);
    return done;
}
