// The queue of a stage's rings, piece by piece. SPDX-License-Identifier: GPL-2.0-or-later
// What a piece waits for is what run.c makes it wait for.
#include "shardedpass.h"

#include "numbers.h"

// What is left on the rings of the weights and on others, and whether gradients set out with the
// next piece.
struct rings {
    double busy_s[2];
    int owes;
};

enum { END = 2 }; // no further piece

// From the beginning of a piece to that of the next, which goes the way `next`; 1 is backwards.
static double piece_s(const struct sharded_pieces *p, int way, int next, struct rings *rings)
{
    const double gather_s = next == END ? 0 : p->gather_s[next];
    const double late_gather_s = next == END ? 0 : p->late_gather_s[next];
    const double gathered_s = rings->busy_s[0] + p->other_s[way] + gather_s;
    double free_s[2], end_s = p->work_s[way];
    free_s[0] = gathered_s + (rings->owes ? p->reduce_s[0] : 0);
    free_s[1] = rings->busy_s[1];
    if (rings->owes && p->reduce_s[1] > 0)
        free_s[1] = sand_larger(free_s[0], free_s[1]) + p->reduce_s[1];
    for (int leg = 0; leg < 2 && way; leg++)
        if (p->late_reduce_s[leg] > 0)
            end_s = free_s[leg] = sand_larger(end_s, free_s[leg]) + p->late_reduce_s[leg];
    if (late_gather_s > 0)
        end_s = free_s[0] = sand_larger(end_s, free_s[0]) + late_gather_s;
    else if (gather_s > 0)
        end_s = sand_larger(end_s, gathered_s);
    for (int leg = 0; leg < 2; leg++)
        rings->busy_s[leg] = sand_larger(0, free_s[leg] - end_s);
    rings->owes = way;
    return end_s;
}

// All pieces of a pass; *output_s: when its last piece is computed.
static double pass_s(const struct sharded_pieces *p, int way, int next, struct rings *rings,
                     double *output_s)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        *output_s = sum_s + p->work_s[way];
        sum_s += piece_s(p, way, i + 1 < p->n ? way : next, rings);
    }
    return sum_s;
}

struct sharded_pass sharded_pass_find(const struct sharded_pieces *p)
{
    struct sharded_pass pass;
    double output_s = 0;
    for (int way = 0; way < 2; way++) {
        struct rings idle = {.owes = way};
        pass_s(p, way, way, &idle, &output_s);
        pass.through_s[way] = p->late_gather_s[way] + output_s;
    }
    struct rings rings = {.owes = 0};
    for (int i = 0; i < 4; i++) // forwards and backwards in turn; the second time round counts
        pass.occupied_s[i % 2] = pass_s(p, i % 2, 1 - i % 2, &rings, &output_s);
    return pass;
}

struct sharded_alone sharded_alone_find(const struct sharded_pieces *p, uint32_t n)
{
    const uint32_t followed = n < 3 ? n : 3; // the first, one that stands for the others, the last
    struct sharded_alone alone = {.work_s = p->late_gather_s[0]};
    struct rings rings = {.owes = 0};
    double output_s = 0;
    for (uint32_t i = 0; i < followed; i++) {
        const double both_s = pass_s(p, 0, 1, &rings, &output_s);
        const double whole_s = both_s + pass_s(p, 1, i + 1 < followed ? 0 : END, &rings, &output_s);
        alone.work_s += i == 1 && n > 3 ? (n - 2.0) * whole_s : whole_s;
    }
    const double first_s = rings.busy_s[0] + p->reduce_s[0];
    alone.left_s =
        p->reduce_s[1] > 0 ? sand_larger(first_s, rings.busy_s[1]) + p->reduce_s[1] : first_s;
    return alone;
}
