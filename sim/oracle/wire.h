// Blocks of bytes over a socket, whole or not at all. Internal to sim/oracle.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_ORACLE_WIRE_H
#define SAND_SIM_ORACLE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "diag.h"

// What precedes a block. Both ends are one build, so structs travel as they are.
struct sand_wire_head {
    uint64_t magic, size; // of what follows
    uint32_t rc;          // answers: enum sand_rc; requests: 0
    uint32_t n_messages;  // of the diagnostics at the block's end
};

// A growing block.
struct sand_wire_block {
    char *bytes;
    size_t size, capacity;
};

// Sends or receives one block with its head; SAND_ERR_IO when the other end is gone,
// SAND_ERR_NOMEM. Never raises SIGPIPE; goes on after signals and short transfers. A receiver
// clears *block later.
enum sand_rc sand_wire_send(int fd, const struct sand_wire_head *head, const void *bytes);
enum sand_rc sand_wire_receive(int fd, struct sand_wire_head *head, struct sand_wire_block *block);

enum sand_rc sand_wire_append(struct sand_wire_block *block, const void *bytes, size_t size);
void sand_wire_clear(struct sand_wire_block *block);

// Diagnostics as bytes and back. Reading adds them to `diag`; SAND_ERR_INTERNAL if the bytes are no
// n messages.
enum sand_rc sand_wire_append_diag(struct sand_wire_block *block, const struct sand_diag *diag);
enum sand_rc sand_wire_read_diag(const char *bytes, size_t size, uint32_t n,
                                 struct sand_diag *diag);

#endif
