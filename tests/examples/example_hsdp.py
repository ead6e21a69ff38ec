# The sharded optimizer over all ranks and in groups: against InternEvo's two measurements, and its
# broadcasts by hand. SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import subprocess

from example_support import PROGRAM, SOURCE, check, close, end, told

MEASURED_S = {0: 7.214, 8: 4.520}  # InternEvo, doc/en/train_performance.md, 1,024 GPUs
PARAMS = 7321423872                # layers 32 x (4 x 4096^2 + 3 x 4096 x 11008 + 2 x 4096), two tables, a norm
TENSORS = 32 * (2 + 2 + 3) + 3     # QKV and projection, two norms, three matrices; embedding, head, norm


def step(group, *arguments):
    done = subprocess.run([PROGRAM, "step", os.path.join(SOURCE, "examples", "hsdp", "experiment.xml"), "--set",
                           f"jobs/job/split/@shard_group={group}", "--format=json", *arguments],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


time_s = {group: step(group)["step_s"] for group in MEASURED_S}
for group, measured_s in MEASURED_S.items():
    close(time_s[group], measured_s, 0.2 * measured_s, f"step, groups of {group or 'all'}")
told("hsdp", "predicted are # and # s", time_s[0], time_s[8])
told("hsdp", "(-# and +# %), so the gain of groups is # % where # % were measured", *(abs(100 * (time_s[group] / MEASURED_S[group] - 1)) for group in (0, 8)),
     *(100 * (1 - each[8] / each[0]) for each in (time_s, MEASURED_S)))
check(time_s[0] > 1.25 * time_s[8], f"broadcasts over all ranks cost: {time_s}")

for group, ranks, owners in ((0, 1024, TENSORS), (8, 8, 8)):
    terms = step(group, "--explain")["traffic"]
    weights = [t for t in terms if t["name"].startswith("weights")]
    gradients = [t for t in terms if t["name"].startswith("gradients")]
    check(len(weights) == 1 and len(gradients) == 1, f"two terms, {[t['name'] for t in terms]}")
    check((weights[0]["ranks"], gradients[0]["ranks"]) == (ranks, 1024), "who takes part")
    close(weights[0]["per_step"], owners, 1e-9, "an owner has a tensor at least")
    close(weights[0]["message_B"] * owners, 2 * PARAMS, 1e-6 * PARAMS, "together all weights in 16 bit")
    close(gradients[0]["message_B"] * gradients[0]["per_step"], 2 * PARAMS, 1e-6 * PARAMS, "all gradients, once")
end()
