// Checking a solution against the links that were left out of its problem.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch.h"

#include <stdlib.h>

#include "ids.h"
#include "mem.h"

struct watched_use {
    uint32_t link, flow, weight;
    double step_B;
};

// Links left out are watched; those of which the load is asked for are, too.
static int is_watched(const struct step_traffic *traffic, const struct step_link *link)
{
    const struct sand_fabric *fabric = traffic->question->fabric;
    if (fabric->links[link->fabric_link].link_class <= SAND_LINK_NIC_DOWN)
        return 0; // a GPU's or a node's own
    return link->state == STEP_LINK_WATCHED || traffic->question->whole_footprint;
}

static int compare_watched(const void *a, const void *b)
{
    const struct watched_use *x = a, *y = b;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    return (x->flow > y->flow) - (x->flow < y->flow);
}

static enum sand_rc collect_watched(const struct step_traffic *traffic,
                                    const struct step_classes *classes, struct watched_use **uses,
                                    size_t *n_uses)
{
    size_t capacity = 0;
    for (size_t e = 0; e < traffic->n_edges; e++) {
        const struct step_edge *edge = &traffic->edges[e];
        const uint32_t *links = step_edge_links(traffic, edge);
        const double step_B = traffic->flows[edge->flow].step_B;
        for (uint32_t i = 0; i < edge->n_links; i++) {
            if (!is_watched(traffic, &traffic->links[links[i]]))
                continue;
            SAND_TRY(sand_grow((void **)uses, &capacity, *n_uses + 1, sizeof **uses));
            const uint32_t weight = step_edge_weight(edge, i);
            (*uses)[(*n_uses)++] =
                (struct watched_use){links[i], classes->flow[edge->flow], weight, weight * step_B};
        }
    }
    if (*n_uses > 0)
        qsort(*uses, *n_uses, sizeof **uses, compare_watched);
    return SAND_OK;
}

// Adds up the weights of equal (link, flow) and opens a watch at each new link.
static void write_watches(const struct step_traffic *traffic, const struct watched_use *uses,
                          size_t n_uses, struct sand_step_problem *problem)
{
    for (size_t i = 0; i < n_uses; i++) {
        const int same_link = i > 0 && uses[i].link == uses[i - 1].link;
        const struct step_link *link = &traffic->links[uses[i].link];
        if (!same_link)
            problem->watches[problem->n_watches++] =
                (struct step_watch){.capacity_Bps = link->capacity_Bps,
                                    .fabric_link = link->fabric_link,
                                    .first = (uint32_t)problem->n_watch_uses,
                                    .left_out = link->state == STEP_LINK_WATCHED};
        problem->watches[problem->n_watches - 1].step_B += uses[i].step_B;
        if (same_link && uses[i].flow == uses[i - 1].flow) {
            problem->watch_uses[problem->n_watch_uses - 1].weight += uses[i].weight;
            continue;
        }
        problem->watches[problem->n_watches - 1].n++;
        problem->watch_uses[problem->n_watch_uses++] =
            (struct step_watch_use){uses[i].flow, uses[i].weight};
    }
}

enum sand_rc step_watches_set(const struct step_traffic *traffic,
                              const struct step_classes *classes, struct sand_step_problem *problem)
{
    struct watched_use *uses = NULL;
    size_t n_uses = 0;
    enum sand_rc rc = collect_watched(traffic, classes, &uses, &n_uses);
    if (rc == SAND_OK) {
        problem->watches = sand_calloc(n_uses, sizeof *problem->watches);
        problem->watch_uses = sand_calloc(n_uses, sizeof *problem->watch_uses);
        if (problem->watches == NULL || problem->watch_uses == NULL)
            rc = SAND_ERR_NOMEM;
    }
    if (rc == SAND_OK)
        write_watches(traffic, uses, n_uses, problem);
    sand_free(uses);
    return rc;
}

static int is_active(const struct sand_step_solution *solution, uint32_t set, uint32_t flow)
{
    return solution->activity[(size_t)set * solution->words + flow / 64] >> (flow % 64) & 1;
}

// The most that flows active together can put on a watched link; sets are looked at only where all
// flows together exceed `enough_Bps`. O(sets x flows on the link).
static double watch_peak_Bps(const struct sand_step_problem *problem,
                             const struct sand_step_solution *solution,
                             const struct step_watch *watch, double enough_Bps)
{
    const struct step_watch_use *uses = &problem->watch_uses[watch->first];
    double all_Bps = 0, most_Bps = 0;
    for (uint32_t i = 0; i < watch->n; i++)
        all_Bps += uses[i].weight * problem->flows[uses[i].flow].upper_Bps;
    if (all_Bps <= enough_Bps || solution->n_sets == 0)
        return all_Bps;
    for (uint32_t s = 0; s < solution->n_sets; s++) {
        double sum_Bps = 0;
        for (uint32_t i = 0; i < watch->n; i++)
            if (is_active(solution, s, uses[i].flow))
                sum_Bps += uses[i].weight * problem->flows[uses[i].flow].upper_Bps;
        most_Bps = sum_Bps > most_Bps ? sum_Bps : most_Bps;
    }
    return most_Bps;
}

// The most hops that cross a watched link together.
static double watch_hops(const struct sand_step_problem *problem,
                         const struct sand_step_solution *solution, const struct step_watch *watch)
{
    const struct step_watch_use *uses = &problem->watch_uses[watch->first];
    const uint32_t n_sets = solution->n_sets > 0 ? solution->n_sets : 1;
    double most = 1; // that it is loaded at all
    for (uint32_t s = 0; s < n_sets; s++) {
        double hops = 0;
        for (uint32_t i = 0; i < watch->n; i++)
            if (solution->n_sets == 0 || is_active(solution, s, uses[i].flow))
                hops += uses[i].weight;
        most = hops > most ? hops : most;
    }
    return most;
}

enum sand_rc step_watches_check(const struct sand_step_problem *problem,
                                const struct sand_step_solution *solution, uint32_t **links,
                                size_t *n_links)
{
    *links = sand_calloc(problem->n_watches, sizeof **links);
    *n_links = 0;
    if (*links == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < problem->n_watches; i++) {
        const struct step_watch *watch = &problem->watches[i];
        if (watch->left_out &&
            watch_peak_Bps(problem, solution, watch, watch->capacity_Bps) > watch->capacity_Bps)
            (*links)[(*n_links)++] = watch->fabric_link;
    }
    return SAND_OK;
}

enum sand_rc step_watches_load(const struct sand_step_problem *problem,
                               const struct sand_step_solution *solution,
                               struct sand_link_load **loads, size_t *n_loads)
{
    *loads = sand_calloc(problem->n_watches, sizeof **loads);
    *n_loads = 0;
    if (*loads == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < problem->n_watches; i++) {
        const struct step_watch *watch = &problem->watches[i];
        const double peak_Bps = watch_peak_Bps(problem, solution, watch, 0);
        (*loads)[(*n_loads)++] = (struct sand_link_load){
            .link = watch->fabric_link,
            .capacity_Bps = watch->capacity_Bps,
            .mean_Bps = watch->step_B / solution->step_s,
            .peak_Bps = peak_Bps < watch->capacity_Bps ? peak_Bps : watch->capacity_Bps,
            .hops = watch_hops(problem, solution, watch)};
    }
    return SAND_OK;
}
