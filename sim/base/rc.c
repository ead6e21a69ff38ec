// Texts and exit statuses of the result codes, made from SAND_RC_LIST.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "rc.h"

#include <stddef.h>

struct rc_info {
    int status;
    const char *text;
};

static const struct rc_info infos[SAND_RC_COUNT] = {
#define SAND_RC_INFO(name, status, text) [name] = {status, text},
    SAND_RC_LIST(SAND_RC_INFO)
#undef SAND_RC_INFO
};

// A code from outside the list is a bug of the caller's, hence "internal".
static const struct rc_info *rc_info(enum sand_rc rc)
{
    size_t index = (size_t)rc;
    return &infos[index < SAND_RC_COUNT ? index : SAND_ERR_INTERNAL];
}

const char *sand_rc_text(enum sand_rc rc)
{
    return rc_info(rc)->text;
}

int sand_rc_exit_status(enum sand_rc rc)
{
    return rc_info(rc)->status;
}
