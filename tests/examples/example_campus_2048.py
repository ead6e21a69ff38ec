# The campus example: first fit against packed in paired replications; the comparison is computed again from the results.
# Whole (30 days, 10 pairs) with the third argument "whole", else two days in three pairs.
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import math
import subprocess
import sys

from example_support import PROGRAM, check, close, end, numpy, run, table

EXAMPLE = "campus-2048/experiment.xml"
WHOLE = sys.argv[3:] == ["whole"]
PAIRS, DAYS = (10, 30) if WHOLE else (3, 2)
T95 = {2: 4.302653, 9: 2.262157}[PAIRS - 1]  # Student's t, two-sided 95 %
SMALLER = [] if WHOLE else ["--replications", str(PAIRS), "--set", f"@duration={DAYS}d"]
GPUS = 2048


def texts(column):
    return [text.decode().rstrip("\0") for text in column]


def by_run(rows, keep, column):
    return numpy.array([sum(value for value, run_, kept in zip(rows[column], rows["replication"], keep)
                            if kept and run_ == r) for r in range(PAIRS)])


def figures_of(path):
    """Shares of GPUs x time, and the mean wait of finished jobs, run by run."""
    cluster, groups, jobs = table(path, "cluster"), table(path, "groups"), table(path, "jobs")
    classes = texts(cluster["gpu_class"])
    whole = GPUS * DAYS * 86400
    figures = {name: by_run(cluster, [c == name for c in classes], "gpu_s") / whole
               for name in ("useful", "fragment", "idle")}
    everything = by_run(cluster, [True] * len(classes), "gpu_s") / whole
    check(numpy.allclose(everything, 1, rtol=1e-12), "the classes sum to GPUs x time in every run")
    allocated = by_run(cluster, [c not in ("idle", "fragment", "down", "spare") for c in classes], "gpu_s")
    alls = [by == "all" for by in texts(groups["by"])]
    held = by_run(groups, alls, "gpu_s")
    check(numpy.allclose(held, allocated, rtol=1e-12), "jobs hold what the ledger calls allocated")
    asked = by_run(groups, alls, "asked_gpu_s")
    check(numpy.allclose(held, asked, rtol=1e-12), "nobody holds more than was asked for")
    figures["GPU time held by jobs"] = held / whole
    finished = numpy.array([state == "finished" for state in texts(jobs["state"])])
    waits = (jobs["start_ns"] - jobs["submit_ns"]) / 1e9
    figures["wait, mean"] = numpy.array(
        [waits[finished & (jobs["replication"] == r)].mean() for r in range(PAIRS)])
    part = jobs["gpus"] < 8
    check(part.any() and (jobs["nodes"][part] == 1).all() and (jobs["gpus"][~part] % 8 == 0).all(),
          "jobs of less than a node hold part of one, others whole nodes")
    return figures, jobs


first = run(EXAMPLE, *SMALLER, name="first-fit")
second = run(EXAMPLE, *SMALLER, "--set", "policies/place/@policy=place/packed", name="packed")
one, jobs = figures_of(first)
other, jobs_too = figures_of(second)
check((jobs["submit_ns"] == jobs_too["submit_ns"]).all() and (jobs["nodes"] == jobs_too["nodes"]).all(),
      "both have the same jobs")

done = subprocess.run([PROGRAM, "compare", first, second, "--format=json"], capture_output=True, text=True)
check(done.returncode == 0, f"compare ends with 0: {done.stderr}")
compared = json.loads(done.stdout)
check(compared["pairs"] == PAIRS, f"{PAIRS} pairs")
found = {figure["name"]: figure for figure in compared["figures"]}
for name, values in one.items():
    difference = other[name] - values
    tolerance = 1e-9 * max(1, abs(values).max())
    close(found[name]["first"], values.mean(), tolerance, f"{name}, first fit")
    close(found[name]["difference"], difference.mean(), tolerance, f"{name}, difference")
    close(found[name]["ci95"], T95 * difference.std(ddof=1) / math.sqrt(PAIRS), 1e-6 * tolerance / 1e-9,
          f"{name}, half of the interval")
won = found["MFU while stepping"]
check(found["lost to neighbours, GPU-hours"]["difference"] < 0, "packed jobs lose less to each other")
check(won["difference"] > 0, f"and MFU rises: {won}")
if WHOLE:
    check(won["difference"] - won["ci95"] > 0, f"by more than chance: {won}")

text = subprocess.run([PROGRAM, "compare", first, second], capture_output=True, text=True)
print(text.stdout)
check(all(len(line) <= 100 for line in text.stdout.splitlines()), "at most 100 columns")
elsewhere = run(EXAMPLE, "--replications", str(PAIRS), "--seed", "2", "--set", "@duration=1h", name="seed") \
    if not WHOLE else None
if elsewhere:
    refused = subprocess.run([PROGRAM, "compare", first, elsewhere], capture_output=True, text=True)
    check(refused.returncode == 3 and "no pairs" in refused.stderr, f"another seed is refused: {refused.stderr}")
end()
