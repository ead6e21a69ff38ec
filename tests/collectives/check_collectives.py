#!/usr/bin/env python3
"""Predictions of published collectives against those that were pinned, and the two verbs' manners.

SPDX-License-Identifier: GPL-2.0-or-later
Usage: check_collectives.py pinned|report|wrong|verb|data PROGRAM SOURCE_DIRECTORY
"""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MODE, PROGRAM, SOURCE = sys.argv[1], sys.argv[2], Path(sys.argv[3])
SAMPLE = SOURCE / "tests/data/collectives/published.csv"
PINNED = SOURCE / "tests/data/collectives/predicted.csv"
TEXTS = ("id", "class", "machine", "network", "algorithm", "protocol", "why")
problems = []


def check(holds, what):
    """Notes what does not hold."""
    if not holds:
        problems.append(what)


def run(*args, env=None):
    """The program's answer."""
    return subprocess.run([PROGRAM, *map(str, args)], text=True, capture_output=True, check=False,
                          env=env)


def validate(*args):
    """The answer of validate-collectives."""
    return run("validate-collectives", *args)


def predict(scratch):
    """The rows of --csv, and what was printed."""
    path = Path(scratch) / "predicted.csv"
    done = validate(SAMPLE, "--csv", path, "--force")
    check(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)), done.stdout


def pinned(scratch):
    """Every number to 1e-6, every text exactly."""
    rows, _ = predict(scratch)
    with open(PINNED, encoding="utf-8", newline="") as file:
        old_rows = list(csv.DictReader(file))
    check(len(rows) == len(old_rows), f"{len(rows)} rows, {len(old_rows)} are pinned")
    for row, old in zip(rows, old_rows):
        for name, text in old.items():
            if name not in TEXTS and text and row[name]:
                same = abs(float(row[name]) - float(text)) <= 1e-6 * max(1e-9, abs(float(text)))
            else:
                same = row[name] == text
            check(same, f'{old["id"]}: {name} is {row[name]}, {text} is pinned')


def report(scratch):
    """The last line sums up the CSV; what is not scored says why; leaving out ends alike."""
    rows, text = predict(scratch)
    errors = [float(row["error"]) for row in rows if row["class"] == "scored" and row["error"]]
    size = sorted(abs(error) for error in errors)
    median = (size[(len(size) - 1) // 2] + size[len(size) // 2]) / 2
    expected = (f"overall: {len(size)} rows, median {100 * median:.2f} %, "
                f"mean {100 * sum(size) / len(size):.2f} %, "
                f"bias {100 * sum(errors) / len(errors):+.2f} %")
    check(text.splitlines()[-1] == expected, f"{text.splitlines()[-1]} is not {expected}")
    check("problem report" in text, "no listed row")
    check("message_bytes is not given" in text and "expert traffic" in text, "no skipped row")
    check("noise floor" in text, "no noise floor")
    out = validate(SAMPLE, "--leave-out", "source")
    check(out.returncode == 0 and out.stdout.splitlines()[-1].startswith(f"overall: {len(size)} rows"),
          f"leave-out: {out.stdout[-200:]} {out.stderr}")
    check(validate(SAMPLE, "--leave-out", "source").stdout == out.stdout, "leave-out is not repeatable")
    h5 = Path(scratch) / "predicted.h5"
    done = validate(SAMPLE, "--hdf5", h5)
    check(done.returncode == 0 and h5.read_bytes()[:4] == b"\x89HDF", f"hdf5: {done.stderr}")
    check(validate(SAMPLE, "--hdf5", h5).returncode == 2, "an HDF5 file was overwritten")
    fit = validate(SAMPLE, "--refit")
    better = re.search(r"mean ([0-9.]+) %", fit.stdout.splitlines()[-1])
    check(better and float(better[1]) < 100 * sum(size) / len(size), f"a fit makes worse: {better}")


def row_of(**cells):
    """A good row, with other cells."""
    row = {"id": "C-x-001", "source": "s", "platform": "p", "gpu": "H100-SXM-80G", "gpus": "16",
           "nodes": "2", "network": "NDR400x8", "collective": "all_reduce_perf",
           "algo": "", "proto": "", "message_bytes": "1048576", "time_us": "100"}
    return {**row, **cells}


def wrong(scratch):
    """Bad input says what and where; no cell that says something else is taken for a number."""
    table = Path(scratch) / "table.csv"
    cases = [({}, "C-x-001", 0), ({"gpus": "abc"}, 'gpus "abc" is no positive number', 3),
             ({"gpus": "-3"}, 'gpus "-3" is no positive number', 3), ({"gpus": "1"}, "or is 1", 3),
             ({"gpus": "17"}, "do not go evenly", 3),
             ({"gpus": "999999984", "nodes": ""}, "more than 1048576 GPUs", 3), ({"gpus": "4e9"}, "or is 1", 3),
             ({"message_bytes": ""}, "message_bytes is not given", 3),
             ({"message_bytes": "nan"}, "no positive number", 3), ({"time_us": ""}, "neither a time", 3),
             ({"collective": "gossip"}, '"gossip" is not modelled', 3),
             ({"gpu": "Z80"}, 'no rule knows the GPU "Z80"', 3),
             ({"gpu": "GB300", "gpus": "8", "network": "RoCE 4x800 Gb/s"}, "roce400", 0),
             ({"gpu": "GB300", "gpus": "8", "network": "NVLink5"}, "one domain", 0),
             ({"network": "carrier pigeons"}, 'no rule knows the network "carrier pigeons"', 3),
             ({"network": ""}, "the network is not stated", 3),
             *[({"gpu": gpu, "gpus": "8", "nodes": "1", "network": "PCIe"}, f"\n{machine} ", 0)
               for gpu, machine in (("H100 PCIe", "h100-pcie"), ("NVIDIA A100-PCIE-40GB", "a100-pcie-40g"),
                                    ("A100 80GB PCIe", "a100-pcie"), ("V100-PCIe-32GB", "v100-pcie"),
                                    ("H100-SXM-80G", "h100"), ("A100 40GB", "a100-40g"))],
             ({"message_bytes": "1,048,576", "algo": "-", "proto": "N/A"}, "1 rows", 0),
             ({"gpus": "1,024", "nodes": "n/a"}, "1 rows", 0), ({"collective": "Bcast"}, "1 rows", 0),
             ({"gpus": "1,02"}, 'gpus "1,02" is no positive number', 3),
             ({"time_us": "6,000"}, 'time_us "6,000" is no positive number', 3),
             ({"message_bytes": "64M", "collective": "All-to-All"}, "1 rows", 0)]
    for cells, said, status in cases:
        with open(table, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, row_of())
            writer.writeheader()
            writer.writerow(row_of(**cells))
        done = validate(table)
        check(done.returncode == status and said in done.stdout,
              f"{cells}: {done.returncode} {done.stdout[-300:]} {done.stderr}")
        check("nan" not in done.stdout.replace('"nan"', ""), f"{cells}: nan")
        if status == 3:
            check(done.stdout.endswith("\noverall: 0 rows\n"), f"{cells}: {done.stdout[-60:]}")
    table.write_text("id,source\n1,2\n", encoding="utf-8")
    done = validate(table)
    check(done.returncode == 3 and 'no column "gpu"' in done.stderr, f"columns: {done.stderr}")
    table.write_text("", encoding="utf-8")
    check(validate(table).returncode == 3, "an empty file")
    check(validate(SAMPLE, "--rules", SAMPLE).returncode == 3, "no rules")
    check(validate(SAMPLE, "--leave-out", "row").returncode == 2, "leave out what there is not")
    check(validate(SAMPLE, "--csv", SAMPLE, "--force").returncode == 2, "the input as output")


def collective(*args):
    """The rows of `sandtable collective` as CSV."""
    done = run("collective", *args, "--format=csv")
    check(done.returncode == 0, f"collective {args}: {done.returncode} {done.stderr}")
    return list(csv.DictReader(done.stdout.splitlines()))


def verb(scratch):
    """Columns, bandwidths and switches of `sandtable collective`."""
    rows = collective("--node", "dgx-h100", "--nodes", 2)
    check(len(rows) == 32 and rows[0]["bytes"] == "8", f"{len(rows)} sizes")
    for row in rows:
        busbw = float(row["bytes"]) / float(row["time_s"]) * 2 * 15 / 16
        check(abs(busbw / float(row["busbw_Bps"]) - 1) < 1e-6, f"bus bandwidth of {row}")
    done = run("collective", "--node", "dgx-h100", "--bytes", "1MiB", "--explain")
    check(re.search(r"^ +1048576 +262144 +float +sum +-1 +[0-9.]+ +[0-9.]+ +[0-9.]+ ", done.stdout, re.M)
          and "latency   base" in done.stdout, done.stdout)
    js = run("collective", "--node", "dgx-h100", "--format=json", "--bytes", "1MiB")
    check(json.loads(js.stdout)["sizes"][0]["bytes"] == 1048576, js.stdout)
    slow = collective("--node", "dgx-h100", "--nodes", 2, "--no-gpudirect", "--bytes", "1GiB")
    fast = collective("--node", "dgx-h100", "--nodes", 2, "--bytes", "1GiB")
    check(float(slow[0]["time_s"]) > 1.2 * float(fast[0]["time_s"]), "GPUDirect off costs nothing")
    ring = collective("--node", "dgx-h100", "--algorithm", "ring", "--bytes", "1GiB")
    check(ring[0]["algorithm"] == "ring", f"forced: {ring}")
    big = collective(SOURCE / "platforms/clusters/meta-24k.xml", "--gpus", 16384, "--bytes", "1GiB")
    check(big[0]["gpus"] == "16384", f"{big}")
    refusals(Path(scratch))


def refusals(scratch):
    """What cannot be asked ends with the status of its kind."""
    for args, status, said in (
            ((), 2, "a file is needed"), (("--node", "nix"), 3, "which the catalogue does not have; it has "),
            (("--node", "../link/nvlink4"), 2, "not a path"),
            (("--node", "dgx-h100", "--collective", "all_reduc"), 2, 'did you mean "all_reduce"'),
            (("--node", "dgx-h100", "--bytes", "1"), 2, "--bytes"),
            (("--node", "dgx-h100", "--gpus", "9"), 3, "1 to 8"),
            (("--node", "dgx-h100", "--gpus-per-node", "9"), 3, "has 8"),
            (("--node", "dgx-h100", "--algorithm", "nvlstree"), 3, "several scale-up domains"),
            (("--node", "dgx-h100", "--from", "2GB", "--to", "1GB"), 2, "larger than"),
            (("--node", "dgx-h100", "--bytes", "1MiB", "--from", "1KiB"), 2, "--bytes is one size"),
            (("--node", "dgx-h100", "--bytes", "1MiB", "--factor", "4"), 2, "--bytes is one size"),
            (("--node", "dgx-h100", "--set", "@seed=1"), 2, "--set is for an experiment's file"),
            (("--node", "dgx-h100", "--trace", "x.swf"), 2, "--trace is for an experiment's file"),
            (("--node", "dgx-h100", "--plot", scratch / "a.bmp"), 2, ".png, .svg or .pdf")):
        done = run("collective", *args)
        check(done.returncode == status and said in done.stderr, f"{args}: {done.returncode} {done.stderr}")
    plot = scratch / "it's.svg"
    done = run("collective", "--node", "dgx-h100", "--plot", plot,
               env={**os.environ, "PATH": str(scratch)})
    check(done.returncode == 4 and "needs gnuplot" in done.stderr, f"no gnuplot: {done.stderr}")
    check(not plot.exists(), "a plot without gnuplot")
    if any((Path(d) / "gnuplot").exists() for d in os.environ["PATH"].split(":")):
        done = run("collective", "--node", "dgx-h100", "--plot", plot)
        drawn = plot.read_text(encoding="utf-8") if plot.exists() else ""
        check(done.returncode == 0 and all(word in drawn for word in (
            "<svg", "all_reduce over 8 GPUs of dgx-h100", "nvls, Simple", "ring, LL")), f"plot: {done.stderr}")
        again = run("collective", "--node", "dgx-h100", "--plot", plot)
        check(again.returncode == 2 and "exists" in again.stderr, f"overwritten: {again.stderr}")


def data(_):
    """The project's targets on the whole table."""
    table = Path(os.environ.get("SAND_DATA", "")) / "collectives.csv"
    if not os.environ.get("SAND_DATA") or not table.exists():
        print("SAND_DATA/collectives.csv is not there")
        sys.exit(77)
    text = validate(table).stdout
    for name, median, mean in (("below 64 KiB", 100, 25), ("from 1 MiB", 7, 14),
                               ("of it, from 64 MiB", 5, 10)):
        found = re.search(rf"^{name} +\d+ +([0-9.]+)% +([0-9.]+)%", text, re.M)
        check(found and float(found[1]) <= median and float(found[2]) <= mean, f"{name}: {found}")


with tempfile.TemporaryDirectory(prefix="sand-collectives-") as directory:
    {"pinned": pinned, "report": report, "wrong": wrong, "verb": verb, "data": data}[MODE](directory)
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
