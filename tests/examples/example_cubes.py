# A pod of cubes whose hosts fail: what circuits are worth, against the sums of its README.
# SPDX-License-Identifier: GPL-2.0-or-later
from example_support import check, close, end, numpy, run, table

CUBE = 16  # nodes
SWITCHING, RESTART, REPAIR = 10, 300, 4 * 3600
HALF = 0  # the job on 32 of 64 cubes


def incidents(name, *arguments):
    rows = table(run("cubes/experiment.xml", *arguments, name=name), "incidents")
    check(len(rows["job"]) > 20, f"{name}: {len(rows['job'])} interruptions")
    return rows


yes = incidents("circuits", "--replications", "2")
restarted = yes["restart_s"] > 0  # one struck again before it restarted does so with the later one
check(numpy.all(yes["wait_nodes_s"] == 0), "with circuits no job waits: 16 cubes are free")
close(numpy.min(yes["restart_s"][restarted]), RESTART + SWITCHING, 1e-6, "restart and switching, s")
alone = (yes["parent"] == 2**32 - 1) & restarted
close(numpy.median(yes["restart_s"][alone]), RESTART + SWITCHING, 1e-6, "of most, s")
moved = yes["replacement"] != 2**32 - 1
check(numpy.all(yes["replacement"][moved] % CUBE == yes["node"][moved] % CUBE),
      "the whole cube is swapped: node for node")

no = incidents("cables", "--replications", "2", "--set", "cluster/torus/@circuits=no")
waits = no["wait_nodes_s"][no["job"] == HALF]
check(numpy.max(no["restart_s"]) <= 2 * RESTART, "cables: nothing is switched")
check(3 * numpy.sum(numpy.isclose(waits, REPAIR)) > len(waits),
      f"cables: the larger job waits for the repair, {numpy.sort(waits)}")
close(numpy.mean(no["wait_nodes_s"]), 1.41 * 3600, 0.5 * 3600, "README: mean wait of an interruption, s")
check(numpy.median(no["wait_nodes_s"][no["job"] != HALF]) == 0, "a quarter finds another box")
end()
