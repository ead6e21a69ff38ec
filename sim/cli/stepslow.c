// Reads stragglers. SPDX-License-Identifier: GPL-2.0-or-later
// "3=0.9" is node 3 with all its GPUs, "3.5=0.9" its GPU 5.
#include "stepslow.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "units.h"

// A whole number below `end` at the start of *text, which it moves on; `end` if there is none.
static uint32_t number(const char **text, uint32_t end)
{
    char *after = NULL;
    if (!isdigit((unsigned char)**text))
        return end;
    const unsigned long value = strtoul(*text, &after, 10);
    *text = after;
    return value < end ? (uint32_t)value : end;
}

struct slow {
    const struct sand_cluster *cluster;
    const struct sand_job_spec *job;
    const uint32_t *nodes; // the job's
    const char *const *texts;
    float *speeds;
    uint32_t *by; // per GPU: the text that it is in, counted from 1; 0: none
};

// One text: its node, GPUs first to before end of it, and their speed.
struct straggler {
    uint32_t node, first, end;
    double speed;
};

static enum sand_rc read_straggler(const char *text, const struct sand_cluster *cluster,
                                   struct straggler *s, struct sand_diag *diag)
{
    const uint32_t per_node = cluster->node_type->n_gpus;
    const char *at = text;
    char why[160] = "";
    *s = (struct straggler){.end = per_node};
    s->node = number(&at, cluster->n_nodes);
    if (*at == '.') {
        at++;
        s->first = number(&at, per_node);
        s->end = s->first + 1;
    }
    if (s->node == cluster->n_nodes || s->first == per_node || *at != '=' ||
        sand_quantity_parse(at + 1, SAND_DIM_FRACTION, &s->speed, why, sizeof why) != SAND_OK ||
        !(s->speed >= SAND_SLOWEST))
        return sand_fail(
            diag, SAND_ERR_USAGE,
            "--slow is \"%s\": must be NODE=SPEED or NODE.GPU=SPEED, with a node below "
            "%" PRIu32 ", a GPU below %" PRIu32 " and a speed from 0.001 to 1, such "
            "as 3.5=0.9",
            text, cluster->n_nodes, per_node);
    return SAND_OK;
}

// "3.5=0.9", which was read before, and not "3=0.9".
static int names_gpu(const char *text)
{
    return text[strcspn(text, ".=")] == '.';
}

static void warn(const struct slow *slow, const struct straggler *s, const char *text,
                 uint32_t before, struct sand_diag *diag)
{
    uint32_t i = 0;
    while (i < slow->job->n_nodes && slow->nodes[i] != s->node)
        i++;
    if (i == slow->job->n_nodes)
        sand_diag_add(diag, SAND_WARNING, NULL, 0,
                      "--slow %s changes nothing: job \"%s\" does not run on node %" PRIu32
                      "; its %" PRIu32 " nodes begin with %" PRIu32,
                      text, slow->job->id, s->node, slow->job->n_nodes, slow->nodes[0]);
    if (before > 0)
        sand_diag_add(diag, SAND_WARNING, NULL, 0,
                      "--slow %s takes the place of --slow %s: both name GPUs of node %" PRIu32
                      ", and the later one holds",
                      text, slow->texts[before - 1], s->node);
}

static enum sand_rc apply(const struct slow *slow, uint32_t index, struct sand_diag *diag)
{
    struct straggler s;
    uint32_t before = 0;
    SAND_TRY(read_straggler(slow->texts[index], slow->cluster, &s, diag));
    const size_t node_gpu = (size_t)s.node * slow->cluster->node_type->n_gpus;
    for (uint32_t g = s.first; g < s.end; g++) {
        const uint32_t by = slow->by[node_gpu + g];
        if (by > 0 && (s.end - s.first > 1 || names_gpu(slow->texts[by - 1])))
            before = by;
        slow->by[node_gpu + g] = index + 1;
        slow->speeds[node_gpu + g] = (float)s.speed;
    }
    warn(slow, &s, slow->texts[index], before, diag);
    return SAND_OK;
}

enum sand_rc sand_cli_slow(const char *const *texts, size_t n, const struct sand_cluster *cluster,
                           const struct sand_job_spec *job, const uint32_t *nodes, float **speeds,
                           struct sand_diag *diag)
{
    const size_t gpus = sand_cluster_gpus(cluster);
    *speeds = NULL;
    if (n == 0)
        return SAND_OK;
    const struct slow slow = {cluster,
                              job,
                              nodes,
                              texts,
                              sand_calloc(gpus, sizeof *slow.speeds),
                              sand_calloc(gpus, sizeof *slow.by)};
    enum sand_rc rc = SAND_OK;
    if (slow.speeds == NULL || slow.by == NULL)
        rc = sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    for (size_t i = 0; rc == SAND_OK && i < gpus; i++)
        slow.speeds[i] = 1;
    for (size_t i = 0; rc == SAND_OK && i < n; i++)
        rc = apply(&slow, (uint32_t)i, diag);
    sand_free(slow.by);
    if (rc != SAND_OK)
        sand_free(slow.speeds);
    else
        *speeds = slow.speeds;
    return rc;
}
