// Hostlists as Slurm and pdsh write them: "tux[0-3,12],login" stands for six names.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_IMPORT_HOSTLIST_H
#define SAND_PLATFORMS_IMPORT_HOSTLIST_H

#include <stddef.h>

#include "mem.h"

enum {
    SAND_HOSTLIST_MAX = 1000000,  // names
    SAND_HOSTLIST_MAX_NAME = 255, // bytes of a name
    SAND_HOSTLIST_MAX_DEPTH = 8   // brackets in brackets
};

struct sand_hostlist {
    const char **names; // in the order written; owned by the arena, like the names
    size_t n;
};

// Expands `text`:
//   list  = item { "," item }
//   item  = part { part }            a name of at least one byte
//   part  = literal | "[" entry { "," entry } "]"
//   entry = number [ "-" number [ ( ":" | "/" ) number ] ] | item    (brackets may nest:
//   n[0-1,a[2-3]])
// A range keeps the width of its first number ("08-10": 08, 09, 10) and may have a step, as
// ClusterShell writes it ("0-6/2": 0, 2, 4, 6). Several brackets multiply, the
// last turning fastest. Literals are any bytes but blanks, control characters and "[],". Refused
// with a clause in `why` that completes 'hostlist "x" ...': anything else, ranges that fall, and
// more than the bounds above. O(bytes of the answer).
enum sand_rc sand_hostlist_expand(const char *text, struct sand_arena *arena,
                                  struct sand_hostlist *list, char *why, size_t why_size);

#endif
