// A backtest for people, and for programs.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_BACKTEST_BACKTESTREPORT_H
#define SAND_ANALYSIS_BACKTEST_BACKTESTREPORT_H

#include <stdio.h>

#include "backtest.h"
#include "summary.h"

// What was compared with what: the trace's name in messages, the policy that scheduled.
struct sand_backtest_title {
    const char *experiment, *policy;
};

// Waits, use and completion of both schedules, with their definitions, and the first jobs that
// start at another time than recorded.
void sand_backtest_print(const struct sand_backtest *backtest,
                         const struct sand_backtest_title *title, enum sand_style style, FILE *out);

// One object; SI units; null where there is no figure.
void sand_backtest_json(const struct sand_backtest *backtest,
                        const struct sand_backtest_title *title, FILE *out);

// One line per job of the experiment, in the order of the results; empty cells where there is no
// value.
void sand_backtest_csv(const struct sand_backtest *backtest, FILE *out);

#endif
