// place/first-fit: the free nodes with the lowest ids.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandtable/policy.h"

#include <string.h>

static int first_fit_create(const struct sandtable_host *host, void **self)
{
    (void)host;
    *self = NULL; // remembers nothing
    return 0;
}

static int first_fit_place(void *self, const struct sandtable_place_request *request, uint32_t *out,
                           int *found)
{
    (void)self;
    *found = request->n_nodes <= request->n_allowed;
    if (*found && request->n_nodes > 0)
        memcpy(out, request->allowed, request->n_nodes * sizeof *out);
    return 0;
}

static void first_fit_destroy(void *self)
{
    (void)self;
}

const struct sandtable_place sand_place_first_fit = {
    .struct_size = sizeof(struct sandtable_place),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "place/first-fit",
    .version = "1.0",
    .summary = "the nodes with the lowest ids that have room, in ascending order",
    .create = first_fit_create,
    .place = first_fit_place,
    .destroy = first_fit_destroy,
};
