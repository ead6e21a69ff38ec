// Figures of a backtest (private to analysis/backtest).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_BACKTEST_BACKTESTGROUPS_H
#define SAND_ANALYSIS_BACKTEST_BACKTESTGROUPS_H

#include "backtest.h"

// Fills the figures of all compared jobs and of their groups. SAND_ERR_NOMEM.
enum sand_rc sand_backtest_group(struct sand_backtest *backtest, uint64_t capacity_gpus);

#endif
