// Kernels of collectives with round latencies and without pipelines to fill, so that closed forms
// hold. SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_TEST_KERNELS_H
#define SAND_TESTS_TEST_KERNELS_H

#include "collspec.h"

static struct sand_coll_kernel test_kernel_list[] = {{.id = "ring",
                                                      .algorithm = SAND_ALG_RING,
                                                      .protocol = SAND_PROTO_SIMPLE,
                                                      .base_s = 8e-6,
                                                      .scaleup_s = 3e-6,
                                                      .network_s = 14e-6,
                                                      .rate = 1},
                                                     {.id = "pairwise",
                                                      .algorithm = SAND_ALG_PAIRWISE,
                                                      .protocol = SAND_PROTO_SIMPLE,
                                                      .scaleup_s = 5e-6,
                                                      .network_s = 15e-6,
                                                      .rate = 1},
                                                     {.id = "hierarchical",
                                                      .algorithm = SAND_ALG_HIERARCHICAL,
                                                      .protocol = SAND_PROTO_SIMPLE,
                                                      .scaleup_s = 5e-6,
                                                      .network_s = 15e-6,
                                                      .rate = 1,
                                                      .on_request = 1}};

static const struct sand_collectives test_kernels = {.id = "test",
                                                     .tier_sharpness = 8,
                                                     .channels = 16,
                                                     .p2p_rate = 1,
                                                     .kernels = test_kernel_list,
                                                     .n_kernels = 3};

#endif
