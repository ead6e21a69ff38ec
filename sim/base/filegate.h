// The one gate for files, so that I/O failure can be injected and nothing half-written stays.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_FILEGATE_H
#define SAND_SIM_BASE_FILEGATE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "diag.h"

// Reads a whole regular file (at most `limit` bytes) into *data (sand_free it), NUL-terminated.
enum sand_rc sand_file_read(const char *path, size_t limit, char **data, size_t *size,
                            struct sand_diag *diag);

// Writes `path`.part, fsyncs, renames to `path`, fsyncs the directory. On failure the .part is
// removed and an older `path` is untouched.
enum sand_rc sand_file_write(const char *path, const void *data, size_t size,
                             struct sand_diag *diag);

// The last step of sand_file_write for a writer of its own: fsync `part`, rename to `path`. A
// device, pipe or symbolic link at `path` is refused, not replaced; `part` is removed then.
enum sand_rc sand_file_commit(const char *part, const char *path, struct sand_diag *diag);

// Appends to `path` (made if missing) and fsyncs. A crash may leave the tail of a line: the reader
// must not take a last line without a newline for whole.
enum sand_rc sand_file_append(const char *path, const void *data, size_t size,
                              struct sand_diag *diag);

// A file without a name in `dir` (NULL: $TMPDIR, else /tmp), for what memory should not hold: gone
// once *fd is closed.
enum sand_rc sand_scratch_open(const char *dir, int *fd, struct sand_diag *diag);
enum sand_rc sand_scratch_append(int fd, const void *data, size_t size, struct sand_diag *diag);
// Reads exactly `size` bytes that were appended.
enum sand_rc sand_scratch_read(int fd, uint64_t offset, void *data, size_t size,
                               struct sand_diag *diag);

// Everything written to `out` is on its way, or SAND_ERR_IO with the system's reason; `what` was to
// be written. A stream whose buffer failed to go out earlier has lost that reason, so it is tried
// again.
enum sand_rc sand_stream_finish(FILE *out, const char *what, struct sand_diag *diag);

// Makes the directory and its parents. Existing is fine.
enum sand_rc sand_dir_make(const char *path, struct sand_diag *diag);

// Fault injection for tests: the n-th write or rename from now fails with `error_number` (ENOSPC);
// 0 = never.
void sand_file_fail_at(uint64_t n, int error_number);

// SHA-256 of a block as 64 hex digits and a NUL.
void sand_sha256_hex(const void *data, size_t size, char hex[65]);

// SHA-256 of a regular file, read piece by piece.
enum sand_rc sand_file_digest(const char *path, char hex[65], struct sand_diag *diag);

// Incremental SHA-256 for keys. Opaque storage, no allocation.
struct sand_hash {
    uint64_t opaque[32];
};
void sand_hash_init(struct sand_hash *hash);
void sand_hash_add(struct sand_hash *hash, const void *data, size_t size);
void sand_hash_end(struct sand_hash *hash, uint8_t out[32]);
void sand_hash_end_hex(struct sand_hash *hash, char hex[65]); // digits and a NUL

#endif
