// Users of each link class, and the link reductions of the design (section 4, folding).
// SPDX-License-Identifier: GPL-2.0-or-later
#include "reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "covered.h"
#include "ids.h"
#include "mem.h"
#include "numbers.h"

struct reduction {
    const struct step_traffic *traffic;
    const struct step_classes *classes;
    struct link_use *uses;
    size_t n_uses, use_capacity;
    struct shared_link *links;
    double *upper_Bps; // per flow class
    int fold;
};

static int compare_uses(const void *a, const void *b)
{
    const struct link_use *x = a, *y = b;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    return (x->flow > y->flow) - (x->flow < y->flow);
}

// The uses of each class's member, summed per flow class.
static enum sand_rc collect_uses(struct reduction *r)
{
    for (size_t e = 0; e < r->traffic->n_edges; e++) {
        const struct step_edge *edge = &r->traffic->edges[e];
        const uint32_t *links = step_edge_links(r->traffic, edge);
        for (uint32_t i = 0; i < edge->n_links; i++) {
            const uint32_t link = r->classes->link[links[i]];
            if (link == SAND_NONE || r->classes->link_member[link] != links[i])
                continue;
            SAND_TRY(
                sand_grow((void **)&r->uses, &r->use_capacity, r->n_uses + 1, sizeof *r->uses));
            r->uses[r->n_uses++] =
                (struct link_use){link, r->classes->flow[edge->flow], step_edge_weight(edge, i)};
        }
    }
    if (r->n_uses > 0)
        qsort(r->uses, r->n_uses, sizeof *r->uses, compare_uses);
    size_t kept = 0;
    for (size_t i = 0; i < r->n_uses; i++) {
        if (kept > 0 && compare_uses(&r->uses[kept - 1], &r->uses[i]) == 0)
            r->uses[kept - 1].weight += r->uses[i].weight;
        else
            r->uses[kept++] = r->uses[i];
    }
    r->n_uses = kept;
    return SAND_OK;
}

static void index_links(struct reduction *r)
{
    for (size_t i = 0; i < r->n_uses; i++) {
        struct shared_link *link = &r->links[r->uses[i].link];
        if (link->n++ == 0)
            link->first = (uint32_t)i;
    }
    for (uint32_t l = 0; l < r->classes->n_links; l++) {
        struct shared_link *link = &r->links[l];
        link->kept = 1;
        link->capacity_Bps = r->traffic->links[r->classes->link_member[l]].capacity_Bps;
        link->coupled = r->traffic->links[r->classes->link_member[l]].coupled;
        uint32_t divisor = 0;
        for (uint32_t i = 0; r->fold && link->coupled == SAND_NONE && i < link->n; i++)
            divisor = sand_gcd(r->uses[link->first + i].weight, divisor);
        for (uint32_t i = 0; divisor > 1 && i < link->n; i++)
            r->uses[link->first + i].weight /= divisor;
        if (divisor > 1)
            link->capacity_Bps /= divisor;
    }
}

static int same_users(const struct reduction *r, const struct shared_link *a,
                      const struct shared_link *b)
{
    if (a->n != b->n)
        return 0;
    for (uint32_t i = 0; i < a->n; i++)
        if (r->uses[a->first + i].flow != r->uses[b->first + i].flow ||
            r->uses[a->first + i].weight != r->uses[b->first + i].weight)
            return 0;
    return 1;
}

struct keyed_link {
    uint64_t key;
    double capacity_Bps;
    uint32_t link;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed_link *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->capacity_Bps != y->capacity_Bps)
        return x->capacity_Bps < y->capacity_Bps ? -1 : 1;
    return (x->link > y->link) - (x->link < y->link);
}

static uint64_t users_key(const struct reduction *r, const struct shared_link *link)
{
    uint64_t key = link->n;
    for (uint32_t i = 0; i < link->n; i++) {
        const struct link_use *use = &r->uses[link->first + i];
        key = (key ^ use->flow) * 0x9e3779b97f4a7c15u;
        key = (key ^ (key >> 29) ^ use->weight) * 0xbf58476d1ce4e5b9u;
    }
    return key;
}

// Links with the same users are the same constraint: the slowest stays.
static enum sand_rc merge_links(struct reduction *r)
{
    const uint32_t n = r->classes->n_links;
    struct keyed_link *keyed = sand_calloc(n, sizeof *keyed);
    if (keyed == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t l = 0; l < n; l++)
        keyed[l] = (struct keyed_link){users_key(r, &r->links[l]), r->links[l].capacity_Bps, l};
    qsort(keyed, n, sizeof *keyed, compare_keyed);
    for (uint32_t i = 0, head = 0; i < n; i++) {
        if (keyed[i].key != keyed[head].key)
            head = i;
        else if (i > head && r->links[keyed[i].link].coupled == SAND_NONE &&
                 same_users(r, &r->links[keyed[i].link], &r->links[keyed[head].link]))
            r->links[keyed[i].link].kept = 0;
    }
    sand_free(keyed);
    return SAND_OK;
}

// The most each flow could get if it were alone; infinite where it crosses no link.
static void find_upper_rates(struct reduction *r)
{
    for (uint32_t f = 0; f < r->classes->n_flows; f++)
        r->upper_Bps[f] = INFINITY;
    for (uint32_t l = 0; l < r->classes->n_links; l++)
        for (uint32_t i = 0; r->links[l].kept && i < r->links[l].n; i++) {
            const struct link_use *use = &r->uses[r->links[l].first + i];
            const double alone_Bps = r->links[l].capacity_Bps / use->weight;
            if (alone_Bps < r->upper_Bps[use->flow])
                r->upper_Bps[use->flow] = alone_Bps;
        }
}

// Drops links that all their users together cannot fill, given what holds each of them elsewhere.
static void drop_slack_links(struct reduction *r)
{
    for (uint32_t l = 0; l < r->classes->n_links; l++) {
        struct shared_link *link = &r->links[l];
        double most_Bps = 0;
        int holds = 0;
        for (uint32_t i = 0; i < link->n; i++) {
            const struct link_use *use = &r->uses[link->first + i];
            most_Bps += use->weight * r->upper_Bps[use->flow];
            holds |= link->capacity_Bps / use->weight <= r->upper_Bps[use->flow];
        }
        if (!holds && link->coupled == SAND_NONE && most_Bps <= link->capacity_Bps)
            link->kept = 0;
    }
}

static int is_met(const struct shared_link *link)
{
    return link->n > 1 || link->coupled != SAND_NONE;
}

// Flows that share no kept link with anybody are not simulated: they get n_links 0.
static void mark_lonely(const struct reduction *r, uint8_t *lonely)
{
    memset(lonely, r->fold, r->classes->n_flows);
    for (uint32_t l = 0; l < r->classes->n_links; l++)
        for (uint32_t i = 0; r->links[l].kept && is_met(&r->links[l]) && i < r->links[l].n; i++)
            lonely[r->uses[r->links[l].first + i].flow] = 0;
}

// Numbers the kept links that anybody is simulated on, and counts each flow's route.
static uint32_t count_routes(const struct reduction *r, const uint8_t *lonely,
                             struct sand_step_problem *problem)
{
    uint32_t n = 0;
    for (uint32_t l = 0; l < r->classes->n_links; l++) {
        struct shared_link *link = &r->links[l];
        link->kept = link->kept && !lonely[r->uses[link->first].flow];
        n += (uint32_t)link->kept;
        for (uint32_t i = 0; link->kept && i < link->n; i++)
            problem->flows[r->uses[link->first + i].flow].n_links +=
                r->uses[link->first + i].weight;
    }
    return n;
}

static enum sand_rc write_routes(const struct reduction *r, const uint8_t *lonely,
                                 struct sand_step_problem *problem)
{
    problem->n_links = count_routes(r, lonely, problem);
    uint32_t total = 0;
    for (size_t f = 0; f < problem->n_flows; f++) {
        problem->flows[f].first_link = total;
        total += problem->flows[f].n_links;
        problem->flows[f].n_links = 0;
        problem->flows[f].upper_Bps = r->upper_Bps[f];
    }
    problem->n_route = total;
    problem->route = sand_calloc(total, sizeof *problem->route);
    problem->link_Bps = sand_calloc(problem->n_links, sizeof *problem->link_Bps);
    problem->n_link_coupled = problem->n_links;
    problem->link_coupled = sand_calloc(problem->n_links, sizeof *problem->link_coupled);
    if (problem->route == NULL || problem->link_Bps == NULL || problem->link_coupled == NULL)
        return SAND_ERR_NOMEM;
    uint32_t number = 0;
    for (uint32_t l = 0; l < r->classes->n_links; l++) {
        const struct shared_link *link = &r->links[l];
        if (!link->kept)
            continue;
        problem->link_Bps[number] = link->capacity_Bps;
        problem->link_coupled[number] = link->coupled;
        for (uint32_t i = 0; i < link->n; i++) {
            struct step_flow *flow = &problem->flows[r->uses[link->first + i].flow];
            for (uint32_t k = 0; k < r->uses[link->first + i].weight; k++)
                problem->route[flow->first_link + flow->n_links++] = number;
        }
        number++;
    }
    return SAND_OK;
}

static enum sand_rc reduce(struct reduction *r, struct sand_step_problem *problem)
{
    SAND_TRY(collect_uses(r));
    index_links(r);
    if (r->fold)
        SAND_TRY(merge_links(r));
    if (r->fold)
        SAND_TRY(step_covered_drop(r->uses, r->links, r->classes->n_links, r->classes->n_flows));
    find_upper_rates(r);
    if (r->fold)
        drop_slack_links(r);
    uint8_t *lonely = sand_calloc(r->classes->n_flows, 1);
    if (lonely == NULL)
        return SAND_ERR_NOMEM;
    mark_lonely(r, lonely);
    const enum sand_rc rc = write_routes(r, lonely, problem);
    sand_free(lonely);
    return rc;
}

enum sand_rc step_reduce(const struct step_traffic *traffic, const struct step_classes *classes,
                         struct sand_step_problem *problem)
{
    struct reduction r = {
        .traffic = traffic, .classes = classes, .fold = traffic->question->folding == SAND_FOLD};
    problem->n_flows = classes->n_flows;
    problem->flows = sand_calloc(classes->n_flows, sizeof *problem->flows);
    r.links = sand_calloc(classes->n_links, sizeof *r.links);
    r.upper_Bps = sand_calloc(classes->n_flows, sizeof *r.upper_Bps);
    enum sand_rc rc = problem->flows == NULL || r.links == NULL || r.upper_Bps == NULL
                          ? SAND_ERR_NOMEM
                          : reduce(&r, problem);
    sand_free(r.uses);
    sand_free(r.links);
    sand_free(r.upper_Bps);
    return rc;
}
