// Throws the queue pairs of half the cluster at the other half, seed after seed.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "hashloss.h"

#include <math.h>
#include <string.h>

#include "ids.h"
#include "mem.h"

enum { MAX_SEEDS = 64, MAX_FLOWS = 2 << 20 };

// Link by link the time its bytes take over the time the NICs need for theirs.
struct thrown {
    struct sand_fabric fabric; // with this seed and number of queue pairs
    double nic_Bps;
    double *load;
};

static uint32_t partner(const struct sand_fabric *f, uint32_t nic)
{
    const uint32_t shift = f->n_nodes / 2 * f->nics_per_node;
    return (uint32_t)(((uint64_t)nic + shift) % f->n_endpoints);
}

static void add_loads(struct thrown *t)
{
    const struct sand_fabric *f = &t->fabric;
    uint32_t links[SAND_ROUTE_MAX];
    memset(t->load, 0, f->n_links * sizeof *t->load);
    for (uint32_t nic = 0; nic < f->n_endpoints; nic++)
        for (uint32_t q = 0; q < f->n_paths; q++) {
            const uint32_t n = sand_fabric_route_path(f, nic, partner(f, nic), q, links);
            for (uint32_t i = 0; n != SAND_NONE && i < n; i++)
                t->load[links[i]] += t->nic_Bps / f->n_paths /
                                     (f->links[links[i]].capacity_Bps * f->links[links[i]].speed);
        }
}

// The sum of what queue pairs get, of 1 each, and the least; NICs and what has no way left out.
static double share(const struct thrown *t, double *least)
{
    const struct sand_fabric *f = &t->fabric;
    uint32_t links[SAND_ROUTE_MAX];
    double sum = 0, n_pairs = 0;
    *least = 1;
    for (uint32_t nic = 0; nic < f->n_endpoints; nic++)
        for (uint32_t q = 0; q < f->n_paths; q++) {
            const uint32_t n = sand_fabric_route_path(f, nic, partner(f, nic), q, links);
            double most = 1;
            for (uint32_t i = 0; n != SAND_NONE && i < n; i++)
                if (f->links[links[i]].link_class > SAND_LINK_NIC_DOWN)
                    most = fmax(most, t->load[links[i]]);
            if (n == SAND_NONE)
                continue;
            sum += 1 / most;
            n_pairs += 1;
            *least = fmin(*least, 1 / most);
        }
    return n_pairs > 0 ? sum / n_pairs : 1;
}

// What oversubscription alone takes: the mean load of the fullest class.
static double evenly(const struct thrown *t)
{
    const struct sand_fabric *f = &t->fabric;
    double sum[SAND_LINK_CLASSES] = {0}, n[SAND_LINK_CLASSES] = {0}, most = 1;
    for (uint32_t l = f->first[SAND_LINK_NIC_DOWN]; l < f->n_links; l++) {
        sum[f->links[l].link_class] += t->load[l];
        n[f->links[l].link_class] += 1;
    }
    for (unsigned c = SAND_LINK_NIC_DOWN + 1; c < SAND_LINK_CLASSES; c++)
        most = n[c] > 0 ? fmax(most, sum[c] / n[c]) : most;
    return 1 - 1 / most;
}

static double spread(double sum, double squares, double n)
{
    return sqrt(fmax(0, squares / n - sum / n * (sum / n)));
}

enum sand_rc sand_hash_loss(const struct sand_fabric *fabric, uint32_t queue_pairs,
                            struct sand_hash_loss *loss, struct sand_diag *diag)
{
    struct thrown t = {.fabric = *fabric};
    const double flows = (double)fabric->n_endpoints * queue_pairs;
    const double seeds = fmin(MAX_SEEDS, fmax(1, MAX_FLOWS / flows));
    double sums[2] = {0, 0}, squares[2] = {0, 0};
    t.fabric.n_paths = queue_pairs;
    t.nic_Bps = fabric->links[fabric->first[SAND_LINK_NIC_UP]].capacity_Bps * fabric->link_planes;
    t.load = sand_calloc(fabric->n_links, sizeof *t.load);
    if (t.load == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "no memory for the loads of links");
    *loss = (struct sand_hash_loss){.n_seeds = (uint32_t)seeds};
    for (uint32_t seed = 0; seed < loss->n_seeds; seed++) {
        double least;
        t.fabric.hash_seed = fabric->hash_seed + seed;
        add_loads(&t);
        loss->even = evenly(&t); // of any seed
        const double lost[2] = {1 - share(&t, &least), 1 - least};
        for (int i = 0; i < 2; i++) {
            sums[i] += lost[i];
            squares[i] += lost[i] * lost[i];
        }
    }
    sand_free(t.load);
    loss->throughput = sums[0] / loss->n_seeds;
    loss->throughput_spread = spread(sums[0], squares[0], loss->n_seeds);
    loss->ring = sums[1] / loss->n_seeds;
    loss->ring_spread = spread(sums[1], squares[1], loss->n_seeds);
    return SAND_OK;
}
