// The policies of an experiment, those of its jobs and mixes included, that name a plug-in.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins.h"

#include <string.h>

#include "mix.h"

static int is_listed(const char *text, const char *type)
{
    const size_t length = strlen(type);
    for (const char *at = strstr(text, type); at != NULL; at = strstr(at + 1, type))
        if ((at == text || at[-1] == ' ') && (at[length] == '\0' || at[length] == ','))
            return 1;
    return 0;
}

static void list(const struct sand_choice *choice, char *text, size_t size)
{
    if (choice->plugin == NULL || is_listed(text, choice->type))
        return;
    const char *between = text[0] == '\0' ? "" : ", ";
    if (strlen(text) + strlen(between) + strlen(choice->type) >= size)
        return;
    strcat(text, between);
    strcat(text, choice->type);
}

void sand_plugins_list(const struct sand_experiment *experiment, char *text, size_t size)
{
    text[0] = '\0';
    list(&experiment->schedule, text, size);
    list(&experiment->place, text, size);
    list(&experiment->recover, text, size);
    for (size_t i = 0; i < experiment->n_jobs; i++)
        list(&experiment->jobs[i].checkpoint.policy, text, size);
    for (size_t i = 0; i < experiment->n_mixes; i++) {
        const struct sand_mix *mix = experiment->mixes[i].mix;
        for (size_t c = 0; c < mix->n_classes; c++)
            list(&mix->classes[c].checkpoint.policy, text, size);
    }
}
