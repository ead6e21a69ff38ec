// Pairs of NICs that traffic finds no route for.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "graph_fixture.h"
#include "hotlinks.h"

// Two NICs, each with a port in another plane only, work but cannot meet: NICs pass nothing on. The
// ring has that pair in one direction, and names it.
Test(graph_missing, no_common_plane)
{
    struct plant p;
    plant_set(&p, 4, 2, 0);
    p.cluster.fabric.planes = 2;
    p.cluster.fabric.spreading = SAND_SPREAD_STATIC;
    const struct sand_impaired down[] = {{.part = "node1 nic0 plane0 up", .speed = 0},
                                         {.part = "node2 nic0 plane1 up", .speed = 0}};
    p.cluster.impaired = down;
    for (uint32_t n = 1; n <= 2; n++) {
        struct sand_fabric *fabric = NULL;
        struct sand_hot_links hot;
        p.cluster.n_impaired = n;
        cr_assert_eq(sand_fabric_build(&p.cluster, &fabric, NULL), SAND_OK);
        cr_assert_eq(sand_hot_links(fabric, SAND_TRAFFIC_RING, &hot, NULL), SAND_OK);
        cr_expect_eq(hot.n_missing, n - 1);
        if (n == 2) {
            cr_expect_eq(hot.missing[0], 1);
            cr_expect_eq(hot.missing[1], 2);
        }
        sand_fabric_free(fabric);
    }
}
