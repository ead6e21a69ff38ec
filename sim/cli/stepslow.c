// Reads stragglers. SPDX-License-Identifier: GPL-2.0-or-later
// "3=0.9" is node 3 with all its GPUs, "3.5=0.9" its GPU 5.
#include "stepslow.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

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

static enum sand_rc apply(const char *text, const struct sand_cluster *cluster, float *speeds,
                          struct sand_diag *diag)
{
    const uint32_t per_node = cluster->node_type->n_gpus;
    const char *at = text;
    char why[160] = "";
    double speed = 0;
    uint32_t first = 0, end = per_node;
    const uint32_t node = number(&at, cluster->n_nodes);
    if (*at == '.') {
        at++;
        first = number(&at, per_node);
        end = first + 1;
    }
    if (node == cluster->n_nodes || first == per_node || *at != '=' ||
        sand_quantity_parse(at + 1, SAND_DIM_FRACTION, &speed, why, sizeof why) != SAND_OK ||
        !(speed >= SAND_SLOWEST))
        return sand_fail(
            diag, SAND_ERR_USAGE,
            "--slow is \"%s\": must be NODE=SPEED or NODE.GPU=SPEED, with a node below "
            "%" PRIu32 ", a GPU below %" PRIu32 " and a speed from 0.001 to 1, such "
            "as 3.5=0.9",
            text, cluster->n_nodes, per_node);
    for (uint32_t g = first; g < end; g++)
        speeds[(size_t)node * per_node + g] = (float)speed;
    return SAND_OK;
}

enum sand_rc sand_cli_slow(const char *const *texts, size_t n, const struct sand_cluster *cluster,
                           float **speeds, struct sand_diag *diag)
{
    const size_t gpus = sand_cluster_gpus(cluster);
    enum sand_rc rc = SAND_OK;
    *speeds = NULL;
    if (n == 0)
        return SAND_OK;
    float *made = sand_calloc(gpus, sizeof *made);
    if (made == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < gpus; i++)
        made[i] = 1;
    for (size_t i = 0; rc == SAND_OK && i < n; i++)
        rc = apply(texts[i], cluster, made, diag);
    if (rc != SAND_OK)
        sand_free(made);
    else
        *speeds = made;
    return rc;
}
