// The directory of shards and its journal: which run units are committed, and for what input.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SWEEP_SHARDS_H
#define SAND_SIM_SWEEP_SHARDS_H

#include <stdint.h>

#include "diag.h"
#include "mem.h"

struct sand_shards {
    struct sand_arena arena; // paths
    const char *dir, *journal;
    const char *digest;  // of the experiment, 64 hex digits
    const char *physics; // physics version
    int lock;            // descriptor of the locked directory, -1: none
};

// Makes out_dir/units and locks out_dir for this process: SAND_ERR_IO if another run holds it.
enum sand_rc sand_shards_open(struct sand_shards *shards, const char *out_dir, const char *digest,
                              const char *physics, struct sand_diag *diag);

// Path of a unit's shard, NULL when out of memory; owned by `shards`.
const char *sand_shard_path(struct sand_shards *shards, uint32_t replication);

// SHA-256 of a shard file.
enum sand_rc sand_shard_digest(const char *path, char hex[65], struct sand_diag *diag);

// Counts the journal's units of another digest or physics version: somebody's work that
// sand_shards_reuse would drop.
enum sand_rc sand_shards_foreign(const struct sand_shards *shards, size_t *n,
                                 struct sand_diag *diag);

// Sets committed[r - first] to 1 for every unit whose journal line has this digest and physics
// version and whose shard still has the bytes it was committed with. Removes every other shard and
// writes the journal anew without other lines.
enum sand_rc sand_shards_reuse(struct sand_shards *shards, uint32_t first, uint32_t n,
                               unsigned char *committed, struct sand_diag *diag);

// Commits a unit: one line, synced.
enum sand_rc sand_shards_commit(const struct sand_shards *shards, uint32_t replication,
                                const char *shard_digest, struct sand_diag *diag);

// Removes shards, journal and directory. What we did not write stays.
void sand_shards_remove(struct sand_shards *shards);

void sand_shards_close(struct sand_shards *shards);

#endif
