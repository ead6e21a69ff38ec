// Columns of predicted collectives.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "collreport.h"

#define NUMBER(name, expression)                                                                   \
    static double name##_of(const void *results, size_t i)                                         \
    {                                                                                              \
        const struct sand_coll_results *r = results;                                               \
        return expression;                                                                         \
    }
#define TEXT(name, expression)                                                                     \
    static const char *name##_of(const void *results, size_t i)                                    \
    {                                                                                              \
        const struct sand_coll_results *r = results;                                               \
        return expression;                                                                         \
    }

static double or_nan(double value)
{
    return value > 0 ? value : NAN;
}

static double error_of(const void *results, size_t i)
{
    const struct sand_predicted_rows rows = sand_coll_predicted(results);
    return sand_predicted_error(&rows, i);
}

static const char *class_of(const void *results, size_t i)
{
    static const char *const names[] = {"scored", "listed", "skipped"};
    const struct sand_coll_results *r = results;
    if (r->cases[i].class == SAND_COLL_SCORED && !sand_coll_is_scored(r, i))
        return names[SAND_COLL_SKIPPED];
    return names[r->cases[i].class];
}

static const char *why_of(const void *results, size_t i)
{
    const struct sand_predicted_rows rows = sand_coll_predicted(results);
    const struct sand_coll_results *r = results;
    const char *reason = rows.kind->reason(r, i);
    return reason ? reason : r->cases[i].why;
}

TEXT(id, r->cases[i].cell[SAND_COLL_ID])
TEXT(machine, r->cases[i].machine ? r->cases[i].machine->id : "")
TEXT(network, r->cases[i].comm.domains > 1 ? r->cases[i].comm.nic->id : "")
TEXT(algorithm, r->terms[i].kernel ? sand_algorithm_name(r->terms[i].kernel->algorithm) : "")
TEXT(protocol, r->terms[i].kernel ? sand_protocol_name(r->terms[i].kernel->protocol) : "")
NUMBER(bytes, or_nan(r->cases[i].collective.bytes))
NUMBER(measured, or_nan(r->cases[i].measured_s))
NUMBER(predicted, or_nan(r->terms[i].time_s))
NUMBER(latency, r->terms[i].latency_s)
NUMBER(wire, r->terms[i].wire_s)
NUMBER(fill, r->terms[i].fill_s)
NUMBER(scaleup_bytes, r->terms[i].scaleup_B)
NUMBER(scaleup_rate, r->terms[i].scaleup_Bps)
NUMBER(network_bytes, r->terms[i].network_B)
NUMBER(network_rate, r->terms[i].network_Bps)

static const struct sand_predicted_column columns[] = {
    {"id", "1", "id of the row", NULL, id_of},
    {"class", "1", "scored, listed or skipped", NULL, class_of},
    {"machine", "1", "rule that says what the GPU and the platform mean", NULL, machine_of},
    {"network", "1", "link between the domains; empty: one domain", NULL, network_of},
    {"algorithm", "1", "algorithm", NULL, algorithm_of},
    {"protocol", "1", "protocol", NULL, protocol_of},
    {"bytes", "B", "message size as nccl-tests counts it; NaN: none", bytes_of, NULL},
    {"measured_s", "s", "measured time; NaN: none", measured_of, NULL},
    {"predicted_s", "s", "predicted time; NaN: none", predicted_of, NULL},
    {"error", "1", "predicted over measured, less 1", error_of, NULL},
    {"latency_s", "s", "latency", latency_of, NULL},
    {"wire_s", "s", "bytes over rates of both tiers", wire_of, NULL},
    {"fill_s", "s", "filling of the pipeline", fill_of, NULL},
    {"scaleup_B", "B", "bytes through a GPU's scale-up port", scaleup_bytes_of, NULL},
    {"scaleup_Bps", "B/s", "usable rate of the port", scaleup_rate_of, NULL},
    {"network_B", "B", "bytes out of a scale-up domain", network_bytes_of, NULL},
    {"network_Bps", "B/s", "usable rate out of the domain", network_rate_of, NULL},
    {"why", "1", "why it is not scored or has no prediction", NULL, why_of},
};

struct sand_predicted_table sand_coll_table(const struct sand_coll_results *results)
{
    return (struct sand_predicted_table){.content = "collective-validation",
                                         .group = "collectives",
                                         .long_name = "measured collectives, predicted",
                                         .columns = columns,
                                         .n_columns = sizeof columns / sizeof columns[0],
                                         .results = results,
                                         .n = results->n};
}
