// Of links over the same flows only those that may be the fullest stay: the skyline of their loads.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "covered.h"

#include <stdlib.h>

#include "ids.h"
#include "mem.h"

// Links by how full they are when every flow takes the same.
struct ranked {
    double load;
    uint32_t link;
};

// Kept links by flow: a list for each, newest first.
struct entry {
    uint32_t link, next;
};
struct skyline {
    const struct link_use *uses;
    const struct shared_link *links;
    uint32_t *head, *length; // per flow
    struct entry *entries;
    uint32_t n_entries;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->load != y->load)
        return x->load > y->load ? -1 : 1;
    return (x->link > y->link) - (x->link < y->link);
}

// Whether every flow of `link` takes at least as large a share of `by`.
static int covers(const struct skyline *s, const struct shared_link *by,
                  const struct shared_link *link)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < link->n; i++) {
        const struct link_use *use = &s->uses[link->first + i];
        while (k < by->n && s->uses[by->first + k].flow < use->flow)
            k++;
        if (k == by->n || s->uses[by->first + k].flow != use->flow ||
            s->uses[by->first + k].weight * link->capacity_Bps < use->weight * by->capacity_Bps)
            return 0;
    }
    return 1;
}

static int is_covered(const struct skyline *s, const struct shared_link *link)
{
    uint32_t rarest = s->uses[link->first].flow;
    for (uint32_t i = 1; i < link->n; i++)
        if (s->length[s->uses[link->first + i].flow] < s->length[rarest])
            rarest = s->uses[link->first + i].flow;
    for (uint32_t e = s->head[rarest]; e != SAND_NONE; e = s->entries[e].next)
        if (covers(s, &s->links[s->entries[e].link], link))
            return 1;
    return 0;
}

static void keep(struct skyline *s, uint32_t link)
{
    for (uint32_t i = 0; i < s->links[link].n; i++) {
        const uint32_t flow = s->uses[s->links[link].first + i].flow;
        s->entries[s->n_entries] = (struct entry){link, s->head[flow]};
        s->head[flow] = s->n_entries++;
        s->length[flow]++;
    }
}

static uint32_t rank(const struct link_use *uses, const struct shared_link *links, uint32_t n_links,
                     struct ranked *ranked)
{
    uint32_t n = 0;
    for (uint32_t l = 0; l < n_links; l++) {
        double weight = 0;
        for (uint32_t i = 0; i < links[l].n; i++)
            weight += uses[links[l].first + i].weight;
        if (links[l].kept && links[l].n > 0)
            ranked[n++] = (struct ranked){weight / links[l].capacity_Bps, l};
    }
    qsort(ranked, n, sizeof *ranked, compare_ranked);
    return n;
}

enum sand_rc step_covered_drop(const struct link_use *uses, struct shared_link *links,
                               uint32_t n_links, uint32_t n_flows)
{
    size_t n_uses = 0;
    for (uint32_t l = 0; l < n_links; l++)
        n_uses += links[l].kept ? links[l].n : 0;
    struct skyline s = {.uses = uses, .links = links};
    struct ranked *ranked = sand_calloc(n_links, sizeof *ranked);
    s.head = sand_calloc(n_flows, sizeof *s.head);
    s.length = sand_calloc(n_flows, sizeof *s.length);
    s.entries = sand_calloc(n_uses, sizeof *s.entries);
    const int has_room = ranked != NULL && s.head != NULL && s.length != NULL && s.entries != NULL;
    for (uint32_t f = 0; has_room && f < n_flows; f++)
        s.head[f] = SAND_NONE;
    const uint32_t n = has_room ? rank(uses, links, n_links, ranked) : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct shared_link *link = &links[ranked[i].link];
        if (link->coupled == SAND_NONE && is_covered(&s, link))
            link->kept = 0;
        else
            keep(&s, ranked[i].link);
    }
    sand_free(ranked);
    sand_free(s.head);
    sand_free(s.length);
    sand_free(s.entries);
    return has_room ? SAND_OK : SAND_ERR_NOMEM;
}
