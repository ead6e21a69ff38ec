// Shards on disk and the journal that commits them.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "shards.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "filegate.h"

// Far above any journal or shard: the limit only guards against reading something else.
enum { MAX_JOURNAL = 1 << 28 };

// ---- the directory
// --------------------------------------------------------------------------------

static enum sand_rc no_memory(struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
}

// The output directory itself is locked, for it outlives every run in it. The lock goes with the
// process that holds it, however that dies. File systems without locks (some network ones) work
// unlocked.
static enum sand_rc lock_dir(struct sand_shards *shards, const char *out_dir,
                             struct sand_diag *diag)
{
    shards->lock = open(out_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (shards->lock < 0)
        return sand_fail(diag, SAND_ERR_IO, "%s: cannot open: %s", out_dir, strerror(errno));
    if (flock(shards->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return SAND_OK;
    return sand_fail(diag, SAND_ERR_IO,
                     "%s: is in use by another run; wait for it, or choose another directory",
                     out_dir);
}

enum sand_rc sand_shards_open(struct sand_shards *shards, const char *out_dir, const char *digest,
                              const char *physics, struct sand_diag *diag)
{
    *shards = (struct sand_shards){.digest = digest, .physics = physics, .lock = -1};
    shards->dir = sand_arena_printf(&shards->arena, "%s/units", out_dir);
    shards->journal = sand_arena_printf(&shards->arena, "%s/units/journal", out_dir);
    if (!shards->dir || !shards->journal)
        return no_memory(diag);
    SAND_TRY(sand_dir_make(out_dir, diag));
    SAND_TRY(lock_dir(shards, out_dir, diag));
    return sand_dir_make(shards->dir, diag);
}

const char *sand_shard_path(struct sand_shards *shards, uint32_t replication)
{
    return sand_arena_printf(&shards->arena, "%s/unit-%" PRIu32 ".h5", shards->dir, replication);
}

enum sand_rc sand_shard_digest(const char *path, char hex[65], struct sand_diag *diag)
{
    return sand_file_digest(path, hex, diag);
}

// Replication of "unit-<r>.h5" (and of its .part), -1 for any other name.
static long long replication_of(const char *name)
{
    unsigned long long number = 0;
    int length = 0;
    if (sscanf(name, "unit-%9llu.h5%n", &number, &length) != 1 || length == 0)
        return -1;
    return name[length] == '\0' || strcmp(name + length, ".part") == 0 ? (long long)number : -1;
}

// Removes every shard file that is not committed; NULL: all of them.
static void remove_shards(const struct sand_shards *shards, uint32_t first, uint32_t n,
                          const unsigned char *committed)
{
    DIR *dir = opendir(shards->dir);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        long long r = replication_of(entry->d_name);
        if (r < 0)
            continue;
        int part = strstr(entry->d_name, ".part") != NULL;
        int mine = committed && r >= first && r < (long long)first + n;
        if (part || !mine || !committed[r - first])
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
}

// ---- the journal
// ---------------------------------------------------------------------------------- One line per
// committed unit:  unit <replication> digest <hex> physics <version> shard <hex>

struct line {
    uint32_t replication;
    char digest[65], physics[32], shard[65];
};

static int parse_line(const char *text, struct line *line)
{
    int length = 0;
    int n = sscanf(text, "unit %" SCNu32 " digest %64s physics %31s shard %64s%n",
                   &line->replication, line->digest, line->physics, line->shard, &length);
    return n == 4 && length > 0 && text[length] == '\0';
}

static char *print_line(struct sand_arena *arena, const struct sand_shards *shards,
                        uint32_t replication, const char *shard)
{
    return sand_arena_printf(arena, "unit %" PRIu32 " digest %s physics %s shard %s\n", replication,
                             shards->digest, shards->physics, shard);
}

// 1 if the line stands for this input and the shard has the bytes that were committed.
static int line_holds(struct sand_shards *shards, const struct line *line)
{
    char hex[65];
    if (strcmp(line->digest, shards->digest) != 0 || strcmp(line->physics, shards->physics) != 0)
        return 0;
    const char *path = sand_shard_path(shards, line->replication);
    return path && sand_shard_digest(path, hex, NULL) == SAND_OK && strcmp(hex, line->shard) == 0;
}

// Reads the whole lines of `text` (which is cut up); a last line without newline is a torn one.
// Appends the lines that hold to `kept`.
static void read_lines(struct sand_shards *shards, char *text, uint32_t first, uint32_t n,
                       unsigned char *committed, FILE *kept)
{
    for (char *end; (end = strchr(text, '\n')); text = end + 1) {
        struct line line;
        *end = '\0';
        if (!parse_line(text, &line) || line.replication < first || line.replication - first >= n)
            continue;
        if (committed[line.replication - first] || !line_holds(shards, &line))
            continue;
        committed[line.replication - first] = 1;
        fprintf(kept, "%s\n", text);
    }
}

static enum sand_rc rewrite_journal(struct sand_shards *shards, char *old, uint32_t first,
                                    uint32_t n, unsigned char *committed, struct sand_diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    FILE *kept = open_memstream(&text, &size);
    if (!kept)
        return no_memory(diag);
    if (old)
        read_lines(shards, old, first, n, committed, kept);
    enum sand_rc rc = fclose(kept) == 0 ? SAND_OK : no_memory(diag);
    if (rc == SAND_OK)
        rc = sand_file_write(shards->journal, text, size, diag);
    free(text); // open_memstream's own
    return rc;
}

enum sand_rc sand_shards_foreign(const struct sand_shards *shards, size_t *n,
                                 struct sand_diag *diag)
{
    char *text = NULL;
    size_t size;
    *n = 0;
    if (access(shards->journal, F_OK) != 0)
        return SAND_OK;
    SAND_TRY(sand_file_read(shards->journal, MAX_JOURNAL, &text, &size, diag));
    char *at = text;
    for (char *end; (end = strchr(at, '\n')); at = end + 1) {
        struct line line;
        *end = '\0';
        *n += parse_line(at, &line) && (strcmp(line.digest, shards->digest) != 0 ||
                                        strcmp(line.physics, shards->physics) != 0);
    }
    sand_free(text);
    return SAND_OK;
}

enum sand_rc sand_shards_reuse(struct sand_shards *shards, uint32_t first, uint32_t n,
                               unsigned char *committed, struct sand_diag *diag)
{
    char *old = NULL;
    size_t size;
    memset(committed, 0, n);
    if (access(shards->journal, F_OK) == 0)
        SAND_TRY(sand_file_read(shards->journal, MAX_JOURNAL, &old, &size, diag));
    enum sand_rc rc = rewrite_journal(shards, old, first, n, committed, diag);
    sand_free(old);
    if (rc == SAND_OK)
        remove_shards(shards, first, n, committed);
    return rc;
}

enum sand_rc sand_shards_commit(const struct sand_shards *shards, uint32_t replication,
                                const char *shard_digest, struct sand_diag *diag)
{
    struct sand_arena arena = {0};
    char *line = print_line(&arena, shards, replication, shard_digest);
    enum sand_rc rc =
        line ? sand_file_append(shards->journal, line, strlen(line), diag) : no_memory(diag);
    sand_arena_clear(&arena);
    return rc;
}

void sand_shards_remove(struct sand_shards *shards)
{
    remove_shards(shards, 0, 0, NULL);
    unlink(shards->journal);
    rmdir(shards->dir);
}

void sand_shards_close(struct sand_shards *shards)
{
    if (shards->lock >= 0)
        close(shards->lock);
    sand_arena_clear(&shards->arena);
    *shards = (struct sand_shards){.lock = -1};
}
