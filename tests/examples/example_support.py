# Runs the program on an example and reads its results.
# SPDX-License-Identifier: GPL-2.0-or-later
import os
import re
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
except ImportError as problem:
    print(f"skipped: {problem}; install python3-h5py")
    sys.exit(77)

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
SCRATCH = tempfile.TemporaryDirectory(prefix="sandtable-example-")
FAILURES = []


def check(holds, text):
    print(("ok   " if holds else "FAIL ") + text)
    if not holds:
        FAILURES.append(text)


def close(value, target, tolerance, text):
    check(abs(value - target) <= tolerance,
          f"{text}: {value:.5g}, expected {target:.5g} +- {tolerance:.2g}")


def told(readme, text, *values):
    """What an example's README says: each # in text is a figure there, right to the last digit it has."""
    with open(os.path.join(SOURCE, "examples", readme, "README.md"), encoding="utf-8") as file:
        found = re.findall(re.escape(text).replace(r"\#", r"([0-9][0-9,]*(?:\.[0-9]+)?)"), file.read())
    check(len(found) == 1, f"{readme}/README.md says once: {text}")
    for figures in found[:1]:
        for figure, value in zip((figures,) if isinstance(figures, str) else figures, values, strict=True):
            rounded = f"{value:.{len(figure.partition('.')[2])}f}"
            check(figure.rstrip(",").replace(",", "") == rounded,
                  f"{readme}/README.md: {text}: {figure} there, {rounded} by the program ({value:.7g})")


def run(spec, *arguments, name="out"):
    """Runs an example; returns the path of its results."""
    out = os.path.join(SCRATCH.name, name)
    command = [PROGRAM, "run", os.path.join(SOURCE, "examples", spec), "-o", out, "--quiet",
               "--force", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == 0, f"{' '.join(command[1:3])} ends with 0: {done.stderr.strip()}")
    return os.path.join(out, "results.h5")


def table(path, name):
    """A table's columns as numpy arrays."""
    with h5py.File(path, "r") as file:
        return {column: data[...] for column, data in file[name].items()
                if isinstance(data, h5py.Dataset) and data.ndim == 1 and column != "row"}


def end():
    print(f"{len(FAILURES)} failed")
    sys.exit(1 if FAILURES else 0)


__all__ = ["PROGRAM", "SOURCE", "SCRATCH", "check", "close", "end", "numpy", "run", "table", "told"]
