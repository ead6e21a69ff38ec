// SHA-256, from nettle.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <nettle/sha2.h>
#include <string.h>

#include "filegate.h"

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(struct sand_hash),
               "sand_hash is too small for this nettle");

static struct sha256_ctx load(const struct sand_hash *hash)
{
    struct sha256_ctx context;
    memcpy(&context, hash->opaque, sizeof context);
    return context;
}

static void store(struct sand_hash *hash, const struct sha256_ctx *context)
{
    memcpy(hash->opaque, context, sizeof *context);
}

void sand_hash_init(struct sand_hash *hash)
{
    struct sha256_ctx context;
    memset(hash, 0, sizeof *hash);
    sha256_init(&context);
    store(hash, &context);
}

void sand_hash_add(struct sand_hash *hash, const void *data, size_t size)
{
    struct sha256_ctx context = load(hash);
    sha256_update(&context, size, data);
    store(hash, &context);
}

void sand_hash_end(struct sand_hash *hash, uint8_t out[32])
{
    struct sha256_ctx context = load(hash);
    sha256_digest(&context, SHA256_DIGEST_SIZE, out);
    store(hash, &context);
}

void sand_hash_end_hex(struct sand_hash *hash, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[32];
    sand_hash_end(hash, bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[64] = '\0';
}

void sand_sha256_hex(const void *data, size_t size, char hex[65])
{
    struct sand_hash hash;
    sand_hash_init(&hash);
    sand_hash_add(&hash, data, size);
    sand_hash_end_hex(&hash, hex);
}
