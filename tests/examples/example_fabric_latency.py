# The two questions about latency, asked as their pages ask them, against sums made here by hand: where
# things stand, how long cables are, which hops cross what.
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import re
import subprocess
import sys

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
WRONG = []
METRE_S, SWITCH_S = 4.9e-9, 150e-9  # links/ndr400-ib


def step_s(example, nodes, *sets):
    command = [PROGRAM, "step", os.path.join(SOURCE, "examples", example, "experiment.xml"),
               "--data", SOURCE, "--format=json", "--no-cache"]
    command += ["--nodes=" + ",".join(map(str, nodes))]
    for text in sets:
        command += ["--set", "cluster/rail_optimised/@" + text]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["step_s"]


def close(value, target, tolerance, text):
    holds = abs(value - target) <= tolerance
    print(f"{'ok  ' if holds else 'FAIL'} {text}: {value:.9f}, by hand {target:.9f}")
    if not holds:
        WRONG.append(text)


def told(example, text, *values):
    """What the page says: each # in text is a figure there, right to the last digit it has."""
    with open(os.path.join(SOURCE, "examples", example, "README.md"), encoding="utf-8") as file:
        found = re.findall(re.escape(text).replace(r"\#", r"(\d+\.?\d*)"), file.read())
    figures = found[0] if len(found) == 1 else ()
    figures = (figures,) if isinstance(figures, str) else figures
    holds = len(figures) == len(values) and all(
        f"{value:.{len(figure.partition('.')[2])}f}" == figure for figure, value in zip(figures, values))
    print(f"{'ok  ' if holds else 'FAIL'} {example}/README.md: {text}: {figures}, {values}")
    if not holds:
        WRONG.append(text)


def rings(nodes):
    """The hops of every stage's ring: tp fills a node, pp 4 takes four nodes of a replica."""
    for stage in range(4):
        members = nodes[stage::4]
        yield [(a, b) for a, b in zip(members, members[1:] + members[:1])]


def collectives_s(nodes, extra):
    """A reduce-scatter and an all-gather of 127 steps each; the ring that takes longest."""
    return max(2 * 127 * sum(extra(a, b) for a, b in hops) / len(hops) for hops in rings(nodes))


def spine_latency():
    packed = list(range(512))
    scattered = [u + r + i for r in range(0, 32, 4) for u in range(0, 512, 32) for i in range(4)]
    for name, nodes in (("packed", packed), ("scattered", scattered)):
        more = step_s("spine-latency", nodes, "spine_latency=12us") - step_s("spine-latency", nodes)
        hand = collectives_s(nodes, lambda a, b: 12e-6 if a // 32 != b // 32 else 0)
        close(more, hand, 1e-9, f"12 us across the spines, {name}")
        whole = step_s("spine-latency", nodes)
        told("spine-latency", *(("**Answer.** # ms of # s, # %", more * 1e3, whole, 100 * more / whole)
                                if name == "packed" else
                                ("crosses the spines it is # ms, # %", more * 1e3, 100 * more / whole)))


def place(rack):
    return rack % 64 * 0.6, rack // 64 * 3.6


def cable_s(a, b):
    return (abs(a[0] - b[0]) + abs(a[1] - b[1]) + 4) * METRE_S


def way_s(a, b):
    """Eight nodes a rack, 32 nodes a unit, 512 a row, whose middle is 31.5 racks along; eight rows."""
    spots = []
    for node in (a, b):
        row = node // 512
        unit = place(node // 32 * 4)
        spots.append((place(node // 8), (unit[0] + 1.5 * 0.6, unit[1]), (31.5 * 0.6, row * 3.6)))
    core = (31.5 * 0.6, 3.5 * 3.6)
    total = sum(cable_s(node, leaf) for node, leaf, _ in spots)
    if a // 32 != b // 32:
        total += sum(cable_s(leaf, spine) for _, leaf, spine in spots) + 2 * SWITCH_S
    if a // 512 != b // 512:
        total += sum(cable_s(spine, core) for _, _, spine in spots) + 2 * SWITCH_S
    return total


def two_rows():
    one = list(range(512))
    halves = list(range(256)) + list(range(3840, 4096))
    turns = [n for i in range(0, 256, 4) for n in (*range(i, i + 4), *range(3840 + i, 3844 + i))]
    wide = "pod_oversubscription=1:1"
    nowhere = step_s("two-rows", one, "latency=link")
    for name, nodes in (("one row", one), ("two halves", halves), ("in turns", turns)):
        send_s = max(way_s(a, b) for a, b in zip(nodes, nodes[1:]) if nodes.index(a) % 4 != 3)
        more = step_s("two-rows", nodes, wide) - nowhere
        # A step waits for three sends forwards, from the first stage to the last, and three back.
        close(more, collectives_s(nodes, way_s) + 6 * send_s, 1e-9, f"metres and switches, {name}")
    more = step_s("two-rows", halves) - step_s("two-rows", one)
    close(more, collectives_s(halves, way_s) - collectives_s(one, way_s), 1e-9, "two rows, not one")
    for row, nodes in (("row 0", one), ("half of row 0, then half of row 7", halves),
                       ("replicas in turn from row 0 and row 7", turns)):
        told("two-rows", f"| {row} | # s | # s |", step_s("two-rows", nodes, wide), step_s("two-rows", nodes))
    told("two-rows", "the step takes # % longer",
         100 * (step_s("two-rows", turns) / step_s("two-rows", one) - 1))
    if step_s("two-rows", turns) < 1.3 * step_s("two-rows", one):
        WRONG.append("7:1 uplinks that every hop crosses slow the step")


spine_latency()
two_rows()
print(f"{len(WRONG)} failed")
sys.exit(1 if WRONG else 0)
