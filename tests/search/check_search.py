#!/usr/bin/env python3
"""sandtable step --search as a user meets it.

SPDX-License-Identifier: GPL-2.0-or-later
Usage: check_search.py formats|wrong|time PROGRAM SOURCE_DIRECTORY
"""
import csv
import io
import json
import resource
import subprocess
import sys
from pathlib import Path

MODE, PROGRAM, SOURCE = sys.argv[1], sys.argv[2], Path(sys.argv[3])
EXPERIMENT = SOURCE / "examples/llama3-405b/experiment.xml"
SMALL = ("--set", "jobs/job/@model=sandtable:model/llama-3-8b", "--gpus", "16", "--batch", "32",
         "--simulate", "4")
problems = []


def check(holds, what):
    """Notes what does not hold."""
    if not holds:
        problems.append(what)


def search(*args, experiment=EXPERIMENT):
    """The program's answer."""
    return subprocess.run([PROGRAM, "step", experiment, "--search", *args], text=True,
                          capture_output=True, check=False)


def formats():
    """One answer in three formats; parts sum; nothing exceeds the memory; equal bytes twice."""
    found = json.loads(search(*SMALL, "--format=json").stdout)
    table = list(csv.DictReader(io.StringIO(search(*SMALL, "--format=csv").stdout)))
    text = search(*SMALL).stdout
    splits = found["splits"]
    check(len(splits) == len(table) >= 4, f"{len(splits)} splits, {len(table)} lines")
    for one, line in zip(splits, table):
        for name, value in one.items():
            same = line[name] == value if isinstance(value, str) else float(line[name]) == value
            check(same, f"{name}: JSON has {value}, CSV {line[name]}")
        check(one["tp"] * one["cp"] * one["pp"] * one["dp"] == 16, f"GPUs of {one}")
        parts = sum(one[f"{part}_s"] for part in
                    ("compute", "exposed_tp", "exposed_cp", "exposed_pp", "exposed_dp", "bubble"))
        check(abs(parts - one["step_s"]) < 1e-6 * one["step_s"], f"parts of {one}")
        check(one["memory_B"] <= 80e9, f"memory of {one}")
        check(abs(one["closed_form_s"] / one["step_s"] - 1) < 0.1, f"closed form of {one}")
    check(splits == sorted(splits, key=lambda one: one["step_s"]), "not ranked")
    check(splits[0]["loses_by"] == "" and all(one["loses_by"] for one in splits
                                              if one["step_s"] > 1.001 * splits[0]["step_s"]),
          "a reason is missing")
    best = splits[0]
    check(f'tp="{best["tp"]}" cp="{best["cp"]}" pp="{best["pp"]}" dp="{best["dp"]}"' in text,
          "the text has another winner")
    check(f'considered: {found["considered"]} splits' in text, "the text has other counts")
    check(search(*SMALL).stdout == text, "twice the same question, two answers")
    written = re_ask(best)
    check(abs(written - best["step_s"]) < 1e-6 * written, f"written down: {written}, {best}")


def re_ask(best):
    """The step time of a split that is written down as the search prints it."""
    words = {"-": ("no", "optimizer"), "none": ("no", "optimizer"), "ZeRO-1": ("yes", "optimizer"),
             "ZeRO-2": ("yes", "gradients"), "ZeRO-3": ("yes", "parameters")}
    state, sharding = words[best["sharding"]]
    split = {name: best[name] for name in
             ("tp", "cp", "pp", "dp", "virtual_stages", "micro_batch", "recompute")}
    split |= {"order": best["rank_order"], "distributed_optimizer": state, "sharding": sharding,
              "sequence_parallel": "yes" if best["sequence_parallel"] else "no",
              "global_batch": 32}
    settings = ["jobs/job/@nodes=2"] + [f"jobs/job/split/@{k}={v}" for k, v in split.items()]
    done = subprocess.run([PROGRAM, "step", EXPERIMENT, "--format=json", *SMALL[:2]] +
                          [word for setting in settings for word in ("--set", setting)],
                          text=True, capture_output=True, check=False)
    check(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)["step_s"]


def wrong():
    """Misuse is refused with a way out and the status of its kind."""
    for args, status, said in (
            (("--gpus", "12"), 2, "the next multiple is 16"),
            (("--gpus", "99992"), 3, "the cluster has 24576"),
            (("--gpus", "0"), 2, "--gpus"),
            (("--batch", "many"), 2, "--batch"),
            (("--simulate", "99999"), 2, "at most 10000"),
            (("--gpus", "8"), 3, "give more --gpus"),
            (("--gpus", "296", "--batch", "1", *SMALL[:2]), 3, "is possible")):
        done = search(*args)
        check(done.returncode == status and said in done.stderr,
              f"{args}: {done.returncode} {done.stderr}")
        check(done.stdout == "", f"{args}: {done.stdout}")
    done = subprocess.run([PROGRAM, "step", EXPERIMENT, "--gpus", "16"], text=True,
                          capture_output=True, check=False)
    check(done.returncode == 2 and "--gpus goes with --search" in done.stderr, done.stderr)


def time():
    """GPT-3 175B on 64 GPUs, Llama-3 405B on 1,024, DeepSeek-V3 on 256: each in 20 s of processor time."""
    experts = SOURCE / "examples/deepseek-v3/experiment.xml"
    for args, experiment in (
            (("--set", "jobs/job/@model=sandtable:model/gpt3-175b", "--set",
              "jobs/job/split/@sequence=2048", "--gpus", "64", "--batch", "1536"), EXPERIMENT),
            (("--gpus", "1024", "--batch", "512"), EXPERIMENT),
            (("--gpus", "256"), experts)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = search(*args, experiment=experiment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{args}: {spent:.1f} s")
        check(done.returncode == 0, done.stderr)
        check(spent < 20, f"{args}: {spent:.1f} s of processor time")


{"formats": formats, "wrong": wrong, "time": time}[MODE]()
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
