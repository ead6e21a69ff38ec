#!/usr/bin/env python3
"""Checks the shipped XML data: provenance, names, references and physical plausibility.

SPDX-License-Identifier: GPL-2.0-or-later
Usage: check_catalogue.py DATA_DIRECTORY (the one that holds platforms/ and workloads/)
"""
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

NAMESPACE = "{urn:sandtable:1}"
KINDS = ("gpu", "link", "node", "kernels", "software", "storage", "prices")
RULES = "step_rules"
COLLECTIVES = "collectives"
COLLECTIVE_RULES = "collective_rules"
DATE = re.compile(r"(19|20)\d\d(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?$")
HEAD = ("id", "source", "date", "assumed")
# GPUs as sources name them; and how a GPU that no row speaks for takes the rates of one of them.
NAMED_GPUS = {"A100": "a100-sxm-80g", "H100": "h100-sxm-80g", "B200": "b200-sxm-180g",
              "V100 SXM2": "v100-sxm-32g", "V100-32G": "v100-sxm-32g",
              "MI300X": "mi300x-192g", "MI355X": "mi355x-288g"}
BORROWED = (
    (re.compile(r"sustained rates are the ([^']+)'s shares of the peak"),
     {"gemm_bf16": "peak_bf16", "gemm_fp8": "peak_fp8", "attention": "peak_bf16",
      "attention_flash2": "peak_bf16"}),
    (re.compile(r"gemm_bf16 is (?:as far below kernel_bf16 as on|kernel_bf16 times what) the (A100)"),
     {"gemm_bf16": "kernel_bf16", "attention": "gemm_bf16"}))
SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
QUANTITY = re.compile(r"([0-9.]+)(([kMGTP]?)(B|B/s|bps|FLOPS|W))?$")


def quantity(text):
    """The SI value of a quantity as the catalogue writes it; bit rates in bytes per second."""
    match = QUANTITY.match(text)
    if not match:
        raise ValueError(f'"{text}" is no quantity')
    value = float(match[1]) * SCALES[match[3] or ""]
    return value / 8 if match[4] == "bps" else value


def tag(element):
    """The element's name without our namespace; with a foreign one, as it is."""
    name = element.tag
    return name[len(NAMESPACE):] if name.startswith(NAMESPACE) else name


class Checker:
    """Collects every problem of a data directory."""

    def __init__(self, data):
        self.data = Path(data)
        self.problems = []
        self.entries = {}  # (kind, id) -> element

    def say(self, path, text):
        """Notes one problem."""
        self.problems.append(f"{path.relative_to(self.data)}: {text}")

    def read(self, path, kind):
        """The root element of a file, or None."""
        try:
            root = ElementTree.parse(path).getroot()
        except ElementTree.ParseError as error:
            self.say(path, f"not well-formed: {error}")
            return None
        if root.tag != NAMESPACE + kind:
            self.say(path, f"root element is {root.tag}, expected {NAMESPACE}{kind}")
            return None
        return root

    def provenance(self, path, element, names):
        """source, date, and assumed out of `names`."""
        if len(element.get("source", "").split()) < 3:
            self.say(path, "source is missing or says nothing")
        if not DATE.match(element.get("date", "")):
            self.say(path, f'date is "{element.get("date")}", not YYYY, YYYY-MM or YYYY-MM-DD')
        assumed = element.get("assumed", "").split()
        for name in assumed:
            if name not in names or name in HEAD:
                self.say(path, f'assumed names "{name}", which is no attribute here')
        if len(set(assumed)) != len(assumed):
            self.say(path, "assumed names an attribute twice")

    def entry(self, path, kind):
        """One catalogue file: a single element, named like the file; only models have parts."""
        root = self.read(path, kind)
        if root is None:
            return
        if root.get("id") != path.stem:
            self.say(path, f'id is "{root.get("id")}", the file is {path.name}')
        if len(root) and kind != "model":
            self.say(path, "a catalogue element has no children")
        self.provenance(path, root, {name for element in root.iter() for name in element.keys()})
        self.entries[kind, path.stem] = (path, root)

    def faults(self, path):
        """A fault file: provenance on the root, classes with unique ids and a rate."""
        root = self.read(path, "faults")
        if root is None:
            return
        names = {name for fault in root for name in fault.keys()}
        self.provenance(path, root, names)
        ids = [fault.get("id") for fault in root]
        if not ids or len(set(ids)) != len(ids):
            self.say(path, "no fault classes, or two with one id")
        for fault in root:
            observed = all(fault.get(name) for name in ("count", "over", "nodes"))
            if tag(fault) != "fault" or observed == bool(fault.get("rate")):
                self.say(path, f'{fault.get("id")}: needs either a rate or count, over and nodes')
        self.entries["faults", path.stem] = (path, root)

    def rules(self, path):
        """Rules of measured steps: provenance, and no number that belongs to a single row."""
        root = self.read(path, RULES)
        if root is None:
            return
        self.provenance(path, root, {name for child in root for name in child.keys()})
        for child in root:
            if tag(child) == "flag" and set(child.keys()) != {"id", "why"}:
                self.say(path, f'flag {child.get("id")}: has more than an id and a reason')
        self.entries[RULES, path.stem] = (path, root)

    def collectives(self, path):
        """Collectives: provenance, and a source of every number of a kernel."""
        root = self.read(path, COLLECTIVES)
        if root is None:
            return
        self.provenance(path, root, {name for child in root for name in child.keys()} | set(root.keys()))
        for child in root:
            for name in set(child.keys()) - {"id", "algorithm", "protocol", "on_request"}:
                self.has_source(path, root, name)
        self.entries[COLLECTIVES, path.stem] = (path, root)

    def collective_rules(self, path):
        """Rules of measured collectives: provenance, and no number of a row or a source."""
        root = self.read(path, COLLECTIVE_RULES)
        if root is None:
            return
        self.provenance(path, root, {name for child in root for name in child.keys()})
        texts = {"flag": {"id", "source", "row", "why"},
                 "machine": {"id", "gpu", "platform", "network", "node"}}
        for child in root:
            if set(child.keys()) - texts.get(tag(child), set(child.keys())):
                self.say(path, f'{tag(child)} {child.get("id")}: has a number')
        self.entries[COLLECTIVE_RULES, path.stem] = (path, root)

    def constants(self):
        """Fitted constants: at most three of a software stack, every number with its source."""
        for path, software in self.of_kind("software"):
            numbers = {name for name in set(software.keys()) - set(HEAD) if software.get(name)[0].isdigit()}
            if len(numbers - set(software.get("assumed", "").split())) > 3:
                self.say(path, "has more than three fitted constants")
        for kind in ("gpu", "link", "kernels", "software"):
            for path, entry in self.of_kind(kind):
                for name in set(entry.keys()) - set(HEAD) - set(entry.get("assumed", "").split()):
                    self.has_source(path, entry, name)

    def has_source(self, path, entry, name):
        """The source names the attribute, the family it belongs to, or what peaks stand for."""
        words = re.findall(r"[a-z_0-9]+", entry.get("source", ""))
        family = name.split("_")[0]
        known = {word.rstrip("_") for word in words} | {word.rstrip("s") for word in words}
        if not {name, family, family + "s"} & known:
            self.say(path, f'source says nothing of "{name}", and it is not assumed')

    def cluster(self, path):
        """A cluster file: its provenance stands in the comment at its head."""
        root = self.read(path, "cluster")
        if root is None:
            return
        if root.get("name") != path.stem:
            self.say(path, f'name is "{root.get("name")}", the file is {path.name}')
        comment = re.search(r"<!--(.*?)-->", path.read_text(encoding="utf-8"), re.S)
        lines = dict(re.findall(r"^ *(Source|Date|Assumed): *(.+)$",
                                comment[1] if comment else "", re.M))
        names = {name for element in root.iter() for name in element.keys()}
        self.provenance(path, {key.lower(): value for key, value in lines.items()}, names)
        self.entries["cluster", path.stem] = (path, root)

    def references(self):
        """Every sandtable: reference names an entry that ships."""
        for path, root in self.entries.values():
            for element in root.iter():
                for name, value in element.items():
                    if not value.startswith("sandtable:"):
                        continue
                    kind, _, entry = value[len("sandtable:"):].partition("/")
                    if (kind, entry) not in self.entries:
                        self.say(path, f"{name} refers to {value}, which does not ship")

    def of_kind(self, kind):
        """(path, attribute reader) of every entry of a kind."""
        for (entry_kind, _), (path, root) in sorted(self.entries.items(), key=lambda e: e[0]):
            if entry_kind == kind:
                yield path, root

    def gpus(self):
        """Sustained rates stay below the data-sheet peaks."""
        for path, gpu in self.of_kind("gpu"):
            for rate, peak in (("gemm_bf16", "peak_bf16"), ("gemm_fp8", "peak_fp8"),
                               ("attention", "peak_bf16")):
                if quantity(gpu.get(rate, "0")) > quantity(gpu.get(peak, "0")):
                    self.say(path, f"{rate} is above {peak}")
            if not 0 < quantity(gpu.get("memory_usable", "0")) <= 1:
                self.say(path, "memory_usable is no fraction above 0")

    def borrowed_rates(self):
        """Rates that are another GPU's follow it: after a fit of that one, too."""
        for path, gpu in self.of_kind("gpu"):
            for phrase, bases in BORROWED:
                match = phrase.search(gpu.get("source", ""))
                if match:
                    self.follows(path, gpu, match[1], bases)

    def follows(self, path, gpu, name, bases):
        """Every rate is the share of its base that it is on the GPU named so."""
        lender = self.entries.get(("gpu", NAMED_GPUS.get(name, "")), (None, None))[1]
        if lender is None:
            self.say(path, f'takes rates of "{name}", which no entry is named')
            return
        share = lambda of, rate: quantity(of.get(rate)) / quantity(of.get(bases[rate]))
        for rate in sorted(set(bases) & set(gpu.keys())):
            # The A100 has no fp8: the share is that of its bf16.
            expected = share(lender, rate if rate in lender.keys() else "gemm_bf16")
            if abs(share(gpu, rate) / expected - 1) > 0.002:
                self.say(path, f"{rate} is {share(gpu, rate):.4f} of {bases[rate]}, "
                               f"on the {name} it is {expected:.4f}")

    def nodes(self):
        """A server draws at least its GPUs and idles below its maximum."""
        for path, node in self.of_kind("node"):
            gpu = self.entries.get(("gpu", node.get("gpu", "").rpartition("/")[2]))
            most = quantity(node.get("max_power", "0"))
            if gpu and most < int(node.get("gpus")) * quantity(gpu[1].get("tdp", "0")):
                self.say(path, "max_power is below the sum of its GPUs' tdp")
            if quantity(node.get("idle_power", "0")) >= most:
                self.say(path, "idle_power is not below max_power")

    def models(self):
        """A size in a name fits the parameter count within 8 % or half of its last digit."""
        for path, model in self.of_kind("model"):
            get = lambda name: int(model.get(name, "0"))
            named = re.search(r"(?:^|-)(\d+(?:\.\d+)?)([mbt])(?:-|$)", path.stem)
            heads, kv_heads = get("heads"), get("kv_heads")
            if kv_heads < 1 or heads % kv_heads:
                self.say(path, "kv_heads do not divide heads")
                continue
            experts = model.find(NAMESPACE + "experts")
            part = lambda name: int(experts.get(name, "0")) if experts is not None else 0
            if part("per_token") > part("count"):
                self.say(path, "a token passes through more experts than there are")
            if not named:
                continue
            matrices = 3 if model.get("gated") == "yes" else 2
            attention = 2 * (heads + kv_heads) * get("head_dim")
            width = get("layers") * get("ffn")
            if experts is not None:
                routed = part("count") * part("ffn") + part("shared") * part("ffn")
                width = (get("layers") - part("dense_layers")) * routed + part("dense_layers") * get("ffn")
            embeddings = (1 if model.get("tied") == "yes" else 2) * get("vocab") * get("hidden")
            layers = get("layers") * attention + matrices * width
            billions = (get("hidden") * layers + embeddings) / 1e9
            unit = {"m": 1e-3, "b": 1, "t": 1000}[named[2]]
            stated = float(named[1]) * unit
            half = unit * 0.5 / 10 ** len(named[1].partition(".")[2])
            if abs(billions - stated) > max(0.08 * stated, half):
                self.say(path, f"has {billions:.2f}e9 parameters, its name says {stated}")

    def llama3(self):
        """The counts are those of the report: 18 classes, 419 unexpected, 47 planned."""
        for stem, planned in (("llama3-2024", 0), ("llama3-2024-planned", 47)):
            if ("faults", stem) not in self.entries:
                continue
            path, root = self.entries["faults", stem]
            counts = {"yes": 0, "no": 0}
            for fault in root:
                counts[fault.get("planned", "no")] += int(fault.get("count", "0"))
            if counts != {"yes": planned, "no": 419} or len(root) != 18 + (planned > 0):
                self.say(path, f"{len(root)} classes with {counts}, the report has 18 and 419, 47")

    def check(self):
        """All of it; the list of problems."""
        for kind in KINDS:
            for path in sorted((self.data / "platforms/catalogue" / kind).glob("*")):
                self.entry(path, kind)
        for path in sorted((self.data / "platforms/catalogue").glob("*")):
            if path.name not in KINDS + (RULES, COLLECTIVES, COLLECTIVE_RULES):
                self.say(path, "is no kind of the catalogue")
        for path in sorted((self.data / "platforms/catalogue" / RULES).glob("*")):
            self.rules(path)
        for path in sorted((self.data / "platforms/catalogue" / COLLECTIVES).glob("*")):
            self.collectives(path)
        for path in sorted((self.data / "platforms/catalogue" / COLLECTIVE_RULES).glob("*")):
            self.collective_rules(path)
        for path in sorted((self.data / "workloads/models").glob("*")):
            self.entry(path, "model")
        for path in sorted((self.data / "platforms/faults").glob("*")):
            self.faults(path)
        for path in sorted((self.data / "platforms/clusters").glob("*")):
            self.cluster(path)
        self.references()
        self.constants()
        self.gpus()
        self.borrowed_rates()
        self.nodes()
        self.models()
        self.llama3()
        return self.problems


def main():
    """Prints every problem; fails if there is one, or if a kind has no entries."""
    checker = Checker(sys.argv[1])
    problems = checker.check()
    for problem in problems:
        print(problem)
    for kind in KINDS + (RULES, "model", "cluster", "faults"):
        n = sum(1 for entry_kind, _ in checker.entries if entry_kind == kind)
        print(f"{kind}: {n}")
        if n == 0:
            problems.append(kind)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
