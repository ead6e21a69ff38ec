# The Philly example: start times against an independent restatement of EASY and against the schedule
# that Batsim published for the same jobs; the whole trace as well if SAND_DATA has a copy.
# SPDX-License-Identifier: GPL-2.0-or-later
import csv
import datetime
import lzma
import os
import resource
import sys

from example_support import SOURCE, check, close, end, numpy, run, table

sys.path.insert(0, os.path.join(SOURCE, "tests", "schedules"))
from easy_restated import Job, easy  # noqa: E402

EXAMPLE = "philly/experiment.xml"
NODES = 512


def rows_of(path):
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def jobs_of(path):
    """By time stamp read as UTC, equal ones in the order of the file; the request is the run."""
    rows = rows_of(path)
    dates = [datetime.datetime.fromisoformat(row["timestamp"] + "+00:00").timestamp() for row in rows]
    order = sorted(range(len(rows)), key=dates.__getitem__)
    jobs = []
    for k in order:
        run_ms = round(float(rows[k]["duration"]) * 1000)
        jobs.append(Job(str(k), round((dates[k] - dates[order[0]]) * 1000),
                        int(rows[k]["num_gpus"]), run_ms, run_ms))
    return jobs


def starts_s(path):
    jobs = table(path, "jobs")
    check((jobs["job"] == numpy.arange(len(jobs["job"]))).all(), "one row a job, in order")
    return jobs, jobs["start_ns"] / 1e9


def compare(found, expected, text):
    differ = numpy.abs(found - expected) > 1e-3
    check(len(found) == len(expected) and not differ.any(),
          f"{text}: {differ.sum()} of {len(expected)} start times differ")


subset = os.path.join(SOURCE, "examples", "philly", "philly-20000-24999.csv.xz")
shipped = os.path.join(SOURCE, "tests", "data", "traces", "philly-20000-24999.csv.xz")
with open(subset, "rb") as one, open(shipped, "rb") as other:
    check(one.read() == other.read(), "the example's trace is that of the tests")

# ---- schedule/easy against the restatement, and what the results say of the groups

path = run(EXAMPLE)
jobs, starts = starts_s(path)
compare(starts, numpy.array(easy(jobs_of(subset), NODES)) / 1e3, "schedule/easy, restated")
waits = starts - jobs["submit_ns"] / 1e9
groups = table(path, "groups")
row = {(by.decode().rstrip("\0"), name.decode().rstrip("\0")): k
       for k, (by, name) in enumerate(zip(groups["by"], groups["name"]))}
close(groups["wait_mean_s"][row["all", "all"]], waits.mean(), 1e-6, "mean wait")
ones = jobs["gpus"] == 1
check(groups["jobs"][row["class", "one-gpu"]] == ones.sum(), "jobs of the class one-gpu")
close(groups["wait_mean_s"][row["class", "one-gpu"]], waits[ones].mean(), 1e-6, "their mean wait")
check((groups["ending"] == groups["ending"][0]).all(), "all have finished")

# ---- batsched's easy_bf on the same jobs (Batsim 4.2.1)

published = rows_of(os.path.join(SOURCE, "tests", "data", "schedules",
                                 "philly5000_g512.batsched_easy_bf.csv.xz"))
path = run(EXAMPLE, "--set", "policies/schedule/@policy=schedule/easy-nodes", name="batsched")
compare(starts_s(path)[1], numpy.array([float(r["start_s"]) for r in published]),
        "schedule/easy-nodes, published")

# ---- four times the machine: nobody waits

path = run(EXAMPLE, "--set", "cluster/@nodes=2048", name="large")
jobs, starts = starts_s(path)
check((jobs["start_ns"] == jobs["submit_ns"]).all(), "on 2,048 GPUs no job waits")

# ---- the whole trace

whole = os.path.join(os.environ.get("SAND_DATA", "/nonexistent"), "philly", "philly.csv.xz")
if os.path.exists(whole):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    path = run(EXAMPLE, "--trace", whole, name="whole")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"     82,247 jobs: {cpu_s:.2f} CPU s, at most {after.ru_maxrss / 1024:.0f} MB")
    jobs, starts = starts_s(path)
    check(len(starts) == 82247, "82,247 jobs")
    compare(starts, numpy.array(easy(jobs_of(whole), NODES)) / 1e3, "the whole trace, restated")
    waiting = (jobs["start_ns"] > jobs["submit_ns"]).mean()
    close(waiting, 0.94, 0.005, "share of jobs that wait")
else:
    print("     no $SAND_DATA/philly/philly.csv.xz: the whole trace is left out")
end()
