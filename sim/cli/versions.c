// Version of the program and of the libraries that results depend on.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <unistd.h>

#include "bridge.h"
#include "cli.h"
#include "store.h"

const char *sand_cli_version(void)
{
    return SAND_VERSION;
}

// "2.36" of "glibc 2.36".
static const char *libc_version(void)
{
    static char text[64];
    confstr(_CS_GNU_LIBC_VERSION, text, sizeof text);
    const char *space = strchr(text, ' ');
    return space ? space + 1 : text;
}

const struct sand_library *sand_cli_libraries(size_t *n)
{
    static struct sand_library libraries[] = {{"SimGrid", NULL}, {"HDF5", NULL}, {"glibc", NULL}};
    libraries[0].version = sand_bridge_simgrid_version();
    libraries[1].version = sand_store_hdf5_version();
    libraries[2].version = libc_version();
    *n = sizeof libraries / sizeof libraries[0];
    return libraries;
}
