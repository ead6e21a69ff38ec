"""What fabrics do to steps, asked of the program as people ask it, and held against what is known.

usage: fabric_answers.py sandtable source
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

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
        check("the slowest GPU sets the pace", abs(both["compute_s"] / old["compute_s"] - 1) < 1e-12),
        check("peaks add up", abs(both["peak_flops"] - (new["peak_flops"] + old["peak_flops"]) / 2) < 1),
    ])


def fabric(verb, example, *options):
    out = subprocess.run([SANDTABLE, "fabric", verb, os.path.join(FABRICS, example), "--format=json",
                          "--data", SOURCE, *options], check=True, stdout=subprocess.PIPE)
    return json.loads(out.stdout)


def json_says_what_text_says():
    """Counts of the SuperPOD of 128 nodes (RA-11333-001 v11): 32 leaves, 16 spines, 1,024 cables a tier."""
    shown = fabric("show", "rail-optimised.xml")
    parts = fabric("parts", "rail-optimised.xml")
    return all([
        check("show: counts", (shown["leaves"], shown["spines"]) == (32, 16)),
        check("parts: counts", (parts["leaves"], parts["spines"]) == (32, 16)),
        check("parts: cables", parts["node_cables"]["cables"] == parts["leaf_cables"]["cables"] == 1024),
        check("parts: dollars", parts["switch_usd"] == 48 * 36000),
    ])


def power_feeds():
    """128 nodes, 4 a rack, 6 racks a row: rows of 24 nodes, the last of 8. Feeds of 4 racks: 16 and 8 nodes a
    row; 5 full rows and one feed of 8 nodes more. None reaches into the next row."""
    floor = ["--set", "cluster/@nodes_per_rack=4", "--set", "cluster/@racks_per_row=6",
             "--set", "cluster/@racks_per_pdu=4"]
    found = [d for d in fabric("faults", "rail-optimised.xml", *floor)["domains"] if d["kind"] == "pdu"]
    dead = {}
    for d in found:
        dead[d["nodes_dead"]] = dead.get(d["nodes_dead"], 0) + d["alike"]
    last = fabric("faults", "rail-optimised.xml", *floor, "--of=pdu10")["domains"][0]
    return all([
        check("feeds: 5 of 16 nodes, 6 of 8", dead == {16: 5, 8: 6}),
        check("feeds: the last is there", last["nodes_dead"] == 8),
        check("feeds: none without racks_per_pdu",
              not [d for d in fabric("faults", "rail-optimised.xml")["domains"] if d["kind"] == "pdu"]),
    ])


def findings(example, *options):
    out = subprocess.run([SANDTABLE, "fabric", "check", os.path.join(FABRICS, example), "--format=json",
                          "--data", SOURCE, *options], check=False, capture_output=True, text=True)
    said = json.loads(out.stdout) if out.stdout else {}
    return out.returncode, said, {f["kind"]: f["grave"] for f in said.get("findings", [])}, out.stderr


WIRED = """<experiment xmlns="urn:sandtable:1" name="w" duration="1d"><cluster name="c" nodes="4"
node="sandtable:node/dgx-h100" {places}><wired {rails} {radix} link="sandtable:link/ndr400-ib">
<switch id="a"/><switch id="b"/><switch id="s"/>
<port to="a" first="0" nodes="4" nic="0" nics="4"/><port to="b" first="0" nodes="4" nic="4" nics="4"/>
{cables}</wired></cluster><jobs><job id="j" nodes="1" duration="1h"/></jobs></experiment>"""
BOTH = '<cable from="a" to="s" cables="8"/><cable from="b" to="s" cables="{b}" {length}/>'


def check_finds():
    """Each thing that `fabric check` looks for is found where it is, graded, and only there."""
    long = ('prices="sandtable:prices/ndr400-2024"',)
    with tempfile.TemporaryDirectory(prefix="sandtable-check-") as scratch:
        def wired(rails="", radix="", cables="", places=""):
            path = os.path.join(scratch, "w.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(WIRED.format(rails=rails, radix=radix, cables=cables, places=places))
            return findings(path)

        good = wired(cables=BOTH.format(b=8, length=""))
        pieces = wired(cables='<cable from="a" to="s"/>')
        rails = wired('rails="yes" cross_rail="spine"', cables=BOTH.format(b=4, length=""))
        reach = wired(cables=BOTH.format(b=8, length='length="51m"'), places=long[0])
        booked = wired(radix='radix="23"', cables=BOTH.format(b=8, length=""))
        cycle = wired(cables='<cable from="a" to="a"/>')
    degraded = findings("degraded.xml")
    tree = findings("fat-tree.xml")
    return all([
        check("check: nothing grave in a good one", good[0] == 0 and True not in good[2].values()),
        check("check: its spine is a weak point", good[2].get("weak-switches") is False),
        check("check: pieces", pieces[0] == 1 and pieces[2].get("in-pieces") is True),
        check("check: no route", pieces[2].get("no-route") is True),
        check("check: rails", rails[0] == 1 and list(k for k, g in rails[2].items() if g) ==
              ["unbalanced-rails"]),
        check("check: reach", reach[0] == 1 and reach[2].get("cable-too-long") is True),
        check("check: too many ports are refused", booked[0] == 3 and '"a": 24 ports are in use' in booked[3]),
        check("check: a cable from a switch to itself", cycle[0] == 3 and 'joins "a" to itself' in cycle[3]),
        check("check: an idle spine is a note", degraded[0] == 0 and
              degraded[2] == {"idle-switches": False}),
        check("check: oversubscription is that of the description", tree[1]["oversubscription"] ==
              [{"tier": "leaf", "least": 1.2, "most": 2}]),  # the last leaf has 24 of 40 NICs
    ])


NODE = """<experiment xmlns="urn:sandtable:1" name="n" duration="1d">
<cluster name="c" nodes="8" node="sandtable:node/{node}"><fat_tree tiers="2" endpoints_per_leaf="16"
link="sandtable:link/ndr400-ib"/></cluster><jobs><job id="j" nodes="8" model="sandtable:model/llama-3-8b"
software="sandtable:software/megatron-core-24"><split tp="{tp}" pp="1" dp="{dp}" micro_batch="1"
global_batch="64" sequence="4096" recompute="full" distributed_optimizer="yes"/></job></jobs></experiment>"""
BOUGHT = ("dgx-h200", "dgx-b200", "gb200-nvl72", "dgx-b300", "gb300-nvl72", "h800-8x400", "h20-8x400", "l40s-8",
          "mi250x-4x200", "mi300x-8x400", "mi325x-8x400", "mi355x-8x400", "tpu-v4-host", "tpu-v5e-host",
          "tpu-v5p-host", "tpu-v6e-host")


def every_node_steps():
    """A step on a cluster of every node type of the catalogue, all that are bought among them."""
    folder = os.path.join(SOURCE, "platforms", "catalogue", "node")
    nodes, good = sorted(name[:-4] for name in os.listdir(folder) if name.endswith(".xml")), []
    with tempfile.TemporaryDirectory(prefix="sandtable-nodes-") as scratch:
        for node in nodes:
            with open(os.path.join(folder, node + ".xml"), encoding="utf-8") as file:
                gpus = int(re.search(r'\bgpus="(\d+)"', file.read()).group(1))
            path = os.path.join(scratch, node + ".xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(NODE.format(node=node, tp=min(gpus, 8), dp=8 * gpus // min(gpus, 8)))
            out = subprocess.run([SANDTABLE, "step", path, "--format=json", "--no-cache", "--data", SOURCE],
                                 check=False, capture_output=True, text=True)
            said = json.loads(out.stdout) if out.returncode == 0 else {}
            good.append(check(f"node {node} {said.get('step_s')} s, MFU {said.get('mfu')}",
                              0 < said.get("step_s", 0) < 60 and 0 < said.get("mfu", 0) < 1))
    return all(good + [check(f"there is a {node}", node in nodes) for node in BOUGHT])


def groups_hold_jobs():
    """Two jobs of 16 nodes for a group of 16: the second waits for the first, though 24 other nodes idle."""
    with open(os.path.join(FABRICS, "generations.xml"), encoding="utf-8") as file:
        text = file.read()
    head, rest = text.split("<jobs>")
    jobs = "".join(f'<job id="{name}" nodes="16" group="h100" duration="2h"/>' for name in "ab")
    with tempfile.TemporaryDirectory(prefix="sandtable-groups-") as scratch:
        path, out = os.path.join(scratch, "groups.xml"), os.path.join(scratch, "out")
        with open(path, "w", encoding="utf-8") as file:
            file.write(head + "<jobs>" + jobs + rest[rest.index("</jobs>"):])
        subprocess.run([SANDTABLE, "run", path, "-o", out, "--quiet", "--data", SOURCE], check=True)
        said = [subprocess.run([SANDTABLE, "explain", os.path.join(out, "results.h5"), "--job", name],
                               check=True, stdout=subprocess.PIPE, text=True).stdout for name in "ab"]
    return all([
        check("groups: the first starts at once", "started at 0 s" in said[0]),
        check("groups: the second waits for its group", "started at 2 h, ended at 4 h" in said[1]),
    ])


def many_ways():
    """A grid has binomially many shortest ways from corner to corner; they are counted, not listed."""
    side = 20
    at = [(x, y) for x in range(side) for y in range(side)]
    parts = [f'<switch id="s{x}-{y}"/>' for x, y in at]
    parts += [f'<port to="s{x}-{y}" first="{i}" nics="8"/>' for i, (x, y) in enumerate(at)]
    parts += [f'<cable from="s{x}-{y}" to="s{x + a}-{y + 1 - a}"/>' for x, y in at for a in (0, 1)
              if x + a < side and y + 1 - a < side]
    with tempfile.TemporaryDirectory(prefix="sandtable-grid-") as scratch:
        path = os.path.join(scratch, "grid.xml")
        with open(path, "w", encoding="utf-8") as file:
            file.write('<experiment xmlns="urn:sandtable:1" name="grid" duration="1d"><cluster name="c" '
                       f'nodes="{side * side}" node="sandtable:node/dgx-h100"><wired link="sandtable:link/ndr400-ib">'
                       f'{"".join(parts)}</wired></cluster><jobs><job id="j" nodes="1" duration="1h"/></jobs></experiment>')
        paths = fabric("check", path)["paths"]
    return check(f"ways across a grid: {paths}",
                 paths["shortest"] == math.comb(2 * side - 2, side - 1) and paths["disjoint"] == 2)


if __name__ == "__main__":
    sys.exit(0 if all([generations(), groups_hold_jobs(), json_says_what_text_says(), power_feeds(), check_finds(),
                       every_node_steps(), many_ways()]) else 1)
