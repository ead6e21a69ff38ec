# Published cases: what the table of examples/cases/README.md says of the program, and closed forms where there are.
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import math
import re
import subprocess

from example_support import PROGRAM, check, close, end, numpy, run, table, told

INTERVAL = "jobs/job/checkpoint/param/@value"


def case(name, *settings, out=None):
    path = run(f"cases/{name}.xml", *(word for setting in settings for word in ("--set", setting)), name=out or name)
    shown = json.loads(subprocess.run([PROGRAM, "show", path, "--format=json"], capture_output=True, text=True,
                                      check=True).stdout)
    return path, shown


def every_h(path):
    """What `show` says: one interruption every so long while the job runs."""
    text = subprocess.run([PROGRAM, "show", path], capture_output=True, text=True, check=True).stdout
    value, unit = re.search(r"unexpected .* one every ([0-9.]+) (min|h)", text).groups()
    return float(value) / {"min": 60, "h": 1}[unit]


# Exponential failures of N nodes: M = 1 / (N r); a save every D, restart R (Daly): D / (M exp(R/M) (exp(D/M) - 1)).
def daly(nodes, interval_min, restart_min=5, rate_d=6.5e-3):
    mean = 24 * 60 / (nodes * rate_d)
    return interval_min / (mean * math.exp(restart_min / mean) * math.expm1(interval_min / mean))


for gpus, words in ((16384, "of a job on 16,384 GPUs (`rsc.xml`) | 1.8 h | # h"), (131072, "on 131,072 GPUs | 0.23 h | # h")):
    path, shown = case("rsc", f"jobs/job/@gpus={gpus}", f"{INTERVAL}=5min", out=f"rsc-{gpus}")
    rows = table(path, "incidents")
    jobs = table(path, "jobs")
    mean_h = numpy.sum(jobs["end_ns"]) / 3.6e12 / len(rows["job"])
    told("cases", words, mean_h)
    close(mean_h, 24 / (gpus / 8 * 6.5e-3), 0.1 * mean_h, f"{gpus} GPUs: 1 / (N r), h")
    close(every_h(path), mean_h, 0.02 * mean_h, "show counts while the job runs, not what is left of the experiment")
for interval, words in ((60, "a save every 60 min: ETTR | 0.70 | # |"), (5, "every 5 min | 0.93 | # |")):
    path, shown = case("rsc", f"{INTERVAL}={interval}min", out=f"rsc-{interval}")
    told("cases", words, shown["ettr_run"]["mean"])
    close(shown["ettr_run"]["mean"], daly(2000, interval), shown["ettr_run"]["ci95"] + 0.005,
          "16,000 GPUs, Daly's closed form")

path, shown = case("stepfun")
told("cases", "faults in 349 days (`stepfun.xml`) | 584 | # |", shown["unexpected_interruptions"]["mean"])
close(shown["unexpected_interruptions"]["mean"], 584, 30,
      "584 faults")
rows = table(path, "cluster")
down_s = numpy.sum(rows["gpu_s"][rows["gpu_class"] == b"down"]) / 4
told("cases", "nodes in repair at a time, mean | 9.26 | # |", down_s / 8 / (349 * 86400))

path, shown = case("tpu-v4")
plain = case("tpu-v4", "cluster/torus/@circuits=no", out="tpu-cables")[1]
told("cases", "(`tpu-v4.xml`) | 75 % | # % | without circuits # %", 100 * shown["useful_utilisation"],
     100 * plain["useful_utilisation"])

path = case("hpn")[0]
steps = table(path, "jobs")
slow_s, healthy_s = steps["step_s"][0], steps["healthy_step_s"][0]
# The mean of all steps, of which those of the first hour are healthy: n steps in 6 h, n1 of them before the cut.
n, n1 = 6 * 3600 / slow_s, 3600 / healthy_s
told("cases", "throughput (`hpn.xml`) | -6.25 % | -# % |", 100 * (1 - (n - n1) * healthy_s / (5 * 3600)))
check(int(case("hpn", "cluster/rail_optimised/@planes=1", out="hpn-1")[1]["unexpected_interruptions"]["mean"]) > 0,
      "one leaf: the job is interrupted")

for restart, interval, words in (("600s", "3min", "(`fthsdp.xml`) | 44 % | # %"), ("180s", "10s", "a stall of 3 min | 80 % | # %")):
    shown = case("fthsdp", f"faults/fault/@restart={restart}", f"{INTERVAL}={interval}", out="ft" + restart)[1]
    told("cases", words, 100 * shown["ettr_run"]["mean"])

saves = ("jobs/job/checkpoint/@stall=0.2s", "jobs/job/checkpoint/@restore=10s", f"{INTERVAL}=216s")
told("cases", "(elsewhere 69 %) | # %", 100 * case("dlrover")[1]["ettr_run"]["mean"])
told("cases", "0.2 s every 10 steps | 95 % | # %", 100 * case("dlrover", *saves, out="flash")[1]["ettr_run"]["mean"])

steps = table(case("bloom")[0], "jobs")
told("cases", "(`bloom.xml`) | -6 % | -# % |", 100 * (1 - steps["healthy_step_s"][0] / steps["step_s"][0]))
end()
