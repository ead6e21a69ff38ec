// The only writer of GPU-time classes: every GPU-nanosecond is in exactly one, and they sum to
// capacity x time exactly.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_LEDGER_LEDGER_H
#define SAND_SIM_LEDGER_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "rc.h"

// X(enum, name, what it means)
#define SAND_GPU_CLASSES(X)                                                                        \
    X(USEFUL, "useful", "steps that a durable checkpoint, or the job's end, has made safe")        \
    X(SLOWDOWN, "slowdown", "steps slower than on a healthy placement: the excess")                \
    X(AT_RISK, "at risk", "steps since the last durable checkpoint")                               \
    X(LOST, "lost", "steps a fault has undone")                                                    \
    X(CHECKPOINT_STALL, "checkpoint stall", "standing still for a save")                           \
    X(DATA_STALL, "data stall", "waiting for training data")                                       \
    X(DETECTING, "detecting", "broken, nobody has noticed")                                        \
    X(DIAGNOSING, "diagnosing", "noticed, looking for the culprit")                                \
    X(RESTARTING, "restarting", "processes and communicators coming up")                           \
    X(RESTORING, "restoring", "reading a checkpoint back")                                         \
    X(WAITING, "waiting for nodes", "a job holding its nodes until the missing ones come")         \
    X(HELD, "held", "reserved for a waiting job")                                                  \
    X(SPARE, "spare", "healthy, set apart for recovery")                                           \
    X(IDLE, "idle", "healthy, on a node without jobs")                                             \
    X(FRAGMENT, "fragment", "idle, on a node that jobs hold in part")                              \
    X(DRAINED, "drained", "healthy or not, taken out on purpose")                                  \
    X(DOWN, "down", "failed or in repair")                                                         \
    X(UNDELIVERED, "undelivered", "not there yet, or no longer")

enum sand_gpu_class {
#define X(name, text, doc) SAND_GPU_##name,
    SAND_GPU_CLASSES(X)
#undef X
        SAND_GPU_N_CLASSES
};
const char *sand_gpu_class_name(enum sand_gpu_class gpu_class);

// GPU-nanoseconds: 131,072 GPUs for a year are 4e21, past 64 bits.
__extension__ typedef __int128 sand_gpu_ns;
static inline double sand_gpu_s(sand_gpu_ns amount)
{
    return (double)amount / 1e9;
}

struct sand_ledger;

// Opens at date 0 with every GPU in class IDLE, in group 0.
enum sand_rc sand_ledger_open(uint64_t capacity_gpus, struct sand_ledger **ledger);
void sand_ledger_close(struct sand_ledger *ledger);

// A group is a number of GPUs that are in the same class at the same time (a job's nodes, the
// spares). New groups are empty. Group 0 is the idle pool. O(1) each; dates never go back.
enum sand_rc sand_ledger_group(struct sand_ledger *ledger, enum sand_gpu_class gpu_class,
                               uint32_t *group);
void sand_ledger_move(struct sand_ledger *ledger, uint32_t from, uint32_t to, uint64_t gpus,
                      int64_t now_ns);
void sand_ledger_set(struct sand_ledger *ledger, uint32_t group, enum sand_gpu_class gpu_class,
                     int64_t now_ns);

// Gives an empty group back; its number is used again. The idle pool stays.
void sand_ledger_drop(struct sand_ledger *ledger, uint32_t group);

// Moves an amount already booked from one class to another (at risk -> useful on a commit, at
// risk -> lost on a fault, at risk -> slowdown). The amount must have been booked: call
// sand_ledger_settle first.
void sand_ledger_rebook(struct sand_ledger *ledger, enum sand_gpu_class from,
                        enum sand_gpu_class to, sand_gpu_ns amount);

// Books everything up to now.
void sand_ledger_settle(struct sand_ledger *ledger, int64_t now_ns);

// Booked so far (settle first for a date's figures).
sand_gpu_ns sand_ledger_booked(const struct sand_ledger *ledger, enum sand_gpu_class gpu_class);
uint64_t sand_ledger_gpus(const struct sand_ledger *ledger, uint32_t group);

// 1 if groups hold exactly the capacity, no class is negative, the classes sum to capacity x
// settled time, and no call broke a precondition (a date before the last one, an unknown group or
// class, more GPUs than the group has, more than was booked, a group dropped that is not empty):
// such a call changes nothing and leaves the ledger unbalanced for good. The hostile build asserts
// this after every call. O(groups).
int sand_ledger_balanced(const struct sand_ledger *ledger);

#endif
