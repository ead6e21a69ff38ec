# Saves on the training fabric: what they cost a neighbour's steps and its steps cost them, by
# numbers computed by hand from what one step alone sends.
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET

from example_support import PROGRAM, SOURCE, check, close, end, run, table, told

STEPS, STALL_S = 2000, 1
with open(os.path.join(SOURCE, "platforms", "catalogue", "link", "ndr400-ib.xml"), encoding="utf-8") as link:
    NIC_BPS = 50e9 * float(re.search(r'\busable="([0-9.]+)"', link.read()).group(1))  # 400 Gb/s, as traffic may use them
SAVE_B = 70.55e9 * 14    # Llama 3 70B, as published, 14 bytes a parameter


def said(*arguments):
    done = subprocess.run([PROGRAM, *arguments, "--format=json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def saves(path):
    rows = table(path, "checkpoints")
    durable = rows["durable_ns"] >= 0
    return (rows["durable_ns"] - rows["begin_ns"])[durable] / 1e9 - STALL_S


paths = {name: run(f"shared-storage/{name}.xml", name=name) for name in ("separate", "shared")}
alone = said("step", os.path.join(SOURCE, "examples", "shared-storage", "shared.xml"), "--job", "trainer")
step_s, sends_s = alone["step_s"], alone["exposed_dp_s"]
slow_s = step_s + 2 * sends_s  # 8 of its streams among 24 on uplinks of 8 NICs: a third of the rate
save_s = SAVE_B / (8 * NIC_BPS) * slow_s / (step_s + sends_s)

separate, shared = (said("explain", paths[name], "--job", "trainer") for name in ("separate", "shared"))
close(separate["step"]["step_s"], step_s, 1e-9, "separate: the step is that of the job alone")
check(separate["step"]["transfers_s"] == 0, "separate: saves meet nobody")
found = saves(paths["shared"])
close(found.mean(), save_s, 0.02 * save_s, "shared: a save takes")
lost_s = found.size * save_s * (1 - step_s / slow_s)
close(shared["transfers_s"], lost_s, 0.02 * lost_s, "shared: the trainer loses to saves")
close(shared["step"]["step_s"], step_s + lost_s / STEPS, 0.02 * lost_s / STEPS, "shared: its mean step")
step = shared["step"]
close(step["step_s"], sum(step[part] for part in ("healthy_s", "placement_s", "neighbours_s", "slow_parts_s", "transfers_s")), 1e-9,
      "shared: the parts sum to the step")

told("shared-storage", "| step of `trainer`, mean | # ms | # ms |", 1e3 * step_s, 1e3 * step["step_s"])
told("shared-storage", "| of it by saves of `saver` | 0 | # ms |", 1e3 * step["transfers_s"])
told("shared-storage", "| a save is durable after | # s | # s |", *(saves(paths[name]).mean() + STALL_S for name in paths))
told("shared-storage", "alone: # s a save", SAVE_B / (8 * NIC_BPS))
told("shared-storage", "long, # s and the second of its copy", save_s)
told("shared-storage", "2d / (c + 3d), # s; # saves over # steps are # ms a step", lost_s / found.size, found.size, STEPS,
     1e3 * lost_s / STEPS)

# Nobody trains beside it: the uplinks alone.
path = run("shared-storage/shared.xml", "--set", "jobs/job[@id='trainer']/@submit=30min", "--set", "jobs/job[@id='trainer']/@steps=10", name="alone")
close(saves(path).mean(), SAVE_B / (8 * NIC_BPS), 0.01 * save_s, "alone: a save takes what the uplinks give")

# Equal bytes, however many processes.
twice = run("shared-storage/shared.xml", "--jobs", "2", name="twice")
with open(paths["shared"], "rb") as one, open(twice, "rb") as other:
    check(one.read() == other.read(), "equal bytes with --jobs 1 and 2")
end()
