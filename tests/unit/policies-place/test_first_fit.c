// place/first-fit: lowest free ids, ascending, or no place.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>

#include "builtin_place.h"

static const uint32_t allowed[] = {1, 4, 5, 9};

// Asks for n nodes of the four allowed ones. The answer goes to out, whose rest is left alone.
static int place(uint32_t n, uint32_t out[5])
{
    const struct sandtable_place *policy = sand_builtin_place[0];
    const struct sandtable_place_request request = {
        .job = 0, .n_nodes = n, .allowed = allowed, .n_allowed = 4};
    void *self = NULL;
    int found = -1;
    for (size_t i = 0; i < 5; i++)
        out[i] = SANDTABLE_NONE;
    cr_assert_eq(policy->create(NULL, &self), 0);
    cr_assert_eq(policy->place(self, &request, out, &found), 0);
    policy->destroy(self);
    return found;
}

Test(first_fit, takes_the_lowest_free_ids_in_order)
{
    uint32_t out[5];
    cr_assert_eq(place(3, out), 1);
    cr_assert_eq(out[0], 1u);
    cr_assert_eq(out[1], 4u);
    cr_assert_eq(out[2], 5u);
    cr_assert_eq(out[3], SANDTABLE_NONE); // not a node more
}

Test(first_fit, fits_exactly_and_not_one_more)
{
    uint32_t out[5];
    cr_assert_eq(place(4, out), 1);
    cr_assert_eq(out[3], 9u);
    cr_assert_eq(place(5, out), 0);
    cr_assert_eq(out[0], SANDTABLE_NONE);
}
