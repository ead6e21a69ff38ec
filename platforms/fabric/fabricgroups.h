// The cables between the groups of dragonflies of both kinds. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRICGROUPS_H
#define SAND_PLATFORMS_FABRIC_FABRICGROUPS_H

#include "fabricwiring.h"

// Any two of g groups are joined by m = group_links cables. Port q < m (g - 1) of a group leads to
// the group q mod (g - 1) + 1 further on and belongs to switch q / global_links of the group.
static inline uint32_t fabric_group_ports(const struct sand_fabric *f)
{
    return f->group_links * (f->groups - 1);
}

// The port of `group` for cable `copy` to `other`.
static inline uint32_t fabric_port_to(const struct sand_fabric *f, uint32_t group, uint32_t other,
                                      uint32_t copy)
{
    const uint32_t offset = (other + f->groups - group) % f->groups;
    return copy * (f->groups - 1) + offset - 1;
}

// Where global port `port` of `group` leads.
static inline void fabric_far_end(const struct sand_fabric *f, uint32_t group, uint32_t port,
                                  uint32_t *other, uint32_t *other_port)
{
    *other = (group + port % (f->groups - 1) + 1) % f->groups;
    *other_port = fabric_port_to(f, *other, group, port / (f->groups - 1));
}

// The group over which queue pair `path` goes from group `a` to group `b`: SAND_NONE if it goes
// straight, else one that the pair's hash picks among all others (Valiant, "A scheme for fast
// parallel communication", SIAM J. Comput. 11, 1982). A share `nonminimal` of all goes so.
uint32_t fabric_third_group(const struct sand_fabric *fabric, uint32_t from, uint32_t to,
                            uint32_t path, uint32_t a, uint32_t b);

// What of a description the two kinds check alike: their nodes, groups and non-minimal routing.
// `switches` of a group have `global_links` each.
enum sand_rc fabric_check_groups(const struct sand_cluster *cluster, const char *what,
                                 uint32_t switches, struct sand_diag *diag);

#endif
