// One micro-batch through a chunk whose weights are gathered and gradients reduced piece by piece.
// Internal to sim/step. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_STEP_SHARDEDPASS_H
#define SAND_SIM_STEP_SHARDEDPASS_H

#include <stdint.h>

// Seconds of one piece, forwards and backwards where there are two. What compute waits for is late,
// the rest is beside it.
struct sharded_pieces {
    uint32_t n;
    double work_s[2];  // compute and what follows it
    double other_s[2]; // of that, on the links of the rings
    double gather_s[2], late_gather_s[2];
    double reduce_s[2],
        late_reduce_s[2]; // of gradients, on the rings of the weights, then on others
};

struct sharded_pass {
    double occupied_s[2]; // from its beginning to that of the next, in a pipeline that is full
    double through_s[2];  // from its input to its output, in a stage that stood still before
};

// A stage without neighbours: its `n` micro-batches, and what is then left on the rings.
struct sharded_alone {
    double work_s, left_s;
};
struct sharded_alone sharded_alone_find(const struct sharded_pieces *pieces, uint32_t n);

// Follows the queue of the rings as the simulation does: the next piece's weights set out when a
// piece begins, the gradients of the piece before behind them, late parts behind both. O(pieces).
struct sharded_pass sharded_pass_find(const struct sharded_pieces *pieces);

#endif
