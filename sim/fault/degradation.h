// When which part degrades, how it flaps: pure functions of (class, k), no engine, no clock.
// Classes draw apart from the faults that kill and from each other: adding one moves nothing else.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_FAULT_DEGRADATION_H
#define SAND_SIM_FAULT_DEGRADATION_H

#include "fault.h"

// Date of a class's k-th strike, the one before being at `last_ns` (0 for k = 0), over n_parts
// parts together; INT64_MAX: none.
int64_t sand_degradation_next_ns(const struct sand_fault_process *process, uint32_t class_index,
                                 uint64_t k, int64_t last_ns, uint64_t n_parts);
// Which of the n_parts it strikes.
uint64_t sand_degradation_part(const struct sand_fault_process *process, uint32_t class_index,
                               uint64_t k, uint64_t n_parts);
// How long the part is down, or up, the m-th time; at least a nanosecond. m < 2^32.
int64_t sand_degradation_flap_ns(const struct sand_fault_process *process, uint32_t class_index,
                                 uint64_t k, uint64_t m, int down);
// The fault to draw its times with (sand_fault_detect_ns, ...) and to book a job's interruption on.
struct sand_fault sand_degradation_fault(const struct sand_fault_process *process,
                                         uint32_t class_index, uint64_t k, uint32_t node,
                                         uint32_t component);

#endif
