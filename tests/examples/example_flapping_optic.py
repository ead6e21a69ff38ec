# What one flapping optic costs a 1,024-GPU job, against the sums of its README.
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import subprocess

from example_support import PROGRAM, SOURCE, check, close, end, run, table

GPUS = 1024
README = open(os.path.join(SOURCE, "examples", "flapping-optic", "README.md"), encoding="utf-8").read()


def explain(path):
    done = subprocess.run([PROGRAM, "explain", path, "--job", "llama-70b", "--format=json"],
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def day(optic, detect):
    """A day with the optic; seconds stood still, lost in all, and times the part went down."""
    path = run(f"flapping-optic/{optic}.xml", "--set", f"faults/degradation/@detect={detect}",
               name=f"{optic}-{detect}")
    told, rows = explain(path), table(path, "degradations")
    parts = told["slow_parts_s"] + told["restart_s"] + told["restore_s"]
    check(told["other_s"] == 0 and told["placement_s"] == 0 and told["lost_steps_s"] == 0,
          f"{optic} {detect}: all of the day is told")
    check(len(rows["job"]) == 1 and rows["job"][0] == 0, f"{optic} {detect}: one part, one job")
    credited = (rows["still_ns"][0] + rows["slow_ns"][0]) / 1e9
    check(0 <= credited - told["slow_parts_s"] < 9, f"{optic} {detect}: but the step not ended")
    return rows["still_ns"][0] / 1e9, parts, rows["downs"][0]


def told(value, text):
    """What README says, to 1 %."""
    check(text in README, f"README says {text}")
    close(value, float(text.strip("| ")), 0.01 * value, f"README's {text}")


# GPU-hours of a day by README.
TOLD = {("uplink", "2d"): "| 818 |", ("uplink", "20min"): "| 12.8 |", ("uplink", "90s"): "| 2.3 |",
        ("nic", "2d"): "| 2450 |", ("nic", "20min"): "| 121 |", ("nic", "90s"): "| 89.3 |"}
WORTH = {"uplink": "10.5", "nic": "31.6"}

# By hand: flaps at 0, 30, 60, ... s; 3 s each, of which an uplink waits for its 1 s of convergence.
HAND = {
    ("uplink", "2d"): 86400 / 30 * 1,
    ("uplink", "20min"): 40 * 1,
    ("uplink", "90s"): 3 * 1,
    ("nic", "2d"): 86400 / 30 * 3,
    ("nic", "20min"): 41 * 3,  # the node stays for a step and a save: one flap more
    ("nic", "90s"): 4 * 3,
}
lost = {}
for (optic, detect), hand in HAND.items():
    still, lost[optic, detect], downs = day(optic, detect)
    close(still, hand, 0.02 * hand, f"{optic} {detect}: stood still, s")
    told(lost[optic, detect] * GPUS / 3600, TOLD[optic, detect])
for optic, flap_s in (("uplink", 1), ("nic", 3)):
    worth = lost[optic, "20min"] - lost[optic, "90s"]
    close(worth, 37 * flap_s, 0.02 * 37 * flap_s, f"{optic}: 90 s instead of 20 min, s")
    told(worth * GPUS / 3600, WORTH[optic])
end()
