// The program `sandtable`.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli.h"

int main(int argc, char **argv)
{
    return sand_cli_main(argc, argv);
}
