// place/packed: fewest leaves, then fewest pods, then the best fit, then the lowest ids; a job of
// less than a node goes onto the fullest node that has room.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandtable/policy.h"

#include <stdlib.h>
#include <string.h>

#include "packpods.h"

struct packed {
    const struct sandtable_host *host;
};

struct packed_node {
    uint32_t node, leaf, pod;
};

// The free nodes, grouped. Everything of one call.
struct packed_survey {
    struct packed_node *nodes;      // by pod, leaf, id
    struct sand_pack_leaf *leaves;  // pod after pod; in a pod the fullest first
    struct sand_pack_leaf *ordered; // the chosen pods' leaves, fullest first
    struct sand_pack_pod *pods;     // by id
    uint32_t *sizes;                // of leaves, descending
    uint32_t *chosen;               // pods
    size_t n_leaves, n_pods, n_chosen;
};

static int compare_nodes(const void *a, const void *b)
{
    const struct packed_node *x = a, *y = b;
    if (x->pod != y->pod)
        return x->pod < y->pod ? -1 : 1;
    if (x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int compare_leaves(const void *a, const void *b)
{
    const struct sand_pack_leaf *x = a, *y = b;
    if (x->n_free != y->n_free)
        return x->n_free > y->n_free ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first); // first ascends with pod and leaf
}

// By use; the part-used leaf comes last in its pod, so that it splits no leaf's ranks.
static int compare_used(const void *a, const void *b)
{
    const struct sand_pack_leaf *x = a, *y = b;
    if (x->pod_used != y->pod_used)
        return x->pod_used > y->pod_used ? -1 : 1;
    if (x->pod != y->pod)
        return x->pod < y->pod ? -1 : 1;
    if (x->used != y->used)
        return x->used > y->used ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static int compare_sizes(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

// ---- survey -------------------------------------------------------------------------------------

static int allocate(struct packed_survey *s, size_t n)
{
    s->nodes = calloc(n, sizeof *s->nodes);
    s->leaves = calloc(n, sizeof *s->leaves);
    s->ordered = calloc(n, sizeof *s->ordered);
    s->pods = calloc(n, sizeof *s->pods);
    s->sizes = calloc(n, sizeof *s->sizes);
    s->chosen = calloc(n, sizeof *s->chosen);
    return s->nodes && s->leaves && s->ordered && s->pods && s->sizes && s->chosen ? 0 : -1;
}

static void release(struct packed_survey *s)
{
    free(s->nodes);
    free(s->leaves);
    free(s->ordered);
    free(s->pods);
    free(s->sizes);
    free(s->chosen);
}

static void group_leaves(struct packed_survey *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct packed_node *node = &s->nodes[i];
        const int new_pod = i == 0 || node->pod != node[-1].pod;
        if (new_pod)
            s->pods[s->n_pods++] = (struct sand_pack_pod){.first = s->n_leaves};
        if (new_pod || node->leaf != node[-1].leaf) {
            s->leaves[s->n_leaves++] =
                (struct sand_pack_leaf){.pod = (uint32_t)s->n_pods - 1, .first = (uint32_t)i};
            s->pods[s->n_pods - 1].n_leaves++;
        }
        s->leaves[s->n_leaves - 1].n_free++;
        s->pods[s->n_pods - 1].n_free++;
    }
}

static void survey(struct packed_survey *s, const struct sandtable_place_request *request)
{
    for (size_t i = 0; i < request->n_allowed; i++) {
        const struct sandtable_node *node = &request->nodes[request->allowed[i]];
        s->nodes[i] = (struct packed_node){request->allowed[i], node->leaf, node->pod};
    }
    qsort(s->nodes, request->n_allowed, sizeof *s->nodes, compare_nodes);
    group_leaves(s, request->n_allowed);
    for (size_t p = 0; p < s->n_pods; p++)
        qsort(s->leaves + s->pods[p].first, s->pods[p].n_leaves, sizeof *s->leaves, compare_leaves);
    for (size_t l = 0; l < s->n_leaves; l++)
        s->sizes[l] = s->leaves[l].n_free;
    qsort(s->sizes, s->n_leaves, sizeof *s->sizes, compare_sizes);
}

// How few leaves hold n nodes: the largest ones do. *slack: how many more these hold.
static uint32_t fewest_leaves(const struct packed_survey *s, uint32_t n, uint32_t *slack)
{
    uint32_t held = 0, k = 0;
    while (held < n)
        held += s->sizes[k++];
    *slack = held - n;
    return k;
}

// ---- the last pod -------------------------------------------------------------------------------

// What would be left over if the ordered leaves and those of one more pod were used.
struct packed_fit {
    int feasible;
    uint32_t leftover; // free nodes that stay in the last leaf
};

static uint32_t smallest_from(const struct sand_pack_leaf *leaves, size_t n, uint32_t needed)
{
    uint32_t smallest = UINT32_MAX;
    for (size_t i = 0; i < n && leaves[i].n_free >= needed; i++)
        smallest = leaves[i].n_free;
    return smallest;
}

// The k - 1 largest of both, and the smallest leaf that holds the rest. O(leaves).
static struct packed_fit fit(const struct sand_pack_leaf *a, size_t n_a,
                             const struct sand_pack_leaf *b, size_t n_b, uint32_t k, uint32_t n)
{
    size_t i = 0, j = 0;
    uint32_t held = 0;
    if (n_a + n_b < k)
        return (struct packed_fit){0};
    while (i + j < k - 1) {
        const int from_a = j == n_b || (i < n_a && a[i].n_free >= b[j].n_free);
        held += from_a ? a[i++].n_free : b[j++].n_free;
    }
    const uint32_t rest = n - held; // above 0: fewer than k leaves never hold n
    const uint32_t last_a = smallest_from(a + i, n_a - i, rest);
    const uint32_t last_b = smallest_from(b + j, n_b - j, rest);
    const uint32_t last = last_a < last_b ? last_a : last_b;
    if (last == UINT32_MAX)
        return (struct packed_fit){0};
    return (struct packed_fit){1, last - rest};
}

static void order_leaves(const struct packed_survey *s, size_t *n)
{
    *n = 0;
    for (size_t c = 0; c < s->n_chosen; c++) {
        const struct sand_pack_pod *pod = &s->pods[s->chosen[c]];
        memcpy(s->ordered + *n, s->leaves + pod->first, pod->n_leaves * sizeof *s->ordered);
        *n += pod->n_leaves;
    }
    qsort(s->ordered, *n, sizeof *s->ordered, compare_leaves);
}

static int is_chosen(const struct packed_survey *s, uint32_t pod)
{
    for (size_t c = 0; c < s->n_chosen; c++)
        if (s->chosen[c] == pod)
            return 1;
    return 0;
}

// Adds the pod that fits best to those chosen; returns 0 if none does.
static int add_last_pod(struct packed_survey *s, uint32_t k, uint32_t n)
{
    size_t n_ordered;
    uint32_t best = SANDTABLE_NONE, leftover = 0;
    order_leaves(s, &n_ordered);
    for (uint32_t p = 0; p < s->n_pods; p++) {
        const struct sand_pack_pod *pod = &s->pods[p];
        if (is_chosen(s, p))
            continue;
        const struct packed_fit answer =
            fit(s->ordered, n_ordered, s->leaves + pod->first, pod->n_leaves, k, n);
        if (answer.feasible &&
            (best == SANDTABLE_NONE || answer.leftover < leftover ||
             (answer.leftover == leftover && pod->n_free < s->pods[best].n_free))) {
            best = p;
            leftover = answer.leftover;
        }
    }
    if (best == SANDTABLE_NONE)
        return 0;
    s->chosen[s->n_chosen++] = best;
    return 1;
}

// Takes the chosen pod with the fewest free nodes out again.
static void remove_smallest_pod(struct packed_survey *s)
{
    size_t smallest = 0;
    for (size_t c = 1; c < s->n_chosen; c++)
        if (s->pods[s->chosen[c]].n_free <= s->pods[s->chosen[smallest]].n_free)
            smallest = c;
    s->n_chosen--;
    memmove(s->chosen + smallest, s->chosen + smallest + 1,
            (s->n_chosen - smallest) * sizeof *s->chosen);
}

static int choose_pods(struct packed_survey *s, uint32_t k, uint32_t slack, uint32_t n)
{
    if (add_last_pod(s, k, n))
        return 0; // one pod is enough
    const struct sand_pack_problem problem = {s->pods, s->n_pods,       s->leaves,
                                              k,       s->sizes[k - 1], slack};
    if (sand_pack_choose_pods(&problem, s->chosen, &s->n_chosen) != 0)
        return -1;
    remove_smallest_pod(s);
    add_last_pod(s, k, n); // finds at least the pod taken out
    return 0;
}

// ---- the answer ---------------------------------------------------------------------------------

// Marks how many nodes of each ordered leaf are used: k - 1 whole ones and the smallest last one.
static void use_leaves(const struct packed_survey *s, size_t n_ordered, uint32_t k, uint32_t n)
{
    uint32_t held = 0;
    size_t last = k - 1;
    for (size_t i = 0; i + 1 < k; i++)
        held += s->ordered[i].used = s->ordered[i].n_free;
    while (last + 1 < n_ordered && s->ordered[last + 1].n_free >= n - held)
        last++;
    // Of equal leaves the first, which has the lowest ids.
    while (last > k - 1 && s->ordered[last - 1].n_free == s->ordered[last].n_free)
        last--;
    s->ordered[last].used = n - held;
}

static void sum_pods(const struct packed_survey *s, size_t n_ordered)
{
    for (size_t p = 0; p < s->n_pods; p++)
        s->pods[p].used = 0;
    for (size_t i = 0; i < n_ordered; i++)
        s->pods[s->ordered[i].pod].used += s->ordered[i].used;
    for (size_t i = 0; i < n_ordered; i++)
        s->ordered[i].pod_used = s->pods[s->ordered[i].pod].used;
}

static void write_ranks(const struct packed_survey *s, uint32_t k, uint32_t n, uint32_t *out)
{
    size_t n_ordered;
    order_leaves(s, &n_ordered);
    use_leaves(s, n_ordered, k, n);
    sum_pods(s, n_ordered);
    qsort(s->ordered, n_ordered, sizeof *s->ordered, compare_used);
    for (size_t i = 0; i < n_ordered; i++)
        for (uint32_t r = 0; r < s->ordered[i].used; r++)
            *out++ = s->nodes[s->ordered[i].first + r].node;
}

static int pack(struct packed_survey *s, const struct sandtable_place_request *request,
                uint32_t *out)
{
    uint32_t slack;
    if (allocate(s, request->n_allowed) != 0)
        return -1;
    survey(s, request);
    const uint32_t k = fewest_leaves(s, request->n_nodes, &slack);
    if (choose_pods(s, k, slack, request->n_nodes) != 0)
        return -1;
    write_ranks(s, k, request->n_nodes, out);
    return 0;
}

// A job of less than a node: the fullest node that has room, of equal ones the lowest id.
static uint32_t best_fit(const struct sandtable_place_request *request)
{
    uint32_t best = request->allowed[0];
    for (size_t i = 1; i < request->n_allowed; i++)
        if (request->nodes[request->allowed[i]].free_gpus < request->nodes[best].free_gpus)
            best = request->allowed[i];
    return best;
}

// ---- the table ----------------------------------------------------------------------------------

static int packed_create(const struct sandtable_host *host, void **self)
{
    struct packed *packed = calloc(1, sizeof *packed);
    if (packed == NULL)
        return host->fail(host, "out of memory");
    packed->host = host;
    *self = packed;
    return 0;
}

static int packed_place(void *self, const struct sandtable_place_request *request, uint32_t *out,
                        int *found)
{
    const struct packed *packed = self;
    struct packed_survey s = {0};
    *found = request->n_nodes <= request->n_allowed;
    if (!*found || request->n_nodes == 0)
        return 0;
    if (request->node_gpus < request->nodes[request->allowed[0]].n_gpus) {
        out[0] = best_fit(request);
        return 0;
    }
    const int failed = pack(&s, request, out);
    release(&s);
    return failed ? packed->host->fail(packed->host, "out of memory") : 0;
}

static void packed_destroy(void *self)
{
    free(self);
}

const struct sandtable_place sand_place_packed = {
    .struct_size = sizeof(struct sandtable_place),
    .abi_version = SANDTABLE_ABI_VERSION,
    .type = "place/packed",
    .version = "1.0",
    .summary = "fewest leaves, then fewest pods, then the best fit, then the lowest ids; jobs of "
               "less than a node onto the fullest node that has room",
    .create = packed_create,
    .place = packed_place,
    .destroy = packed_destroy,
};
