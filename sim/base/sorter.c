// Merge sort in two passes: pieces sorted in memory, then all of them merged through a heap.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sorter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filegate.h"
#include "mem.h"

#ifdef SAND_HOSTILE
enum { PIECE_BYTES = 100, PAGE_BYTES = 50 };
#else
enum { PIECE_BYTES = 2097152, PAGE_BYTES = 16384 };
#endif

// A sorted piece: of the file, or, the last one, of memory.
struct piece {
    char *page;      // rows read from the file, or all rows
    size_t row, n;   // the present one of the page's n rows
    uint64_t offset; // of the file: where the rows not read yet begin
    size_t left;     // how many those are
};

struct sand_sorter {
    size_t size, piece_rows, page_rows;
    int (*compare)(const void *, const void *);
    const char *dir;
    char *rows; // the piece being filled
    size_t n, capacity;
    int fd; // -1: no file yet
    uint64_t written;
    struct piece *pieces;
    size_t n_pieces, pieces_capacity;
    struct piece **heap; // of pieces by their present row; made by the first call of next
    size_t n_heap;
};

enum sand_rc sand_sorter_open(size_t size, int (*compare)(const void *, const void *),
                              const char *dir, struct sand_sorter **sorter)
{
    struct sand_sorter *made = sand_calloc(1, sizeof *made);
    if (!made)
        return SAND_ERR_NOMEM;
    made->size = size;
    made->piece_rows = size < PIECE_BYTES ? PIECE_BYTES / size : 1;
    made->page_rows = size < PAGE_BYTES ? PAGE_BYTES / size : 1;
    made->compare = compare;
    made->dir = dir;
    made->fd = -1;
    *sorter = made;
    return SAND_OK;
}

static enum sand_rc no_memory(struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "rows to be sorted: out of memory");
}

// ---- pieces -------------------------------------------------------------------------------------

static enum sand_rc add_piece(struct sand_sorter *sorter, struct piece piece)
{
    void *pieces = sorter->pieces;
    SAND_TRY(sand_grow(&pieces, &sorter->pieces_capacity, sorter->n_pieces + 1, sizeof piece));
    sorter->pieces = pieces;
    sorter->pieces[sorter->n_pieces++] = piece;
    return SAND_OK;
}

static enum sand_rc spill(struct sand_sorter *sorter, struct sand_diag *diag)
{
    const size_t bytes = sorter->n * sorter->size;
    qsort(sorter->rows, sorter->n, sorter->size, sorter->compare);
    if (sorter->fd < 0)
        SAND_TRY(sand_scratch_open(sorter->dir, &sorter->fd, diag));
    if (add_piece(sorter, (struct piece){.offset = sorter->written, .left = sorter->n}) != SAND_OK)
        return no_memory(diag);
    SAND_TRY(sand_scratch_append(sorter->fd, sorter->rows, bytes, diag));
    sorter->written += bytes;
    sorter->n = 0;
    return SAND_OK;
}

enum sand_rc sand_sorter_add(struct sand_sorter *sorter, const void *row, struct sand_diag *diag)
{
    void *rows = sorter->rows;
    if (sorter->n == sorter->piece_rows)
        SAND_TRY(spill(sorter, diag));
    if (sand_grow(&rows, &sorter->capacity, sorter->n + 1, sorter->size) != SAND_OK)
        return no_memory(diag);
    sorter->rows = rows;
    memcpy(sorter->rows + sorter->n++ * sorter->size, row, sorter->size);
    return SAND_OK;
}

// ---- merging ------------------------------------------------------------------------------------

static const char *present(const struct sand_sorter *sorter, const struct piece *piece)
{
    return piece->page + piece->row * sorter->size;
}

static int before(const struct sand_sorter *sorter, size_t a, size_t b)
{
    return sorter->compare(present(sorter, sorter->heap[a]), present(sorter, sorter->heap[b])) < 0;
}

static void sink(struct sand_sorter *sorter, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < sorter->n_heap; child++)
            if (before(sorter, child, least))
                least = child;
        if (least == at)
            return;
        struct piece *piece = sorter->heap[at];
        sorter->heap[at] = sorter->heap[least];
        sorter->heap[least] = piece;
        at = least;
    }
}

// The next rows of a piece; n = 0 after its last.
static enum sand_rc turn_page(struct sand_sorter *sorter, struct piece *piece,
                              struct sand_diag *diag)
{
    piece->row = 0;
    piece->n = piece->left < sorter->page_rows ? piece->left : sorter->page_rows;
    if (piece->n == 0)
        return SAND_OK;
    SAND_TRY(
        sand_scratch_read(sorter->fd, piece->offset, piece->page, piece->n * sorter->size, diag));
    piece->offset += piece->n * sorter->size;
    piece->left -= piece->n;
    return SAND_OK;
}

static enum sand_rc open_pages(struct sand_sorter *sorter, struct sand_diag *diag)
{
    for (size_t i = 0; i < sorter->n_pieces; i++) {
        sorter->pieces[i].page = sand_calloc(sorter->page_rows, sorter->size);
        if (!sorter->pieces[i].page)
            return no_memory(diag);
        SAND_TRY(turn_page(sorter, &sorter->pieces[i], diag));
    }
    return SAND_OK;
}

// What is still in memory becomes the last piece; it keeps its rows.
static enum sand_rc begin_merge(struct sand_sorter *sorter, struct sand_diag *diag)
{
    SAND_TRY(open_pages(sorter, diag));
    if (sorter->n > 0) {
        qsort(sorter->rows, sorter->n, sorter->size, sorter->compare);
        if (add_piece(sorter, (struct piece){.page = sorter->rows, .n = sorter->n}) != SAND_OK)
            return no_memory(diag);
        sorter->rows = NULL;
        sorter->n = 0;
    }
    sorter->heap = sand_calloc(sorter->n_pieces, sizeof *sorter->heap);
    if (!sorter->heap)
        return no_memory(diag);
    for (size_t i = 0; i < sorter->n_pieces; i++)
        sorter->heap[i] = &sorter->pieces[i];
    sorter->n_heap = sorter->n_pieces;
    for (size_t i = sorter->n_heap; i-- > 0;)
        sink(sorter, i);
    return SAND_OK;
}

// Steps past the row given last.
static enum sand_rc step(struct sand_sorter *sorter, struct sand_diag *diag)
{
    struct piece *piece = sorter->heap[0];
    if (++piece->row == piece->n)
        SAND_TRY(turn_page(sorter, piece, diag));
    if (piece->n == 0)
        sorter->heap[0] = sorter->heap[--sorter->n_heap];
    sink(sorter, 0);
    return SAND_OK;
}

enum sand_rc sand_sorter_next(struct sand_sorter *sorter, const void **row, struct sand_diag *diag)
{
    if (!sorter->heap)
        SAND_TRY(begin_merge(sorter, diag));
    else if (sorter->n_heap > 0)
        SAND_TRY(step(sorter, diag));
    *row = sorter->n_heap > 0 ? present(sorter, sorter->heap[0]) : NULL;
    return SAND_OK;
}

void sand_sorter_close(struct sand_sorter *sorter)
{
    if (!sorter)
        return;
    for (size_t i = 0; i < sorter->n_pieces; i++)
        sand_free(sorter->pieces[i].page);
    sand_free(sorter->pieces);
    sand_free(sorter->heap);
    sand_free(sorter->rows);
    if (sorter->fd >= 0)
        close(sorter->fd);
    sand_free(sorter);
}
