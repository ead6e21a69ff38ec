// Which links of the fabric the traffic of a step crosses.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "mem.h"
#include "step.h"
#include "traffic.h"

enum sand_rc sand_step_links(const struct sand_step_question *question, uint32_t **links, size_t *n,
                             struct sand_diag *diag)
{
    struct step_traffic traffic;
    struct sand_step_question all = *question;
    all.folding = SAND_NO_FOLD; // a folded rail hides the others
    SAND_TRY(step_traffic_build(&all, NULL, 0, &traffic, diag));
    *n = traffic.n_links;
    *links = sand_calloc((size_t)traffic.n_links + 1, sizeof **links);
    for (uint32_t i = 0; *links != NULL && i < traffic.n_links; i++)
        (*links)[i] = traffic.links[i].fabric_link;
    step_traffic_free(&traffic);
    return *links != NULL ? SAND_OK : SAND_ERR_NOMEM;
}
