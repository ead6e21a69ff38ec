#!/usr/bin/env python3
# Writes jobs.xml: 100 training jobs of mixed sizes that arrive over ten days. The same every time.
# SPDX-License-Identifier: GPL-2.0-or-later
import random

# model, tensor and pipeline parallel size, sequence, micro-batches per replica, rough step in s
SHAPES = {"llama-3-8b": (8, 1, 8192, 2, 0.45), "llama-3-70b": (8, 4, 8192, 16, 4.3),
          "llama-3.1-405b": (8, 16, 8192, 64, 27.0)}
# nodes and their share of the jobs: many small ones, most node hours in few large ones, as in every
# published trace; odd sizes are what makes leaves shared.
SIZES = [(2, 8), (3, 10), (4, 8), (5, 8), (6, 8), (8, 6), (12, 8), (20, 8), (28, 6), (36, 6), (60, 6),
         (112, 6), (144, 6), (240, 4), (496, 2)]


def model_of(nodes):
    return "llama-3-8b" if nodes < 12 else "llama-3-70b" if nodes < 112 else "llama-3.1-405b"


def job(number, rng, nodes, submit_h):
    model = model_of(nodes)
    tp, pp, sequence, micro_batches, step_s = SHAPES[model]
    dp = nodes * 8 // (tp * pp)
    hours = rng.uniform(48, 144)
    return f"""    <job id="j{number:03}-{nodes}n" nodes="{nodes}" submit="{submit_h * 60:.0f}min" model="sandtable:model/{model}"
         software="sandtable:software/megatron-core-24" steps="{hours * 3600 / step_s:.0f}">
        <split tp="{tp}" pp="{pp}" dp="{dp}" micro_batch="1" global_batch="{dp * micro_batches}" sequence="{sequence}"
               sequence_parallel="yes" distributed_optimizer="yes" overlap_grad_reduce="yes" overlap_param_gather="yes"
               buckets="8" recompute="selective" attention="fused" precision="bf16" gradient="4B"/>
        <checkpoint policy="checkpoint/fixed" stall="20s" restore="2min"><param name="interval" value="1h"/></checkpoint>
    </job>
"""


def main():
    rng = random.Random(24)
    sizes = [nodes for nodes, count in SIZES for _ in range(count)]
    rng.shuffle(sizes)
    submits = sorted(rng.uniform(0, 240) for _ in sizes)
    with open("jobs.xml", "w", encoding="utf-8") as out:
        out.write("""<?xml version="1.0" encoding="UTF-8"?>
<!-- Written by make_jobs.py: 100 training jobs over ten days. Sizes and durations are made up.
     SPDX-License-Identifier: GPL-2.0-or-later -->
<jobs xmlns="urn:sandtable:1">
""")
        out.writelines(job(i, rng, nodes, at) for i, (nodes, at) in enumerate(zip(sizes, submits)))
        out.write("</jobs>\n")


main()
