// Parts that ail for a time: which links they are, and what is left of these.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "fabrichealth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricgraph.h"
#include "fabricwiring.h"
#include "ids.h"
#include "mem.h"

// What ails a link: the share of its capacity that is gone, the packets lost on it.
struct strain {
    uint32_t link;
    double gone, loss;
};

struct sand_fabric_health {
    struct sand_fabric *fabric;
    struct sand_fabric_link *built; // as it was at the beginning
    double loss_window;
    struct fabric_shares shares; // scratch: of one part
    struct strain *strains;      // scratch
    size_t strains_capacity;
    uint32_t *ailing, *part_links;
    size_t n_ailing, ailing_capacity, part_capacity;
};

// ---- parts --------------------------------------------------------------------------------------

// Cables that one link of a class stands for, where all are alike.
static uint32_t cables_of_class(const struct sand_fabric *f, enum sand_link_class link_class)
{
    const uint32_t planes = f->link_planes == f->n_planes ? 1 : f->n_planes;
    uint32_t n = 1;
    if (link_class == SAND_LINK_NIC_UP || link_class == SAND_LINK_NIC_DOWN)
        n = planes * f->nic_ports;
    else if (link_class == SAND_LINK_LEAF_UP || link_class == SAND_LINK_LEAF_DOWN)
        n = f->leaf_trunks > 0 ? planes * f->leaf_up_ports / f->leaf_trunks : 1;
    else if ((link_class == SAND_LINK_SPINE_UP || link_class == SAND_LINK_SPINE_DOWN) &&
             sand_fabric_is_aggregate(f))
        n = planes * f->spine_up_ports * f->spines_per_pod;
    else if (link_class == SAND_LINK_SPINE_UP || link_class == SAND_LINK_SPINE_DOWN)
        n = f->spine_trunks > 0 ? f->spine_up_ports / f->spine_trunks : 1;
    else if (link_class == SAND_LINK_GLOBAL && sand_fabric_is_aggregate(f))
        n = f->group_links;
    return n > 0 ? n : 1;
}

// Cables that a link stands for.
static uint32_t cables_of(const struct sand_fabric *f, uint32_t link)
{
    const enum sand_link_class link_class = (enum sand_link_class)f->links[link].link_class;
    return f->graph && link_class > SAND_LINK_NIC_DOWN ? fabric_wired_cables(f, link)
                                                       : cables_of_class(f, link_class);
}

static uint64_t links_of(const struct sand_fabric *f, enum sand_link_class link_class)
{
    const uint32_t next =
        link_class + 1u < SAND_LINK_CLASSES ? f->first[link_class + 1] : f->n_links;
    return next - f->first[link_class];
}

// Classes whose links are cables between switches, one direction of each where they have two.
static const enum sand_link_class between[] = {SAND_LINK_LEAF_UP, SAND_LINK_SPINE_UP,
                                               SAND_LINK_LOCAL, SAND_LINK_GLOBAL, SAND_LINK_TORUS};
enum { N_BETWEEN = sizeof between / sizeof between[0] };

// Both directions of these are of one class.
static int is_paired(enum sand_link_class link_class)
{
    return link_class >= SAND_LINK_LOCAL;
}

uint64_t sand_fabric_n_parts(const struct sand_fabric *f, enum sand_part_kind kind)
{
    uint64_t n = 0;
    switch (kind) {
    case SAND_KIND_NIC:
        return links_of(f, SAND_LINK_NIC_UP) * cables_of_class(f, SAND_LINK_NIC_UP);
    case SAND_KIND_LINK:
        if (f->graph)
            return fabric_wired_n_cables(f);
        for (int i = 0; i < N_BETWEEN; i++)
            n += links_of(f, between[i]) * cables_of_class(f, between[i]) /
                 (is_paired(between[i]) ? 2 : 1);
        return n;
    case SAND_KIND_LEAF:
    case SAND_KIND_SPINE:
    case SAND_KIND_CORE:
        return fabric_tier_size(f, (uint32_t)(kind - SAND_KIND_LEAF));
    default:
        return 0;
    }
}

static uint32_t lower_of(const struct sand_fabric *f, uint32_t link)
{
    const uint32_t other = sand_fabric_reverse(f, link);
    return other < link ? other : link;
}

// Of a class with two directions, every cable is hit by two numbers out of twice as many.
struct sand_fabric_part sand_fabric_part_at(const struct sand_fabric *f, enum sand_part_kind kind,
                                            uint64_t k)
{
    struct sand_fabric_part part = {kind, (uint32_t)k};
    if (kind == SAND_KIND_NIC)
        part.index =
            f->first[SAND_LINK_NIC_UP] + (uint32_t)(k / cables_of_class(f, SAND_LINK_NIC_UP));
    if (kind == SAND_KIND_LINK && f->graph) {
        part.index = fabric_wired_link_of_cable(f, k);
        return part;
    }
    for (int i = 0; kind == SAND_KIND_LINK && i < N_BETWEEN; i++) {
        const uint64_t share = is_paired(between[i]) ? 2 : 1;
        const uint32_t cables = cables_of_class(f, between[i]);
        const uint64_t n = links_of(f, between[i]) * cables / share;
        if (k < n) {
            part.index = lower_of(f, f->first[between[i]] + (uint32_t)(k * share / cables));
            break;
        }
        k -= n;
    }
    return part;
}

static int has_class(enum sand_part_kind kind, unsigned link_class)
{
    if (kind == SAND_KIND_NIC)
        return link_class == SAND_LINK_NIC_UP || link_class == SAND_LINK_NIC_DOWN;
    return kind == SAND_KIND_LINK && link_class > SAND_LINK_NIC_DOWN;
}

// The name of some part of the kind, for messages.
static enum sand_rc no_such_part(const struct sand_fabric *f, enum sand_part_kind kind,
                                 const char *name, struct sand_diag *diag)
{
    char example[64];
    if (sand_fabric_n_parts(f, kind) == 0)
        return sand_fail(diag, SAND_ERR_INPUT, "the fabric has no part of the kind of \"%s\"",
                         name);
    const struct sand_fabric_part part = sand_fabric_part_at(f, kind, 0);
    return sand_fail(diag, SAND_ERR_INPUT,
                     "the fabric has no part \"%s\" of the kind; one is called \"%s\"", name,
                     sand_fabric_part_name(f, &part, example, sizeof example));
}

enum sand_rc sand_fabric_part_find(const struct sand_fabric *f, enum sand_part_kind kind,
                                   const char *name, struct sand_fabric_part *part,
                                   struct sand_diag *diag)
{
    uint32_t tier, index;
    if (fabric_is_switch(f, name, &tier, &index)) {
        *part = (struct sand_fabric_part){(enum sand_part_kind)(SAND_KIND_LEAF + tier), index};
        if (part->kind == kind && index < fabric_tier_size(f, tier))
            return SAND_OK;
    } else if ((index = fabric_find_link(f, name)) != SAND_NONE &&
               has_class(kind, f->links[index].link_class)) {
        *part = (struct sand_fabric_part){kind, lower_of(f, index)};
        return SAND_OK;
    }
    return no_such_part(f, kind, name, diag);
}

char *sand_fabric_part_name(const struct sand_fabric *f, const struct sand_fabric_part *part,
                            char *buffer, size_t size)
{
    static const char *const tiers[] = {"leaf", "spine", "core"};
    if (part->kind < SAND_KIND_LEAF)
        return sand_fabric_link_name(f, part->index, buffer, size);
    const uint32_t at = (uint32_t)(part->kind - SAND_KIND_LEAF);
    if (f->graph) {
        snprintf(buffer, size, "%s", f->graph->ids[fabric_wired_switch_at(f, at, part->index)]);
        return buffer;
    }
    const char *tier = tiers[at];
    snprintf(buffer, size, "%s%" PRIu32, f->kind >= SAND_FABRIC_DRAGONFLY ? "router" : tier,
             part->index);
    return buffer;
}

// ---- opening ------------------------------------------------------------------------------------

enum sand_rc sand_fabric_health_open(struct sand_fabric *fabric, double loss_window,
                                     struct sand_fabric_health **health, struct sand_diag *diag)
{
    struct sand_fabric_health *made = sand_calloc(1, sizeof *made);
    if (made != NULL)
        made->built = sand_calloc(fabric->n_links, sizeof *made->built);
    if (made == NULL || made->built == NULL) {
        sand_fabric_health_close(made);
        return sand_fail(diag, SAND_ERR_NOMEM, "no memory for the health of the fabric's links");
    }
    made->fabric = fabric;
    made->loss_window = loss_window;
    memcpy(made->built, fabric->links, fabric->n_links * sizeof *made->built);
    *health = made;
    return SAND_OK;
}

void sand_fabric_health_close(struct sand_fabric_health *health)
{
    if (health == NULL)
        return;
    sand_free(health->built);
    sand_free(health->shares.items);
    sand_free(health->strains);
    sand_free(health->ailing);
    sand_free(health->part_links);
    sand_free(health);
}

// ---- links --------------------------------------------------------------------------------------

static enum sand_rc share_cable(struct sand_fabric_health *health, uint32_t link)
{
    struct fabric_shares *shares = &health->shares;
    const struct sand_fabric *f = health->fabric;
    void *items = shares->items;
    SAND_TRY(sand_grow(&items, &shares->capacity, 2, sizeof *shares->items));
    shares->items = items;
    const uint32_t cables = cables_of(f, link);
    shares->items[0] = (struct fabric_share){link, cables};
    shares->items[1] = (struct fabric_share){sand_fabric_reverse(f, link), cables};
    shares->n = 2;
    return SAND_OK;
}

// The links of a part, into health->shares.
static enum sand_rc share(struct sand_fabric_health *health, const struct sand_fabric_part *part,
                          struct sand_diag *diag)
{
    health->shares.n = 0;
    SAND_TRY(fabric_detour_open(health->fabric, diag));
    if (part->kind < SAND_KIND_LEAF)
        return share_cable(health, part->index);
    return fabric_switch_shares(health->fabric, (uint32_t)(part->kind - SAND_KIND_LEAF),
                                part->index, &health->shares);
}

static int compare_links(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

enum sand_rc sand_fabric_health_links(struct sand_fabric_health *health,
                                      const struct sand_fabric_part *part, const uint32_t **links,
                                      size_t *n)
{
    void *room = health->part_links;
    SAND_TRY(share(health, part, NULL));
    SAND_TRY(
        sand_grow(&room, &health->part_capacity, health->shares.n + 1, sizeof *health->part_links));
    health->part_links = room;
    for (size_t i = 0; i < health->shares.n; i++)
        health->part_links[i] = health->shares.items[i].link;
    qsort(health->part_links, health->shares.n, sizeof *health->part_links, compare_links);
    *links = health->part_links;
    *n = health->shares.n;
    return SAND_OK;
}

// ---- setting ------------------------------------------------------------------------------------

static int compare_strains(const void *a, const void *b)
{
    const struct strain *x = a, *y = b;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    if (x->gone != y->gone) // sums are the same in whatever order the parts are given
        return x->gone < y->gone ? -1 : 1;
    return (x->loss > y->loss) - (x->loss < y->loss);
}

// One strain per link, ascending; several ailments of a link add up.
static enum sand_rc strain_links(struct sand_fabric_health *health,
                                 const struct sand_fabric_ailment *ailments, size_t n,
                                 size_t *n_strains, struct sand_diag *diag)
{
    size_t m = 0;
    for (size_t a = 0; a < n; a++) {
        void *strains = health->strains;
        SAND_TRY(share(health, &ailments[a].part, diag));
        SAND_TRY(sand_grow(&strains, &health->strains_capacity, m + health->shares.n,
                           sizeof *health->strains));
        health->strains = strains;
        for (size_t i = 0; i < health->shares.n; i++) {
            const double paths = health->shares.items[i].paths;
            health->strains[m++] =
                (struct strain){health->shares.items[i].link, (1 - ailments[a].speed) / paths,
                                ailments[a].loss / paths};
        }
    }
    if (m > 0)
        qsort(health->strains, m, sizeof *health->strains, compare_strains);
    *n_strains = 0;
    for (size_t i = 0; i < m; i++) {
        struct strain *last = *n_strains > 0 ? &health->strains[*n_strains - 1] : NULL;
        if (last == NULL || last->link != health->strains[i].link) {
            health->strains[(*n_strains)++] = health->strains[i];
            continue;
        }
        last->gone += health->strains[i].gone;
        last->loss = 1 - (1 - last->loss) * (1 - health->strains[i].loss);
    }
    return SAND_OK;
}

// The loss behind a goodput: sand_fabric_goodput solved for it.
static double loss_of(double goodput, double window)
{
    return window > 0 ? (1 - goodput) / (1 - goodput + goodput * window) : 0;
}

static struct sand_fabric_link strained(const struct sand_fabric_health *health,
                                        const struct strain *strain)
{
    struct sand_fabric_link link = health->built[strain->link];
    const double left = 1 - strain->gone;
    if (left < 1e-9) // all of it, whatever the rounding
        link.is_down = 1;
    else
        link.speed *= left;
    if (strain->loss > 0) {
        const double built = loss_of(link.goodput, health->loss_window);
        const double loss = 1 - (1 - built) * (1 - strain->loss);
        link.goodput = sand_fabric_goodput(loss, health->loss_window);
    }
    return link;
}

static enum sand_rc make_room(struct sand_fabric_health *health, size_t n_strains)
{
    void *room = health->ailing;
    SAND_TRY(sand_grow(&room, &health->ailing_capacity, n_strains + 1, sizeof *health->ailing));
    health->ailing = room;
    return SAND_OK;
}

enum sand_rc sand_fabric_health_set(struct sand_fabric_health *health,
                                    const struct sand_fabric_ailment *ailments, size_t n,
                                    struct sand_diag *diag)
{
    size_t n_strains, at = 0;
    SAND_TRY(strain_links(health, ailments, n, &n_strains, diag));
    SAND_TRY(make_room(health, n_strains));
    for (size_t i = 0; i < health->n_ailing; i++) { // what is well again
        const uint32_t link = health->ailing[i];
        while (at < n_strains && health->strains[at].link < link)
            at++;
        if (at == n_strains || health->strains[at].link != link)
            health->fabric->links[link] = health->built[link];
    }
    for (size_t i = 0; i < n_strains; i++) {
        const uint32_t link = health->strains[i].link;
        health->fabric->links[link] = strained(health, &health->strains[i]);
        health->ailing[i] = link;
    }
    health->n_ailing = n_strains;
    return SAND_OK;
}
