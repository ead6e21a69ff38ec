// What dragonflies of both kinds share: which groups a way crosses, and what a description may say.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabricgroups.h"

#include <inttypes.h>

#include "ids.h"

uint32_t fabric_third_group(const struct sand_fabric *f, uint32_t from, uint32_t to, uint32_t path,
                            uint32_t a, uint32_t b)
{
    if (!(f->nonminimal > 0) || f->groups < 3 || a == b)
        return SAND_NONE;
    const uint64_t hash = fabric_hash(f, 4, from, to, path);
    if ((double)(hash >> 11) * 0x1p-53 >= f->nonminimal)
        return SAND_NONE;
    // The high bits said whether; the low ones say which, the two ends left out.
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    uint32_t third = (uint32_t)(hash & UINT32_MAX) % (f->groups - 2);
    third += third >= low;
    return third + (third >= high);
}

enum sand_rc fabric_check_groups(const struct sand_cluster *cluster, const char *what,
                                 uint32_t switches, struct sand_diag *diag)
{
    const struct sand_fabric_spec *s = &cluster->fabric;
    const struct sand_node_type *type = cluster->node_type;
    if (type == NULL || type->n_nics == 0 || type->n_gpus == 0 || cluster->n_nodes == 0 ||
        s->link == NULL || type->nic == NULL ||
        (type->scaleup != SAND_SCALEUP_NONE && type->scaleup_link == NULL))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": a %s needs nodes with GPUs, NICs and link types",
                         cluster->name, what);
    const uint64_t ports = (uint64_t)switches * s->global_links;
    if (s->groups > 1 && ports < s->groups - 1)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": %" PRIu32 " groups, but the %" PRIu64 " global links of "
                         "a group reach at most %" PRIu64 " others",
                         cluster->name, s->groups, ports, ports);
    if (!(s->nonminimal >= 0 && s->nonminimal <= 1))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": a share %g of the traffic goes over a third group; it is "
                         "0 to 1",
                         cluster->name, s->nonminimal);
    return SAND_OK;
}
