# The cache of simulated steps: same results with it, without it, with several processes, after kills,
# and with rubbish in its place.
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import pathlib
import random
import signal
import subprocess
import time

from cli_runner import PROGRAM, Report, Scratch, environment, run, spawn

JOBS = 6
JOB = """<job id="j{n}" nodes="1" submit="{n}min" model="sandtable:model/llama-3-8b" steps="300"
     software="sandtable:software/megatron-core-24">
     <split tp="2" pp="1" dp="4" micro_batch="1" global_batch="{batch}" sequence="4096"
            recompute="selective"/></job>
"""


def write_experiment(scratch):
    """Jobs whose steps have to be simulated, each another problem."""
    text = (scratch / "small.xml").read_text()
    text = text.replace(' step_time="10s"', "")
    jobs = "".join(JOB.format(n=n, batch=64 + 8 * n) for n in range(JOBS))
    (scratch / "steps.xml").write_text(text.replace("</jobs>", jobs + "</jobs>"))


def simulate(scratch, out, *args):
    return run(["run", "steps.xml", "-q", "-o", out, *args], scratch)


def counters(scratch, out):
    return json.loads((scratch / out / "results.run.json").read_text())["oracle"]


def results(scratch, out):
    return (scratch / out / "results.h5").read_bytes()


def check_same(report, scratch):
    """None, a cold one, a warm one; one process and two: the same bytes."""
    runs = {"none": ["--no-cache"], "cold": ["--cache=c"], "warm": ["--cache=c"],
            "none2": ["--no-cache", "--jobs=2"], "cold2": ["--cache=c2", "--jobs=2"],
            "warm2": ["--cache=c2", "--jobs=2"]}
    for out, args in runs.items():
        done = simulate(scratch, out, *args)
        report.check(done.returncode == 0 and done.stderr == "", f"run {out}: {done.stderr}")
        report.check(results(scratch, out) == results(scratch, "none"), f"bytes of {out}")
    none, cold, warm = (counters(scratch, out) for out in ("none", "cold", "warm"))
    report.check(none["store_hits"] == 0 and none["children"] > JOBS, f"without: {none}")
    # Its three replications share what the first has found.
    report.check(0 < cold["children"] < none["children"], f"cold: {cold}")
    report.check(warm["children"] == 0 and warm["store_hits"] == none["children"], f"warm: {warm}")


def check_several(report, scratch):
    """Two runs into one cold cache at once, then one that finds everything."""
    both = [spawn(["run", "steps.xml", "-q", "-o", f"at{i}", "--cache=shared"], scratch)
            for i in range(2)]
    for i, child in enumerate(both):
        _, said = child.communicate(timeout=100)
        report.check(child.returncode == 0 and said == "", f"one of two: {said}")
        report.check(results(scratch, f"at{i}") == results(scratch, "none"), f"bytes of at{i}")
    simulate(scratch, "after", "--cache=shared")
    report.check(counters(scratch, "after")["children"] == 0, "two runs filled the cache")


def check_kills(report, scratch):
    """Killed with all its processes at any moment: the next run is right and says nothing."""
    draw = random.Random(1)
    for trial in range(8):
        child = subprocess.Popen([PROGRAM, "run", "steps.xml", "-q", "-o", f"k{trial}",
                                  "--cache=killed"], cwd=scratch, env=environment(),
                                 start_new_session=True, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.0, 0.4))
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    done = simulate(scratch, "killed-out", "--cache=killed")
    report.check(done.returncode == 0 and done.stderr == "", f"after kills: {done.stderr}")
    report.check(results(scratch, "killed-out") == results(scratch, "none"), "bytes after kills")


def in_session(session):
    """Living processes of a session."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(stat.parent.name))
    return found


def check_orphans(report, scratch):
    """The program alone is killed: its units, their stores and engines go too."""
    child = subprocess.Popen([PROGRAM, "run", "steps.xml", "-q", "-o", "orphans", "--cache=orphans-c",
                              "--jobs=2", "--set", "@duration=2000d"], cwd=scratch,
                             env=environment(), start_new_session=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while len(in_session(child.pid)) < 7 and time.monotonic() < end:  # itself, 2 x (unit, oracle, store)
        time.sleep(0.002)
    report.check(len(in_session(child.pid)) >= 7, "the run did not get going")
    child.kill()
    child.wait()
    while in_session(child.pid) and time.monotonic() < end:
        time.sleep(0.002)
    report.check(not in_session(child.pid), f"left behind: {in_session(child.pid)}")


def check_rubbish(report, scratch):
    """One warning, same results, exit status 0."""
    cases = {"foreign": b"not a store" * 1000, "short": b"x"}
    whole = (scratch / "c" / "steps-1" / "data.mdb").read_bytes()
    cases["cut"] = whole[:len(whole) // 2]
    cases["torn"] = whole[:8192] + bytes(len(whole) - 8192)
    for name, content in cases.items():
        (scratch / name / "steps-1").mkdir(parents=True)
        (scratch / name / "steps-1" / "data.mdb").write_bytes(content)
        done = simulate(scratch, f"{name}-out", f"--cache={name}")
        report.check(done.returncode == 0 and done.stderr.count("warning") == 1 and
                     done.stderr.count("\n") == 1, f"{name}: {done.returncode} {done.stderr}")
        report.check(results(scratch, f"{name}-out") == results(scratch, "none"), f"bytes, {name}")
        cleared = run(["cache", "clear", f"--cache={name}"], scratch)
        report.check(cleared.returncode == 0 and not (scratch / name / "steps-1").exists(),
                     f"clear {name}: {cleared.stderr}")


def check_places(report, scratch):
    """Where the cache is: option, SANDTABLE_CACHE, XDG_CACHE_HOME, HOME, in this order."""
    places = {"SANDTABLE_CACHE": ("own", "own"), "XDG_CACHE_HOME": ("xdg", "xdg/sandtable"),
              "HOME": ("home", "home/.cache/sandtable")}
    changes = {}
    for name, (value, directory) in reversed(places.items()):
        changes[name] = str(scratch / value)
        done = run(["cache", "info"], scratch, environment(**changes))
        report.check(f"directory  {scratch / directory}\nsteps      0\n" in done.stdout,
                     f"{name}: {done.stdout}{done.stderr}")
        report.check("size       0 B of at most" in done.stdout and not (scratch / value).exists(),
                     f"{name}: a question makes no directory: {done.stdout}")
    (scratch / "file").write_text("no directory")
    done = run(["cache", "info", "--cache=file"], scratch)
    report.check(done.returncode == 4 and "Not a directory" in done.stderr, f"a file: {done.stdout}{done.stderr}")
    for env in (environment(), environment(HOME=str(scratch), SANDTABLE_CACHE="none")):
        done = run(["cache", "info"], scratch, env)
        report.check(done.stdout == "no cache is used\n", f"none: {done.stdout}{done.stderr}")
    for args in (["--no-cache"], ["--cache=none"]):
        done = run(["cache", "info", *args], scratch, environment(SANDTABLE_CACHE="c"))
        report.check(done.stdout == "no cache is used\n", f"{args}: {done.stdout}{done.stderr}")
    done = run(["cache", "info", "--cache=./none"], scratch)
    report.check("directory  ./none\n" in done.stdout, f"./none: {done.stdout}{done.stderr}")
    done = run(["cache", "info", "--cache=c"], scratch)
    report.check(f"steps      {counters(scratch, 'none')['children'] // 3}\n" in done.stdout,
                 f"info: {done.stdout}{done.stderr}")


def main():
    report = Report()
    with Scratch() as scratch:
        write_experiment(scratch)
        check_same(report, scratch)
        check_several(report, scratch)
        check_places(report, scratch)
        check_kills(report, scratch)
        check_orphans(report, scratch)
        check_rubbish(report, scratch)
    report.end()


main()
