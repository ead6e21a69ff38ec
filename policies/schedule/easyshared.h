// schedule/easy where jobs of less than a node share nodes.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_POLICIES_SCHEDULE_EASYSHARED_H
#define SAND_POLICIES_SCHEDULE_EASYSHARED_H

#include <stddef.h>

#include "sandtable/policy.h"
#include "sharedplan.h"
#include "waitlist.h"

// One decision: heads in queue order while they fit, then those behind that leave the head its
// shadow time. Sizes in the list are GPUs. queue_depth 0: all. Answers as decide() does.
int sand_easy_shared_decide(const struct sandtable_host *host, struct sand_waitlist *waiting,
                            struct sand_shared_plan *plan, size_t queue_depth);

#endif
