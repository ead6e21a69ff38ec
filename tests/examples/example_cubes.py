# A pod of cubes whose hosts fail: what circuits are worth, against the sums of its README.
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import subprocess

from example_support import PROGRAM, check, close, end, numpy, run, table, told

CUBE = 16  # nodes
SWITCHING, RESTART, REPAIR = 10, 300, 4 * 3600
HALF = 0  # the job on 32 of 64 cubes


def incidents(name, *arguments):
    path = run("cubes/experiment.xml", *arguments, name=name)
    rows = table(path, "incidents")
    check(len(rows["job"]) > 20, f"{name}: {len(rows['job'])} interruptions")
    return rows, json.loads(subprocess.run([PROGRAM, "show", path, "--format=json"], capture_output=True,
                                           text=True, check=True).stdout)


yes, with_circuits = incidents("circuits")
restarted = yes["restart_s"] > 0  # one struck again before it restarted does so with the later one
check(numpy.all(yes["wait_nodes_s"] == 0), "with circuits no job waits: 16 cubes are free")
close(numpy.min(yes["restart_s"][restarted]), RESTART + SWITCHING, 1e-6, "restart and switching, s")
alone = (yes["parent"] == 2**32 - 1) & restarted
close(numpy.median(yes["restart_s"][alone]), RESTART + SWITCHING, 1e-6, "of most, s")
moved = yes["replacement"] != 2**32 - 1
check(numpy.all(yes["replacement"][moved] % CUBE == yes["node"][moved] % CUBE),
      "the whole cube is swapped: node for node")

no, with_cables = incidents("cables", "--set", "cluster/torus/@circuits=no")
waits = no["wait_nodes_s"][no["job"] == HALF]
check(numpy.max(no["restart_s"]) <= 2 * RESTART, "cables: nothing is switched")
check(3 * numpy.sum(numpy.isclose(waits, REPAIR)) > len(waits),
      f"cables: the larger job waits for the repair, {numpy.sort(waits)}")
both = (with_circuits, with_cables)
lost_h = [shown["lost_gpu_s"]["mean"] / 3600 for shown in both]
told("cubes", "# GPU-hours are lost to # interruptions instead of #,", lost_h[0],
     with_circuits["unexpected_interruptions"]["mean"], lost_h[1])
told("cubes", "ETTR is # % instead of\n# %", *(100 * shown["ettr_run"]["mean"] for shown in both))
recovery = [shown["recovery_unexpected"] for shown in both]
told("cubes", "A recovery takes # min instead of # h", recovery[0]["mean_s"] / 60, recovery[1]["mean_s"] / 3600)
told("cubes", "(MFU # % against # %)", *(100 * shown["mfu"]["mean"] for shown in both))
told("cubes", "printed are # h", recovery[1]["parts_s"]["wait for nodes"] / 3600)
check(numpy.median(no["wait_nodes_s"][no["job"] != HALF]) == 0, "a quarter finds another box")
end()
