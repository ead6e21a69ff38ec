// Parts that the description says are down, slow or lossy.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "fabricwiring.h"
#include "ids.h"

// Takes "word<number>-" off the front of a part's name.
static int take_front(const char **part, const char *word, uint32_t *number)
{
    const size_t length = strlen(word);
    const char *digits = *part + length;
    const size_t n = strncmp(*part, word, length) == 0 ? strspn(digits, "0123456789") : 0;
    if (n == 0 || n > 9 || digits[n] != '-')
        return 0;
    *number = (uint32_t)strtoul(digits, NULL, 10);
    *part = digits + n + 1;
    return 1;
}

static int is_numbered(const struct sand_fabric *f, const char *part, uint32_t *tier,
                       uint32_t *index)
{
    static const char *const names[] = {"leaf", "spine", "core", "router"};
    for (uint32_t i = 0; i < 4; i++) {
        const size_t length = strlen(names[i]);
        const char *digits = part + length;
        const size_t n = strncmp(part, names[i], length) == 0 ? strspn(digits, "0123456789") : 0;
        if (n == 0 || n > 9 || digits[n] != '\0' || (i == 3) != (f->kind >= SAND_FABRIC_DRAGONFLY))
            continue;
        *tier = i % 3;
        *index = (uint32_t)strtoul(digits, NULL, 10);
        return 1;
    }
    return 0;
}

// Switches are numbered plane after plane and pod after pod; a name may say which: "plane1-leaf3",
// "pod0-spine1", "group2-router4".
int fabric_is_switch(const struct sand_fabric *f, const char *part, uint32_t *tier, uint32_t *index)
{
    uint32_t plane = 0, pod = 0, per_pod;
    if (f->kind == SAND_FABRIC_WIRED)
        return fabric_wired_is_switch(f, part, tier, index);
    const int has_plane = take_front(&part, "plane", &plane);
    const int has_pod = take_front(&part, "pod", &pod) || take_front(&part, "group", &pod) ||
                        take_front(&part, "rail", &pod);
    if (!is_numbered(f, part, tier, index))
        return 0;
    per_pod = f->kind == SAND_FABRIC_DRAGONFLY ? f->routers : f->spines_per_pod;
    const int is_in_pod = *tier == 1 || f->kind == SAND_FABRIC_DRAGONFLY;
    if ((has_pod && (!is_in_pod || *index >= per_pod)) || (has_plane && plane >= f->n_planes))
        return 0;
    const uint64_t per_plane = fabric_tier_size(f, *tier) / f->n_planes;
    const uint64_t at = plane * per_plane + (uint64_t)pod * per_pod + *index;
    *index = at < SAND_NONE ? (uint32_t)at : SAND_NONE;
    return 1;
}

uint32_t fabric_find_link(const struct sand_fabric *f, const char *part)
{
    char name[64];
    for (uint32_t l = 0; l < f->n_links; l++)
        if (strcmp(sand_fabric_link_name(f, l, name, sizeof name), part) == 0)
            return l;
    return SAND_NONE;
}

static enum sand_rc impair_link(struct sand_fabric *f, const struct sand_cluster *cluster,
                                const struct sand_impaired *impaired, struct sand_diag *diag)
{
    char example[64];
    const uint32_t link = fabric_find_link(f, impaired->part);
    if (link == SAND_NONE)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\" has no part \"%s\"; write a switch such as \"%s\" or a "
                         "link such as \"%s\"",
                         cluster->name, impaired->part,
                         f->kind == SAND_FABRIC_WIRED       ? sand_fabric_wired_switch(f, 0).id
                         : f->kind >= SAND_FABRIC_DRAGONFLY ? "router0"
                                                            : "leaf0",
                         sand_fabric_link_name(f, f->n_links - 1, example, sizeof example));
    if (impaired->speed <= 0 && f->links[link].link_class <= SAND_LINK_SCALEUP_IN)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\", part \"%s\": a GPU without its scale-up port takes its "
                         "node out of service; slow the port, or let faults take the node",
                         cluster->name, impaired->part);
    if (impaired->speed <= 0)
        return sand_fabric_fail_link(f, link, diag);
    const double loss = 1 - (1 - cluster->fabric.loss) * (1 - impaired->loss);
    const uint32_t both[] = {link, sand_fabric_reverse(f, link)};
    for (int i = 0; i < 2; i++) {
        f->links[both[i]].speed *= impaired->speed;
        if (f->links[both[i]].link_class > SAND_LINK_SCALEUP_IN)
            f->links[both[i]].goodput = sand_fabric_goodput(loss, cluster->fabric.loss_window);
    }
    return SAND_OK;
}

static enum sand_rc check(const struct sand_cluster *cluster, const struct sand_impaired *impaired,
                          int whole_switch, struct sand_diag *diag)
{
    if (!(impaired->speed >= 0 && impaired->speed <= 1) ||
        !(impaired->loss >= 0 && impaired->loss < 1))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\", part \"%s\": speed %g is 0 to 1, loss %g below 1",
                         cluster->name, impaired->part, impaired->speed, impaired->loss);
    if (whole_switch && (impaired->speed > 0 || impaired->loss > 0))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": switch \"%s\" can only be down (speed 0); name its links "
                         "to slow them",
                         cluster->name, impaired->part);
    if (impaired->loss > 0 && !(cluster->fabric.loss_window > 0))
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\", part \"%s\": a loss needs the fabric's loss_window",
                         cluster->name, impaired->part);
    if (impaired->loss > 0 && impaired->speed <= 0)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\", part \"%s\" is down and lossy; write speed=\"1\" for one "
                         "that only loses packets",
                         cluster->name, impaired->part);
    return SAND_OK;
}

enum sand_rc fabric_impair(struct sand_fabric *fabric, const struct sand_cluster *cluster,
                           struct sand_diag *diag)
{
    for (size_t i = 0; i < cluster->n_impaired; i++) {
        const struct sand_impaired *impaired = &cluster->impaired[i];
        uint32_t tier, index;
        const int whole_switch = fabric_is_switch(fabric, impaired->part, &tier, &index) &&
                                 index < fabric_tier_size(fabric, tier);
        SAND_TRY(check(cluster, impaired, whole_switch, diag));
        SAND_TRY(whole_switch ? sand_fabric_fail_switch(fabric, tier, index, diag)
                              : impair_link(fabric, cluster, impaired, diag));
    }
    return SAND_OK;
}
