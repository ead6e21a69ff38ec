// The choice of a policy and its parameters, as written in the spec.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_MODEL_CHOICE_H
#define SAND_SIM_MODEL_CHOICE_H

#include <stddef.h>

struct sand_choice_param {
    const char *name, *text; // text is unparsed: the policy host knows the declared dimension
    const char *file;
    long line;
};

struct sand_choice {
    const char *type;   // "schedule/fifo"
    const char *plugin; // path of a shared object, NULL for built-ins
    const struct sand_choice_param *params;
    size_t n_params;
    const char *file;
    long line;
};

#endif
