// recover/spare and recover/wait on a cluster of 8 leaves of 2 nodes in pods of 2 leaves.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <string.h>

#include "builtin_recover.h"

enum { N_NODES = 16 };

static int remember_failure(const struct sandtable_host *host, const char *message)
{
    *(const char **)host->impl = message;
    return -1;
}

static const struct sandtable_recover *policy_of(const char *type)
{
    for (size_t i = 0; sand_builtin_recover[i] != NULL; i++) {
        if (strcmp(sand_builtin_recover[i]->type, type) == 0)
            return sand_builtin_recover[i];
    }
    cr_assert_fail("no built-in %s", type);
    return NULL;
}

static struct sandtable_recover_plan plan_with(const char *type,
                                               struct sandtable_recover_request request, int *rc)
{
    static struct sandtable_node nodes[N_NODES];
    for (uint32_t i = 0; i < N_NODES; i++)
        nodes[i] = (struct sandtable_node){.node = i, .leaf = i / 2, .pod = i / 4};
    const char *message = NULL;
    const struct sandtable_host host = {
        .struct_size = sizeof host, .impl = &message, .fail = remember_failure};
    const struct sandtable_recover *policy = policy_of(type);
    struct sandtable_recover_plan plan = {0};
    void *self = NULL;
    request.nodes = nodes;
    request.n_all = N_NODES;
    cr_assert_eq(policy->create(&host, &self), 0);
    *rc = policy->plan(self, &request, &plan);
    policy->destroy(self);
    cr_assert_eq(*rc != 0, message != NULL);
    return plan;
}

// What `type` does when node 5 has left, with the given spares and idle nodes.
#define PLAN(type, n_s, s, n_i, i)                                                                 \
    plan_with(type,                                                                                \
              (struct sandtable_recover_request){.failed_node = 5,                                 \
                                                 .must_replace = 1,                                \
                                                 .spares = s,                                      \
                                                 .n_spares = n_s,                                  \
                                                 .idle = i,                                        \
                                                 .n_idle = n_i},                                   \
              &(int){0})

static void takes(struct sandtable_recover_plan plan, uint32_t node)
{
    cr_assert_eq(plan.action, (uint32_t)SANDTABLE_RECOVER_REPLACE);
    cr_assert_eq(plan.node, node);
}

Test(recover, nothing_is_replaced_when_nothing_has_left)
{
    const uint32_t spares[] = {4};
    const char *const types[] = {"recover/spare", "recover/wait"};
    for (size_t i = 0; i < 2; i++) {
        int rc;
        const struct sandtable_recover_plan plan = plan_with(
            types[i],
            (struct sandtable_recover_request){.failed_node = 5, .spares = spares, .n_spares = 1},
            &rc);
        cr_assert_eq(rc, 0);
        cr_assert_eq(plan.action, (uint32_t)SANDTABLE_RECOVER_SAME);
    }
}

Test(recover, spare_prefers_leaf_then_pod_then_lowest_id)
{
    const uint32_t leaf[] = {0, 4, 6, 7}, pod[] = {0, 1, 6, 7}, far[] = {2, 8, 12};
    takes(PLAN("recover/spare", 4, leaf, 0, NULL), 4); // shares leaf 2
    takes(PLAN("recover/spare", 4, pod, 0, NULL), 6);  // shares pod 1
    takes(PLAN("recover/spare", 3, far, 0, NULL), 2);
}

Test(recover, spare_takes_a_far_hot_spare_before_a_near_idle_node)
{
    const uint32_t spares[] = {15}, idle[] = {4};
    takes(PLAN("recover/spare", 1, spares, 1, idle), 15);
    takes(PLAN("recover/spare", 0, NULL, 1, idle), 4);
}

Test(recover, spare_takes_the_repaired_node_back_before_its_neighbour)
{
    const uint32_t idle[] = {4, 5};
    takes(PLAN("recover/spare", 0, NULL, 2, idle), 5);
}

Test(recover, both_wait_when_there_is_nothing)
{
    cr_assert_eq(PLAN("recover/spare", 0, NULL, 0, NULL).action, (uint32_t)SANDTABLE_RECOVER_WAIT);
    cr_assert_eq(PLAN("recover/wait", 0, NULL, 0, NULL).action, (uint32_t)SANDTABLE_RECOVER_WAIT);
}

Test(recover, wait_takes_only_its_own_node)
{
    const uint32_t others[] = {4, 6, 7}, back[] = {4, 5, 6};
    cr_assert_eq(PLAN("recover/wait", 3, others, 3, others).action,
                 (uint32_t)SANDTABLE_RECOVER_WAIT);
    takes(PLAN("recover/wait", 0, NULL, 3, back), 5);
    takes(PLAN("recover/wait", 3, back, 0, NULL), 5);
}

Test(recover, spare_refuses_a_failed_node_that_does_not_exist)
{
    int rc;
    plan_with("recover/spare",
              (struct sandtable_recover_request){.failed_node = N_NODES, .must_replace = 1}, &rc);
    cr_assert_neq(rc, 0);
}
