// The program `sandtable`.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>

#include "cli.h"

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN); // a file size limit is an error of the write, not a death
    return sand_cli_main(argc, argv);
}
