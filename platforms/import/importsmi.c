// nvidia-smi topo -m: the matrix of how GPUs and NICs are joined.
// Source of the grammar: its own legend (X, SYS, NODE, PHB, PXB, PIX, NV#), driver 535 to 570.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "importnodetype.h"

enum { MAX_DEVICES = 128 };

struct matrix {
    const char *names[MAX_DEVICES]; // of the columns that are devices
    uint32_t n;
    char *cells[MAX_DEVICES][MAX_DEVICES];
    long lines[MAX_DEVICES]; // of the rows; 0: missing
    long header;
};

static int is_gpu(const char *name)
{
    return strncmp(name, "GPU", 3) == 0 && isdigit((unsigned char)name[3]);
}

static int is_nic(const char *name)
{
    return (strncmp(name, "NIC", 3) == 0 && isdigit((unsigned char)name[3])) ||
           strncmp(name, "mlx", 3) == 0 || strncmp(name, "bnxt", 4) == 0;
}

// Terminal colours stand in the header even in a file.
static void strip_escapes(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        if (*from == 27 && from[1] == '[') {
            from += 2;
            while (*from != '\0' && !isalpha((unsigned char)*from))
                from++;
            from += *from != '\0' ? 1 : 0;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

static char *next_word(char **at)
{
    while (isspace((unsigned char)**at))
        (*at)++;
    if (**at == '\0')
        return NULL;
    char *word = *at;
    while (**at != '\0' && !isspace((unsigned char)**at))
        (*at)++;
    if (**at != '\0')
        *(*at)++ = '\0';
    return word;
}

// The first device of "NIC11NIC12", as tables look whose tabs a collector of logs has lost.
static size_t glued_length(const char *word)
{
    const size_t n = 3 + strspn(word + 3, "0123456789");
    const int is_numbered = strncmp(word, "GPU", 3) == 0 || strncmp(word, "NIC", 3) == 0;
    return is_numbered && (is_gpu(word + n) || is_nic(word + n)) ? n : strlen(word);
}

static int read_header(struct import_job *job, struct matrix *m, char *text, long line)
{
    m->header = line;
    for (char *at = text, *word; (word = next_word(&at)) != NULL;) {
        if (!is_gpu(word) && !is_nic(word))
            break; // "CPU Affinity" and what follows: not of the matrix
        for (size_t n; *word != '\0'; word += n) {
            n = glued_length(word);
            if (m->n == MAX_DEVICES)
                return import_refuse(job, line, "has more than %d devices", MAX_DEVICES);
            if ((m->names[m->n++] = sand_arena_printf(&job->arena, "%.*s", (int)n, word)) == NULL)
                return import_no_memory(job);
        }
    }
    return 1;
}

static int is_cell(const char *word)
{
    static const char *const words[] = {"X", "SYS", "NODE", "PHB", "PXB", "PIX"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return 1;
    return strncmp(word, "NV", 2) == 0 && isdigit((unsigned char)word[2]);
}

static int read_row(struct import_job *job, struct matrix *m, char *text, long line)
{
    char *at = text, *name = next_word(&at), *word;
    uint32_t row = 0, column = 0;
    while (row < m->n && strcmp(m->names[row], name) != 0)
        row++;
    if (row == m->n)
        return import_refuse(job, line, "row \"%s\" has no column of that name", name);
    if (m->lines[row] > 0)
        return import_refuse(job, line, "row \"%s\" stands there twice, first in line %ld", name,
                             m->lines[row]);
    m->lines[row] = line;
    for (; column < m->n && (word = next_word(&at)) != NULL; column++) {
        if (!is_cell(word))
            return import_refuse(
                job, line,
                "row \"%s\", column \"%s\" is \"%s\": must be X, SYS, NODE, PHB, PXB, "
                "PIX or NV and a number",
                name, m->names[column], word);
        m->cells[row][column] = word;
    }
    if (column < m->n)
        return import_refuse(job, line,
                             "row \"%s\" breaks off after %" PRIu32 " of %" PRIu32 " columns", name,
                             column, m->n);
    return 1;
}

static int starts_matrix_row(const char *text)
{
    return is_gpu(text) || is_nic(text);
}

// After the matrix come legends: "X = Self", "NIC0: mlx5_0".
static int is_legend(const char *text)
{
    return strchr(text, '=') != NULL || strstr(text, "Legend") != NULL ||
           (is_nic(text) && strchr(text, ':') != NULL);
}

static int read_matrix(struct import_job *job, struct matrix *m)
{
    struct import_lines lines;
    if (!import_lines_of(job, &lines))
        return 0;
    for (size_t i = 0; i < lines.n; i++) {
        char *text = lines.lines[i].text;
        strip_escapes(text);
        text += strspn(text, " \t");
        if (*text == '\0' || is_legend(text))
            continue;
        if (!starts_matrix_row(text))
            import_unknown(job, lines.lines[i].number, "\"%.200s\" is not understood; passed over",
                           text);
        else if (m->header == 0 ? !read_header(job, m, text, lines.lines[i].number)
                                : !read_row(job, m, text, lines.lines[i].number))
            return 0;
    }
    if (m->n == 0)
        return import_refuse(job, 0, "holds no matrix of GPUs; this is no nvidia-smi topo -m");
    return 1;
}

static int check_matrix(struct import_job *job, const struct matrix *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(m->names[i], m->names[k]) == 0)
                return import_refuse(job, m->header, "column \"%s\" stands there twice",
                                     m->names[i]);
        if (m->lines[i] == 0)
            return import_refuse(job, m->header,
                                 "column \"%s\" has no row: the matrix is truncated", m->names[i]);
    }
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(m->cells[i][k], m->cells[k][i]) != 0)
                return import_refuse(
                    job, m->lines[i],
                    "row \"%s\", column \"%s\" is %s, but row \"%s\", column \"%s\" is %s",
                    m->names[i], m->names[k], m->cells[i][k], m->names[k], m->names[i],
                    m->cells[k][i]);
    return 1;
}

// ---- what it means ----

// NVLinks per GPU: NVIDIA A100 (12) and H100 (18) Tensor Core GPU architecture white papers; H200
// and B200 have 18 as well, and only --node can tell them from H100.
static const char *node_of_nvlinks(uint32_t n)
{
    return n == 12 ? "dgx-a100" : n == 18 ? "dgx-h100" : NULL;
}

static void read_nvlinks(struct import_job *job, const struct matrix *m, uint32_t *most,
                         uint32_t *n_joined, uint32_t *n_pairs)
{
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0; k < i; k++) {
            if (!is_gpu(m->names[i]) || !is_gpu(m->names[k]))
                continue;
            const char *cell = m->cells[i][k];
            uint32_t n = strncmp(cell, "NV", 2) == 0 ? (uint32_t)strtoul(cell + 2, NULL, 10) : 0;
            ++*n_pairs;
            *n_joined += n > 0 ? 1 : 0;
            *most = n > *most ? n : *most;
        }
    for (uint32_t i = 0; i<m->n && * n_joined> 0; i++)
        for (uint32_t k = 0; k < i; k++)
            if (is_gpu(m->names[i]) && is_gpu(m->names[k]) &&
                (strncmp(m->cells[i][k], "NV", 2) != 0 ||
                 strtoul(m->cells[i][k] + 2, NULL, 10) != *most))
                import_deviate(job, m->lines[i],
                               "%s and %s are joined by %s, others by NV%" PRIu32
                               "; written as if a switch joined all alike",
                               m->names[i], m->names[k], m->cells[i][k], *most);
}

// A NIC below the same PCIe switch as a GPU is for training; without any such, all are.
static uint32_t count_near_nics(const struct matrix *m, uint32_t *n_all)
{
    uint32_t near = 0;
    *n_all = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        int is_near = 0;
        if (!is_nic(m->names[i]))
            continue;
        for (uint32_t k = 0; k < m->n; k++)
            is_near |= is_gpu(m->names[k]) &&
                       (strcmp(m->cells[i][k], "PIX") == 0 || strcmp(m->cells[i][k], "PXB") == 0);
        near += is_near ? 1 : 0;
        ++*n_all;
    }
    return near;
}

static int write_matrix(struct import_job *job, const struct matrix *m)
{
    uint32_t most = 0, n_joined = 0, n_pairs = 0, n_all, near = count_near_nics(m, &n_all);
    struct import_node_type type = {.n_gpus = m->n - n_all, .has_storage_nics = n_all > 0};
    read_nvlinks(job, m, &most, &n_joined, &n_pairs);
    if (type.n_gpus == 0)
        return import_refuse(job, m->header, "has no GPU; a node of a cluster needs one");
    type.like = node_of_nvlinks(most);
    type.has_scaleup = n_joined > 0;
    if (type.like == NULL && job->options->node == NULL)
        return import_refuse(job, m->header,
                             "GPUs joined by %" PRIu32
                             " NVLinks are of no generation known here; name "
                             "the nearest node type with --node=ID",
                             most);
    type.because = sand_arena_printf(&job->arena, "its GPUs have %" PRIu32 " NVLinks", most);
    type.n_nics = near > 0 ? near : n_all;
    type.n_storage_nics = n_all - type.n_nics;
    if (type.because == NULL)
        return import_no_memory(job);
    if (near > 0)
        import_assume(job,
                      "NICs behind the PCIe switch of a GPU (PIX, PXB) are for training, the other "
                      "%" PRIu32 " for storage",
                      type.n_storage_nics);
    else if (n_all > 0)
        import_assume(job,
                      "all %" PRIu32 " NICs are for training: none is nearer to a GPU than "
                      "others (PIX, PXB)",
                      n_all);
    return import_node_type_write(job, &type);
}

int import_nvidia_smi_topo(struct import_job *job)
{
    struct matrix *matrix = sand_arena_alloc(&job->arena, 1, sizeof *matrix);
    if (matrix == NULL)
        return import_no_memory(job);
    return read_matrix(job, matrix) && check_matrix(job, matrix) && write_matrix(job, matrix);
}
