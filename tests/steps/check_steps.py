#!/usr/bin/env python3
"""Predictions of published training steps against those that were pinned, and the program's manners.

SPDX-License-Identifier: GPL-2.0-or-later
Usage: check_steps.py pinned|jobs|report|leaveout|zero3|wrong PROGRAM SOURCE_DIRECTORY
"""
import csv
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MODE, PROGRAM, SOURCE = sys.argv[1], sys.argv[2], Path(sys.argv[3])
SAMPLE = SOURCE / "tests/data/steps/published.csv"
PINNED = SOURCE / "tests/data/steps/predicted.csv"
NUMBERS = ("measured_s", "predicted_s", "error", "compute_s", "recompute_s", "exposed_tp_s",
           "exposed_pp_s", "exposed_dp_s", "bubble_s")
problems = []


def check(holds, what):
    """Notes what does not hold."""
    if not holds:
        problems.append(what)


def run(*args):
    """The program's answer."""
    return subprocess.run([PROGRAM, "validate-steps", *map(str, args)], text=True,
                          capture_output=True, check=False)


def predict(scratch, *args):
    """The rows of --csv, and what was printed."""
    path = Path(scratch) / "predicted.csv"
    done = run(SAMPLE, "--csv", path, "--force", *args)
    check(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)), done.stdout


def compare(scratch):
    """Every number to 1e-6, every text exactly."""
    rows, _ = predict(scratch)
    with open(PINNED, encoding="utf-8", newline="") as file:
        pinned = list(csv.DictReader(file))
    check(len(rows) == len(pinned), f"{len(rows)} rows, {len(pinned)} are pinned")
    for row, old in zip(rows, pinned):
        for name, text in old.items():
            if name in NUMBERS and text and row[name]:
                same = abs(float(row[name]) - float(text)) <= 1e-6 * max(1e-3, abs(float(text)))
            else:
                same = row[name] == text
            check(same, f'{old["id"]}: {name} is {row[name]}, {text} is pinned')


def jobs(scratch):
    """The number of workers changes nothing."""
    one, three = predict(scratch, "--jobs", 1), predict(scratch, "--jobs", 3)
    check(one == three, "one and three workers differ")


def report(scratch):
    """The last line sums up the CSV; rows without score are listed with their reason."""
    rows, text = predict(scratch)
    errors = [float(row["error"]) for row in rows if row["class"] == "scored" and row["error"]]
    size = sorted(abs(error) for error in errors)
    median = (size[(len(size) - 1) // 2] + size[len(size) // 2]) / 2
    expected = (f"overall: {len(size)} rows, median {100 * median:.2f} %, "
                f"mean {100 * sum(size) / len(size):.2f} %, "
                f"bias {100 * sum(errors) / len(errors):+.2f} %")
    check(text.splitlines()[-1] == expected, f"{text.splitlines()[-1]} is not {expected}")
    check("micro-batches not stated" in text or "micro_batch is not given" in text, "no listed row")
    check(re.search(r'neither a step time nor tokens per second', text), "no skipped row")


def left_out(scratch):
    """Every group is left out once; skipped rows and a group of its own do no harm; the last line
    stays; HDF5 and CSV say the same."""
    rows, usual = predict(scratch)
    for group, what in (("source", "source"), ("gpu", "GPU generation")):
        file = Path(scratch) / f"{group}.h5"
        again, text = predict(scratch, "--leave-out", group, "--hdf5", file)
        check(text.splitlines()[-1] == usual.splitlines()[-1], f"{group}: {text.splitlines()[-1]}")
        scored = [row for row in again if row["class"] == "scored"]
        check(f"leave one {what} out: {len(scored)} rows, median" in text, f"{group}: {text}")
        errors = [float(row["left_out_error"]) for row in scored]
        mean = 100 * sum(map(abs, errors)) / len(errors)
        check(f"mean {mean:.2f} %" in text, f"{group}: mean {mean:.2f}")
        check(any(row["left_out_s"] != row["predicted_s"] for row in scored), f"{group}: no refit")
        for row, old in zip(again, rows):
            check(all(row[name] == old[name] for name in old), f"{group}: {row['id']} changed")
        compare_hdf5(file, again)


def compare_hdf5(file, rows):
    """Column by column, where h5py is there to read it."""
    try:
        import h5py
    except ImportError:
        return
    with h5py.File(file) as stored:
        table = stored["steps"]
        for name in rows[0]:
            if name == "left_out_error":
                continue
            cells = table[name][:]
            check("units" in table[name].attrs and "long_name" in table[name].attrs, f"{name}: bare")
            for cell, row in zip(cells, rows):
                text = row[name]
                if isinstance(cell, bytes):
                    same = cell.decode() == text
                else:
                    same = abs(float(text or 0) - (cell if cell == cell else 0)) <= 1e-8 * abs(cell) \
                        or (text == "" and cell != cell)
                check(same, f"{name}: {cell}, the CSV has {text}")


def zero3(scratch):
    """ZeRO-3 against tensor and pipeline parallelism (Narayanan et al. 2021, SC21, Table 2): at a
    fixed batch it falls behind as GPUs grow, since every micro-batch gathers all weights and there are
    fewer tokens to hide that behind. Rows in between the published sizes only ask for the trend."""
    with open(SAMPLE, encoding="utf-8", newline="") as file:
        columns = next(csv.reader(file))
    models = {"175B": dict(layers=96, hidden=12288, heads=96, kv_heads=96, ffn_hidden=49152),
              "530B": dict(layers=105, hidden=20480, heads=128, kv_heads=128, ffn_hidden=81920)}
    # Of each model: batch, pipeline stages, GPUs, and the micro-batch of ZeRO-3 on them.
    sizes = {"175B": (1536, 12, ((384, 4), (768, 2), (1536, 1))),
             "530B": (2240, 35, ((560, 4), (1120, 2), (2240, 1)))}
    table = Path(scratch) / "zero3.csv"
    with open(table, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        for model, (batch, stages, all_gpus) in sizes.items():
            for gpus, micro_batch in all_gpus:
                row = dict(models[model], source="Narayanan et al. 2021 (SC21) Table 2",
                           confirmed="yes", vocab=51200, seq_len=2048, gpu="A100-80G-SXM", gpus=gpus,
                           CP=1, precision="fp16 mixed", recompute="full", seq_parallel="n",
                           network="HDR200x8 (Selene)", iter_time_s=1, global_batch=batch)
                writer.writerow(dict(row, id=f"{model} zero {gpus}", TP=1, PP=1,
                                     micro_batch=micro_batch, zero_or_fsdp="ZeRO-3"))
                writer.writerow(dict(row, id=f"{model} ptd {gpus}", TP=8, PP=stages,
                                     micro_batch=1, zero_or_fsdp="none"))
    path = Path(scratch) / "zero3-predicted.csv"
    done = run(table, "--csv", path)
    check(done.returncode == 0, done.stderr)
    with open(path, encoding="utf-8", newline="") as file:
        step_s = {row["id"]: float(row["predicted_s"] or "nan") for row in csv.DictReader(file)}
    for model, (_, _, all_gpus) in sizes.items():
        ratios = [step_s[f"{model} zero {gpus}"] / step_s[f"{model} ptd {gpus}"]
                  for gpus, _ in all_gpus]
        check(ratios[0] < ratios[1] < ratios[2], f"{model}: ZeRO-3 over the other is {ratios}")
        check(ratios[2] > 1.1, f"{model}: ZeRO-3 does not fall behind, {ratios}")


def wrong(scratch):
    """Bad input says what and where, and ends with the exit status of its kind."""
    bad = Path(scratch) / "bad.csv"
    bad.write_text("id,source\n1,2\n", encoding="utf-8")
    good = run(SAMPLE).returncode
    check(good == 0, f"the sample: {good}")
    done = run(bad)
    check(done.returncode == 3 and 'no column "gpu"' in done.stderr, f"columns: {done.stderr}")
    done = run(Path(scratch) / "none.csv")
    check(done.returncode != 0 and "none.csv" in done.stderr, f"no file: {done.stderr}")
    done = run(SAMPLE, "--rules", SAMPLE)
    check(done.returncode == 3 and "published.csv" in done.stderr, f"no rules: {done.stderr}")
    rules = Path(scratch) / "rules.xml"
    rules.write_text('<step_rules xmlns="urn:sandtable:1" id="rules" source="a b c" date="2026">\n'
                     '<stack id="a" source="b" software="sandtable:software/none"/></step_rules>\n',
                     encoding="utf-8")
    done = run(SAMPLE, "--rules", rules)
    check(done.returncode == 3 and "none" in done.stderr, f"a stack without software: {done.stderr}")
    later = Path(scratch) / "later.csv"  # a page of known software that no rule names
    later.write_text(SAMPLE.read_text(encoding="utf-8").replace("torchtitan repo", "torchtitan v9"), encoding="utf-8")
    done = run(later)
    check("\ntorchtitan-later " in done.stdout, f"later software: {done.stdout[:600]}")
    no_rows(Path(scratch))
    outputs(Path(scratch))


def no_rows(scratch):
    """Nothing to score is no success, and no figure of it is printed."""
    table = scratch / "cells.csv"
    with open(SAMPLE, encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file))
    with open(table, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerow(dict(row, id="bad", gpus="4000000000"))
    done = run(table)
    check(done.returncode == 3 and "no row of 1 can be scored" in done.stderr,
          f"no rows: {done.returncode} {done.stderr}")
    check(done.stdout.endswith("\noverall: 0 rows\n") and "nan" not in done.stdout, done.stdout)
    check('row "bad": gpus "4000000000" is not a whole number' in done.stdout, done.stdout)
    check("1  cells that are no numbers" in done.stdout, done.stdout)


def outputs(scratch):
    """--csv leaves what is there, its own input and devices in any case."""
    table, there = scratch / "table.csv", scratch / "there.csv"
    table.write_bytes(SAMPLE.read_bytes())
    there.write_text("mine", encoding="utf-8")
    done = run(table, "--csv", there)
    check(done.returncode == 2 and "exists; --force overwrites it, or name another" in done.stderr,
          f"a file that exists: {done.stderr}")
    check(there.read_text(encoding="utf-8") == "mine", "the file was overwritten")
    link = scratch / "link.csv"
    link.hardlink_to(table)
    for name, said in ((table, "is an input"), (link, "is an input"), ("/dev/null", "no regular file")):
        done = run(table, "--csv", name, "--force")
        check(done.returncode == 2 and said in done.stderr, f"{name}: {done.stderr}")
    check(table.read_bytes() == SAMPLE.read_bytes(), "the input was overwritten")
    for one, two in (("both.csv", "both.csv"), ("both.csv", "./both.csv"), (scratch / "both.csv", f"{scratch}/./both.csv")):
        done = run(table, "--csv", one, "--hdf5", two)
        check(done.returncode == 2 and "name one file" in done.stderr, f"{one} and {two}: {done.stderr}")
    done = run(table, "--csv", there, "--force")
    check(done.returncode == 0 and there.read_text(encoding="utf-8").startswith("id,class"),
          f"--force: {done.stderr}")


with tempfile.TemporaryDirectory(prefix="sand-steps-") as directory:
    {"pinned": compare, "jobs": jobs, "report": report, "leaveout": left_out, "zero3": zero3, "wrong": wrong}[MODE](directory)
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
