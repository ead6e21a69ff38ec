// The first rule that fits; where names differ, the one of most words.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepfind.h"

#include <string.h>

#include "namewords.h"

const struct sand_step_stack *sand_step_find_stack(const struct sand_step_rules *rules,
                                                   const struct sand_step_row *row)
{
    for (size_t i = 0; i < rules->n_stacks; i++) {
        const struct sand_step_stack *s = &rules->stacks[i];
        if (sand_name_contains(row->cell[SAND_STEP_SOURCE], s->source) &&
            sand_name_begins(row->cell[SAND_STEP_GPU], s->gpu) &&
            sand_name_begins(row->cell[SAND_STEP_SHARDING], s->sharding))
            return s;
    }
    return NULL;
}

const struct sand_step_machine *sand_step_find_machine(const struct sand_step_rules *rules,
                                                       const struct sand_step_row *row)
{
    const char *gpu = row->cell[SAND_STEP_GPU], *network = row->cell[SAND_STEP_NETWORK];
    const struct sand_step_machine *best = NULL;
    int most = 0;
    for (size_t i = 0; i < rules->n_machines; i++) {
        const struct sand_step_machine *m = &rules->machines[i];
        if (!sand_name_contains(network, m->network))
            continue;
        if (strcasecmp(gpu, m->gpu) == 0)
            return m;
        const int words = sand_name_words(m->gpu, gpu);
        if (words > most) {
            most = words;
            best = m;
        }
    }
    return best;
}

const struct sand_step_known *sand_step_find_known(const struct sand_step_rules *rules,
                                                   const struct sand_step_row *row)
{
    const char *name = row->cell[SAND_STEP_MODEL];
    const struct sand_step_known *best = NULL;
    int most = 0;
    for (size_t i = 0; i < rules->n_knowns; i++) {
        if (sand_name_begins(name, rules->knowns[i].name))
            return &rules->knowns[i];
        const int words = sand_name_words(rules->knowns[i].name, name);
        if (words > most) {
            most = words;
            best = &rules->knowns[i];
        }
    }
    return best;
}

const struct sand_step_recipe *sand_step_find_recipe(const struct sand_step_rules *rules,
                                                     const struct sand_step_row *row)
{
    for (size_t i = 0; i < rules->n_recipes; i++) {
        const struct sand_step_recipe *r = &rules->recipes[i];
        if (sand_name_contains(row->cell[SAND_STEP_SOURCE], r->source) &&
            sand_name_begins(row->cell[SAND_STEP_MODEL], r->model) &&
            sand_name_begins(row->cell[SAND_STEP_GPU], r->gpu))
            return r;
    }
    return NULL;
}
