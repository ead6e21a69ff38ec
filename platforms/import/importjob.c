// Messages, lines, names and the frame of every import.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "importjob.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// ---- messages ----

enum { MESSAGE_SIZE = 768 };

static void say(struct import_job *job, enum sand_severity severity, long line, const char *format,
                va_list arguments)
{
    char text[MESSAGE_SIZE];
    vsnprintf(text, sizeof text, format, arguments);
    sand_diag_add(job->diag, severity, job->options->file, line, "%s", text);
}

int import_refuse(struct import_job *job, long line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(job, SAND_ERROR, line, format, arguments);
    va_end(arguments);
    job->n_refused++;
    return 0;
}

int import_no_memory(struct import_job *job)
{
    job->rc = SAND_ERR_NOMEM;
    return 0;
}

int import_try(struct import_job *job, import_attempt *attempt, void *context)
{
    struct sand_diag held = {0}, *diag = job->diag;
    const size_t n_notes = job->n_notes, n_refused = job->n_refused;
    const struct sand_import_result before = *job->result;
    job->diag = &held;
    const int done = attempt(job, context);
    job->diag = diag;
    const int kept = done && job->n_refused == n_refused && job->rc == SAND_OK &&
                     job->result->n_deviations == before.n_deviations;
    for (size_t i = 0; kept && i < held.n_messages; i++)
        sand_diag_add(diag, held.messages[i].severity, held.messages[i].file, held.messages[i].line,
                      "%s", held.messages[i].text ? held.messages[i].text : "");
    sand_diag_clear(&held);
    if (kept)
        return 1;
    job->n_notes = n_notes;
    job->n_refused = n_refused;
    sand_free(job->result->xml);
    *job->result = before;
    return 0;
}

static void keep_note(struct import_job *job, const char *text)
{
    void *notes = job->notes;
    if (text == NULL ||
        sand_grow(&notes, &job->notes_capacity, job->n_notes + 1, sizeof *job->notes) != SAND_OK) {
        import_no_memory(job);
        return;
    }
    job->notes = notes;
    job->notes[job->n_notes++] = text;
}

static void note_down(struct import_job *job, const char *prefix, const char *format,
                      va_list arguments)
{
    char text[MESSAGE_SIZE];
    vsnprintf(text, sizeof text, format, arguments);
    keep_note(job, sand_arena_printf(&job->arena, "%s%s", prefix, text));
}

void import_unknown(struct import_job *job, long line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(job, SAND_WARNING, line, format, arguments);
    va_end(arguments);
    job->result->n_unknown++;
}

int import_first_time(struct import_job *job, const char *what)
{
    for (size_t i = 0; i < job->told.n; i++)
        if (strcmp(job->told.entries[i].name, what) == 0)
            return 0;
    return import_index_add(job, &job->told, what, 0);
}

void import_note(struct import_job *job, long line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(job, SAND_NOTE, line, format, arguments);
    va_end(arguments);
}

void import_assume(struct import_job *job, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    note_down(job, "Assumed: ", format, arguments);
    va_end(arguments);
    job->result->n_assumed++;
}

void import_deviate(struct import_job *job, long line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(job, SAND_WARNING, line, format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    note_down(job, "Differs: ", format, arguments);
    va_end(arguments);
    job->result->n_deviations++;
}

void import_comment(struct import_job *job, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    note_down(job, "", format, arguments);
    va_end(arguments);
}

// ---- lines ----

static size_t count_lines(const char *text, size_t size)
{
    size_t n = 1;
    for (size_t i = 0; i < size; i++)
        n += text[i] == '\n' ? 1 : 0;
    return n;
}

static char *trimmed(struct import_job *job, const char *begin, size_t n)
{
    while (n > 0 && isspace((unsigned char)*begin)) {
        begin++;
        n--;
    }
    while (n > 0 && isspace((unsigned char)begin[n - 1]))
        n--;
    char *text = sand_arena_alloc(&job->arena, n + 1, 1);
    if (text != NULL)
        memcpy(text, begin, n);
    return text;
}

int import_lines_of(struct import_job *job, struct import_lines *lines)
{
    size_t n = count_lines(job->text, job->size);
    *lines = (struct import_lines){sand_arena_alloc(&job->arena, n, sizeof *lines->lines), 0};
    if (lines->lines == NULL)
        return import_no_memory(job);
    const char *at = job->text, *end = job->text + job->size;
    if (job->size >= 2 && (memcmp(at, "\xff\xfe", 2) == 0 || memcmp(at, "\xfe\xff", 2) == 0))
        return import_refuse(job, 1, "is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)");
    if (job->size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3; // byte order mark of editors on Windows
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        long number = (long)lines->n + 1;
        if (memchr(at, '\0', (size_t)(stop - at)) != NULL)
            return import_refuse(job, number, "holds a NUL byte; this is no text");
        char *text = trimmed(job, at, (size_t)(stop - at));
        if (text == NULL)
            return import_no_memory(job);
        lines->lines[lines->n++] = (struct import_line){number, text};
        at = stop + 1;
    }
    return 1;
}

int import_lines_join(struct import_job *job, struct import_lines *lines)
{
    size_t n = 0;
    for (size_t i = 0; i < lines->n; i++) {
        struct import_line line = lines->lines[i];
        size_t length = strlen(line.text);
        while (length > 0 && line.text[length - 1] == '\\' && i + 1 < lines->n) {
            line.text[length - 1] = '\0';
            line.text = sand_arena_printf(&job->arena, "%s%s", line.text, lines->lines[++i].text);
            if (line.text == NULL)
                return import_no_memory(job);
            length = strlen(line.text);
        }
        lines->lines[n++] = line;
    }
    lines->n = n;
    return 1;
}

int import_same_word(const char *a, const char *b)
{
    while (*a != '\0' && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

int import_in_words(const char *words, const char *word,
                    int (*compare)(const char *, const char *, size_t))
{
    const size_t n = strlen(word);
    for (size_t length; *(words += strspn(words, " ")) != '\0'; words += length) {
        length = strcspn(words, " ");
        if (length == n && compare(words, word, n) == 0)
            return 1;
    }
    return 0;
}

static size_t key_length(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || (text[n] != '\0' && strchr("_:/-", text[n])))
        n++;
    return n > 0 && text[n] == '=' ? n : 0;
}

size_t import_pairs(char *text, struct import_pair *pairs, size_t most)
{
    size_t n = 0;
    for (char *at = text; *at != '\0';) {
        size_t length = key_length(at);
        if (length > 0 && n < most) {
            if (at > text)
                at[-1] = '\0'; // ends the value before
            at[length] = '\0';
            pairs[n++] = (struct import_pair){at, at + length + 1};
            at += length + 1;
        }
        // On to the next word.
        while (*at != '\0' && !isspace((unsigned char)*at))
            at++;
        while (*at != '\0' && isspace((unsigned char)*at))
            at++;
    }
    for (size_t i = 0; i < n; i++) { // blanks before the next key
        char *value = text + (pairs[i].value - text);
        size_t length = strlen(value);
        while (length > 0 && isspace((unsigned char)value[length - 1]))
            value[--length] = '\0';
    }
    return n;
}

// ---- names ----

int import_index_add(struct import_job *job, struct import_index *index, const char *name,
                     size_t value)
{
    void *entries = index->entries;
    if (sand_grow(&entries, &index->capacity, index->n + 1, sizeof *index->entries) != SAND_OK)
        return import_no_memory(job);
    index->entries = entries;
    index->entries[index->n++] = (struct import_entry){name, value};
    return 1;
}

static int by_name(const void *left, const void *right)
{
    const struct import_entry *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    if (order != 0)
        return order;
    return a->value < b->value ? -1 : a->value > b->value;
}

void import_index_sort(struct import_index *index)
{
    if (index->n > 1)
        qsort(index->entries, index->n, sizeof *index->entries, by_name);
}

size_t import_index_find(const struct import_index *index, const char *name)
{
    size_t low = 0, high = index->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(index->entries[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->n && strcmp(index->entries[low].name, name) == 0 ? index->entries[low].value
                                                                         : SIZE_MAX;
}

const char *import_index_twice(const struct import_index *index, size_t *a, size_t *b)
{
    for (size_t i = 1; i < index->n; i++) {
        if (strcmp(index->entries[i - 1].name, index->entries[i].name) != 0)
            continue;
        *a = index->entries[i - 1].value;
        *b = index->entries[i].value;
        return index->entries[i].name;
    }
    return NULL;
}

void import_index_free(struct import_index *index)
{
    sand_free(index->entries);
    *index = (struct import_index){0};
}

// ---- modes ----

static int real_ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

double import_mode_real(double *values, size_t n)
{
    double best = 0;
    size_t most = 0;
    if (n > 1)
        qsort(values, n, sizeof *values, real_ascending);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && values[end] <= values[i];)
            end++;
        if (end - i >= most) {
            most = end - i;
            best = values[i];
        }
    }
    return best;
}

static int whole_ascending(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

uint32_t import_mode(uint32_t *values, size_t n)
{
    uint32_t best = 0;
    size_t most = 0;
    if (n > 1)
        qsort(values, n, sizeof *values, whole_ascending);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && values[end] == values[i];)
            end++;
        if (end - i >= most) {
            most = end - i;
            best = values[i];
        }
    }
    return best;
}

// ---- the import ----

static const struct {
    const char *name;
    int (*run)(struct import_job *job);
} formats[SAND_IMPORT_FORMATS] = {
    {"nccl-topo", import_nccl_topo},
    {"slurm-topology", import_slurm_topology},
    {"slurm-nodes", import_slurm_nodes},
    {"ibnetdiscover", import_ibnetdiscover},
    {"nvidia-smi-topo", import_nvidia_smi_topo},
    {"graphml", import_graphml},
};

const char *sand_import_format_name(enum sand_import_format format)
{
    return format < SAND_IMPORT_FORMATS ? formats[format].name : "?";
}

enum sand_rc sand_import(enum sand_import_format format, const char *text, size_t size,
                         const struct sand_import_options *options,
                         struct sand_import_result *result, struct sand_diag *diag)
{
    static const char prefix[] = "sandtable:node/"; // as the XML we write names it
    struct sand_import_options bare = *options;
    if (bare.node != NULL && strncmp(bare.node, prefix, sizeof prefix - 1) == 0)
        bare.node += sizeof prefix - 1;
    *result = (struct sand_import_result){0};
    struct import_job job = {.options = &bare,
                             .format = format,
                             .text = text,
                             .size = size,
                             .diag = diag,
                             .result = result};
    int done = format < SAND_IMPORT_FORMATS && formats[format].run(&job);
    enum sand_rc rc = job.rc != SAND_OK            ? job.rc
                      : done && job.n_refused == 0 ? SAND_OK
                                                   : SAND_ERR_INPUT;
    if (rc == SAND_ERR_NOMEM)
        sand_fail(diag, rc, "%s: no memory to import it", options->file);
    sand_arena_clear(&job.arena);
    sand_free(job.notes);
    import_index_free(&job.told);
    if (rc != SAND_OK) {
        sand_free(result->xml);
        result->xml = NULL;
        result->size = 0;
    }
    return rc;
}
