// Nodes as people list them on a command line: "0-255,3840-4095,7".
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_CLI_NODERANGE_H
#define SAND_SIM_CLI_NODERANGE_H

#include <stdint.h>

#include "diag.h"

// The range, or single node, that *text begins with, of nodes below `n_nodes`; *text moves behind
// it and its comma, to the end of the text at last. `option` is what messages call the text.
enum sand_rc sand_cli_next_nodes(const char *option, const char **text, uint32_t n_nodes,
                                 uint32_t *first, uint32_t *last, struct sand_diag *diag);

// The nodes of `text` in the order written, which must be exactly `n`, all different and below
// `n_nodes`.
enum sand_rc sand_cli_nodes(const char *option, const char *text, uint32_t n_nodes, uint32_t *nodes,
                            uint32_t n, struct sand_diag *diag);

#endif
