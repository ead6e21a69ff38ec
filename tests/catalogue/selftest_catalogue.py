#!/usr/bin/env python3
"""Breaks a copy of the shipped data one rule at a time; the check must notice each.

SPDX-License-Identifier: GPL-2.0-or-later
Usage: selftest_catalogue.py DATA_DIRECTORY
"""
import re
import shutil
import sys
import tempfile
from pathlib import Path

from check_catalogue import Checker

GPU = "platforms/catalogue/gpu/h100-sxm-80g.xml"
BORROWER = "platforms/catalogue/gpu/h100-pcie-80g.xml"
BELOW_KERNEL = "platforms/catalogue/gpu/a100-pcie-80g.xml"
NODE = "platforms/catalogue/node/dgx-h100.xml"
CLUSTER = "platforms/clusters/meta-24k.xml"
FAULTS = "platforms/faults/llama3-2024.xml"
MODEL = "workloads/models/llama-3-8b.xml"
EXPERTS = "workloads/models/mixtral-8x7b.xml"
COLLECTIVES = "platforms/catalogue/collectives/nccl.xml"
COLLECTIVE_RULES = "platforms/catalogue/collective_rules/measured.xml"

# file, pattern, replacement, what the check says
BREAKS = [
    (GPU, r'source="[^"]*"', 'source="TODO"', "source is missing"),
    (GPU, r'\bdate="[^"]*"', "", "date is"),
    (GPU, r'\bdate="[^"]*"', 'date="2026-13"', "date is"),
    (GPU, r'assumed="', 'assumed="colour ', 'assumed names "colour"'),
    (GPU, r'assumed="', 'assumed="source ', 'assumed names "source"'),
    (GPU, r'assumed="tile_m|assumed="', 'assumed="tile_n tile_n ', "twice"),
    (GPU, r'id="h100', 'id="h200', "the file is"),
    (GPU, r"urn:sandtable:1", "urn:other", "root element is"),
    (GPU, r"/>", "", "not well-formed"),
    (GPU, r'gemm_bf16="[^"]*"', 'gemm_bf16="990TFLOPS"', "gemm_bf16 is above"),
    (GPU, r'memory_usable="[^"]*"', 'memory_usable="1.2"', "memory_usable"),
    (BORROWER, r'gemm_fp8="[^"]*"', 'gemm_fp8="965TFLOPS"', "gemm_fp8 is 0.6378 of peak_fp8"),
    (BORROWER, r"are the H100's", "are the H99's", 'rates of "H99"'),
    (BELOW_KERNEL, r'gemm_bf16="[^"]*"', 'gemm_bf16="228.6TFLOPS"', "of kernel_bf16, on the A100"),
    (NODE, r"sandtable:gpu/h100-sxm-80g", "sandtable:gpu/none", "does not ship"),
    (NODE, r'max_power="[^"]*"', 'max_power="5kW"', "below the sum"),
    (NODE, r'idle_power="[^"]*"', 'idle_power="11kW"', "idle_power is not below"),
    (CLUSTER, r"Source: ", "", "source is missing"),
    (CLUSTER, r"Assumed: ", "Assumed: paint ", 'assumed names "paint"'),
    (FAULTS, r'count="148"', 'count="126"', "the report has"),
    (FAULTS, r'id="gpu-sram"', 'id="faulty-gpu"', "two with one id"),
    (FAULTS, r' over="54d"', "", "needs either a rate"),
    (MODEL, r'layers="32"', 'layers="40"', "its name says"),
    (MODEL, r'kv_heads="8"', 'kv_heads="7"', "do not divide"),
    (EXPERTS, r'per_token="2"', 'per_token="9"', "more experts than there are"),
    (COLLECTIVE_RULES, r'<flag id="nccl-569"', '<flag id="nccl-569" rate="1"', "has a number"),
    (COLLECTIVES, r"rate: LL", "LL", 'source says nothing of "rate"'),
]


def main():
    """Applies each break to a fresh copy."""
    source = Path(sys.argv[1])
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch)
        for part in ("platforms/catalogue", "platforms/clusters", "platforms/faults",
                     "workloads/models"):
            shutil.copytree(source / part, data / part)
        for name, pattern, replacement, said in BREAKS:
            path = data / name
            whole = path.read_text(encoding="utf-8")
            broken, n = re.subn(pattern, replacement, whole, count=1)
            path.write_text(broken, encoding="utf-8")
            problems = Checker(data).check()
            path.write_text(whole, encoding="utf-8")
            if n != 1 or not any(name in p and said in p for p in problems):
                failed += 1
                print(f"{name}: {pattern} -> {replacement}: not noticed; {problems}")
    print(f"{len(BREAKS) - failed} of {len(BREAKS)} breaks noticed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
