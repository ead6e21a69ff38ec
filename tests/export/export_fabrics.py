#!/usr/bin/env python3
"""Exported fabrics in the tools they are for. SimGrid loads the platform as it is shipped: way, least
bandwidth and shared time of flows are those of the fabric. A fabric exported as GraphML and imported
again gives the same step time. Every import of the corpus passes `sandtable validate`, and the irregular
ones list their differences. Pictures stay readable.

usage: export_fabrics.py sandtable source simgrid_loads
SPDX-License-Identifier: GPL-2.0-or-later
"""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

PROGRAM, SOURCE, LOADER = (os.path.abspath(path) for path in sys.argv[1:4])
CORPUS = pathlib.Path(SOURCE) / "tests" / "data" / "import"
CONFIG = ["--cfg=network/model:CM02", "--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0",
          "--cfg=network/bandwidth-factor:1", "--cfg=network/latency-factor:1",
          "--cfg=network/weight-S:0", "--log=root.thres:error"]
# ndr400-ib: 400 Gb/s; a message under LL: 6.6 us, 5 us a hop, and what the link adds.
ADDED = float(re.search(r'hop_latency="([\d.]+)us"',
                        pathlib.Path(SOURCE, "platforms/catalogue/link/ndr400-ib.xml").read_text())[1])
NIC, LATENCY, BYTES = 50e9, (6.6 + 5 + ADDED) * 1e-6, 1e9

EXPERIMENT = """<?xml version="1.0" encoding="UTF-8"?>
<experiment xmlns="urn:sandtable:1" xmlns:xi="http://www.w3.org/2001/XInclude" name="export"
            duration="1d">
    {node}
    {cluster}
    <jobs>{job}</jobs>
</experiment>
"""
CLUSTER = """<cluster name="c" nodes="{nodes}" node="sandtable:node/dgx-h100">
    <fat_tree {tree} link="sandtable:link/ndr400-ib"/></cluster>"""
JOB = """<job id="j" nodes="8" model="sandtable:model/llama-3-8b"
    software="sandtable:software/megatron-core-24">
    <split tp="2" pp="2" dp="16" micro_batch="1" global_batch="64" sequence="4096"
           recompute="selective"/></job>"""
BATCH = '<job id="j" nodes="1" duration="1h"/>'
TWO = 'tiers="2" endpoints_per_leaf="16" spines="2" leaf_oversubscription="4"'
THREE = ('tiers="3" radix="64" endpoints_per_leaf="16" leaves_per_pod="2" leaf_oversubscription="2" '
         'pod_oversubscription="7:1"')
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED:", what)


def run(*args):
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "SANDTABLE_DATA": SOURCE}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    return subprocess.run([PROGRAM, *map(str, args)], env=env, capture_output=True, text=True,
                          timeout=100, check=False)


def experiment(folder, name, cluster, job=BATCH, node=""):
    path = folder / (name + ".xml")
    path.write_text(EXPERIMENT.format(cluster=cluster, job=job, node=node))
    return path


def simgrid(folder, cluster, pairs):
    """(hosts, [(links, least bandwidth, latency)], seconds of all flows at once)."""
    source, platform = experiment(folder, "sg", cluster), folder / "platform.xml"
    done = run("export", "fabric", source, "--format=simgrid", "-o", platform, "--force")
    check(done.returncode == 0, done.stderr)
    words = [f"nic{i}" for pair in pairs for i in pair]
    out = subprocess.run([LOADER, *CONFIG, platform, str(BYTES), *words], capture_output=True,
                         text=True, timeout=100, check=False)
    check(out.returncode == 0, f"SimGrid: {out.stdout}{out.stderr[-2000:]}")
    lines = [line.split() for line in out.stdout.splitlines()]
    ways = [(int(w[3]), float(w[4]), float(w[5])) for w in lines if w[0] == "way"]
    return (int(lines[0][1]) if lines else 0, ways,
            next((float(w[1]) for w in lines if w[0] == "time"), 0.0))


def close(value, expected):
    return abs(value - expected) <= 1e-6 * expected


def simgrid_loads(folder):
    # Two tiers, 4:1: a leaf of 16 NICs has 4 NIC rates upwards.
    cluster = CLUSTER.format(nodes=8, tree=TWO)
    hosts, ways, seconds = simgrid(folder, cluster, [(0, 1), (0, 63)])
    check(hosts == 64, f"{hosts} hosts, not 64")
    check([w[0] for w in ways] == [2, 4], f"links {ways}")
    check(all(close(w[1], NIC) and close(w[2], LATENCY) for w in ways), f"ways {ways}")
    _, _, seconds = simgrid(folder, cluster, [(i, 48 + i) for i in range(16)])
    check(close(seconds - LATENCY, 16 * BYTES / (4 * NIC)), f"16 flows over 4:1 take {seconds}")
    # Three tiers, 7:1 above a pod of 32 NICs: all of a pod at once.
    cluster = CLUSTER.format(nodes=8, tree=THREE)
    hosts, ways, seconds = simgrid(folder, cluster, [(i, 32 + i) for i in range(32)])
    check(hosts == 64 and ways[0][0] == 6, f"{hosts} hosts, {ways[0]}")
    check(close(seconds - LATENCY, 7 * BYTES / NIC), f"32 flows over 7:1 take {seconds}")
    # Destination-based: one flow has one spine's share, 8 NIC ports of 4:1 over 2 spines.
    cluster = CLUSTER.format(nodes=8, tree=TWO + ' spreading="static"')
    hosts, ways, seconds = simgrid(folder, cluster, [(0, 48), (1, 50), (2, 52)])
    check(hosts == 64 and close(ways[0][1], NIC), f"static: {hosts} {ways}")
    check(close(seconds - LATENCY, 3 * BYTES / (2 * NIC)), f"3 flows on one spine take {seconds}")
    done = run("export", "fabric", experiment(folder, "big", CLUSTER.format(
        nodes=128, tree=TWO + ' spreading="static"')), "--format=simgrid")
    check(done.returncode == 3 and "1024 NICs are more than 512" in done.stderr, done.stderr)
    leaf_zones(folder)


def leaf_zones(folder):
    """Fabrics of aggregated paths that are no regular trees: a zone per leaf, however many NICs there are."""
    # Leaves of 1, 2 and 2 nodes, wired for 2: 4 NIC rates upwards each; and 96 more full ones.
    cluster = CLUSTER.format(nodes=197, tree=TWO).replace(
        "/></cluster>", '><leaf_group nodes="1"/><leaf_group nodes="2" leaves="98"/></fat_tree></cluster>')
    hosts, ways, seconds = simgrid(folder, cluster, [(8 + i, 24 + i) for i in range(16)])
    check(hosts == 1576 and ways[0][0] == 4, f"irregular: {hosts} hosts, {ways[0]}")
    check(close(seconds - LATENCY, 16 * BYTES / (4 * NIC)), f"16 flows out of an irregular leaf: {seconds}")
    _, _, seconds = simgrid(folder, cluster, [(i, 24 + i) for i in range(8)])
    check(close(seconds - LATENCY, 8 * BYTES / (4 * NIC)), f"8 flows out of a half leaf: {seconds}")
    # Two planes are one aggregate; rails over the spines: NIC j of 4 nodes at leaf j of their unit.
    cluster = ('<cluster name="c" nodes="72" node="sandtable:node/dgx-h100"><rail_optimised tiers="2" '
               'nodes_per_unit="4" planes="2" leaf_oversubscription="2" cross_rail="spine" '
               'link="sandtable:link/ndr400-ib"/></cluster>')
    hosts, ways, seconds = simgrid(folder, cluster, [(0, 8), (0, 9), (0, 33)])
    check(hosts == 576 and [w[0] for w in ways] == [2, 4, 4], f"rails: {hosts} {ways}")
    _, _, seconds = simgrid(folder, cluster, [(8 * i, 32 + 8 * i) for i in range(4)])
    check(close(seconds - LATENCY, 4 * BYTES / (2 * NIC)), f"4 flows of a rail over 2:1 take {seconds}")
    # Groups of 2 leaves of 16 NICs and 4 spines with 2 global cables: 2 cables between any two of 5.
    cluster = ('<cluster name="c" nodes="20" node="sandtable:node/dgx-h100"><dragonfly_plus groups="5" leaves="2" '
               'spines="4" endpoints_per_leaf="16" global_links="2" spreading="even" '
               'link="sandtable:link/ndr400-ib"/></cluster>')
    hosts, ways, seconds = simgrid(folder, cluster, [(i, 32 + i) for i in range(16)])
    check(hosts == 160 and ways[0][0] == 5, f"dragonfly+: {hosts} {ways[0]}")
    check(close(seconds - LATENCY, 16 * BYTES / (2 * NIC)), f"16 flows between two groups take {seconds}")


# (attributes of the cluster, its fabric, what it is imported as)
FABRICS = [
    ("", f"<fat_tree {TWO} {{}}/>", "fat_tree"),
    ("", f"<fat_tree {THREE} {{}}/>", "fat_tree"),
    ("", f'<fat_tree {THREE} spreading="static" {{}}/>', "fat_tree"),
    ("", '<fat_tree tiers="2" radix="64" endpoints_per_leaf="24" leaf_oversubscription="3:1" {}/>',
     "fat_tree"),
    ("", f'<fat_tree {TWO} convergence="1s" {{}}><leaf_group nodes="1"/><leaf_group nodes="2"/>'
     '<leaf_group nodes="2" leaves="2"/><leaf_group nodes="1"/></fat_tree>', "wired"),
    ("", '<rail_optimised tiers="2" nodes_per_unit="2" leaf_oversubscription="2" {}/>', "wired"),
    ("", '<rail_optimised tiers="3" nodes_per_unit="2" units_per_pod="2" pod_oversubscription="2" '
     'spreading="adaptive" adaptive_efficiency="80%" {}/>', "wired"),
    ("", '<rail_optimised tiers="2" nodes_per_unit="4" planes="2" spines="2" spreading="hash" '
     'queue_pairs="4" loss="1e-6" loss_window="100" {}/>', "wired"),
    ("", '<rail_optimised tiers="2" nodes_per_unit="2" planes="2" leaf_oversubscription="2" '
     'cross_rail="spine" {}/>', "wired"),
    ("", '<rail_only tiers="2" nodes_per_unit="2" leaf_oversubscription="2" {}/>', "wired"),
    ("", '<dragonfly global_links="2" routers="4" endpoints_per_router="2" groups="9" {}/>',
     "dragonfly"),
    ("", '<dragonfly global_links="2" routers="4" endpoints_per_router="4" groups="4" '
     'spreading="hash" queue_pairs="2" {}/>', "dragonfly"),
    ("", '<dragonfly_plus groups="4" leaves="2" spines="3" endpoints_per_leaf="8" global_links="2" '
     'leaf_links="2" {}/>', "dragonfly_plus"),
    ("", '<dragonfly_plus groups="3" leaves="3" spines="2" endpoints_per_leaf="8" global_links="2" '
     'nonminimal="50%" spreading="hash" queue_pairs="2" {}/>', "dragonfly_plus"),
    ("", '<torus x="4" y="4" z="4" {}/>', "torus"),
    ("", '<torus x="8" y="4" z="2" block="2" circuits="no" {}/>', "torus"),
    ("", '<torus x="4" y="4" z="8" twisted="yes" {}/>', "torus"),
    ("", '<torus x="4" y="2" z="8" block="2" circuits="yes" {}/>', "torus"),
    ('nodes_per_rack="2" racks_per_row="2" row_pitch="50m" rack_pitch="1m" cable_slack="3m"',
     '<rail_optimised tiers="2" nodes_per_unit="2" latency="route" spine_latency="2us" {}/>', "wired"),
]


def twins(folder):
    """Generated, and exported and imported again: the same step, to the last digit, on every kind."""
    link = 'link="sandtable:link/ndr400-ib"'
    for number, (places, fabric, kind) in enumerate(FABRICS):
        nodes = 16 if "twisted" in fabric else 8  # a twist needs places of n and 2n
        cluster = (f'<cluster name="c" nodes="{nodes}" node="sandtable:node/dgx-h100" {places}>'
                   + fabric.format(link) + "</cluster>")
        one = experiment(folder, f"one{number}", cluster, JOB)
        graph, cluster = folder / f"g{number}.graphml", folder / f"c{number}.xml"
        done = run("export", "fabric", one, "--format=graphml", "-o", graph)
        check(done.returncode == 0, done.stderr)
        done = run("import", "graphml", graph, "-o", cluster)
        check(done.returncode == 0 and " 0 differences" in done.stderr, f"{fabric}: {done.stderr}")
        if done.returncode != 0:
            continue
        check(f"<{kind} " in cluster.read_text(), f"{fabric} is no {kind} again")
        shown = run("fabric", "show", cluster)  # the cluster alone
        check(shown.returncode == 0 and f"{nodes} dgx-h100" in shown.stdout, f"{fabric}: {shown.stderr}")
        two = experiment(folder, f"two{number}", f'<xi:include href="{cluster.name}"/>', JOB)
        steps = [json.loads(run("step", path, "--format=json").stdout or "{}") for path in (one, two)]
        check(steps[0].get("step_s", -1) == steps[1].get("step_s", -2), f"{fabric}: {steps}")
        check(steps[0].get("links") == steps[1].get("links"), f"{fabric}: links differ")
        found = [json.loads(run("fabric", "check", path, "--format=json").stdout or "{}") for path in (one, two)]
        ways = [{key: it.get(key) for key in ("planes", "diameter", "distances", "unjoined_pairs")} for it in found]
        check(ways[0] == ways[1] and ways[0]["distances"], f"{fabric}: other distances {ways}")
        # What is wired goes out and comes in once more as it is.
        again, third = folder / f"h{number}.graphml", folder / f"d{number}.xml"
        run("export", "fabric", two, "--format=graphml", "-o", again)
        run("import", "graphml", again, "-o", third)
        texts = [re.sub(r"<!--.*?-->", "", path.read_text(), flags=re.S) for path in (cluster, third)]
        check(texts[0] == texts[1], f"{fabric}: another cluster after two imports")
        # Of the cluster alone, which names no collectives, the same is written.
        for form in ("graphml", "dot", "simgrid"):
            texts = [run("export", "fabric", path, f"--format={form}").stdout for path in (cluster, two)]
            check(texts[0] == texts[1] and texts[0], f"{fabric}: {form} of the cluster alone differs")


# (fabric, what is dead or slow, what it is imported as)
BROKEN = [
    (f"<fat_tree {TWO} {{}}/>", "spine1", "wired"),
    (f'<fat_tree {THREE} spreading="static" {{}}/>', "pod1-spine0", "wired"),
    ('<rail_optimised tiers="2" nodes_per_unit="4" {}/>', "leaf3", "wired"),
    ('<rail_optimised tiers="2" nodes_per_unit="4" planes="2" spreading="static" {}/>', "plane1-spine0",
     "wired"),
    ('<dragonfly global_links="2" routers="4" endpoints_per_router="2" groups="9" {}/>', "group3-router1",
     "dragonfly"),
    ('<dragonfly_plus groups="4" leaves="2" spines="3" endpoints_per_leaf="8" global_links="2" {}/>',
     "group1-spine2", "dragonfly_plus"),
    ('<torus x="4" y="4" z="4" {}/>', "router9", "torus"),
    (f'<fat_tree {TWO} spreading="static" {{}}/>', "leaf1-spine0 up", "wired"),
    (f"<fat_tree {TWO} {{}}/>", "node5 nic2 up", "wired"),
]


def broken(folder):
    """What is dead goes out and comes in as dead: the same bisection is left, and the same is lost with any
    other part."""
    for number, (fabric, part, kind) in enumerate(BROKEN):
        cluster = ('<cluster name="c" nodes="8" node="sandtable:node/dgx-h100">'
                   + fabric.format('link="sandtable:link/ndr400-ib"') + f'<impaired part="{part}"/></cluster>')
        one, graph = experiment(folder, f"dead{number}", cluster), folder / f"dead{number}.graphml"
        imported = folder / f"dead{number}.out.xml"
        run("export", "fabric", one, "--format=graphml", "-o", graph)
        done = run("import", "graphml", graph, "-o", imported)
        check(done.returncode == 0, f"{part} of {fabric}: {done.stderr}")
        if done.returncode != 0:
            continue
        check(f"<{kind} " in imported.read_text(), f"{part} of {fabric}: no {kind}")
        check((" up" in part and "spine" in part) or f'<impaired part="{part}"/>' in imported.read_text(),
              f"{part} of {fabric} is not dead again")
        two = experiment(folder, f"alive{number}", f'<xi:include href="{imported.name}"/>')
        faults = [run("fabric", "faults", path, "--format=json").stdout for path in (one, two)]
        check(faults[0] == faults[1] and '"bisection_Bps"' in faults[0],
              f"{part} of {fabric}: other losses\n{faults[0]}\n{faults[1]}")


# (format, file, differences, understood less than all)
GOOD = [
    ("slurm-topology", "topology.conf", 0, 2), ("slurm-topology", "topology-blocks.conf", 0, 0),
    ("slurm-topology", "topology-irregular.conf", 0, 0), ("slurm-nodes", "nodes.txt", 1, 1),
    ("slurm-nodes", "sinfo.txt", 0, 2), ("ibnetdiscover", "ibnetdiscover.txt", 0, 0),
    ("ibnetdiscover", "ibnetdiscover-rails.txt", 0, 0),
    ("ibnetdiscover", "ibnetdiscover-irregular.txt", 0, 1), ("nvidia-smi-topo", "smi-topo.txt", 0, 0),
    ("nccl-topo", "nccl-topo.xml", 0, 2), ("graphml", "foreign.graphml", 1, 1),
    ("graphml", "ring.graphml", 0, 0),
]
WIRED = ("topology-irregular.conf", "ibnetdiscover-irregular.txt", "foreign.graphml", "ring.graphml")
# (format, file, part of the message)
BAD = [
    ("slurm-topology", "topology-cycle.conf", "a cycle"),
    ("slurm-topology", "topology-twice.conf", 'node "n3"'),
    ("slurm-topology", "topology-pieces.conf", 'switches "a" and "b"'),
    ("slurm-nodes", "slurm-nodes-twice.txt", 'node "a3" is described twice'),
    ("ibnetdiscover", "ibnetdiscover-cut.txt", "truncated"),
    ("ibnetdiscover", "ibnetdiscover-twice.txt", "is described twice"),
    ("ibnetdiscover", "ibnetdiscover-pieces.txt", "in 2 pieces"),
    ("nvidia-smi-topo", "smi-topo-cut.txt", 'column "GPU4" has no row'),
    ("nccl-topo", "nccl-topo-twice.xml", "stands there twice"),
    ("nccl-topo", "nccl-topo-version.xml", "version 1 (NCCL, RCCL) and 2"),
    ("graphml", "nccl-topo.xml", "no GraphML"), ("nccl-topo", "foreign.graphml", "no NCCL"),
    ("ibnetdiscover", "topology.conf", "no ibnetdiscover"),
    ("slurm-nodes", "smi-topo.txt", "no output of scontrol"),
    ("nvidia-smi-topo", "topology.conf", "no nvidia-smi topo"),
    ("slurm-topology", "sinfo.txt", "no topology"),
]


def imports(folder):
    for form, name, differences, unknown in GOOD:
        out = folder / (name + ".out.xml")
        done = run("import", form, CORPUS / name, "-o", out)
        said = f"import {form} {name}: exit {done.returncode}\n{done.stderr}"
        check(done.returncode == 0, said)
        check(f" {differences} differences" in done.stderr, said)
        check(f": {unknown} lines" in done.stderr, said)
        if done.returncode != 0:
            continue
        check(("<rail_optimised" in out.read_text()) == ("rails" in name), f"{name}: rails")
        check(("<wired" in out.read_text()) == (name in WIRED), f"{name}: wired")
        if form in ("nccl-topo", "nvidia-smi-topo"):
            node = f'<definitions><xi:include href="{out.name}"/></definitions>'
            cluster = CLUSTER.format(nodes=8, tree=TWO).replace("sandtable:node/dgx-h100", "imported")
            path = experiment(folder, name + ".exp", cluster, node=node)
        else:
            path = experiment(folder, name + ".exp", f'<xi:include href="{out.name}"/>')
        done = run("validate", path)
        check(done.returncode == 0, f"{name} imported is not valid:\n{done.stderr}\n{out.read_text()}")
    for form, name, part in BAD:
        done = run("import", form, CORPUS / name)
        said = f"import {form} {name}: exit {done.returncode}\n{done.stderr[:2000]}"
        check(done.returncode == 3 and part in done.stderr and done.stdout == "", said)


def cluster_of(path):
    return re.sub(r"<!--.*?-->", "", path.read_text(), flags=re.S)


def ugly(folder):
    """Line ends and byte order marks change nothing; what no fabric can be is refused, at once."""
    for form, name, _, _ in GOOD:
        text = (CORPUS / name).read_bytes()
        other, out = folder / ("u-" + name), folder / "ugly.xml"
        other.write_bytes(text)
        run("import", form, other, "-o", out, "--force")
        expected = cluster_of(out)
        for what, changed in (("CRLF", text.replace(b"\n", b"\r\n")), ("a BOM", b"\xef\xbb\xbf" + text)):
            other.write_bytes(changed)
            done = run("import", form, other, "-o", out, "--force")
            check(done.returncode == 0 and cluster_of(out) == expected, f"{name} with {what}: {done.stderr}")
    other = folder / "refused"
    for form, text, part in (
            ("slurm-topology", "SwitchName=a Nodes=n1\n".encode("utf-16"), "is UTF-16"),
            ("slurm-topology", b"SwitchName=a Nodes=n[0-99999999999999999999]\n", "more than 9 digits"),
            ("graphml", b'<graphml><key id="e" for="node" attr.name="endpoints"/><graph><node id="a">'
             b'<data key="e">999999999</data></node></graph></graphml>', "999999999 NICs"),
            ("graphml", b'<graphml><graph><node id="a"/><edge source="a" target="b"/></graph></graphml>',
             '"b", which is no node'),
            ("graphml", b'<graphml><graph><node id="a"/><edge source="a" target="a"/></graph></graphml>',
             'joins "a" to itself'),
            ("graphml", b'<graphml><key id="e" for="node" attr.name="endpoints"/><graph><node id="a">'
             b'<data key="e">8</data></node><node id="z"/></graph></graphml>',
             'switch "z" has neither cables nor nodes')):
        other.write_bytes(text)
        done = run("import", form, other)
        check(done.returncode == 3 and part in done.stderr, f"{form} {text[:60]}: {done.stderr[:300]}")


def at_once(folder):
    """What is imported is shown, checked and stepped on as it is; 20,000 cables load in seconds."""
    out = folder / "ring.xml"
    run("import", "graphml", CORPUS / "ring.graphml", "-o", out)
    path = experiment(folder, "ring-exp", f'<xi:include href="{out.name}"/>', JOB)
    for args in (("fabric", "show"), ("fabric", "check"), ("fabric", "faults"), ("step",),
                 ("export", "fabric", "--format=dot")):
        done = run(*args[:2], path, *args[2:]) if len(args) > 1 else run("step", path)
        check(done.returncode == 0, f"{args} of a ring: {done.stderr}")
    switches = "".join(f'<switch id="l{i}"/>' for i in range(400)) + "".join(
        f'<switch id="s{i}"/>' for i in range(50))
    ports = "".join(f'<port to="l{i}" first="{i}" nics="8"/>' for i in range(400))
    cables = "".join(f'<cable from="l{i}" to="s{j}"/>' for i in range(400) for j in range(50))
    path = experiment(folder, "many", '<cluster name="c" nodes="400" node="sandtable:node/dgx-h100"><wired '
                      f'link="sandtable:link/ndr400-ib">{switches}{ports}{cables}</wired></cluster>')
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = run("fabric", "show", path)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    check(done.returncode == 0 and "400 leaves, 50 spines" in done.stdout, done.stderr)
    if not any(name.endswith("SAN_OPTIONS") for name in os.environ):
        check(seconds < 5, f"20,000 cables take {seconds:.1f} s to load")


def pictures(folder):
    for name, tree in (("small", TWO), ("big", 'tiers="3" radix="64" endpoints_per_leaf="32" '
                                               'leaves_per_pod="32"')):
        path = experiment(folder, name, CLUSTER.format(nodes=8 if name == "small" else 2048, tree=tree))
        dot = run("export", "fabric", path, "--format=dot").stdout
        drawn = re.findall(r"^ +b\d+ \[label=", dot, re.M)
        check(4 <= len(drawn) <= 60, f"{name}: {len(drawn)} nodes drawn")
        check(("more leaves" in dot) == (name == "big"), f"{name}: sums\n{dot[:2000]}")
        check(dot.count("{") == dot.count("}"), f"{name}: braces")
        draws(dot, name)
    for path in sorted((pathlib.Path(SOURCE) / "examples" / "fabrics").glob("*.xml")):
        draws(run("export", "fabric", path, "--format=dot").stdout, path.name)
    for groups in (2, 3, 4, 6, 17):
        sets = (f"cluster/dragonfly_plus/@groups={groups}", f"cluster/@nodes={32 * groups}", "jobs/job/@nodes=64")
        draws(run("export", "fabric", f"{SOURCE}/examples/fabrics/dragonfly-plus.xml", "--format=dot",
                  *(word for text in sets for word in ("--set", text))).stdout, f"dragonfly+ of {groups} groups")


def draws(dot, name):
    """Graphviz, where it is, draws it: with two edges between neighbours of a rank, one unseen, it does not."""
    if any(os.access(os.path.join(p, "dot"), os.X_OK) for p in os.environ["PATH"].split(":")):
        done = subprocess.run(["dot", "-Tplain"], input=dot, text=True, capture_output=True,
                              timeout=60, check=False)
        check(done.returncode == 0 and "graph" in done.stdout, f"{name}: {done.stderr}")
        rows = {}  # of trees, whose boxes are numbered from left to right, the rest of a tier or pod last
        for _, box, x, y in (line.split()[:4] for line in done.stdout.splitlines() if line.startswith("node ")):
            rows.setdefault(y, []).append((float(x), int(box[1:])))
        for row in rows.values() if "layout=" not in dot else []:
            check([b for _, b in sorted(row)] == sorted(b for _, b in row), f"{name}: out of order: {sorted(row)}")


def halfless(folder):
    """Where nothing crosses the middle, the verbs say why instead of shares of nothing."""
    dead = CLUSTER.format(nodes=4, tree=TWO).replace("/></cluster>", '/><impaired part="leaf0"/></cluster>')
    for cluster, why, sides in (
            (CLUSTER.format(nodes=1, tree=TWO), "one node has no halves", "one side has none"),
            (dead, "no network joins the halves", "no NIC of one side works")):
        path = experiment(folder, "halfless", cluster)
        faults, cut, show = (run("fabric", verb, path) for verb in ("faults", "cut", "show"))
        check(f"bisection: none: {why}\n" in faults.stdout and "%" not in faults.stdout, faults.stdout)
        check(all(line.endswith(" -") for line in faults.stdout.splitlines()[2:]), faults.stdout)
        check("none: " in cut.stdout and sides in cut.stdout and "least cut" not in cut.stdout, cut.stdout)
        check(f"none: {why}" in show.stdout or "impaired" in cluster, show.stdout)


def scale(folder):
    """131,072 NICs: every analysis within 5 s of processor time and 1 GiB, in a debug build too."""
    tree = 'tiers="3" radix="128" endpoints_per_leaf="64" leaves_per_pod="64" spreading="static"'
    path = experiment(folder, "scale", CLUSTER.format(nodes=16384, tree=tree))
    for verb, part in (("check", "5 switches"), ("cut", "3.277 PB/s, 100 %"),
                       ("faults", "3.274 PB/s    99.9 %")):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run("fabric", verb, path)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        check(done.returncode == 0, done.stderr)
        check(part in done.stdout, f"{verb}:\n{done.stdout}")
        if any(name.endswith("SAN_OPTIONS") for name in os.environ):
            continue  # sanitizers take time and memory of their own
        check(seconds < 5, f"fabric {verb} takes {seconds:.2f} s")
        check(after.ru_maxrss < 1 << 20, f"fabric {verb}: {after.ru_maxrss} KiB")


def main():
    with tempfile.TemporaryDirectory(prefix="sand-export-") as scratch:
        folder = pathlib.Path(scratch)
        simgrid_loads(folder)
        broken(folder)
        twins(folder)
        imports(folder)
        ugly(folder)
        at_once(folder)
        pictures(folder)
        halfless(folder)
        scale(folder)
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
