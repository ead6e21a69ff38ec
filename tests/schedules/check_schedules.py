#!/usr/bin/env python3
"""Compares Sandtable's schedules with those of others, by its own command validate-schedule.

shipped  the published schedules of tests/data/schedules
data     those of schedules.txt found under --data DIR, else $SAND_DATA; skipped without either
random   schedule/easy on random workloads with inexact requests against easy_restated.py, whole nodes and shared,
         and the policies of other simulators against peers_restated.py
whole    schedule/easy on the whole Philly trace and KTH log found under DIR, likewise
deep     what schedule/easy costs beside schedule/fifo when thousands wait
wrong    files and options that have to be refused, and schedules that have to differ

SPDX-License-Identifier: GPL-2.0-or-later
"""
import argparse
import csv
import datetime
import lzma
import os
import random
import resource
import subprocess
import sys
import tempfile

import easy_restated
import peers_restated
from easy_restated import Job

HERE = os.path.dirname(os.path.abspath(__file__))
SHIPPED = os.path.join(HERE, os.pardir, "data", "schedules")
SKIPPED = 77
NODES, RANDOM_WORKLOADS = (1, 7, 16, 64), 60


class Failed(Exception):
    pass


def validate(program, path, nodes, policy, *more):
    """(exit status, stdout, stderr) of one comparison."""
    done = subprocess.run([program, "validate-schedule", path, "--nodes", str(nodes), "--policy", policy, *more],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def expect_equal(program, path, nodes, policy, *more):
    status, out, err = validate(program, path, nodes, policy, *more)
    if status != 0:
        raise Failed("%s under %s %s: exit status %d\n%s%s" % (path, policy, " ".join(more), status, out, err))


# ---- published schedules -------------------------------------------------------------------------

def listed():
    """Rows of schedules.txt: (name, nodes, policy, further options)."""
    with open(os.path.join(HERE, "schedules.txt"), encoding="utf-8") as lines:
        for line in lines:
            words = line.split("#")[0].split()
            if words:
                yield words[0], words[1], words[2], ["--events", words[3]] + [
                    "--columns=" + columns for columns in words[4:]]


def find(folder, name):
    for below, _, files in sorted(os.walk(folder)):
        for ending in (".csv", ".csv.xz", ".csv.gz"):
            if name + ending in files:
                return os.path.join(below, name + ending)
    return None


def compare_all(program, folder):
    found, missing = 0, []
    for name, nodes, policy, more in listed():
        path = find(folder, name)
        if path is None:
            missing.append(name)
            continue
        expect_equal(program, path, nodes, policy, *more)
        found += 1
    print("%d schedules equal; %d not in %s" % (found, len(missing), folder))
    return found


def shipped(options):
    if compare_all(options.program, SHIPPED) < 18:
        raise Failed("schedules that ship are missing in " + SHIPPED)


def data(options):
    if compare_all(options.program, options.data) == 0:
        raise Failed("none of the schedules of schedules.txt is below " + options.data)


# ---- the restatement -----------------------------------------------------------------------------

def seconds(milliseconds):
    return "%d.%03d" % divmod(milliseconds, 1000)


def write(path, jobs, starts):
    with open(path, "w", encoding="ascii") as out:
        out.write("job_id,submit_s,nodes,runtime_s,walltime_s,start_s\n")
        for job, start in zip(jobs, starts):
            request = "" if job.request is None else seconds(job.request)
            out.write("%s,%s,%d,%s,%s,%s\n" % (job.name, seconds(job.submit), job.nodes, seconds(job.run),
                                               request, seconds(start)))


def draw(seed, nodes):
    """A workload with ties, early ends, overruns (cut) and, sometimes, jobs that request nothing."""
    dice = random.Random(seed)
    grain = dice.choice((1, 1000, 10000))
    silent = dice.choice((0, 0, 0.2))
    jobs, submit = [], 0
    for number in range(dice.randint(20, 90)):
        submit += grain * dice.choice((0, 0, 1, dice.randint(1, 20)))
        run = grain * dice.randint(1, dice.choice((5, 50, 500)))
        request = grain * max(1, round(run / grain * dice.choice((0.5, 1, 1, 1.5, 4))))
        size = min(nodes, dice.choice((1, 1, 1, 2, 4, dice.randint(1, nodes), dice.randint(1, nodes))))
        if dice.random() < silent:
            request = None
        jobs.append(Job("j%d" % number, submit, size, run if request is None else min(run, request), request))
    return jobs


def one_random(program, folder, seed):
    nodes = NODES[seed % len(NODES)]
    jobs = draw(seed, nodes)
    path = os.path.join(folder, "random%d.csv" % seed)
    plain = easy_restated.easy(jobs, nodes)
    write(path, jobs, plain)
    expect_equal(program, path, nodes, "schedule/easy")
    if easy_restated.backfill(jobs, nodes) != plain:
        raise Failed("seed %d: the two restatements differ" % seed)
    dice = random.Random(-seed)
    order, depth, heads = dice.choice(sorted(easy_restated.KEYS)), dice.choice((0, 1, 5)), dice.choice((1, 2, 3, 1000))
    write(path, jobs, easy_restated.backfill(jobs, nodes, order, depth, heads))
    expect_equal(program, path, nodes, "schedule/easy", "--param", "order=" + order,
                 "--param", "queue_depth=%d" % depth, "--param", "reservation_depth=%d" % heads)


def one_planned(program, folder, seed):
    """Several reservations on shared nodes; one of them, planned by the same rule, is the textbook's."""
    dice = random.Random(2000 + seed)
    nodes, per, place = dice.choice((2, 5, 8)), dice.choice((2, 4, 8)), dice.choice(("first-fit", "packed"))
    jobs = draw(seed, nodes * per)[:50]
    path = os.path.join(folder, "planned%d.csv" % seed)
    if easy_restated.easy_shared(jobs, nodes, per, place == "packed", planned=True) != \
            easy_restated.easy_shared(jobs, nodes, per, place == "packed"):
        raise Failed("seed %d: one reservation planned anew is another rule" % seed)
    depth = dice.choice((2, 3, 1000))
    write(path, jobs, easy_restated.easy_shared(jobs, nodes, per, place == "packed", depth))
    expect_equal(program, path, nodes, "schedule/easy", "--gpus-per-node", str(per), "--place", "place/" + place,
                 "--param", "reservation_depth=%d" % depth)


def one_shared(program, folder, seed):
    """Nodes of several GPUs, shared; and with one GPU a node the schedule that counting gives."""
    dice = random.Random(1000 + seed)
    nodes, per = dice.choice((1, 2, 5, 12)), dice.choice((2, 4, 8))
    jobs = draw(seed, nodes * per)
    path = os.path.join(folder, "shared%d.csv" % seed)
    for place in ("place/first-fit", "place/packed"):
        write(path, jobs, easy_restated.easy_shared(jobs, nodes, per, place == "place/packed"))
        expect_equal(program, path, nodes, "schedule/easy", "--gpus-per-node", str(per), "--place", place)
    if easy_restated.easy_shared(jobs, nodes * per, 1) != easy_restated.easy(jobs, nodes * per):
        raise Failed("seed %d: shared nodes of one GPU differ from counted ones" % seed)


def one_peer(program, folder, seed):
    """What others call FCFS, EASY and conservative; every job says how long it needs."""
    nodes = NODES[seed // 4 % len(NODES)]
    jobs = [job._replace(request=job.run if job.request is None else job.request) for job in draw(3000 + seed, nodes)]
    path = os.path.join(folder, "peer%d.csv" % seed)
    for policy, events, restated in peers_restated.PEERS:
        write(path, jobs, restated(jobs, nodes))
        expect_equal(program, path, nodes, policy, "--events", events)


def random_workloads(options):
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, RANDOM_WORKLOADS + 1):
            one_random(options.program, folder, seed)
            one_shared(options.program, folder, seed)
            if seed % 3 == 0:
                one_planned(options.program, folder, seed)
            if seed % 4 == 0:
                one_peer(options.program, folder, seed)
    print("%d random workloads equal, each with two sets of parameters, and on shared nodes" % RANDOM_WORKLOADS)


def open_text(path):
    return lzma.open(path, "rt") if path.endswith(".xz") else open(path, encoding="utf-8")


def philly(path):
    """The rows by time (stable), times read as UTC, a GPU a node, walltime = duration."""
    with open_text(path) as rows:
        read = [(datetime.datetime.fromisoformat(row["timestamp"] + "+00:00"), number, row)
                for number, row in enumerate(csv.DictReader(rows))]
    read.sort(key=lambda entry: entry[:2])
    return [Job(str(number), round((date - read[0][0]).total_seconds() * 1000), int(row["num_gpus"]),
                round(float(row["duration"]) * 1000), round(float(row["duration"]) * 1000))
            for date, number, row in read]


def kth(path):
    with open_text(path) as rows:
        read = list(csv.DictReader(rows))
    jobs = [Job(row["job_id"], *(round(float(row[name]) * 1000) for name in (
        "submit_s", "nodes", "runtime_s", "walltime_s"))) for row in read]
    return [job._replace(nodes=job.nodes // 1000, run=min(job.run, job.request)) for job in jobs]


def whole(options):
    n_done = 0
    for name, read, nodes in (("philly", philly, 512), ("kth_sp2_28467_n100.batsched_fcfs", kth, 100)):
        source = find(options.data, name)
        if source is None:
            print("no %s.csv below %s" % (name, options.data))
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name + ".csv")
            jobs = read(source)
            write(path, jobs, easy_restated.easy(jobs, nodes))
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            expect_equal(options.program, path, nodes, "schedule/easy")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print("%s: %d jobs equal, %.2f s, %d MB at most so far" % (
            name, len(jobs), used.ru_utime - before, used.ru_maxrss / 1000))
        n_done += 1
    if n_done == 0:
        raise Failed("neither philly.csv nor the KTH schedule is below " + options.data)


# ---- cost ----------------------------------------------------------------------------------------

DEEP_JOBS, DEEP_NODES, DEEP_FACTOR = 20000, 512, 10


def draw_deep():
    """5,000 jobs at once, then as many as the machine can do: the queue stays that deep."""
    dice = random.Random(4)
    drawn = [(dice.choice((1, 1, 1, 2, 4, 8, 16, 32, 64, 128)), 1000 * dice.randint(10, 7200),
              dice.choice((1, 1.5, 2, 5))) for _ in range(DEEP_JOBS)]
    gap = sum(size * run for size, run, _ in drawn) / DEEP_JOBS / DEEP_NODES
    jobs, submit = [], 0.0
    for number, (size, run, factor) in enumerate(drawn):
        submit += dice.expovariate(1 / gap) if number >= 5000 else 0
        jobs.append(Job(str(number), round(submit), size, run, round(run * factor)))
    return jobs


def cost(program, path, policy):
    """Processor seconds of one run; its start times are not the file's, which has none."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status, out, err = validate(program, path, DEEP_NODES, policy)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status != 1 or err:
        raise Failed("%s: exit status %d\n%s%s" % (policy, status, out, err))
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def deep(options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "deep.csv")
        jobs = draw_deep()
        write(path, jobs, [0] * len(jobs))
        costs = {policy: cost(options.program, path, policy) for policy in ("schedule/fifo", "schedule/easy")}
    print(", ".join("%s %.2f s" % entry for entry in costs.items()))
    if costs["schedule/easy"] > DEEP_FACTOR * costs["schedule/fifo"]:
        raise Failed("schedule/easy costs more than %d times what schedule/fifo costs" % DEEP_FACTOR)


# ---- what must not pass --------------------------------------------------------------------------

HEAD = "job_id,submit_s,nodes,runtime_s,walltime_s,start_s\n"
GOOD = ("a,0,2,10,10,0\n", "b,1,4,5,5,10\n", "c,1,1,3,3,1\n")  # schedule/easy on four nodes
WRONG = (  # what, rows, further options, exit status, words that the output has to hold
    ("a shifted start", (GOOD[0], GOOD[1], "c,1,1,3,3,1.002\n"), (), 1, ("1 of 3 jobs", "job c (line 4)")),
    ("another policy", GOOD, ("--policy", "schedule/fifo"), 1, ("1 of 3 jobs",)),
    ("within a millisecond", (GOOD[0], GOOD[1], "c,1,1,3,3,1.0009\n"), (), 0, ("0 of 3 jobs",)),
    ("a run beyond the request", ("a,0,2,99,10,0\n",) + GOOD[1:], (), 0, ("0 of 3 jobs",)),
    ("walltimes that are none", (GOOD[0], "b,1,4,5,0,10\n", "c,1,1,3,,1\n"), (), 1,  # c may not pass b
     ("2 of 3 jobs have no walltime", "the first in line 3", "1 of 3 jobs start")),
    ("a job above the machine", GOOD + ("d,2,5,1,1,20\n",), (), 3, (":5:", "larger than the machine")),
    ("a job of no nodes", GOOD + ("d,2,0,1,1,20\n",), (), 3, (":5:",)),
    ("a run that is no number", GOOD + ("d,2,1,soon,1,20\n",), (), 3, (":5:",)),
    ("a start that is no number", GOOD + ("d,2,1,1,1,soon\n",), (), 3, (":5:", "soon")),
    ("no start", GOOD + ("d,2,1,1,1,\n",), (), 3, (":5:", "empty")),
    ("no rows", (), (), 3, ()),
    ("a column that is not there", GOOD, ("--columns=id=job_id,submit=when,nodes=nodes,run=runtime_s,start=start_s",),
     3, ("when",)),
    ("a map without the start", GOOD, ("--columns=id=job_id,submit=submit_s,nodes=nodes,run=runtime_s",), 2, ("start",)),
    ("an unknown policy", GOOD, ("--policy", "schedule/eazy"), 3, ("schedule/easy",)),
    ("an unknown parameter", GOOD, ("--param", "depth=3"), 3, ("queue_depth",)),
    ("an unknown word", GOOD, ("--param", "order=shortst"), 3, ("shortest",)),
    ("a parameter without a value", GOOD, ("--param", "order"), 2, ("NAME=VALUE",)),
    ("unknown events", GOOD, ("--events", "all"), 2, ("instant or each",)),
    ("no nodes", GOOD, ("--nodes", "0"), 2, ("--nodes",)),
)


PLUGINS = (  # policies of tests/policies/fixtures: name, exit status, words that the output has to hold
    ("crashes", 5, ("schedule/crashes: its process was killed by signal",)),
    ("exits", 5, ("schedule/exits: its process ended with status 0 and no answer",)),
    ("forks", 1, ('policy "schedule/forks" has forked', "1 of 3 jobs")),
    ("starts_twice", 5, ("not waiting in the queue",)),
    ("starts_unknown", 5, ("neither waits nor runs",)),
    ("never_starts", 1, ("gives it none",)),
)


def wrong_plugins(options, path, failures):
    """What foreign code does to the process is told, and never taken for a schedule that agrees."""
    with open(path, "w", encoding="ascii") as out:
        out.write(HEAD + "".join(GOOD))
    for name, expected, words in PLUGINS:
        plugin = os.path.join(options.plugins, name + ".so")
        policy = "schedule/" + name.replace("_", "-")
        status, out, err = validate(options.program, path, 4, policy, "--plugin", plugin)
        absent = [word for word in words if word not in out + err]
        if status != expected or absent:
            failures.append("%s: exit status %d, not %d; without %s\n%s%s" % (
                name, status, expected, absent, out, err))


def wrong(options):
    # A build with a sanitizer has to leave the signal of a plug-in that crashes to the program.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0"
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "case.csv")
        wrong_plugins(options, path, failures)
        for what, rows, more, expected, words in WRONG:
            with open(path, "w", encoding="ascii") as out:
                out.write(HEAD + "".join(rows))
            status, out, err = validate(options.program, path, 4, "schedule/easy", *more)
            absent = [word for word in words if word not in out + err]
            if status != expected or absent:
                failures.append("%s: exit status %d, not %d; without %s\n%s%s" % (
                    what, status, expected, absent, out, err))
        status, _, err = validate(options.program, os.path.join(folder, "nowhere.csv"), 4, "schedule/easy")
        if status not in (3, 4) or "nowhere.csv" not in err:
            failures.append("a missing file: exit status %d\n%s" % (status, err))
    if failures:
        raise Failed("\n".join(failures))
    print("%d cases as expected" % (len(WRONG) + len(PLUGINS) + 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = {"shipped": shipped, "data": data, "random": random_workloads, "whole": whole, "deep": deep,
             "wrong": wrong}
    parser.add_argument("mode", choices=sorted(modes))
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", default=os.environ.get("SAND_DATA"))
    parser.add_argument("--plugins", help="directory of the policies of tests/policies/fixtures")
    options = parser.parse_args()
    if options.mode in ("data", "whole") and not options.data:
        print("skipped: give --data DIR, or set SAND_DATA, to compare with schedules that are not shipped")
        return SKIPPED
    try:
        modes[options.mode](options)
    except Failed as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
