# The ETTR check: 20 replications against Daly's closed form with failures during restart and save,
# D / (M exp(R/M) (exp((D+w)/M) - 1)), M = 54 d / interruptions; and its page, to the last digit.
# SPDX-License-Identifier: GPL-2.0-or-later
import math

from example_support import check, close, end, run, table, told

SECOND = ["--set", "jobs/job/checkpoint/param[@name='interval']/@value=30min",
          "--set", "jobs/job/checkpoint/@stall=60s", "--set", "faults/fault[*]/@restart=10min"]
TOLD = {"first": "| 10 min, 10 s, 8 min | # | # |", "second": "| 30 min, 60 s, 10 min | # | # |"}
UNPLANNED = ["--set", "faults/fault[@id='planned']/@over=54000000d"]


def closed_form(interruptions, interval_s, save_s, restart_s):
    mean_s = 54 * 86400 / interruptions
    return interval_s / (mean_s * math.exp(restart_s / mean_s) *
                         (math.exp((interval_s + save_s) / mean_s) - 1))


CASES = [
    # name, settings, interruptions, D, w, R, published figure
    ("first", [], 466, 600, 10, 480, 0.9093),
    ("second", SECOND, 466, 1800, 60, 600, 0.8294),
    ("first-unplanned", UNPLANNED, 419, 600, 10, 480, 0.9165),
    ("second-unplanned", SECOND + UNPLANNED, 419, 1800, 60, 600, 0.8425),
]

for name, settings, n, interval, save, restart, figure in CASES:
    close(closed_form(n, interval, save, restart), figure, 5e-5, f"{name}: the closed form")
    path = run("llama3-405b/oracle.xml", "--jobs", "2", *settings, name=name)
    units = table(path, "replications")
    check(len(units["ettr_run"]) == 20, f"{name}: 20 replications")
    ettr = units["ettr_run"]
    close(ettr.mean(), figure, min(0.01, 3.3 * ettr.std(ddof=1) / math.sqrt(20)), f"{name}: mean ettr_run of 20 replications")
    if name in TOLD:
        told("llama3-405b", TOLD[name], figure, ettr.mean())
    counted = (units["incidents"] + units["planned_incidents"]).mean()
    close(counted, n, 3.3 * math.sqrt(n / 20), f"{name}: interruptions a run")
end()
