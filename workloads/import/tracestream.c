// Reading and unpacking a file block by block through liblzma and zlib.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracestream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lzma.h>
#include <zlib.h>

#include "mem.h"

enum { BLOCK_B = 1 << 16 };
// A preset -9 archive needs 65 MiB to unpack; more is refused rather than allocated.
static const uint64_t unpack_limit_B = 256u << 20;

enum packing { PLAIN, XZ, GZ };

struct trace_stream {
    int fd;
    enum packing packing;
    int ended;       // the file's bytes are used up
    int unpacked;    // the archive has ended
    size_t at, size; // of block
    char *path;
    lzma_stream xz;
    lzma_allocator allocator;
    z_stream gz;
    unsigned char block[BLOCK_B];
};

static void *xz_alloc(void *opaque, size_t n, size_t size)
{
    (void)opaque;
    return sand_calloc(n, size);
}

static void xz_free(void *opaque, void *block)
{
    (void)opaque;
    sand_free(block);
}

static void *gz_alloc(void *opaque, unsigned n, unsigned size)
{
    (void)opaque;
    return sand_calloc(n, size);
}

static void gz_free(void *opaque, void *block)
{
    (void)opaque;
    sand_free(block);
}

static enum sand_rc fill(struct trace_stream *stream, struct sand_diag *diag)
{
    ssize_t n;
    do
        n = read(stream->fd, stream->block, BLOCK_B);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return sand_fail(diag, SAND_ERR_IO, "%s: cannot read: %s", stream->path, strerror(errno));
    stream->at = 0;
    stream->size = (size_t)n;
    stream->ended = n == 0;
    return SAND_OK;
}

static void end_unpacking(struct trace_stream *stream)
{
    if (stream->packing == XZ)
        lzma_end(&stream->xz);
    if (stream->packing == GZ)
        inflateEnd(&stream->gz);
    stream->xz = (lzma_stream)LZMA_STREAM_INIT;
    memset(&stream->gz, 0, sizeof stream->gz);
}

static enum sand_rc start_unpacking(struct trace_stream *stream, struct sand_diag *diag)
{
    int failed = 0;
    stream->unpacked = 0;
    if (stream->packing == XZ) {
        stream->xz.allocator = &stream->allocator;
        failed = lzma_stream_decoder(&stream->xz, unpack_limit_B, LZMA_CONCATENATED) != LZMA_OK;
    } else if (stream->packing == GZ) {
        stream->gz.zalloc = gz_alloc;
        stream->gz.zfree = gz_free;
        failed = inflateInit2(&stream->gz, 15 + 16) != Z_OK; // 15: window, 16: gzip header
    }
    return failed ? sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", stream->path) : SAND_OK;
}

static int begins(const struct trace_stream *stream, const char *magic, size_t size)
{
    return stream->size >= size && memcmp(stream->block, magic, size) == 0;
}

// By content: a name can lie.
static enum sand_rc recognise(struct trace_stream *stream, struct sand_diag *diag)
{
    static const struct {
        const char *magic, *name;
        size_t size;
    } others[] = {{"BZh", "bzip2", 3}, {"\x28\xb5\x2f\xfd", "zstd", 4}, {"PK\x03\x04", "zip", 4}};
    if (begins(stream,
               "\xfd"
               "7zXZ\0",
               6))
        stream->packing = XZ;
    else if (begins(stream, "\x1f\x8b", 2))
        stream->packing = GZ;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (begins(stream, others[i].magic, others[i].size))
            return sand_fail(diag, SAND_ERR_INPUT,
                             "%s: is packed with %s; unpack it, or pack it with xz or gzip",
                             stream->path, others[i].name);
    return SAND_OK;
}

static enum sand_rc open_file(struct trace_stream *stream, struct sand_diag *diag)
{
    struct stat info;
    stream->fd = open(stream->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO must not block us
    if (stream->fd < 0 || fstat(stream->fd, &info) != 0)
        return sand_fail(diag, SAND_ERR_IO, "%s: cannot read: %s", stream->path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return sand_fail(diag, SAND_ERR_IO, "%s: is no regular file; a trace is read twice",
                         stream->path);
    SAND_TRY(fill(stream, diag));
    SAND_TRY(recognise(stream, diag));
    return start_unpacking(stream, diag);
}

enum sand_rc trace_stream_open(const char *path, struct trace_stream **stream,
                               struct sand_diag *diag)
{
    struct trace_stream *s = sand_calloc(1, sizeof *s);
    char *copy = s ? sand_calloc(strlen(path) + 1, 1) : NULL;
    if (!copy) {
        sand_free(s);
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    }
    memcpy(copy, path, strlen(path) + 1);
    s->path = copy;
    s->fd = -1;
    s->xz = (lzma_stream)LZMA_STREAM_INIT;
    s->allocator = (lzma_allocator){xz_alloc, xz_free, NULL};
    enum sand_rc rc = open_file(s, diag);
    if (rc == SAND_OK)
        *stream = s;
    else
        trace_stream_close(s);
    return rc;
}

void trace_stream_close(struct trace_stream *stream)
{
    if (!stream)
        return;
    end_unpacking(stream);
    if (stream->fd >= 0)
        close(stream->fd);
    sand_free(stream->path);
    sand_free(stream);
}

enum sand_rc trace_stream_rewind(struct trace_stream *stream, struct sand_diag *diag)
{
    end_unpacking(stream);
    if (lseek(stream->fd, 0, SEEK_SET) != 0)
        return sand_fail(diag, SAND_ERR_IO, "%s: cannot read: %s", stream->path, strerror(errno));
    SAND_TRY(fill(stream, diag));
    return start_unpacking(stream, diag);
}

const char *trace_stream_packing(const struct trace_stream *stream)
{
    static const char *const names[] = {"plain", "xz", "gz"};
    return names[stream->packing];
}

static enum sand_rc broken(const struct trace_stream *stream, const char *what,
                           struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_INPUT, "%s: the %s archive %s; get the file again",
                     stream->path, trace_stream_packing(stream), what);
}

static enum sand_rc unpack_xz(struct trace_stream *stream, struct sand_diag *diag)
{
    stream->xz.next_in = stream->block + stream->at;
    stream->xz.avail_in = stream->size - stream->at;
    lzma_ret ret = lzma_code(&stream->xz, stream->ended ? LZMA_FINISH : LZMA_RUN);
    stream->at = stream->size - stream->xz.avail_in;
    stream->unpacked = ret == LZMA_STREAM_END;
    if (ret == LZMA_OK || ret == LZMA_STREAM_END)
        return SAND_OK;
    if (ret == LZMA_MEM_ERROR)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", stream->path);
    if (ret == LZMA_MEMLIMIT_ERROR)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s: needs more than 256 MiB to unpack; pack it with xz -9 or less",
                         stream->path);
    return broken(stream, ret == LZMA_BUF_ERROR ? "ends too early" : "is damaged", diag);
}

// A .gz may be several members in a row, as `cat a.gz b.gz` makes.
static enum sand_rc next_member(struct trace_stream *stream)
{
    stream->unpacked = stream->ended;
    if (!stream->unpacked)
        inflateReset(&stream->gz);
    return SAND_OK;
}

static enum sand_rc unpack_gz(struct trace_stream *stream, struct sand_diag *diag)
{
    stream->gz.next_in = stream->block + stream->at;
    stream->gz.avail_in = (unsigned)(stream->size - stream->at);
    int ret = inflate(&stream->gz, Z_NO_FLUSH);
    stream->at = stream->size - stream->gz.avail_in;
    if (ret == Z_STREAM_END) {
        if (stream->at == stream->size)
            SAND_TRY(fill(stream, diag));
        return next_member(stream);
    }
    if (ret == Z_MEM_ERROR)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", stream->path);
    if (ret == Z_BUF_ERROR && stream->ended)
        return broken(stream, "ends too early", diag);
    return ret == Z_OK || ret == Z_BUF_ERROR ? SAND_OK : broken(stream, "is damaged", diag);
}

static enum sand_rc read_packed(struct trace_stream *stream, char *data, size_t room, size_t *got,
                                struct sand_diag *diag)
{
    int xz = stream->packing == XZ;
    stream->xz.next_out = (uint8_t *)data;
    stream->xz.avail_out = room;
    stream->gz.next_out = (unsigned char *)data;
    stream->gz.avail_out = (unsigned)room;
    *got = 0;
    while (*got == 0 && !stream->unpacked) {
        if (stream->at == stream->size && !stream->ended)
            SAND_TRY(fill(stream, diag));
        SAND_TRY(xz ? unpack_xz(stream, diag) : unpack_gz(stream, diag));
        *got = room - (xz ? stream->xz.avail_out : stream->gz.avail_out);
    }
    return SAND_OK;
}

enum sand_rc trace_stream_read(struct trace_stream *stream, char *data, size_t room, size_t *got,
                               struct sand_diag *diag)
{
    if (stream->packing != PLAIN)
        return read_packed(stream, data, room < INT_MAX ? room : INT_MAX, got, diag);
    if (stream->at == stream->size && !stream->ended)
        SAND_TRY(fill(stream, diag));
    *got = stream->size - stream->at;
    if (*got > room)
        *got = room;
    memcpy(data, stream->block + stream->at, *got);
    stream->at += *got;
    return SAND_OK;
}
