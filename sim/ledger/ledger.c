// Exact accounting of GPU time.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "ledger.h"

#include "mem.h"

#ifdef SAND_HOSTILE
#undef NDEBUG // the hostile build is optimised and still checks
#include <assert.h>
#endif

struct group {
    uint64_t gpus;
    enum sand_gpu_class gpu_class;
    uint32_t next_free; // valid while dropped
    int dropped;
};

enum { NO_FREE_GROUP = -1 };

struct sand_ledger {
    uint64_t capacity;
    int64_t now_ns; // booked up to here
    uint64_t gpus[SAND_GPU_N_CLASSES];
    sand_gpu_ns booked[SAND_GPU_N_CLASSES];
    struct group *groups;
    size_t n_groups, groups_capacity;
    int64_t first_free; // NO_FREE_GROUP: none
    int broken;         // a precondition was violated
};

const char *sand_gpu_class_name(enum sand_gpu_class gpu_class)
{
    static const char *const names[SAND_GPU_N_CLASSES] = {
#define X(name, text, doc) [SAND_GPU_##name] = text,
        SAND_GPU_CLASSES(X)
#undef X
    };
    return (unsigned)gpu_class < SAND_GPU_N_CLASSES ? names[gpu_class] : "?";
}

static void check(const struct sand_ledger *ledger)
{
#ifdef SAND_HOSTILE
    assert(sand_ledger_balanced(ledger));
#else
    (void)ledger;
#endif
}

// Records a broken precondition; returns `holds`.
static int require(struct sand_ledger *ledger, int holds)
{
    if (!holds)
        ledger->broken = 1;
    return holds;
}

static int is_group(const struct sand_ledger *ledger, uint32_t group)
{
    return group < ledger->n_groups && !ledger->groups[group].dropped;
}

static int is_class(enum sand_gpu_class gpu_class)
{
    return (unsigned)gpu_class < SAND_GPU_N_CLASSES;
}

// Every class gets its GPUs x the time since the last booking. O(classes).
static void book_until(struct sand_ledger *ledger, int64_t now_ns)
{
    sand_gpu_ns elapsed = (sand_gpu_ns)now_ns - ledger->now_ns;
    if (elapsed == 0)
        return;
    for (unsigned c = 0; c < SAND_GPU_N_CLASSES; c++)
        ledger->booked[c] += elapsed * (sand_gpu_ns)ledger->gpus[c];
    ledger->now_ns = now_ns;
}

enum sand_rc sand_ledger_open(uint64_t capacity_gpus, struct sand_ledger **ledger)
{
    if (capacity_gpus > INT64_MAX) // x 2^63 ns must fit 127 bits
        return SAND_ERR_INPUT;
    struct sand_ledger *opened = sand_calloc(1, sizeof *opened);
    if (opened == NULL)
        return SAND_ERR_NOMEM;
    opened->first_free = NO_FREE_GROUP;
    uint32_t idle;
    enum sand_rc rc = sand_ledger_group(opened, SAND_GPU_IDLE, &idle);
    if (rc != SAND_OK) {
        sand_ledger_close(opened);
        return rc;
    }
    opened->capacity = capacity_gpus;
    opened->groups[idle].gpus = capacity_gpus;
    opened->gpus[SAND_GPU_IDLE] = capacity_gpus;
    check(opened);
    *ledger = opened;
    return SAND_OK;
}

void sand_ledger_close(struct sand_ledger *ledger)
{
    if (ledger == NULL)
        return;
    sand_free(ledger->groups);
    sand_free(ledger);
}

enum sand_rc sand_ledger_group(struct sand_ledger *ledger, enum sand_gpu_class gpu_class,
                               uint32_t *group)
{
    if (!require(ledger, is_class(gpu_class)))
        return SAND_ERR_INTERNAL;
    size_t index = (size_t)ledger->first_free;
    if (ledger->first_free == NO_FREE_GROUP) {
        index = ledger->n_groups;
        if (index >= UINT32_MAX)
            return SAND_ERR_NOMEM;
        void *groups = ledger->groups;
        SAND_TRY(sand_grow(&groups, &ledger->groups_capacity, index + 1, sizeof *ledger->groups));
        ledger->groups = groups;
        ledger->n_groups++;
    } else {
        uint32_t next = ledger->groups[index].next_free;
        ledger->first_free = next == UINT32_MAX ? NO_FREE_GROUP : (int64_t)next;
    }
    ledger->groups[index] = (struct group){.gpu_class = gpu_class};
    *group = (uint32_t)index;
    check(ledger);
    return SAND_OK;
}

void sand_ledger_drop(struct sand_ledger *ledger, uint32_t group)
{
    if (require(ledger, group != 0 && is_group(ledger, group) && ledger->groups[group].gpus == 0)) {
        ledger->groups[group].dropped = 1;
        ledger->groups[group].next_free =
            ledger->first_free == NO_FREE_GROUP ? UINT32_MAX : (uint32_t)ledger->first_free;
        ledger->first_free = group;
    }
    check(ledger);
}

void sand_ledger_move(struct sand_ledger *ledger, uint32_t from, uint32_t to, uint64_t gpus,
                      int64_t now_ns)
{
    if (require(ledger, now_ns >= ledger->now_ns && is_group(ledger, from) &&
                            is_group(ledger, to) && gpus <= ledger->groups[from].gpus)) {
        book_until(ledger, now_ns);
        struct group *source = &ledger->groups[from], *target = &ledger->groups[to];
        source->gpus -= gpus;
        target->gpus += gpus;
        ledger->gpus[source->gpu_class] -= gpus;
        ledger->gpus[target->gpu_class] += gpus;
    }
    check(ledger);
}

void sand_ledger_set(struct sand_ledger *ledger, uint32_t group, enum sand_gpu_class gpu_class,
                     int64_t now_ns)
{
    if (require(ledger,
                now_ns >= ledger->now_ns && is_group(ledger, group) && is_class(gpu_class))) {
        book_until(ledger, now_ns);
        struct group *g = &ledger->groups[group];
        ledger->gpus[g->gpu_class] -= g->gpus;
        ledger->gpus[gpu_class] += g->gpus;
        g->gpu_class = gpu_class;
    }
    check(ledger);
}

void sand_ledger_rebook(struct sand_ledger *ledger, enum sand_gpu_class from,
                        enum sand_gpu_class to, sand_gpu_ns amount)
{
    if (require(ledger, is_class(from) && is_class(to) && amount >= 0 &&
                            amount <= ledger->booked[is_class(from) ? from : 0])) {
        ledger->booked[from] -= amount;
        ledger->booked[to] += amount;
    }
    check(ledger);
}

void sand_ledger_settle(struct sand_ledger *ledger, int64_t now_ns)
{
    if (require(ledger, now_ns >= ledger->now_ns))
        book_until(ledger, now_ns);
    check(ledger);
}

sand_gpu_ns sand_ledger_booked(const struct sand_ledger *ledger, enum sand_gpu_class gpu_class)
{
    return is_class(gpu_class) ? ledger->booked[gpu_class] : 0;
}

uint64_t sand_ledger_gpus(const struct sand_ledger *ledger, uint32_t group)
{
    return is_group(ledger, group) ? ledger->groups[group].gpus : 0;
}

int sand_ledger_balanced(const struct sand_ledger *ledger)
{
    uint64_t by_class[SAND_GPU_N_CLASSES] = {0}, in_groups = 0;
    for (size_t i = 0; i < ledger->n_groups; i++) {
        by_class[ledger->groups[i].gpu_class] += ledger->groups[i].gpus;
        in_groups += ledger->groups[i].gpus;
    }
    sand_gpu_ns sum = 0;
    int sound = !ledger->broken && in_groups == ledger->capacity;
    for (unsigned c = 0; c < SAND_GPU_N_CLASSES; c++) {
        sound = sound && by_class[c] == ledger->gpus[c] && ledger->booked[c] >= 0;
        sum += ledger->booked[c];
    }
    return sound && sum == (sand_gpu_ns)ledger->capacity * ledger->now_ns;
}
