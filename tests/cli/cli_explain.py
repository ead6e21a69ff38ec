# `explain` on real runs: its parts sum to what was observed, for every job and every incident.
# SPDX-License-Identifier: GPL-2.0-or-later
import json

from cli_runner import Report, Scratch, run

OK, USAGE, IO = 0, 2, 4
PARTS = ("queue_s", "healthy_s", "placement_s", "neighbours_s", "slow_parts_s", "saves_s", "lost_steps_s", "cut_steps_s",
         "detect_s", "diagnose_s", "wait_nodes_s", "restart_s", "restore_s", "under_way_s", "other_s")
RECOVERY = ("detect_s", "diagnose_s", "wait_nodes_s", "restart_s", "restore_s", "recompute_s", "catch_up_s")
TINY = 1e-8  # sums of doubles; the parts themselves are whole nanoseconds


def explain(scratch, *args):
    done = run(["explain", "out/results.h5", *args, "--format=json"], scratch)
    return json.loads(done.stdout) if done.returncode == OK else None


def simulate(scratch, report):
    """Faults often enough to strike during recoveries and saves, and more jobs than nodes."""
    text = (scratch / "small.xml").read_text()
    queue = "".join(f'<job id="q{n}" nodes="1" submit="{n}h" duration="{2 + n}h"/>'
                    for n in range(8))
    text = text.replace('rate="0.5/d"', 'rate="8/d"')
    text = text.replace("</jobs>", queue + "</jobs>").replace('repair="4h"', 'diagnose="3min" repair="4h"')
    (scratch / "busy.xml").write_text(text)
    done = run(["run", "busy.xml", "-q", "-o", "out"], scratch)
    report.check((scratch / "out" / "results.h5").exists(), f"run: {done.stderr}")


def check_jobs(report, scratch):
    seen = dict.fromkeys(PARTS, 0.0)
    for replication in range(3):
        for job in ["pretrain", "batch", *(f"q{n}" for n in range(8))]:
            got = explain(scratch, "--job", job, "--replication", replication)
            report.check(got is not None, f"explain {job}")
            total = sum(got[part] for part in PARTS)
            report.check(abs(total - got["observed_s"]) < TINY * max(1.0, total), f"{job}: {got}")
            report.check(got["other_s"] == 0, f"{job}, not attributed: {got}")
            report.check(all(got[part] >= 0 for part in PARTS), f"{job}, negative: {got}")
            step = got["step"]
            if step["survived"]:
                whole = step["healthy_s"] + step["placement_s"] + step["neighbours_s"] + step["slow_parts_s"]
                report.check(abs(whole - step["step_s"]) < TINY * whole, f"{job}, step: {step}")
            for part in PARTS:
                seen[part] += got[part]
    never = [part for part in PARTS if seen[part] == 0]
    report.check(never == ["placement_s", "neighbours_s", "slow_parts_s", "other_s"], f"parts that never came: {never}")


def check_incidents(report, scratch):
    number = children = 0
    while got := explain(scratch, "--incident", number):
        total = sum(got[part] for part in RECOVERY)
        report.check(abs(total - got["recovery_s"]) < TINY * max(1.0, total), f"incident: {got}")
        children += len(got["children"])
        number += 1
    report.check(number > 20 and children > 0, f"{number} incidents, {children} children")


def check_placement(report, scratch):
    """A one-node job in front: first-fit puts the next across two leaves, packed beside each other."""
    text = (scratch / "small.xml").read_text()
    text = text.replace(' step_time="10s"', ' submit="1min" steps="50"').replace('hot_spares="1"', 'hot_spares="0"')
    text = text.replace('leaf_oversubscription="1"', 'leaf_oversubscription="8"')
    text = text.replace('submit="1h" duration="3h"', 'duration="1d"').replace("0.5/d", "1e-9/d")
    (scratch / "apart.xml").write_text(text)
    got = {}
    for place in ("first-fit", "packed"):
        done = run(["run", "apart.xml", "-q", "-o", "out", "--force", "--set",
                    f"policies/place/@policy=place/{place}"], scratch)
        report.check(done.returncode == OK, f"{place}: {done.stderr}")
        got[place] = explain(scratch, "--job", "pretrain")
    apart, together = got["first-fit"], got["packed"]
    slower = apart["observed_s"] - together["observed_s"]
    report.check(together["placement_s"] == 0 and together["healthy_s"] == together["observed_s"],
                 f"packed: {together}")
    report.check(apart["placement_s"] > 0.01 * apart["healthy_s"], f"first-fit: {apart}")
    report.check(abs(apart["placement_s"] - slower) < 1e-6, f"{slower} s slower: {apart}")
    report.check(apart["healthy_s"] == together["healthy_s"], "the healthy step is the same")


def check_words(report, scratch):
    for args in (["--job", "pretrain"], ["--incident", "1"], ["--step", "0"]):
        done = run(["explain", "out/results.h5", *args], scratch)
        report.check(done.returncode == OK and done.stderr == "", f"{args}: {done.stderr}")
        report.check(all(len(line) <= 100 and line == line.rstrip()
                         for line in done.stdout.splitlines()), f"{args}: {done.stdout}")
    for args, status, words in (
            (["--job", "pretrian"], USAGE, 'did you mean "pretrain"'),
            (["--job", "pretrain", "--replication", "7"], USAGE, "--replication is 7"),
            (["--step", "99"], USAGE, "numbered from 0"),
            (["--incident", "9999"], USAGE, "numbered from 0"),
            (["--job", "a", "--step", "1"], USAGE, "at a time"),
            ([], USAGE, "say what to explain"),
            (["--job", "a", "--format=yaml"], USAGE, "must be text or json")):
        done = run(["explain", "out/results.h5", *args], scratch)
        report.check(done.returncode == status and words in done.stderr, f"{args}: {done.stderr}")
    done = run(["explain", "busy.xml", "--job", "a"], scratch)
    report.check(done.returncode not in (OK, 70) and "busy.xml" in done.stderr, done.stderr)


def main():
    report = Report()
    with Scratch() as scratch:
        simulate(scratch, report)
        check_jobs(report, scratch)
        check_incidents(report, scratch)
        check_words(report, scratch)
        check_placement(report, scratch)
    report.end()


main()
