// schedule/easy node by node: where jobs of less than a node share nodes, or ask for groups of
// nodes. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_SCHEDULE_EASYSHARED_H
#define SAND_POLICIES_SCHEDULE_EASYSHARED_H

#include <stddef.h>

#include "reservations.h"
#include "sandtable/policy.h"
#include "sharedplan.h"
#include "waitlist.h"

// Zero-initialise. What one reservation needs, or several.
struct sand_easy_shared {
    struct sand_shared_plan one;
    struct sand_reservations several;
};

struct sand_easy_shared_limits {
    size_t queue_depth, reservation_depth; // queue_depth 0: all
};

// One decision: heads in queue order while they fit, then those behind that delay no reservation.
// Sizes in the list are GPUs. Answers as decide() does.
int sand_easy_shared_decide(const struct sandtable_host *host, struct sand_waitlist *waiting,
                            struct sand_easy_shared *plan,
                            const struct sand_easy_shared_limits *limits);
void sand_easy_shared_free(struct sand_easy_shared *plan);

#endif
