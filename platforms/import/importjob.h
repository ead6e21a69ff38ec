// What the importers share: lines, messages, names, the catalogue, and the XML that comes out.
// Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_IMPORT_IMPORTJOB_H
#define SAND_PLATFORMS_IMPORT_IMPORTJOB_H

#include <stdio.h>

#include "import.h"
#include "mem.h"

// Names with a value each, such as a place in an array.
struct import_index {
    struct import_entry {
        const char *name;
        size_t value;
    } * entries;
    size_t n, capacity;
};

struct import_job {
    const struct sand_import_options *options;
    enum sand_import_format format;
    const char *text;
    size_t size;
    struct sand_arena arena;
    struct sand_diag *diag;
    struct sand_import_result *result;
    const char **notes; // comment lines of the XML, in order
    size_t n_notes, notes_capacity;
    struct import_index told; // what was reported for all times
    size_t n_refused;
    enum sand_rc rc; // SAND_ERR_NOMEM once memory ran out: then nothing else counts
};

// ---- messages; each returns 0 so that a reader can end with it ----

int import_refuse(struct import_job *job, long line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Something not understood: reported, counted, and passed over.
void import_unknown(struct import_job *job, long line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Whether this is the first time that `what`, which the arena owns, is asked about: of names that
// may stand in every line one message is enough. Not for attempts, whose messages may be lost.
int import_first_time(struct import_job *job, const char *what);
// Something understood that is worth a remark, in the messages only.
void import_note(struct import_job *job, long line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// A statement of the XML that the input does not make; a comment line of the XML.
void import_assume(struct import_job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// A difference between what was read and what can be written: a warning and a comment line.
void import_deviate(struct import_job *job, long line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// A comment line of the XML.
void import_comment(struct import_job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int import_no_memory(struct import_job *job);

// Something that may turn out not to describe the input: its messages, assumptions and text are
// kept only if it succeeds without a deviation. Returns whether they are.
typedef int import_attempt(struct import_job *job, void *context);
int import_try(struct import_job *job, import_attempt *attempt, void *context);

// ---- lines ----

struct import_line {
    long number;
    char *text; // without the line end and the white space at both ends; owned by the arena
};
struct import_lines {
    struct import_line *lines;
    size_t n;
};
// Every line; NUL bytes are refused.
int import_lines_of(struct import_job *job, struct import_lines *lines);
// Joins lines that end with a backslash to the next, as Slurm's files have it.
int import_lines_join(struct import_job *job, struct import_lines *lines);

// ---- names: index by name ----

// Adds a name; sorting makes it findable. Returns 0 without memory.
int import_index_add(struct import_job *job, struct import_index *index, const char *name,
                     size_t value);
void import_index_sort(struct import_index *index);
// The value of the first entry of that name, or SIZE_MAX. The index must be sorted. O(log n).
size_t import_index_find(const struct import_index *index, const char *name);
// The first name that is there twice (values in *a and *b), or NULL.
const char *import_index_twice(const struct import_index *index, size_t *a, size_t *b);
void import_index_free(struct import_index *index);

// The most frequent of the values, the larger of equally frequent ones; 0 for none. Sorts them.
uint32_t import_mode(uint32_t *values, size_t n);
double import_mode_real(double *values, size_t n);

// ---- the catalogue ----

// An entry of <data>/platforms/catalogue. Values are owned by the arena; NULL: no such attribute.
struct import_entry_of {
    const char *kind, *id;
    void *document; // libxml2's
};
int import_entry_open(struct import_job *job, const char *kind, const char *id,
                      struct import_entry_of *entry);
const char *import_entry_value(const struct import_entry_of *entry, const char *attribute);
void import_entry_close(struct import_entry_of *entry);

// What a cluster needs to know of its node type.
struct import_node {
    const char *id;
    uint32_t n_gpus, n_nics;
    double nic_Bps;
    const char *nic, *nic_rate; // "sandtable:link/..." and its rate as text
};
// The node type of --node, else `suggested` (assumed, with `because`), else dgx-h100 (assumed).
int import_node_choose(struct import_job *job, const char *suggested, const char *because,
                       struct import_node *node);

// The catalogue's network link ("sandtable:link/ID") whose rate is `Bps`, preferring
// `first_choice`; NULL if there is none.
const char *import_link_of_rate(struct import_job *job, double Bps, const char *first_choice);

// The node type that a GPU's name or compute capability suggests; NULL: none.
const char *import_node_of_gpu(const char *gpu_name);
const char *import_node_of_sm(uint32_t sm);
// The same of a PCI device ("0x10de", "0x2330") and of AMD's name of an instruction set ("gfx942").
const char *import_node_of_pci(const char *vendor, const char *device);
const char *import_node_of_gcn(const char *gcn);

// ---- XML ----

struct import_xml {
    FILE *out;
    char *text;
    size_t size;
};
// Opens the document and writes the comment block, SPDX left to the owner of the file.
int import_xml_open(struct import_job *job, struct import_xml *xml);
void import_xml_attribute(struct import_xml *xml, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int import_xml_close(struct import_job *job, struct import_xml *xml);

// ---- the formats: each fills job->result or refuses ----

int import_nccl_topo(struct import_job *job);
int import_slurm_topology(struct import_job *job);
int import_slurm_nodes(struct import_job *job);
int import_ibnetdiscover(struct import_job *job);
int import_nvidia_smi_topo(struct import_job *job);
int import_graphml(struct import_job *job);

// "key=value" pairs of a Slurm line: splits `text` in place. A key is letters, digits and _:/-.
struct import_pair {
    const char *key, *value;
};
size_t import_pairs(char *text, struct import_pair *pairs, size_t most);

// Case-insensitive equality of ASCII words.
int import_same_word(const char *a, const char *b);

// Whether `word` is one of those in `words`, between blanks; `compare` is strncmp or strncasecmp.
int import_in_words(const char *words, const char *word,
                    int (*compare)(const char *, const char *, size_t));

#endif
