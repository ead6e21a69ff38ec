# DeepSeek-V3 on 2,048 H800: the published pace, and what makes it. SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import subprocess

from example_support import PROGRAM, SOURCE, check, close, end

# 180,000 H800 hours per trillion tokens, 15,360 sequences of 4,096 (DeepSeek-V3 report, sections 1 and 4.2).
MEASURED_S = 180e3 * 3600 / 2048 * 15360 * 4096 / 1e12


def step_s(*arguments):
    settings = [word for text in arguments for word in ("--set", text)]
    done = subprocess.run([PROGRAM, "step", os.path.join(SOURCE, "examples", "deepseek-v3", "experiment.xml"),
                           "--format=json", *settings], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["step_s"]


published_s = step_s()
close(published_s, MEASURED_S, 0.15 * MEASURED_S, "the published pace")
EXPOSED = "jobs/job/@software=sandtable:software/megatron-core-24"
exposed_s = step_s(EXPOSED)
check(exposed_s > 1.2 * published_s, f"all-to-alls that are waited for cost: {exposed_s} against {published_s}")
wide_s = step_s(EXPOSED, "jobs/job/split/experts/@dispatch_element=2B")
check(wide_s > 1.05 * exposed_s, f"fp8 dispatch spares bytes: {exposed_s} against {wide_s}")
every_s = step_s(EXPOSED, "jobs/job/split/experts/@dispatch=all-to-all")
check(every_s > 1.2 * exposed_s, f"one copy a node spares more: {exposed_s} against {every_s}")
end()
