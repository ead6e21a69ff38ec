// One replication: open, pump, summary, close.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay.h"

#include "world.h"

static enum sand_rc run(struct sand_world *w)
{
    const struct sand_bridge_platform platform = {
        .link_Bps = w->link_Bps, .n_links = w->n_links, .max_flows = w->max_flows};
    SAND_TRY(sand_bridge_run(&platform, sand_pump_run, w, w->diag));
    if (!w->ended)
        return sand_fail(w->diag, SAND_ERR_INTERNAL, "the engine stopped before the end");
    return sand_summary_emit(w);
}

enum sand_rc sand_replay_run(const struct sand_experiment *experiment, struct sand_oracle *oracle,
                             const struct sand_replay_options *options,
                             const struct sand_sink *sink, struct sand_diag *diag)
{
    struct sand_world w;
    enum sand_rc rc = sand_world_open(&w, experiment, oracle, options, sink, diag);
    if (rc == SAND_OK)
        rc = run(&w);
    sand_world_close(&w);
    return rc;
}
