// Every importer under thousands of mutations of its corpus, and without memory.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "filegate.h"
#include "import.h"
#include "mem.h"
#include "rng.h"

struct source {
    enum sand_import_format format;
    const char *file;
    uint32_t mutations; // a second or two of them
};

static const struct source sources[] = {
    {SAND_IMPORT_SLURM_TOPOLOGY, "topology.conf", 15000},
    {SAND_IMPORT_SLURM_NODES, "nodes.txt", 9000},
    {SAND_IMPORT_SLURM_NODES, "sinfo.txt", 6000},
    {SAND_IMPORT_IBNETDISCOVER, "ibnetdiscover.txt", 7200},
    {SAND_IMPORT_NVIDIA_SMI_TOPO, "smi-topo.txt", 15000},
    {SAND_IMPORT_NCCL_TOPO, "nccl-topo.xml", 9000},
    {SAND_IMPORT_IBNETDISCOVER, "ibnetdiscover-rails.txt", 4000},
    {SAND_IMPORT_GRAPHML, "foreign.graphml", 15000},
    {SAND_IMPORT_SLURM_NODES, "slurm-nodes-default.txt", 9000},
    {SAND_IMPORT_IBNETDISCOVER, "ibnetdiscover-factory.txt", 1500},
    {SAND_IMPORT_NCCL_TOPO, "nccl-topo-2gpus.xml", 3000},
    {SAND_IMPORT_SLURM_TOPOLOGY, "topology.yaml", 15000},
    {SAND_IMPORT_NCCL_TOPO, "nccl-topo-domain.xml", 3000},
    {SAND_IMPORT_NCCL_TOPO, "rccl-topo.xml", 3000},
    {SAND_IMPORT_IBNETDISCOVER, "ibnetdiscover-mixed.txt", 3000},
    {SAND_IMPORT_GRAPHML, "yed.graphml", 4000},
};
enum { N_SOURCES = sizeof sources / sizeof *sources };

static char *read_source(const struct source *s, size_t *size)
{
    char path[4096], *text = NULL;
    snprintf(path, sizeof path, "%s/import/%s", SAND_TEST_DATA, s->file);
    cr_assert_eq(sand_file_read(path, 1 << 24, &text, size, NULL), SAND_OK, "%s", path);
    return text;
}

static enum sand_rc try_import(const struct source *s, const char *text, size_t size,
                               struct sand_diag *diag, struct sand_import_result *result)
{
    struct sand_import_options options = {.file = s->file, .data = SAND_SOURCE_DIR};
    return sand_import(s->format, text, size, &options, result, diag);
}

static uint32_t draw(uint64_t entity, uint64_t *index, size_t n)
{
    struct sand_rng rng = {23, 0};
    return n > 0 ? (uint32_t)(sand_rng_u64(rng, SAND_STREAM_TEST, entity, (*index)++) % n) : 0;
}

// Bytes changed, cut out, doubled, moved; numbers made large; the end cut off.
static size_t mutate(uint64_t entity, const char *from, size_t size, char *to)
{
    static const char *const pieces[] = {
        "\0",        "\"", "[", "]",  "<",       "&#0;", "99999999999",
        "-1",        "\n", "=", "0x", "\x1b[4m", "\xff", "<!DOCTYPE a []>",
        "NodeName=", "S-"};
    uint64_t index = 0;
    size_t n = size;
    memcpy(to, from, size);
    for (uint32_t k = 0, times = 1 + draw(entity, &index, 4); k < times && n > 0; k++) {
        uint32_t at = draw(entity, &index, n), length = draw(entity, &index, 40);
        if (length > n - at)
            length = (uint32_t)(n - at);
        const char *piece = pieces[draw(entity, &index, sizeof pieces / sizeof *pieces)];
        size_t piece_n = *piece ? strlen(piece) : 1;
        switch (draw(entity, &index, 5)) {
        case 0:
            to[at] = (char)draw(entity, &index, 256);
            break;
        case 1: // cut out
            memmove(to + at, to + at + length, n - at - length);
            n -= length;
            break;
        case 2: // double
            memmove(to + at + length, to + at, n - at);
            n += length;
            break;
        case 3: // insert
            memmove(to + at + piece_n, to + at, n - at);
            memcpy(to + at, piece, piece_n);
            n += piece_n;
            break;
        default: // the end
            n = draw(entity, &index, 8) == 0 ? at : n;
            break;
        }
    }
    to[n] = '\0';
    return n;
}

// The reader of NCCL's XML parses anything and then says that the root is not its own.
static int is_xml(const struct sand_import_result *made)
{
    struct sand_import_options options = {.file = "made", .data = SAND_SOURCE_DIR};
    struct sand_import_result result;
    struct sand_diag diag = {0};
    sand_import(SAND_IMPORT_NCCL_TOPO, made->xml, made->size, &options, &result, &diag);
    int parsed = diag.n_errors == 1 && strstr(diag.messages[0].text, "not <system>") != NULL;
    sand_diag_clear(&diag);
    return parsed;
}

static void check_answer(const struct source *s, uint64_t entity, enum sand_rc rc,
                         const struct sand_import_result *result, const struct sand_diag *diag)
{
    if (rc != SAND_OK) {
        cr_assert(rc == SAND_ERR_INPUT && diag->n_errors > 0 && result->xml == NULL,
                  "%s, mutation %" PRIu64 ": code %d, %zu errors", s->file, entity, (int)rc,
                  diag->n_errors);
        return;
    }
    cr_assert(is_xml(result), "%s, mutation %" PRIu64 " gives no XML:\n%s", s->file, entity,
              result->xml);
    cr_assert(diag->n_errors == 0 && diag->n_warnings >= result->n_unknown);
}

static void mutate_source(const struct source *s)
{
    size_t size;
    char *text = read_source(s, &size), *changed = sand_calloc(size + 1024, 1);
    uint32_t n_ok = 0;
    cr_assert_not_null(changed);
    for (uint64_t entity = 0; entity < s->mutations; entity++) {
        struct sand_diag diag = {0};
        struct sand_import_result result;
        size_t n = entity > 0 ? mutate(entity, text, size, changed) : size;
        enum sand_rc rc = try_import(s, entity > 0 ? changed : text, n, &diag, &result);
        check_answer(s, entity, rc, &result, &diag);
        cr_assert(entity > 0 || rc == SAND_OK, "%s itself is refused", s->file);
        n_ok += rc == SAND_OK;
        sand_free(result.xml);
        sand_diag_clear(&diag);
    }
    // Both ways must have been taken.
    cr_expect(n_ok > s->mutations / 100 && n_ok < s->mutations, "%s: %u of %u imported", s->file,
              n_ok, s->mutations);
    sand_free(text);
    sand_free(changed);
}

#define MUTATE(name, number)                                                                       \
    Test(import_mutations, name)                                                                   \
    {                                                                                              \
        mutate_source(&sources[number]);                                                           \
    }
MUTATE(slurm_topology, 0)
MUTATE(slurm_nodes, 1)
MUTATE(sinfo, 2)
MUTATE(ibnetdiscover, 3)
MUTATE(nvidia_smi_topo, 4)
MUTATE(nccl_topo, 5)
MUTATE(ibnetdiscover_rails, 6)
MUTATE(graphml, 7)
MUTATE(slurm_defaults, 8)
MUTATE(factory_names, 9)
MUTATE(other_gpu_count, 10)
MUTATE(topology_yaml, 11)
MUTATE(scaleup_domain, 12)
MUTATE(rccl_topo, 13)
MUTATE(ibnetdiscover_mixed, 14)
MUTATE(yed, 15)

// Without memory at any allocation of ours: reported as such, or done without it, never a leak (the
// sanitizers watch) or a half answer.
Test(import_mutations, out_of_memory)
{
    for (size_t i = 0; i < N_SOURCES; i++) {
        size_t size;
        char *text = read_source(&sources[i], &size);
        for (uint64_t n = 1, failed = 1; failed; n += 1 + n / 16) {
            struct sand_import_result result;
            uint64_t before = sand_mem_count();
            sand_mem_fail_at(n);
            enum sand_rc rc = try_import(&sources[i], text, size, NULL, &result);
            failed = sand_mem_count() - before >= n;
            sand_mem_fail_at(0);
            cr_expect(rc == SAND_OK ? result.xml != NULL : result.xml == NULL, "%s, allocation %d",
                      sources[i].file, (int)n);
            cr_expect(rc != SAND_ERR_INTERNAL);
            sand_free(result.xml);
        }
        sand_free(text);
    }
}

// Refused inputs say so, too, when they are empty or of the wrong kind altogether.
Test(import_mutations, empty_and_foreign)
{
    for (size_t i = 0; i < N_SOURCES; i++) {
        static const char *const texts[] = {"", "\n\n", "hello\n", "<a/>", "a=b\n"};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            struct sand_diag diag = {0};
            struct sand_import_result result;
            enum sand_rc rc = try_import(&sources[i], texts[k], strlen(texts[k]), &diag, &result);
            cr_expect(rc == SAND_ERR_INPUT && diag.n_errors > 0, "%s as %s: %d", texts[k],
                      sources[i].file, (int)rc);
            sand_diag_clear(&diag);
        }
    }
}

// Every GPU that Slurm may name leads to a node type that the catalogue has, with its number of
// GPUs.
Test(import_mutations, gpu_names)
{
    static const struct {
        const char *gres, *node;
    } rows[] = {{"gpu:a100:8", "dgx-a100"},
                {"gpu:nvidia_h100:8", "dgx-h100"},
                {"gpu:H200:8", "dgx-h200"},
                {"gpu:h20:8", "h20-8x400"},
                {"gpu:h800:8", "h800-8x400"},
                {"gpu:b200:8", "dgx-b200"},
                {"gpu:b300:8", "dgx-b300"},
                {"gpu:gb200:4", "gb200-nvl72"},
                {"gpu:gb300:4", "gb300-nvl72"},
                {"gpu:gh200:4", "gh200-4x200"},
                {"gpu:a800:8", "a800-8x200"},
                {"gpu:mi350x:8", "mi350x-8x400"},
                {"gpu:l40s:8", "l40s-8"},
                {"gpu:mi250x:4", "mi250x-4x200"},
                {"gpu:mi300x:8", "mi300x-8x400"},
                {"gpu:mi325x:8", "mi325x-8x400"},
                {"gpu:mi355x:8", "mi355x-8x400"},
                {"gpu:v100:16", "dgx2-v100"},
                {"gpu:8", "dgx-h100"}};
    struct source source = {SAND_IMPORT_SLURM_NODES, "names", 0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[128], part[128];
        struct sand_import_result result;
        snprintf(text, sizeof text, "NodeName=n[0-3] Gres=%s State=IDLE\n", rows[i].gres);
        snprintf(part, sizeof part, "node=\"sandtable:node/%s\"", rows[i].node);
        enum sand_rc rc = try_import(&source, text, strlen(text), NULL, &result);
        cr_expect(rc == SAND_OK && strstr(result.xml, part) != NULL, "%s: %s", rows[i].gres,
                  rc == SAND_OK ? result.xml : "refused");
        cr_expect(rc != SAND_OK || strstr(result.xml, "Differs") == NULL, "%s: %s", rows[i].gres,
                  result.xml);
        sand_free(result.xml);
    }
}
