// The health of a fabric in time: parts that go down, slow down, lose packets, and come back.
// What it was built as, `impaired` parts included, is what it goes back to.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_FABRIC_FABRICHEALTH_H
#define SAND_PLATFORMS_FABRIC_FABRICHEALTH_H

#include "fabric.h"
#include "faultspec.h"

// A cable, both directions (one of those in a bundle), or a switch.
struct sand_fabric_part {
    enum sand_part_kind kind; // NIC: its cable; LINK: between switches; LEAF, SPINE, CORE
    uint32_t index;           // link (of a cable: the lower of its two), or switch of the tier
};

// How many parts of a kind there are; cables in bundles count each. 0: the fabric has none.
uint64_t sand_fabric_n_parts(const struct sand_fabric *fabric, enum sand_part_kind kind);
// Part number k < n_parts. O(1).
struct sand_fabric_part sand_fabric_part_at(const struct sand_fabric *fabric,
                                            enum sand_part_kind kind, uint64_t k);
// A part by its name, "spine3" or a link's; of another kind than `kind`: SAND_ERR_INPUT,
// saying what such names look like. O(links).
enum sand_rc sand_fabric_part_find(const struct sand_fabric *fabric, enum sand_part_kind kind,
                                   const char *name, struct sand_fabric_part *part,
                                   struct sand_diag *diag);
// "spine3", "leaf3-spine1 up"; 64 bytes hold every name. Returns buffer.
char *sand_fabric_part_name(const struct sand_fabric *fabric, const struct sand_fabric_part *part,
                            char *buffer, size_t size);

// A part that is not as built.
struct sand_fabric_ailment {
    struct sand_fabric_part part;
    double speed; // of its rate; 0: down. Switches: only 0
    double loss;  // packets lost on it, 0..1
};

struct sand_fabric_health;

// Keeps what `fabric` is now; it must outlive the health. loss_window: as of the description.
enum sand_rc sand_fabric_health_open(struct sand_fabric *fabric, double loss_window,
                                     struct sand_fabric_health **health, struct sand_diag *diag);
void sand_fabric_health_close(struct sand_fabric_health *health);

// From now on exactly these parts ail. A cable in a bundle of n takes 1/n of it (a lossy one loses
// 1/n of the bundle's packets), several add up, a bundle with nothing left is down. O(links of
// the parts).
enum sand_rc sand_fabric_health_set(struct sand_fabric_health *health,
                                    const struct sand_fabric_ailment *ailments, size_t n,
                                    struct sand_diag *diag);

// Links of a part, ascending, both directions: until the next call of this health.
enum sand_rc sand_fabric_health_links(struct sand_fabric_health *health,
                                      const struct sand_fabric_part *part, const uint32_t **links,
                                      size_t *n);

#endif
