// Answers by the digest of their problem, in a hash table. Nothing walks it in its order but
// freeing. SPDX-License-Identifier: GPL-2.0-or-later
#include "memo.h"

#include <string.h>

#include "mem.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) sand_calloc(1, size)
#define uthash_free(block, size) sand_free(block)
#define uthash_nonfatal_oom(entry) ((entry)->refused = 1)
#include <uthash.h>

struct sand_memo_entry {
    uint8_t digest[32];
    int refused; // the table had no memory for it
    UT_hash_handle hh;
    size_t size;
    unsigned char answer[];
};

const void *sand_memo_find(const struct sand_memo *memo, const uint8_t digest[32], size_t *size)
{
    struct sand_memo_entry *found = NULL;
    HASH_FIND(hh, memo->table, digest, sizeof found->digest, found);
    if (!found)
        return NULL;
    *size = found->size;
    return found->answer;
}

enum sand_rc sand_memo_keep(struct sand_memo *memo, const uint8_t digest[32], const void *answer,
                            size_t size)
{
    struct sand_memo_entry *entry = sand_calloc(1, sizeof *entry + size);
    if (!entry)
        return SAND_ERR_NOMEM;
    memcpy(entry->digest, digest, sizeof entry->digest);
    entry->size = size;
    memcpy(entry->answer, answer, size);
    HASH_ADD(hh, memo->table, digest, sizeof entry->digest, entry);
    if (!entry->refused)
        return SAND_OK;
    sand_free(entry);
    return SAND_ERR_NOMEM;
}

void sand_memo_clear(struct sand_memo *memo)
{
    struct sand_memo_entry *entry, *next;
    HASH_ITER(hh, memo->table, entry, next)
    {
        HASH_DELETE(hh, memo->table, entry);
        sand_free(entry);
    }
}
