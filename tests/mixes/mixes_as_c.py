#!/usr/bin/env python3
"""Turns mix files into C tables for the test of the mixes, by the field tables in sim/model/mix.h; an
unknown element or attribute is an error. The program itself reads them through sim/spec.

SPDX-License-Identifier: GPL-2.0-or-later
Usage: mixes_as_c.py TABLES.c FILE.xml...
"""
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

NAMESPACE = "{urn:sandtable:1}"
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
OUTCOMES = ("complete", "cancel", "fail")


def seconds(text):
    """A time with its unit."""
    number = text.rstrip("smindh")
    return float(number) * SECONDS[text[len(number):]]


def take(element, known):
    """The attributes of an element, all of which must be known; {name: preset}, None: required."""
    unknown = set(element.keys()) - set(known)
    missing = [name for name, preset in known.items() if preset is None and name not in element.keys()]
    if unknown or missing:
        raise ValueError(f"{element.tag}: unknown {sorted(unknown)}, missing {missing}")
    return {name: element.get(name, preset) for name, preset in known.items()}


def text(value):
    """A C string."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Writer:
    """Writes one mix."""

    def __init__(self, root, number):
        self.root, self.name = root, f"mix{number}"

    def children(self, parent, name):
        """The children of a name."""
        return [child for child in parent if child.tag == NAMESPACE + name]

    def array(self, kind, suffix, rows):
        """An array of rows; its name and length for a designated initialiser."""
        name = f"{self.name}_{suffix}"
        print(f"static const struct {kind} {name}[] = {{" + ",\n    ".join(rows or ["{0}"]) + "};")
        return name, len(rows)

    def weights(self, name, index):
        """Hours or days."""
        rows = []
        for child in self.children(self.root, name):
            row = take(child, {"of": None, "weight": None})
            rows.append(f"{{{index(row['of'])}, {float(row['weight'])!r}}}")
        return self.array("sand_mix_weight", name + "s", rows)

    def end(self, element):
        """One way in which jobs end."""
        row = take(element, {"as": None, "share": None, "run": None, "run_law": "constant",
                             "run_shape": "0", "run_max": "0s"})
        return (f"{{{OUTCOMES.index(row['as'])}, {float(row['share'])!r}, "
                f"{{SAND_LAW_{row['run_law'].upper()}, {seconds(row['run'])!r}, "
                f"{float(row['run_shape'])!r}, {seconds(row['run_max'])!r}}}}}")

    def job_class(self, element, number):
        """A class with its sizes and ends."""
        row = take(element, {"id": None, "share": None, "cycle": "1", "users": "0",
                             "request_factor": "0", "limit": "0s",
                             "speed": "recorded", "model": "", "software": ""})  # the last three: no law
        sizes = [take(child, {"gpus": None, "weight": None}) for child in self.children(element, "size")]
        sizes = self.array("sand_mix_size", f"sizes{number}",
                           [f"{{{int(s['gpus'])}, {float(s['weight'])!r}}}" for s in sizes])
        ends = self.array("sand_mix_end", f"ends{number}",
                          [self.end(child) for child in self.children(element, "end")])
        return (f"{{.id = {text(row['id'])}, .share = {float(row['share'])!r}, "
                f".cycle = {float(row['cycle'])!r}, .users = {int(row['users'])}, "
                f".request_factor = {float(row['request_factor'])!r}, "
                f".limit_ns = INT64_C({int(seconds(row['limit']) * 1e9)}), .sizes = {sizes[0]}, "
                f".n_sizes = {sizes[1]}, .ends = {ends[0]}, .n_ends = {ends[1]}}}")

    def mix(self):
        """All of it; the initialiser of the mix."""
        row = take(self.root, {"id": None, "source": None, "date": None, "assumed": "",
                               "rate": None})
        parts = [self.weights("hour", int), self.weights("day", DAYS.index),
                 self.array("sand_mix_class", "classes",
                            [self.job_class(c, i) for i, c in enumerate(self.children(self.root, "class"))])]
        figures = [take(f, {"of": None, "value": None, "within": None})
                   for f in self.children(self.root, "figure")]
        parts.append(self.array("sand_mix_figure", "figures",
                                [f"{{SAND_MIX_{f['of']}, {float(f['value'])!r}, {float(f['within'])!r}}}"
                                 for f in figures]))
        if sum(n for _, n in parts) != len(self.root):
            raise ValueError(f"{row['id']}: unknown elements")
        members = ", ".join(f".{field} = {name}, .n_{field} = {n}" for field, (name, n) in
                            zip(("hours", "days", "classes", "figures"), parts))
        return (f"{{.id = {text(row['id'])}, .from = {{{text(row['source'])}, {text(row['date'])}, "
                f"{text(row['assumed'])}}}, .jobs_per_s = {float(row['rate'].removesuffix('/d'))!r} / 86400, {members}}}")


def main():
    """Writes the tables."""
    mixes = []
    sys.stdout = open(sys.argv[1], "w", encoding="utf-8")
    print('#include "mixtables.h"\n')
    for number, path in enumerate(sys.argv[2:]):
        root = ElementTree.parse(path).getroot()
        if root.tag != NAMESPACE + "mix" or root.get("id") != Path(path).stem:
            raise ValueError(f"{path}: is no mix of its file's name")
        mixes.append(Writer(root, number).mix())
    print("const struct sand_mix shipped_mixes[] = {" + ",\n    ".join(mixes) + "};")
    print(f"const size_t n_shipped_mixes = {len(mixes)};")


if __name__ == "__main__":
    main()
