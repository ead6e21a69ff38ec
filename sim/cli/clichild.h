// Work with foreign code in it, in a process of its own.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_CLICHILD_H
#define SAND_SIM_CLI_CLICHILD_H

#include "diag.h"

// Does `work` in a child process, whose messages and result are this one's: a plug-in that crashes
// or exits is told, with `who`, and is SAND_ERR_PLUGIN (SAND_ERR_UNIT: killed from outside). What
// `work` prints is printed.
enum sand_rc sand_cli_in_child(enum sand_rc (*work)(void *self, struct sand_diag *diag), void *self,
                               const char *who, struct sand_diag *diag);

#endif
