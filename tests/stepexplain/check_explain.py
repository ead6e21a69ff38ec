#!/usr/bin/env python3
"""sandtable step --explain: a reader redoes the numbers by hand, here in Python.

SPDX-License-Identifier: GPL-2.0-or-later
Usage: check_explain.py PROGRAM SOURCE_DIRECTORY
"""
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

PROGRAM, SOURCE = sys.argv[1], Path(sys.argv[2])
EXPERIMENT = SOURCE / "examples/llama3-405b/experiment.xml"
problems = []
RING = {"all-reduce": lambda n: 2 * (n - 1) / n, "reduce-scatter": lambda n: (n - 1) / n,
        "all-gather": lambda n: (n - 1) / n, "all-gather of keys and values": lambda n: (n - 1) / n}
PHASES = ("work_s", "fill_s", "sends_s", "wave_s", "gradients_s", "weights_s", "optimizer_s",
          "overhead_s")


def near(is_, should_be, what, tolerance=1e-9):
    """Notes what is not equal."""
    if abs(is_ - should_be) > tolerance * max(abs(should_be), 1e-12):
        problems.append(f"{what}: {is_!r}, not {should_be!r}")


def ask(*args):
    """The program's answer."""
    return subprocess.run([PROGRAM, "step", EXPERIMENT, "--explain", *map(str, args)], text=True,
                          capture_output=True, check=False)


def settings(**split):
    """--set for members of the split."""
    return [word for name, value in split.items()
            for word in ("--set", f"jobs/job/split/@{name}={value}")]


def redo(what, answer):
    """Everything that follows from other numbers of the same answer."""
    phases = answer["phases"]
    near(sum(phases[name] for name in PHASES), answer["closed_form_s"], f"{what}: phases")
    near(phases["work_s"], phases["micro_batches"] * phases["slowest_s"], f"{what}: work")
    near(answer["closed_form_s"], answer["step_s"], f"{what}: closed form", 0.05)
    for term in answer["traffic"]:
        name = f"{what}: {term['name']}"
        if term["algorithm"] == "ring":
            near(term["factor"], RING[term["collective"]](term["ranks"]), f"{name} factor")
        elif "experts" not in name and (term["domains"] > 1 or term["algorithm"] != "tree"):
            near(term["factor"], 1, f"{name} factor")
        near(term["hop_B"], term["factor"] * term["message_B"] * term["stretch"] / term["channels"],
             f"{name} hop")
        if term["fill_B"] > 0:
            near(term["fill_s"], term["depth"] * term["fill_wire_s"] /
                 (1 + term["message_B"] / term["fill_B"]), f"{name} fill")
        near(term["latency_s"], term["base_s"] + term["scaleup_hops"] * term["scaleup_hop_s"] +
             term["network_hops"] * term["network_hop_s"] + term["messages_s"] + term["fill_s"],
             f"{name} latency")
        near(term["rate_Bps"], term["link_Bps"] * term["link_usable"] / term["link_users"],
             f"{name} rate")
        near(term["one_s"], term["latency_s"] + term["hop_B"] / term["rate_Bps"], f"{name} one")
        near(term["exposed_s"], term["exposed"] * term["per_step"] * term["one_s"],
             f"{name} exposed")
        if not all(term[key] for key in ("algorithm", "protocol", "link", "equation", "source",
                                         "overlap", "message", "volume")):
            problems.append(f"{name}: a text is missing in {term}")
    return {term["name"]: term for term in answer["traffic"]}


def from_the_model():
    """Llama-3.1 405B as its file has it, tp 8, pp 16 x 8 chunks, 16 micro-batches of 8,192 tokens:
    bytes and counts from nothing but these numbers."""
    hidden, heads, kv, ffn, tp = 16384, 128, 8, 53248, 8
    done = ask("--stage", 1, "--format=json")
    if done.returncode != 0:
        problems.append(done.stderr)
        return
    terms = redo("405B", json.loads(done.stdout))
    for half in ("scatter", "gather"):
        term = terms[f"tensor parallel, {half}"]
        near(term["message_B"], 2 * 8192 * hidden, f"405B: {half} of an activation")
        near(term["per_step"], 16 * 8 * 4, f"405B: collectives, {half}")
    near(terms["pipeline, forwards"]["message_B"], 2 * 8192 * hidden / tp, "405B: send")
    near(terms["pipeline, forwards"]["per_step"], 16 * 8, "405B: sends")
    matrices = hidden * (2 * heads * 128 + 2 * kv * 128 + 3 * ffn)
    layer = matrices / tp + 2 * hidden
    near(terms["gradients"]["message_B"], 4 * layer, "405B: gradients of a layer", 1e-6)
    near(terms["weights"]["message_B"], 2 * layer, "405B: weights of a layer", 1e-6)
    near(terms["gradients"]["ranks"], 128, "405B: replicas")
    # One step in each of 127 goes to another node: 8 replicas share none.
    near(terms["gradients"]["network_hops"], 127, "405B: steps on the network")
    by_hand(terms, layer)
    last = redo("405B, end", json.loads(ask("--stage", 15, "--format=json").stdout))
    near(last["pipeline, forwards"]["per_step"], 16 * 7, "405B: sends of the last stage")
    near(last["pipeline, backwards"]["per_step"], 16 * 8, "405B: sends of the last stage")


def attributes(path):
    """Numbers of a catalogue entry without their units, those of its kernels too, by id."""
    root = ElementTree.parse(SOURCE / "platforms/catalogue" / path).getroot()
    return {child.get("id", ""): {name: float(re.match(r"[0-9.]+", text)[0])
                                  for name, text in child.items() if re.match(r"[0-9.]+", text)}
            for child in (root, *root)}


def by_hand(terms, layer):
    """Two collectives from nothing but the catalogue: a reduce-scatter of eight GPUs on NVLink and
    one of 128 over the network, each (n-1)/n of its bytes at what a step leaves of the port, behind
    the latency of a ring under Simple and half a fill."""
    library = attributes("collectives/nccl.xml")
    ring, channels = library["ring-simple"], library["nccl"]["channels"]
    nvlink = attributes("link/nvlink4.xml")["nvlink4"]
    nic = attributes("link/roce400.xml")["roce400"]
    for name, n, message, port, hop_us, once_us, loops in (
            ("tensor parallel, scatter", 8, 2 * 8192 * 16384, nvlink["rate"] * 1e9,
             ring["scaleup_hop"], nvlink["launch_latency"], channels),
            ("gradients", 128, 4 * layer, nic["rate"] * 1e9 / 8,
             ring["network_hop"] + nic["hop_latency"], 0, 2)):
        link = nvlink if n == 8 else nic
        hop = (n - 1) / n * message
        fill = 0.5 * hop / (port * link["alone"]) / (1 + message / (loops * n * ring["chunk"] * 1e3))
        latency = 1e-6 * (ring["base"] + once_us + (n - 1) * hop_us) + fill
        near(terms[name]["one_s"], latency + hop / (port * link["usable"]), f"{name} by hand", 1e-6)


def other_splits():
    """Plain pipelines, sharded replicas, context parallelism, no overlap."""
    small = ["--set", "jobs/job/@model=sandtable:model/llama-3-8b", "--set", "jobs/job/@nodes=4"]
    for what, split in (
            ("1F1B", dict(tp=2, pp=4, dp=4, virtual_stages=1, global_batch=64, buckets=1)),
            ("all-reduce", dict(tp=2, pp=4, dp=4, virtual_stages=1, global_batch=64, buckets=1,
                                sequence_parallel="no", distributed_optimizer="no",
                                overlap_grad_reduce="no", overlap_param_gather="no")),
            ("FSDP", dict(tp=1, pp=1, dp=32, virtual_stages=1, global_batch=64, recompute="full",
                          sharding="parameters", sequence_parallel="no")),
            ("context", dict(tp=2, cp=4, pp=1, dp=4, virtual_stages=1, global_batch=16))):
        done = ask(*small, *settings(**split), "--format=json")
        if done.returncode != 0:
            problems.append(f"{what}: {done.stderr}")
            continue
        terms = redo(what, json.loads(done.stdout))
        if what == "FSDP":
            near(terms["weights"]["per_step"], 2 * 2 * 32, "FSDP: gathers")
            near(terms["gradients"]["per_step"], 2 * 32, "FSDP: reductions")
        if what == "all-reduce":
            if terms["gradients"]["collective"] != "all-reduce":
                problems.append("all-reduce: gradients are scattered")
            if "weights" in terms:
                problems.append("all-reduce: weights are gathered")
        if what == "context":
            near(terms["context parallel"]["message_B"], 4 * 8192 / 4 * 8 * 128 / 2, "keys, values")
            near(terms["context parallel"]["per_step"], 4 * 32 * 3 * 3, "rounds of the ring")


def experts():
    """Mixtral 8x7B, two experts a token, over eight GPUs of one node: a GPU keeps an eighth of what it
    routes."""
    with tempfile.TemporaryDirectory(prefix="sand-explain-") as folder:
        copy = Path(shutil.copytree(EXPERIMENT.parent, Path(folder) / "copy"))
        jobs = (copy / "jobs.xml").read_text(encoding="utf-8")
        with_experts = jobs.replace('gradient="4B"/>', 'gradient="4B"><experts ep="8"/></split>')
        if with_experts == jobs:
            problems.append("experts: jobs.xml has another end of its split")
        (copy / "jobs.xml").write_text(with_experts, encoding="utf-8")
        done = subprocess.run(
            [PROGRAM, "step", copy / "experiment.xml", "--explain", "--format=json", "--set",
             "jobs/job/@model=sandtable:model/mixtral-8x7b", "--set", "jobs/job/@nodes=4",
             *map(str, settings(tp=1, pp=2, dp=16, virtual_stages=1, micro_batch=1,
                                global_batch=64, recompute="full", sequence_parallel="no"))],
            text=True, capture_output=True, check=False)
    if done.returncode != 0:
        problems.append(f"experts: {done.stderr}")
        return
    terms = redo("experts", json.loads(done.stdout))
    near(terms["experts, in the domain"]["per_step"], 4 * 16 * 2 * 3, "all-to-alls")
    near(terms["experts, in the domain"]["ranks"], 8, "ranks of an all-to-all")


def reach(parts, experts=256, top_k=8, groups=8, chosen=4):
    """Parts of all experts that a token of DeepSeek-V3 reaches; parts that divide a group or are
    groups."""
    share, size = experts // parts, experts // groups
    missed = math.comb(chosen * size - share, top_k) / math.comb(chosen * size, top_k)
    return parts * chosen / groups * (1 - missed)


def routed():
    """DeepSeek-V3 over eight nodes: bytes from the report's numbers; and what another rank order
    costs."""
    def explain(*args):
        done = subprocess.run([PROGRAM, "step", SOURCE / "examples/deepseek-v3/experiment.xml", "--explain",
                               "--format=json", *args], text=True, capture_output=True, check=False)
        if done.returncode != 0:
            problems.append(f"routed: {done.stderr}")
        return json.loads(done.stdout or "{}")
    answer = explain("--stage", "5")
    terms = redo("routed", answer)
    tokens_B = 4096 * 7168 * (1 + 2) / 2  # fp8 there, 16 bit back
    inside, outside = terms["experts, in the domain"], terms["experts, between domains"]
    near(inside["message_B"], 8 * tokens_B, "routed: copies")
    near(inside["hop_B"] / inside["stretch"], tokens_B * reach(64) * 7 / 8, "routed: once a GPU")
    near(outside["hop_B"] / outside["stretch"], tokens_B * reach(8) / 8, "routed: once a node")
    near(inside["per_step"], 120 * 4 * 2 * 2, "routed: dispatch and combine, both ways")
    near(inside["exposed"], 0, "routed: beside compute")
    if "expert_order" in answer:
        problems.append("routed: another order would keep experts together, it says")
    apart = explain("--set", "jobs/job/split/@order=tp-cp-pp-dp")["expert_order"]
    if (apart["domains"], apart["other"], apart["other_domains"]) != (64, "tp-cp-dp-pp", 8):
        problems.append(f"routed: {apart}")
    near(apart["other_step_s"], answer["closed_form_s"], "routed: the other order's step")
    if apart["step_s"] <= apart["other_step_s"]:
        problems.append(f"routed: spread experts cost nothing: {apart}")


def manners():
    """Text and CSV have the same terms; misuse is refused."""
    text, table = ask("--stage", 1).stdout, ask("--stage", 1, "--format=csv").stdout
    for word in ("tensor parallel, scatter", "pipeline, forwards", "gradients", "weights"):
        if word not in text or f'"{word}",hop_B,' not in table:
            problems.append(f"{word} is missing")
    done = ask("--stage", 16)
    if done.returncode != 2 or "0 to 15" not in done.stderr:
        problems.append(f"--stage 16: {done.returncode} {done.stderr}")
    done = ask("--search")
    if done.returncode != 2 or "at a time" not in done.stderr:
        problems.append(f"--search: {done.returncode} {done.stderr}")


def stragglers():
    """One slow GPU slows its whole group, pipeline and job; what does not take part does not."""
    def step_s(*args):
        done = subprocess.run([PROGRAM, "step", EXPERIMENT, "--format=json", *args], text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            problems.append(f"{args}: {done.stderr}")
            return 0
        return json.loads(done.stdout)["step_s"]

    usual = step_s()
    gpu, node = step_s("--slow", "3.5=0.5"), step_s("--slow", "3=50%")
    near(gpu, node, "a tensor-parallel group at the pace of its slowest GPU")
    if not 1.3 * usual < gpu < 2 * usual:
        problems.append(f"half speed of one GPU: {gpu} after {usual}")
    near(step_s("--slow", "3000=0.5"), usual, "a node of nobody's")
    near(step_s("--slow", "3=0.5", "--slow", "3=1"), usual, "the later word holds")
    for words, said in ((["3000=0.5"], "does not run on node 3000"), (["3=0.5", "3=1"], "takes the place of --slow 3=0.5"),
                        (["3.5=0.5", "3.5=1"], "takes the place of --slow 3.5=0.5"), (["3=0.9", "3.5=0.5"], "")):
        done = subprocess.run([PROGRAM, "step", EXPERIMENT] + [x for word in words for x in ("--slow", word)], text=True,
                              capture_output=True, check=False)
        if done.returncode != 0 or said not in done.stderr or (not said and "--slow" in done.stderr):
            problems.append(f"--slow {words}: {done.returncode} {done.stderr}")
    for text in ("3", "3=0", "3=2", "99999=0.5", "3.8=0.5", "x=0.5", "3.=0.5", "-1=0.5", "3=0.5x"):
        done = subprocess.run([PROGRAM, "step", EXPERIMENT, "--slow", text], text=True,
                              capture_output=True, check=False)
        if done.returncode != 2 or "such as 3.5=0.9" not in done.stderr:
            problems.append(f"--slow {text}: {done.returncode} {done.stderr}")


from_the_model()
stragglers()
other_splits()
experts()
routed()
manners()
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
