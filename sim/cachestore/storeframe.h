// What the asking process and the store's process say to each other: one packet a frame.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CACHESTORE_STOREFRAME_H
#define SAND_SIM_CACHESTORE_STOREFRAME_H

#include <stdint.h>
#include <sys/types.h>

#include "cachestore.h"

enum sand_store_op {
    SAND_STORE_READY = 1, // answer: open; or refused with a text
    SAND_STORE_FIND,      // request and answer
    SAND_STORE_KEEP,      // request without an answer
    SAND_STORE_INFO,      // request and answer
    SAND_STORE_BYE        // answer: the last words
};

struct sand_store_frame {
    uint32_t op;     // enum sand_store_op
    uint32_t status; // answers: 1 found or done, 0 not
    uint32_t size;   // bytes of `bytes` that count
    uint8_t key[SAND_CACHE_KEY_SIZE];
    uint8_t check[32]; // of key and value
    char
        bytes[SAND_CACHE_VALUE_MAX]; // a value, a text with its NUL, or struct sand_cachestore_info
};

// One packet, whole or not at all; 0 on failure, also after the socket's time-out.
int sand_store_send(int fd, const struct sand_store_frame *frame);
int sand_store_receive(int fd, struct sand_store_frame *frame);

// The store's process: serves `fd` until its end or the asker's, on the environment in `path`.
_Noreturn void sand_store_serve(int fd, pid_t asker, const char *path, uint64_t limit_B);

#endif
