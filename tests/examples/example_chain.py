# Placement changes contention, contention changes step time, step time changes the schedule: the
# chain, by numbers computed by hand from what one step alone sends.
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import shutil
import subprocess

from example_support import PROGRAM, SCRATCH, SOURCE, check, close, end, run, table, told

import h5py  # example_support has seen that it is there

STEPS = 2000


def said(*arguments):
    done = subprocess.run([PROGRAM, *arguments, "--format=json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def job(path, name):
    return said("explain", path, "--job", name)


paths = {name: run(f"chain/{name}.xml", name=name) for name in ("packed", "split")}
alone = said("step", os.path.join(SOURCE, "examples", "chain", "split.xml"), "--job", "left")
step_s, exposed_s = alone["step_s"], alone["exposed_dp_s"]

# Nothing overlaps: a job computes, then its rings send for a share s of the step, one node's rails
# on the uplinks of the leaf in the middle, which have 4/3 of a node's. While both jobs send, each
# gets 2/3 of its rate and takes half as long again; by chance that is s of the time either sends.
share = exposed_s / step_s
slow_s = step_s * (1 + share ** 2 / 2)
# The left job is alone for its first minute, the right one for its last.
mean_slow_s = step_s + (slow_s - step_s) * (1 - 60 / (STEPS * step_s))
print(f"one step alone {step_s:.6f} s, of it traffic {exposed_s:.6f} s; both jobs by hand {slow_s:.6f} s")

for name, expected_s in (("packed", step_s), ("split", mean_slow_s)):
    path = paths[name]
    left, right, third = (job(path, one) for one in ("left", "right", "third"))
    rows = dict(zip(table(path, "jobs")["id"].astype(str), table(path, "jobs")["start_ns"] / 1e9))
    ends = dict(zip(table(path, "jobs")["id"].astype(str), table(path, "jobs")["end_ns"] / 1e9))
    for one in (left, right):
        step = one["step"]
        close(step["step_s"], expected_s, 0.02 * expected_s, f"{name}: step of {one['job']}")
        close(step["step_s"], step["healthy_s"] + step["placement_s"] + step["neighbours_s"], 1e-9,
              f"{name}: the parts of {one['job']}'s step sum to it")
        close(step["neighbours_s"], expected_s - step_s, 0.03 * (slow_s - step_s),
              f"{name}: of it by neighbours")
    close(ends["left"], rows["left"] + STEPS * expected_s, 0.02 * STEPS * expected_s, f"{name}: left ends")
    close(rows["third"], min(ends["left"], ends["right"]), 1e-6, f"{name}: third starts when the first of them ends")
    close(third["queue_s"], rows["third"] - 180, 1e-6, f"{name}: third waited for that")

check(job(paths["packed"], "left")["step"]["neighbours_s"] == 0, "packed: nobody meets anybody")
check(len(table(paths["packed"], "neighbours")["job"]) == 0 and job(paths["packed"], "left")["neighbours"] == [], "packed: nobody is named")
# Who slowed whom and where: all of each one's loss, to the nanosecond, on the uplinks of the leaf in the middle.
for one, other in (("left", "right"), ("right", "left")):
    said_of = job(paths["split"], one)
    named, = said_of["neighbours"]
    check(named["job"] == other and named["link"].startswith("leaf1 "), f"split: {one} is slowed by {named['job']} on {named['link']}")
    close(named["lost_s"], said_of["neighbours_s"], 1e-9, f"split: all that {one} loses is named")
# A file from before there was a table of neighbours explains all else.
older = os.path.join(SCRATCH.name, "older.h5")
shutil.copy(paths["split"], older)
with h5py.File(older, "r+") as file:
    del file["neighbours"]
check(job(older, "left") == {**job(paths["split"], "left"), "neighbours": []}, "an older file: only who it was is not known")
packed, split = (table(paths[name], "jobs") for name in ("packed", "split"))
first, met = (job(paths[name], "left")["step"] for name in ("packed", "split"))
told("chain", "| step of `left` and `right` | # ms | # ms |", 1e3 * first["step_s"], 1e3 * met["step_s"])
told("chain", "| of it by neighbours | 0 | # ms |", 1e3 * met["neighbours_s"])
told("chain", "| `third` starts after | # min | # min |", *(rows["start_ns"][3] / 60e9 for rows in (packed, split)))
told("chain", "for a share s = # of its step", share)
told("chain", "s²/2 = # %, to # ms", 50 * share ** 2, 1e3 * slow_s)
later_s = (split["start_ns"] - packed["start_ns"])[3] / 1e9
close(later_s, STEPS * (mean_slow_s - step_s), 0.03 * STEPS * (slow_s - step_s), "the third job starts later when they do")

# Rates change when a neighbour ends: half as many steps on the right, and the left is slowed until then only.
path = run("chain/split.xml", "--set", "jobs/job[@id='right']/@steps=1000", name="shorter")
ends = dict(zip(table(path, "jobs")["id"].astype(str), table(path, "jobs")["end_ns"] / 1e9))
left = job(path, "left")
met_s = ends["right"] - 120
expected_s = met_s * (1 - step_s / slow_s)
close(left["neighbours_s"], expected_s, 0.03 * expected_s, "the left job loses what it loses while the right one runs")
end()
