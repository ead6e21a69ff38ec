# The backtest example: the recorded side against figures worked out here from the SWF, the simulated side
# against an independent restatement of EASY; under schedule/recorded nothing differs; rows that cannot be
# replayed are named. The KTH log as well if SAND_DATA has a copy.
# SPDX-License-Identifier: GPL-2.0-or-later
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
sys.path.insert(0, os.path.join(SOURCE, "tests", "schedules"))
from easy_restated import Job, easy  # noqa: E402

EXAMPLE = os.path.join(SOURCE, "examples", "backtest")
NODES, GPUS = 32, 256
SCRATCH = tempfile.TemporaryDirectory(prefix="sandtable-backtest-")
failures = []


def check(holds, text):
    print(("ok   " if holds else "FAIL ") + text)
    if not holds:
        failures.append(text)


def backtest(*arguments, status=0):
    command = [PROGRAM, "backtest", os.path.join(EXAMPLE, "experiment.xml"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == status, f"{' '.join(arguments)}: ends with {status}: {done.stderr.strip()}")
    return done.stdout if status == 0 else done.stderr


def figures(*arguments):
    return json.loads(backtest("--format=json", *arguments))


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return [[float(cell) for cell in line.split()] for line in file if not line.startswith(";")]


def nearest(values, share):
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


# Submits in the experiment are from the first one on.
record = rows_of(os.path.join(EXAMPLE, "record.swf"))
first = record[0][1]
jobs = [dict(submit=r[1] - first, start=r[1] - first + r[2], run=r[3], nodes=int(r[7]), request=r[8], failed=r[10] == 0,
             queue=int(r[14])) for r in record]


def expected(some):
    waits = [j["start"] - j["submit"] for j in some]
    completions = [j["start"] + j["run"] - j["submit"] for j in some]
    last = jobs[-1]["submit"]
    held = sum(8 * j["nodes"] * max(0, min(j["start"] + j["run"], last) - j["start"]) for j in some)
    return {"wait_mean_s": sum(waits) / len(some), "wait_p50_s": nearest(waits, 0.5),
            "wait_p95_s": nearest(waits, 0.95), "completion_mean_s": sum(completions) / len(some),
            "completion_p95_s": nearest(completions, 0.95),
            "slowdown_mean": sum(max(1, c / max(j["run"], 10)) for c, j in zip(completions, some)) / len(some),
            "utilisation": held / (GPUS * last)}


def check_side(side, some, text):
    for name, value in expected(some).items():
        check(math.isclose(side[name], value, rel_tol=1e-9, abs_tol=1e-9),
              f"{text}: {name} is {side[name]:.9g}, worked out {value:.9g}")


# ---- the record, and EASY beside it

table = os.path.join(SCRATCH.name, "jobs.csv")
found = figures("--csv", table)
check(found["compared"] == found["jobs"] == len(jobs), "every job is compared")
check_side(found["all"]["recorded"], jobs, "all")
group, = [g for g in found["groups"] if (g["by"], g["name"], g["ending"]) == ("class", "fine-tuning", "ended failed")]
check_side(group["recorded"], [j for j in jobs if j["queue"] == 2 and j["failed"]], "failed fine-tuning")
check(sum(g["jobs"] for g in found["groups"] if g["by"] == "size") == len(jobs), "every job is in one size")

starts = easy([Job(str(k), round(j["submit"] * 1000), j["nodes"], round(j["run"] * 1000), round(j["request"] * 1000))
               for k, j in enumerate(jobs)], NODES)
with open(table, encoding="utf-8", newline="") as file:
    lines = list(csv.DictReader(file))
check([round(float(line["simulated_start_s"]) * 1000) for line in lines] == list(starts),
      "simulated starts are those of EASY, restated")
shifts = [abs(s / 1000 - j["start"]) for s, j in zip(starts, jobs)]
check(math.isclose(found["all"]["shift_s"], sum(shifts) / len(jobs), rel_tol=1e-9), "the mean shift")
check(found["all"]["same"] == sum(s <= 1e-3 for s in shifts) < len(jobs), "how many start as recorded")
check("simulated" in backtest() and "utilisation" in backtest(), "and as a table")
check("exists" in backtest("--csv", table, status=2), "a table that is there stays")

# ---- schedule/recorded: nothing differs, or a row is named

same = figures("--policy", "schedule/recorded")
check(same["all"]["same"] == len(jobs) and same["all"]["shift_s"] == 0, "schedule/recorded: every start as recorded")
check(all(g["simulated"] == g["recorded"] for g in [same["all"], *same["groups"]]), "and every figure")

busiest = max(sum(j["nodes"] for j in jobs if j["start"] <= at["start"] < j["start"] + j["run"]) for at in jobs)
check(busiest == NODES, "the record fills the machine")
found = backtest("--policy", "schedule/recorded", "--set", "cluster/@nodes=31", status=5)
check("cannot start now, as recorded" in found and "line" in found and "when_full" in found, "one node less: " + found)


def edited(name, edit):
    """A copy of the record in which edit(fields) has changed the seventh job."""
    path = os.path.join(SCRATCH.name, name)
    with open(os.path.join(EXAMPLE, "record.swf"), encoding="utf-8") as file:
        text = file.read().splitlines()
    fields = text[11].split()
    edit(fields)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*text[:11], " ".join(fields), *text[12:]]) + "\n")
    return path


missing = edited("missing.swf", lambda f: f.__setitem__(2, "-1"))
found = backtest("--policy", "schedule/recorded", "--trace", missing, status=5)
check('job "7" (line 12 of its trace) has no recorded start' in found, "a start that is missing: " + found)
check(figures("--trace", missing)["without_record"] == 1, "under another policy it is not compared")
none = os.path.join(SCRATCH.name, "none.swf")
with open(none, "w", encoding="utf-8") as file:
    file.write("1 0 -1 60 1 -1 -1 1 60 -1 1 1 -1 -1 1 1 -1 -1\n")
check("none of 1 jobs has a recorded start" in backtest("--trace", none, status=3), "no start at all")

# ---- KTH, whose log has up to 104 of its 100 nodes in use

kth = os.path.join(os.environ.get("SAND_DATA", ""), "swf", "KTH-SP2-1996-2.1-cln.swf.xz")
if os.path.exists(kth):
    whole = ["--trace", kth, "--set", "@duration=400d", "--policy", "schedule/recorded"]
    found = backtest(*whole, "--set", "cluster/@nodes=100", status=5)
    check("line 1895" in found, "KTH on 100 nodes: " + found)
    found = figures(*whole, "--set", "cluster/@nodes=104")
    check(found["all"]["same"] == 28467 and found["all"]["shift_s"] == 0, "KTH on 104 nodes: every start as recorded")
else:
    print("skipped: KTH; SAND_DATA names no directory of traces with it")

print(f"{len(failures)} failed")
sys.exit(1 if failures else 0)
