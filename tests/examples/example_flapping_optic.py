# What one flapping optic costs a 1,024-GPU job, against the sums of its README.
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import subprocess

from example_support import PROGRAM, check, close, end, run, table, told

GPUS = 1024


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


# README's line of a day: time it stood still, GPU-hours.
TOLD = {("uplink", "2d"): "| leaf to spine (`uplink.xml`) | never | # min | none | # |",
        ("uplink", "20min"): "| | after 20 min, drained | # s | none | # |",
        ("uplink", "90s"): "| | after 90 s, drained | # s | none | # |",
        ("nic", "2d"): "| NIC to leaf (`nic.xml`) | never | # h | none | # |",
        ("nic", "20min"): "| | after 20 min, node replaced | # s | 5.0 min | # |",
        ("nic", "90s"): "| | after 90 s, node replaced | # s | 5.0 min | # |"}
UNIT = {("uplink", "2d"): 60, ("nic", "2d"): 3600}

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
    told("flapping-optic", TOLD[optic, detect], still / UNIT.get((optic, detect), 1), lost[optic, detect] * GPUS / 3600)
worth_h = []
for optic, flap_s in (("uplink", 1), ("nic", 3)):
    worth = lost[optic, "20min"] - lost[optic, "90s"]
    close(worth, 37 * flap_s, 0.02 * 37 * flap_s, f"{optic}: 90 s instead of 20 min, s")
    worth_h.append(worth * GPUS / 3600)
told("flapping-optic", "is worth # GPU-hours on an uplink and # on a NIC", *worth_h)
told("flapping-optic", "flapping: # and # GPU-hours", *(lost[optic, "2d"] * GPUS / 3600 for optic in ("uplink", "nic")))
end()
