// The server's side: read a request, fork a child, pass on what it says. Internal to sim/oracle.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_ORACLE_SERVERLOOP_H
#define SAND_SIM_ORACLE_SERVERLOOP_H

#include "forkserver.h"

// Serves requests on `fd` until its end; never returns.
_Noreturn void sand_server_loop(int fd, pid_t parent, sand_work_fn *work, size_t answer_size);

// "was killed by SIGSEGV", "ended with status 3", from a waitpid() status.
void sand_server_describe_end(int status, char *text, size_t size);

#endif
