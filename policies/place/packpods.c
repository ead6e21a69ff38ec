// The fewest pods by dynamic programming over what the choice gives away.
// With k the fewest leaves and T the nodes in the k largest, k leaves hold the job exactly if they
// fall short of T by at most the slack. Against a threshold, the size t of the k-th largest leaf,
// the shortfall is a sum over pods: a pod left out gives away its nodes above t, sum (c - t) over
// its leaves c > t; a pod taken in gives away sum (t - c) over those of its leaves c < t that are
// used. Fewer than k leaves are larger than t, so a choice with more than k leaves can drop some of
// at most t and fall short by less.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "packpods.h"

#include <stdlib.h>

#define LEFT_OUT UINT32_MAX

// What a pod costs left out, and how many leaves it offers for nothing.
struct offer {
    uint32_t pod;
    uint64_t left_out;
    uint32_t whole; // leaves of at least t
};

struct search {
    const struct sand_pack_problem *problem;
    struct offer *offers; // by pod
    size_t most;          // pods that are enough for sure
    int64_t *best, *next; // [pods][given away]: most leaves, -1: cannot be
    uint32_t *spent;      // [pod][pods][given away]: what the pod gave away, or LEFT_OUT
};

static struct offer offer_of(const struct sand_pack_problem *problem, uint32_t p)
{
    const struct sand_pack_pod *pod = &problem->pods[p];
    struct offer offer = {.pod = p};
    for (size_t i = 0; i < pod->n_leaves; i++) {
        const uint32_t size = problem->leaves[pod->first + i].n_free;
        if (size < problem->size)
            break;
        offer.whole++;
        offer.left_out += size - problem->size;
    }
    return offer;
}

static int compare_offers(const void *a, const void *b)
{
    const struct offer *x = a, *y = b;
    if ((x->left_out > 0) != (y->left_out > 0))
        return x->left_out > 0 ? -1 : 1;
    if (x->whole != y->whole)
        return x->whole > y->whole ? -1 : 1;
    return (x->pod > y->pod) - (x->pod < y->pod);
}

static int compare_pods(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// Giving away nothing: every pod with a leaf above t, then those with most leaves of t.
static void choose_whole(const struct search *search, uint32_t *chosen, size_t *n_chosen)
{
    uint64_t leaves = 0;
    size_t n = 0;
    qsort(search->offers, search->problem->n_pods, sizeof *search->offers, compare_offers);
    while (leaves < search->problem->n_leaves ||
           (n < search->problem->n_pods && search->offers[n].left_out > 0)) {
        leaves += search->offers[n].whole;
        chosen[n] = search->offers[n].pod;
        n++;
    }
    qsort(chosen, n, sizeof *chosen, compare_pods);
    *n_chosen = n;
}

static size_t cell(const struct search *search, size_t pods, size_t away)
{
    return pods * (search->problem->slack + 1) + away;
}

static size_t n_cells(const struct search *search)
{
    return cell(search, search->most + 1, 0);
}

static void improve(struct search *search, uint32_t p, size_t to, int64_t leaves, uint32_t spent)
{
    if (leaves <= search->next[to])
        return;
    search->next[to] = leaves;
    search->spent[p * n_cells(search) + to] = spent;
}

// Takes pod p in with ever more of its leaves below t.
static void take_in(struct search *search, uint32_t p, size_t pods, size_t away, int64_t leaves)
{
    const struct sand_pack_problem *problem = search->problem;
    const struct sand_pack_pod *pod = &problem->pods[p];
    uint64_t spent = 0;
    int64_t taken = search->offers[p].whole;
    improve(search, p, cell(search, pods + 1, away), leaves + taken, 0);
    for (size_t i = (size_t)taken; i < pod->n_leaves; i++) {
        spent += problem->size - problem->leaves[pod->first + i].n_free;
        if (away + spent > problem->slack)
            return;
        improve(search, p, cell(search, pods + 1, away + spent), leaves + ++taken, (uint32_t)spent);
    }
}

static void consider(struct search *search, uint32_t p)
{
    const uint32_t slack = search->problem->slack;
    for (size_t i = 0; i < n_cells(search); i++)
        search->next[i] = -1;
    // Left out first: of equal choices the earlier pods stay.
    for (size_t pods = 0; pods <= search->most; pods++)
        for (size_t away = 0; away + search->offers[p].left_out <= slack; away++)
            improve(search, p, cell(search, pods, away + search->offers[p].left_out),
                    search->best[cell(search, pods, away)], LEFT_OUT);
    for (size_t pods = 0; pods < search->most; pods++)
        for (size_t away = 0; away <= slack; away++)
            if (search->best[cell(search, pods, away)] >= 0)
                take_in(search, p, pods, away, search->best[cell(search, pods, away)]);
    int64_t *swap = search->best;
    search->best = search->next;
    search->next = swap;
}

static void trace_back(const struct search *search, size_t pods, size_t away, uint32_t *chosen)
{
    for (size_t p = search->problem->n_pods; p-- > 0;) {
        const uint32_t spent = search->spent[p * n_cells(search) + cell(search, pods, away)];
        if (spent == LEFT_OUT) {
            away -= search->offers[p].left_out;
            continue;
        }
        chosen[--pods] = (uint32_t)p;
        away -= spent;
    }
}

static void search_pods(struct search *search, uint32_t *chosen, size_t *n_chosen)
{
    const struct sand_pack_problem *problem = search->problem;
    for (size_t i = 0; i < n_cells(search); i++)
        search->best[i] = -1;
    search->best[0] = 0;
    for (uint32_t p = 0; p < problem->n_pods; p++)
        search->offers[p] = offer_of(problem, p);
    for (uint32_t p = 0; p < problem->n_pods; p++)
        consider(search, p);
    for (size_t pods = 1; pods <= search->most; pods++)
        for (size_t away = 0; away <= problem->slack; away++)
            if (search->best[cell(search, pods, away)] >= (int64_t)problem->n_leaves) {
                *n_chosen = pods;
                trace_back(search, pods, away, chosen);
                return;
            }
    // Not reached when `most` pods are not enough: choose_whole's answer stands.
}

// No pod offers more than this many leaves, whatever is given away: a bound from below.
static size_t fewest_thinkable(const struct search *search, uint32_t *scratch)
{
    const struct sand_pack_problem *problem = search->problem;
    uint64_t leaves = 0;
    size_t pods = 0;
    for (size_t p = 0; p < problem->n_pods; p++)
        scratch[p] = UINT32_MAX - (uint32_t)problem->pods[p].n_leaves;
    qsort(scratch, problem->n_pods, sizeof *scratch, compare_pods); // most leaves first
    while (leaves < problem->n_leaves)
        leaves += UINT32_MAX - scratch[pods++];
    return pods;
}

static int choose_less(struct search *search, uint32_t *chosen, size_t *n_chosen)
{
    search->most = *n_chosen - 1;
    search->best = calloc(n_cells(search), sizeof *search->best);
    search->next = calloc(n_cells(search), sizeof *search->next);
    search->spent = calloc(search->problem->n_pods * n_cells(search), sizeof *search->spent);
    const int ready = search->best && search->next && search->spent;
    if (ready)
        search_pods(search, chosen, n_chosen);
    free(search->best);
    free(search->next);
    free(search->spent);
    return ready ? 0 : -1;
}

int sand_pack_choose_pods(const struct sand_pack_problem *problem, uint32_t *chosen,
                          size_t *n_chosen)
{
    struct search search = {.problem = problem};
    search.offers = calloc(problem->n_pods, sizeof *search.offers);
    if (search.offers == NULL)
        return -1;
    for (uint32_t p = 0; p < problem->n_pods; p++)
        search.offers[p] = offer_of(problem, p);
    const size_t least = fewest_thinkable(&search, chosen);
    choose_whole(&search, chosen, n_chosen);
    int failed = 0;
    if (*n_chosen > least && problem->slack > 0)
        failed = choose_less(&search, chosen, n_chosen);
    free(search.offers);
    return failed;
}
