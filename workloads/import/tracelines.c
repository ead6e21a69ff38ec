// Cuts the unpacked bytes into lines; a line that never ends costs no more than a long one.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracelines.h"

#include <string.h>

#include "mem.h"
#include "tracestream.h"

#ifdef SAND_HOSTILE
enum { ROOM = TRACE_LINE_MAX + 7 }; // nearly every line meets the end of the buffer
#else
enum { ROOM = 4 * TRACE_LINE_MAX };
#endif

struct trace_lines {
    struct trace_stream *stream;
    const char *path;
    long number;
    int ended;
    size_t at, size; // unread part of data
    char data[ROOM + 1];
};

// Moves the unread part to the front and adds at least one byte, unless the file has ended.
static enum sand_rc refill(struct trace_lines *lines, struct sand_diag *diag)
{
    size_t got = 0, kept = lines->size - lines->at;
    memmove(lines->data, lines->data + lines->at, kept);
    lines->at = 0;
    lines->size = kept;
    SAND_TRY(trace_stream_read(lines->stream, lines->data + kept, ROOM - kept, &got, diag));
    lines->size += got;
    lines->ended = got == 0;
    return SAND_OK;
}

// A NUL in the first block means that this is no text at all; later ones spoil only their line.
static enum sand_rc check_text(struct trace_lines *lines, struct sand_diag *diag)
{
    SAND_TRY(refill(lines, diag));
    if (lines->size >= 2 &&
        (memcmp(lines->data, "\xff\xfe", 2) == 0 || memcmp(lines->data, "\xfe\xff", 2) == 0))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: is UTF-16 text; convert it with `iconv -f UTF-16 -t UTF-8`",
                         lines->path);
    const char *nul = memchr(lines->data, '\0', lines->size);
    if (nul)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: is binary data, no trace (byte %zu is 0); SWF and CSV are text",
                         lines->path, (size_t)(nul - lines->data));
    if (lines->size >= 3 && memcmp(lines->data, "\xef\xbb\xbf", 3) == 0)
        lines->at = 3; // a byte order mark is no part of the first name
    return SAND_OK;
}

enum sand_rc trace_lines_open(const char *path, struct trace_lines **lines, struct sand_diag *diag)
{
    struct trace_lines *l = sand_calloc(1, sizeof *l);
    if (!l)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    l->path = path;
    enum sand_rc rc = trace_stream_open(path, &l->stream, diag);
    if (rc == SAND_OK)
        rc = check_text(l, diag);
    if (rc == SAND_OK)
        *lines = l;
    else
        trace_lines_close(l);
    return rc;
}

void trace_lines_close(struct trace_lines *lines)
{
    if (!lines)
        return;
    trace_stream_close(lines->stream);
    sand_free(lines);
}

enum sand_rc trace_lines_rewind(struct trace_lines *lines, struct sand_diag *diag)
{
    SAND_TRY(trace_stream_rewind(lines->stream, diag));
    lines->number = 0;
    lines->at = lines->size = 0;
    return check_text(lines, diag);
}

const char *trace_lines_packing(const struct trace_lines *lines)
{
    return trace_stream_packing(lines->stream);
}

static int has_control(const char *text, size_t length)
{
    int found = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        found |= (c < 0x20 && c != '\t') || c == 0x7f;
    }
    return found;
}

static enum sand_rc skip_line(struct trace_lines *lines, struct sand_diag *diag)
{
    char *end;
    while (!(end = memchr(lines->data + lines->at, '\n', lines->size - lines->at)) &&
           !lines->ended) {
        lines->at = lines->size;
        SAND_TRY(refill(lines, diag));
    }
    lines->at = end ? (size_t)(end - lines->data) + 1 : lines->size;
    return SAND_OK;
}

static enum sand_rc find_end(struct trace_lines *lines, char **end, struct sand_diag *diag)
{
    size_t searched = 0;
    for (;;) {
        size_t unread = lines->size - lines->at;
        *end = memchr(lines->data + lines->at + searched, '\n', unread - searched);
        if (*end || lines->ended || unread >= TRACE_LINE_MAX)
            return SAND_OK;
        searched = unread;
        SAND_TRY(refill(lines, diag));
    }
}

enum sand_rc trace_lines_next(struct trace_lines *lines, struct trace_line *line,
                              struct sand_diag *diag)
{
    char *end;
    *line = (struct trace_line){0};
    SAND_TRY(find_end(lines, &end, diag));
    char *text = lines->data + lines->at;
    size_t length = end ? (size_t)(end - text) : lines->size - lines->at;
    line->number = ++lines->number;
    if (length >= TRACE_LINE_MAX) {
        line->too_long = 1;
        line->text = ""; // its bytes are gone once the rest is skipped
        return skip_line(lines, diag);
    }
    if (!end && length == 0)
        return SAND_OK;
    line->last = !end;
    lines->at += length + (end ? 1 : 0);
    if (length > 0 && text[length - 1] == '\r')
        length--;
    text[length] = '\0';
    line->text = text;
    line->length = length;
    line->binary = has_control(text, length);
    return SAND_OK;
}
