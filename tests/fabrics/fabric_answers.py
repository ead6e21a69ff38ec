"""What fabrics do to steps, asked of the program as people ask it, and held against what is known.

usage: fabric_answers.py sandtable source
"""
import json
import os
import subprocess
import sys

SANDTABLE, SOURCE = sys.argv[1], sys.argv[2]
FABRICS = os.path.join(SOURCE, "examples", "fabrics")


def step(example, *options):
    out = subprocess.run([SANDTABLE, "step", os.path.join(FABRICS, example), "--format=json", "--no-cache",
                          "--data", SOURCE, *options], check=True, stdout=subprocess.PIPE)
    return json.loads(out.stdout)


def check(what, is_true):
    print(("ok: " if is_true else "WRONG: ") + what)
    return is_true


def generations():
    """A job that spans two generations is as slow as one on the older alone; its MFU counts all peaks."""
    new, old = step("generations.xml"), step("generations.xml", "--nodes=0-15")
    both = step("generations.xml", "--nodes=8-23")
    return all([
        check("the newer nodes are faster", new["step_s"] < old["step_s"]),
        check("the slowest GPU sets the pace", both["compute_s"] == old["compute_s"]),
        check("peaks add up", abs(both["peak_flops"] - (new["peak_flops"] + old["peak_flops"]) / 2) < 1),
    ])


if __name__ == "__main__":
    sys.exit(0 if all([generations()]) else 1)
