// A process that answers each request in a child of its own. Internal to sim/oracle.
// It is forked while the caller has no engine, so its children can have one each whatever the
// caller does later. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_ORACLE_FORKSERVER_H
#define SAND_SIM_ORACLE_FORKSERVER_H

#include <stddef.h>
#include <sys/types.h>

#include "diag.h"

struct sand_forkserver;

// Runs in the child: reads a request, fills the answer (answer_size bytes, zeroed). Its messages
// and result code go back to the asker. It may crash.
typedef enum sand_rc sand_work_fn(const void *request, size_t size, void *answer,
                                  struct sand_diag *diag);

// Forks the server. It keeps standard input, output and error and no other file of the caller's; it
// ends with sand_forkserver_close or when the caller dies.
enum sand_rc sand_forkserver_open(sand_work_fn *work, size_t answer_size,
                                  struct sand_forkserver **server, struct sand_diag *diag);

// Sends a request and waits for its answer. The code is that of `work`, or SAND_ERR_INTERNAL when
// the child or the server died: the message names the signal. After the server's death every
// further request fails. Not reentrant.
enum sand_rc sand_forkserver_ask(struct sand_forkserver *server, const void *request, size_t size,
                                 void *answer, struct sand_diag *diag);

pid_t sand_forkserver_pid(const struct sand_forkserver *server); // for tests; -1 once it is gone

void sand_forkserver_close(struct sand_forkserver *server);

#endif
