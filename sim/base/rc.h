// Result codes: the one list from which enum, text and exit status come.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_BASE_RC_H
#define SAND_SIM_BASE_RC_H

// X(name, exit status of the program, what it means)
#define SAND_RC_LIST(X)                                                                            \
    X(SAND_OK, 0, "ok")                                                                            \
    X(SAND_ERR_UNIT, 1, "a run unit failed or did not finish")                                     \
    X(SAND_ERR_USAGE, 2, "the command line is wrong")                                              \
    X(SAND_ERR_INPUT, 3, "the input is invalid")                                                   \
    X(SAND_ERR_IO, 4, "reading or writing a file failed")                                          \
    X(SAND_ERR_PLUGIN, 5, "a policy failed")                                                       \
    X(SAND_ERR_NOMEM, 4, "out of memory")                                                          \
    X(SAND_ERR_INTERNAL, 70, "an internal check failed")                                           \
    X(SAND_ERR_FINDING, 1, "a check found what does not hold")

#define SAND_RC_ENUM(name, status, text) name,
enum sand_rc { SAND_RC_LIST(SAND_RC_ENUM) SAND_RC_COUNT };
#undef SAND_RC_ENUM

// What `rc` means, never NULL.
const char *sand_rc_text(enum sand_rc rc);

// Exit status of the program for `rc` (0, 1, 2, 3, 4, 5 or 70).
int sand_rc_exit_status(enum sand_rc rc);

// Returns early with the code of a failed call.
#define SAND_TRY(call)                                                                             \
    do {                                                                                           \
        enum sand_rc sand_try_rc = (call);                                                         \
        if (sand_try_rc != SAND_OK)                                                                \
            return sand_try_rc;                                                                    \
    } while (0)

#endif
