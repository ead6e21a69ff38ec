// One unit of the pool that runs replications, without a shard.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "clichild.h"

#include "pool.h"

struct task {
    enum sand_rc (*work)(void *self, struct sand_diag *diag);
    void *self;
};

static void body(void *self, uint32_t number, struct sand_unit_outbox *outbox,
                 struct sand_unit_answer *answer, struct sand_diag *diag)
{
    const struct task *task = self;
    (void)number;
    (void)outbox;
    answer->rc = task->work(task->self, diag);
}

static enum sand_rc commit(void *self, const struct sand_unit *unit, struct sand_diag *diag)
{
    (void)self;
    (void)unit;
    (void)diag;
    return SAND_OK;
}

enum sand_rc sand_cli_in_child(enum sand_rc (*work)(void *self, struct sand_diag *diag), void *self,
                               const char *who, struct sand_diag *diag)
{
    struct task task = {work, self};
    struct sand_unit unit = {.state = SAND_UNIT_PENDING};
    struct sand_pool pool = {.units = &unit,
                             .n_units = 1,
                             .jobs = 1,
                             .body = body,
                             .commit = commit,
                             .self = &task,
                             .plugins = who};
    enum sand_rc rc = sand_pool_run(&pool, diag);
    const struct sand_diag *told = &unit.inbox.diag;
    if (rc == SAND_OK)
        rc = pool.interrupted ? SAND_ERR_UNIT : unit.rc;
    for (size_t i = 0; i < told->n_messages; i++)
        sand_diag_add(diag, told->messages[i].severity, told->messages[i].file,
                      told->messages[i].line, "%s",
                      told->messages[i].text ? told->messages[i].text : "");
    sand_unit_inbox_clear(&unit.inbox);
    return rc;
}
