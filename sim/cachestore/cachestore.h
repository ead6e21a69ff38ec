// Answers kept across processes and runs, in an LMDB environment of bounded size.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CACHESTORE_CACHESTORE_H
#define SAND_SIM_CACHESTORE_CACHESTORE_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"

enum { SAND_CACHE_KEY_SIZE = 32, SAND_CACHE_VALUE_MAX = 32768 };

// Bytes of the environment at most; three quarters of it hold answers, then all are dropped.
#define SAND_CACHE_LIMIT_B (UINT64_C(256) << 20)

// The store is never trusted and never needed. LMDB follows pointers inside its file, so a process
// of its own does that: whatever is wrong with the file, that process dies or hangs, and the store
// is given up with one warning. Every value carries a SHA-256 over its key and itself, checked in
// the asking process. No function here fails a run.
struct sand_cachestore;

// Opens the store in `dir` (made if missing; holds the environment "steps-1"), or returns NULL and
// adds one warning: no directory, no LMDB file, another program's or a truncated one, a network
// file system (LMDB's locks do not hold there). Any number of processes may have it open. Forks:
// call it before this process has threads. limit_B: SAND_CACHE_LIMIT_B but for tests; at least
// 10 MiB, so that a quarter of it holds two batches of the largest values.
struct sand_cachestore *sand_cachestore_open(const char *dir, uint64_t limit_B,
                                             struct sand_diag *diag);

// Copies the value kept under `key`, which must have exactly `size` bytes at most; *size becomes
// its length. Returns 0 if there is none. About 20 us.
int sand_cachestore_find(struct sand_cachestore *store, const uint8_t key[SAND_CACHE_KEY_SIZE],
                         void *value, size_t *size, struct sand_diag *diag);

// Keeps a value of at most SAND_CACHE_VALUE_MAX bytes; the first one kept under a key stays. Values
// are committed, and found, in batches, the last at close: a kill loses at most a batch.
void sand_cachestore_keep(struct sand_cachestore *store, const uint8_t key[SAND_CACHE_KEY_SIZE],
                          const void *value, size_t size, struct sand_diag *diag);

void sand_cachestore_close(struct sand_cachestore *store, struct sand_diag *diag); // NULL is fine

struct sand_cachestore_info {
    uint64_t entries, used_B, limit_B;
};

// Whether `dir` may have a store to open; unlike opening, makes nothing. 0: there is none.
int sand_cachestore_exists(const char *dir);

// What is kept. Returns 0, and a warning, when the store cannot be opened.
int sand_cachestore_info(struct sand_cachestore *store, struct sand_cachestore_info *info,
                         struct sand_diag *diag);

// Removes the environment of `dir`, whatever it contains and whoever uses it: they go on without.
// A directory without one is fine. SAND_ERR_IO.
enum sand_rc sand_cachestore_clear(const char *dir, struct sand_diag *diag);

#endif
