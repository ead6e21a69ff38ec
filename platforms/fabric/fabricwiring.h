// What every kind of fabric has to say about itself. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRICWIRING_H
#define SAND_PLATFORMS_FABRIC_FABRICWIRING_H

#include "fabric.h"

// The links of one class, all alike.
struct fabric_class {
    uint64_t n;
    double capacity_Bps;
};

struct fabric_wiring {
    // Checks the description, sets the kind's members of *fabric and its classes from LEAF_UP on;
    // NIC and scale-up classes are set before and may be changed.
    enum sand_rc (*shape)(const struct sand_cluster *cluster, struct sand_fabric *fabric,
                          struct fabric_class classes[SAND_LINK_CLASSES], struct sand_diag *diag);
    // The route of queue pair `path`, failures ignored; `attempt` < attempts(fabric) shifts the
    // choice among equal-cost paths. SAND_NONE if none is wired.
    uint32_t (*route)(const struct sand_fabric *fabric, uint32_t from, uint32_t to, uint32_t path,
                      uint32_t attempt, uint32_t links[SAND_ROUTE_MAX]);
    uint32_t (*attempts)(const struct sand_fabric *fabric);
    void (*ends)(const struct sand_fabric *fabric, uint32_t link, uint32_t ends[2]);
    uint32_t (*reverse)(const struct sand_fabric *fabric, uint32_t link);
    struct sand_fabric_owner (*owner)(const struct sand_fabric *fabric, uint32_t link);
    void (*name)(const struct sand_fabric *fabric, const struct sand_fabric_owner *owner,
                 char *buffer, size_t size);
    void (*count)(const struct sand_fabric *fabric, struct sand_fabric_counts *counts);
    void (*place)(const struct sand_fabric *fabric, uint32_t nic, uint32_t *leaf, uint32_t *pod);
    // Rates of the new links of a class that are not all alike; NULL: none.
    void (*rates)(const struct sand_cluster *cluster, struct sand_fabric *fabric);
};

struct fabric_shares;

extern const struct fabric_wiring fabric_tree, fabric_dragonfly_plus, fabric_dragonfly,
    fabric_torus, fabric_wired;

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t fabric_mix(uint64_t x);

// The hash by which a switch of `tier` picks a path for a queue pair.
uint64_t fabric_hash(const struct sand_fabric *fabric, uint32_t tier, uint32_t from, uint32_t to,
                     uint32_t path);

// Whether nothing on the way is down.
int fabric_route_works(const struct sand_fabric *fabric, const uint32_t *links, uint32_t n);

// A shortest route over what works; SAND_NONE if there is none. O(links).
uint32_t fabric_detour_find(const struct sand_fabric *fabric, uint32_t from, uint32_t to,
                            uint32_t links[SAND_ROUTE_MAX]);
void fabric_detour_free(struct fabric_detour *detour);
// Whether traffic between two NICs goes over the sender's scale-up domain: they are of two rails.
int fabric_relays(const struct sand_fabric *fabric, uint32_t from, uint32_t to);
// The way of a relay to the sender's NIC on the receiver's rail: writes 2 links. Returns that NIC.
uint32_t fabric_relay(const struct sand_fabric *fabric, uint32_t from, uint32_t to,
                      uint32_t *links);

// Of wired fabrics: cables that a link stands for, the link of cable k of all, the metres written
// down (0: none), a switch by its name.
uint32_t fabric_wired_cables(const struct sand_fabric *fabric, uint32_t link);
uint64_t fabric_wired_n_cables(const struct sand_fabric *fabric);
uint32_t fabric_wired_link_of_cable(const struct sand_fabric *fabric, uint64_t k);
double fabric_wired_length_m(const struct sand_fabric *fabric, uint32_t link);
uint32_t fabric_wired_switch_at(const struct sand_fabric *fabric, uint32_t tier, uint32_t index);
int fabric_wired_is_switch(const struct sand_fabric *fabric, const char *name, uint32_t *tier,
                           uint32_t *index);
// What goes with a switch of a wired fabric.
enum sand_rc fabric_wired_switch_shares(const struct sand_fabric *fabric, uint32_t tier,
                                        uint32_t index, struct fabric_shares *shares);
enum sand_rc fabric_add_share(struct fabric_shares *shares, uint32_t link, uint32_t paths);

// Prepares what ways around failures need; nothing to do if it is there.
enum sand_rc fabric_detour_open(struct sand_fabric *fabric, struct sand_diag *diag);

// Switches of a tier, all planes.
uint32_t fabric_tier_size(const struct sand_fabric *fabric, uint32_t tier);

// One of `paths` that make up a link.
struct fabric_share {
    uint32_t link, paths;
};
struct fabric_shares {
    struct fabric_share *items;
    size_t n, capacity;
};
// What goes with a switch; the detour is open.
enum sand_rc fabric_switch_shares(const struct sand_fabric *fabric, uint32_t tier, uint32_t index,
                                  struct fabric_shares *shares);

// "spine3": tier and number; 0 if it is no switch's name.
int fabric_is_switch(const struct sand_fabric *fabric, const char *part, uint32_t *tier,
                     uint32_t *index);
// A link by its name; SAND_NONE if there is none. O(links).
uint32_t fabric_find_link(const struct sand_fabric *fabric, const char *name);

// Lengths of cables from what is given or from where things stand, and the latencies of links.
// O(links).
enum sand_rc fabric_set_latencies(struct sand_fabric *fabric, const struct sand_cluster *cluster,
                                  struct sand_diag *diag);

// Applies the cluster's impaired parts to the new fabric. O(links) for each.
enum sand_rc fabric_impair(struct sand_fabric *fabric, const struct sand_cluster *cluster,
                           struct sand_diag *diag);

// A node-side link split into owner and port.
static inline struct sand_fabric_owner fabric_split(enum sand_link_class link_class, uint32_t index,
                                                    uint32_t per_owner)
{
    return (struct sand_fabric_owner){link_class, index / per_owner, index % per_owner, UINT32_MAX,
                                      0};
}

#endif
