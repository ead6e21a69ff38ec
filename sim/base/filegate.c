// Files: whole reads, and writes that are either complete or not there.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "filegate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem.h"

static uint64_t operations; // writes and renames so far in this process
static uint64_t fail_at;    // the one that fails, 0: none
static int fail_error;

// Counts a write or rename; 1 with errno set if this is the one that must fail.
static int gate_closes(void)
{
    operations++;
    if (operations != fail_at)
        return 0;
    errno = fail_error;
    return 1;
}

void sand_file_fail_at(uint64_t n, int error_number)
{
    fail_at = n > 0 ? operations + n : 0;
    fail_error = error_number;
}

static enum sand_rc fail_errno(struct sand_diag *diag, const char *path, const char *what)
{
    return sand_fail(diag, SAND_ERR_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

// ---- reading
// --------------------------------------------------------------------------------------

// Reads up to `room` bytes, until the end of the file; -1 on error.
static ssize_t read_fully(int fd, char *data, size_t room)
{
    size_t done = 0;
    while (done < room) {
        ssize_t n = read(fd, data + done, room - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static enum sand_rc check_readable(int fd, const char *path, size_t limit, size_t *size,
                                   struct sand_diag *diag)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return fail_errno(diag, path, "read");
    if (!S_ISREG(info.st_mode))
        return sand_fail(diag, SAND_ERR_IO, "%s: is no regular file", path);
    if ((uint64_t)info.st_size > limit)
        return sand_fail(diag, SAND_ERR_IO, "%s: has %lld bytes, more than the %zu allowed here",
                         path, (long long)info.st_size, limit);
    *size = (size_t)info.st_size;
    return SAND_OK;
}

static enum sand_rc read_open_file(int fd, const char *path, size_t limit, char **data,
                                   size_t *size, struct sand_diag *diag)
{
    size_t room = 0;
    SAND_TRY(check_readable(fd, path, limit, &room, diag));
    char *text = sand_calloc(room + 1, 1);
    if (!text)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    ssize_t n = read_fully(fd, text, room);
    if (n < 0) {
        enum sand_rc rc = fail_errno(diag, path, "read");
        sand_free(text);
        return rc;
    }
    text[n] = '\0';
    *data = text;
    *size = (size_t)n;
    return SAND_OK;
}

enum sand_rc sand_file_read(const char *path, size_t limit, char **data, size_t *size,
                            struct sand_diag *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO must not block us
    if (fd < 0)
        return fail_errno(diag, path, "read");
    enum sand_rc rc = read_open_file(fd, path, limit, data, size, diag);
    close(fd);
    return rc;
}

static enum sand_rc digest_open_file(int fd, const char *path, char hex[65], struct sand_diag *diag)
{
    enum { PIECE = 1 << 16 };
    size_t size;
    struct sand_hash hash;
    SAND_TRY(check_readable(fd, path, SIZE_MAX, &size, diag));
    char *piece = sand_calloc(PIECE, 1);
    if (!piece)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    sand_hash_init(&hash);
    ssize_t n;
    while ((n = read_fully(fd, piece, PIECE)) > 0)
        sand_hash_add(&hash, piece, (size_t)n);
    const enum sand_rc rc = n < 0 ? fail_errno(diag, path, "read") : SAND_OK;
    sand_hash_end_hex(&hash, hex);
    sand_free(piece);
    return rc;
}

enum sand_rc sand_file_digest(const char *path, char hex[65], struct sand_diag *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_errno(diag, path, "read");
    enum sand_rc rc = digest_open_file(fd, path, hex, diag);
    close(fd);
    return rc;
}

// ---- writing
// --------------------------------------------------------------------------------------

static int write_fully(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = gate_closes() ? -1 : write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

static int write_file(const char *path, int flags, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    if (fd < 0)
        return -1;
    int failed = write_fully(fd, data, size) != 0 || (flags & O_APPEND && fsync(fd) != 0) ? -1 : 0;
    int error_number = errno;
    if (close(fd) != 0 && !failed) {
        failed = -1;
        error_number = errno;
    }
    errno = error_number;
    return failed;
}

enum sand_rc sand_file_write(const char *path, const void *data, size_t size,
                             struct sand_diag *diag)
{
    struct sand_arena arena = {0};
    char *part = sand_arena_printf(&arena, "%s.part", path);
    enum sand_rc rc = SAND_OK;
    if (!part) {
        rc = sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    } else if (write_file(part, O_TRUNC, data, size) != 0) {
        rc = fail_errno(diag, path, "write");
        unlink(part);
    } else {
        rc = sand_file_commit(part, path, diag);
    }
    sand_arena_clear(&arena);
    return rc;
}

enum sand_rc sand_file_append(const char *path, const void *data, size_t size,
                              struct sand_diag *diag)
{
    if (write_file(path, O_APPEND, data, size) != 0)
        return fail_errno(diag, path, "append to");
    return SAND_OK;
}

// ---- streams
// ----------------------------------------------------------------------------------------

enum sand_rc sand_stream_finish(FILE *out, const char *what, struct sand_diag *diag)
{
    if (!ferror(out) && fflush(out) == 0)
        return SAND_OK;
    clearerr(out);
    if (fputc('\n', out) != EOF && fflush(out) == 0)
        return sand_fail(diag, SAND_ERR_IO, "cannot write %s: a part of it is lost", what);
    return sand_fail(diag, SAND_ERR_IO, "cannot write %s: %s", what, strerror(errno));
}

// ---- commit
// ---------------------------------------------------------------------------------------

static int sync_path(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int failed = fsync(fd);
    int error_number = errno;
    close(fd);
    errno = error_number;
    return failed;
}

// Makes the rename itself durable. Some file systems cannot sync a directory; that is no failure.
static int sync_parent(const char *path)
{
    struct sand_arena arena = {0};
    const char *slash = strrchr(path, '/');
    int length = slash == path ? 1 : slash ? (int)(slash - path) : 0;
    char *dir = length > 0 ? sand_arena_printf(&arena, "%.*s", length, path)
                           : sand_arena_strdup(&arena, ".");
    if (!dir)
        errno = ENOMEM;
    int failed = dir ? sync_path(dir, O_RDONLY | O_DIRECTORY) : -1;
    int error_number = errno;
    sand_arena_clear(&arena);
    errno = error_number;
    return failed && errno != EINVAL && errno != ENOTSUP ? -1 : 0;
}

// A rename would put a plain file in the place of a device, a pipe or a symbolic link.
static int may_be_replaced(const char *path)
{
    struct stat info;
    return lstat(path, &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode);
}

enum sand_rc sand_file_commit(const char *part, const char *path, struct sand_diag *diag)
{
    if (!may_be_replaced(path)) {
        unlink(part);
        return sand_fail(diag, SAND_ERR_IO,
                         "%s: cannot write: it is a device, a pipe or a symbolic link, which would "
                         "be replaced; name a file",
                         path);
    }
    if (sync_path(part, O_RDONLY) == 0 && !gate_closes() && rename(part, path) == 0) {
        if (sync_parent(path) == 0)
            return SAND_OK;
        return fail_errno(diag, path, "sync the directory of");
    }
    enum sand_rc rc = fail_errno(diag, path, "write");
    unlink(part);
    return rc;
}

// ---- scratch
// --------------------------------------------------------------------------------------

static enum sand_rc fail_scratch(const char *what, struct sand_diag *diag)
{
    return fail_errno(diag, "a temporary file", what);
}

enum sand_rc sand_scratch_open(const char *dir, int *fd, struct sand_diag *diag)
{
    char path[PATH_MAX];
    const char *usual = getenv("TMPDIR");
    if (!dir)
        dir = usual && usual[0] ? usual : "/tmp";
    if (snprintf(path, sizeof path, "%s/.sandtable-XXXXXX", dir) >= (int)sizeof path)
        return sand_fail(diag, SAND_ERR_IO, "%s: the name is too long for a temporary file", dir);
    const int opened = gate_closes() ? -1 : mkostemp(path, O_CLOEXEC);
    if (opened < 0)
        return fail_errno(diag, dir, "make a temporary file in it");
    unlink(path);
    *fd = opened;
    return SAND_OK;
}

enum sand_rc sand_scratch_append(int fd, const void *data, size_t size, struct sand_diag *diag)
{
    return write_fully(fd, data, size) == 0 ? SAND_OK : fail_scratch("write", diag);
}

enum sand_rc sand_scratch_read(int fd, uint64_t offset, void *data, size_t size,
                               struct sand_diag *diag)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t n =
            pread(fd, (char *)data + done, size - done, (off_t)(offset + (uint64_t)done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail_scratch("read", diag);
        done += (size_t)n;
    }
    return SAND_OK;
}

// ---- directories
// --------------------------------------------------------------------------------------

static int is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static enum sand_rc make_one(const char *path, struct sand_diag *diag)
{
    if (mkdir(path, 0777) == 0)
        return SAND_OK;
    int error_number = errno == EEXIST ? ENOTDIR : errno; // what is there is no directory
    if (is_directory(path))
        return SAND_OK;
    errno = error_number;
    return fail_errno(diag, path, "make the directory");
}

enum sand_rc sand_dir_make(const char *path, struct sand_diag *diag)
{
    struct sand_arena arena = {0};
    char *prefix = sand_arena_strdup(&arena, path);
    enum sand_rc rc = prefix ? SAND_OK : sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    for (char *slash = prefix; rc == SAND_OK && (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        rc = make_one(prefix, diag);
        *slash = '/';
    }
    if (rc == SAND_OK)
        rc = make_one(path, diag);
    sand_arena_clear(&arena);
    return rc;
}
