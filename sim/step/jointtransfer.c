// Endless flows of transfers: started again as they end, measured between two instants.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "jointtransfer.h"

#include "ids.h"
#include "mem.h"

static size_t route_size(const struct sand_joint_problem *problem)
{
    size_t n = problem->n_transfers;
    for (size_t u = 0; u < problem->n_uses; u++)
        n += problem->uses[u].streams;
    return n;
}

// A link counts once for every stream; the transfer's own bounds each of them.
static void write_route(struct joint_flows *flows, const struct sand_joint_problem *problem,
                        uint32_t t, uint32_t first_link, uint32_t *next)
{
    const struct joint_transfer *transfer = &problem->transfers[t];
    flows->flows[t].first = *next;
    flows->routes[(*next)++] = first_link + t;
    for (uint32_t u = transfer->first; u < transfer->first + transfer->n; u++)
        for (uint32_t k = 0; k < problem->uses[u].streams; k++)
            flows->routes[(*next)++] = problem->uses[u].link;
    flows->flows[t].n_links = *next - flows->flows[t].first;
}

static enum sand_rc set_out(struct joint_flows *flows, uint32_t t)
{
    struct joint_flow *f = &flows->flows[t];
    SAND_TRY(sand_bridge_flow_start(flows->engine->bridge, flows->routes + f->first, f->n_links,
                                    f->bytes, &f->flow));
    flows->engine->handles[f->flow] = (struct run_handle){RUN_NOBODYS, t};
    flows->engine->n_live++;
    return SAND_OK;
}

static enum sand_rc set_out_again(void *self, uint32_t t)
{
    struct joint_flows *flows = self;
    flows->flows[t].delivered_B += flows->flows[t].bytes;
    return set_out(flows, t);
}

enum sand_rc joint_flows_open(struct joint_flows *flows, struct run_engine *engine,
                              const struct sand_joint_problem *problem, uint32_t first_link)
{
    *flows = (struct joint_flows){.engine = engine, .n = (uint32_t)problem->n_transfers};
    flows->flows = sand_calloc(flows->n, sizeof *flows->flows);
    flows->opened_B = sand_calloc(flows->n, sizeof *flows->opened_B);
    flows->routes = sand_calloc(route_size(problem), sizeof *flows->routes);
    if (!flows->flows || !flows->opened_B || !flows->routes)
        return SAND_ERR_NOMEM;
    uint32_t next = 0;
    for (uint32_t t = 0; t < flows->n; t++)
        write_route(flows, problem, t, first_link, &next);
    engine->other_flow_end = set_out_again;
    engine->others = flows;
    return SAND_OK;
}

void joint_flows_close(struct joint_flows *flows)
{
    sand_free(flows->flows);
    sand_free(flows->opened_B);
    sand_free(flows->routes);
}

enum sand_rc joint_flows_begin(struct joint_flows *flows, const struct sand_joint_problem *problem,
                               double round_s)
{
    flows->is_open = 0;
    for (uint32_t t = 0; t < flows->n; t++) {
        flows->flows[t].delivered_B = 0;
        flows->flows[t].bytes = problem->transfers[t].stream_Bps * round_s;
        SAND_TRY(set_out(flows, t));
    }
    return SAND_OK;
}

static double delivered_B(const struct joint_flows *flows, uint32_t t)
{
    const struct joint_flow *f = &flows->flows[t];
    return f->delivered_B + f->bytes - sand_bridge_flow_remaining_B(flows->engine->bridge, f->flow);
}

void joint_flows_measure(struct joint_flows *flows)
{
    flows->is_open = 1;
    flows->opened_s = sand_bridge_now_s(flows->engine->bridge);
    for (uint32_t t = 0; t < flows->n; t++)
        flows->opened_B[t] = delivered_B(flows, t);
}

void joint_flows_add(const struct joint_flows *flows, double *stream_Bps)
{
    const double took_s = sand_bridge_now_s(flows->engine->bridge) - flows->opened_s;
    for (uint32_t t = 0; t < flows->n && took_s > 0; t++)
        stream_Bps[t] += (delivered_B(flows, t) - flows->opened_B[t]) / took_s;
}
