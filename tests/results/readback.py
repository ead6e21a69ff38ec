"""Every cell that the store wrote is what h5py, pandas and h5dump read; what is not ours is refused.

Usage: readback.py SAMPLE_PROGRAM FILE.h5 FILE.tsv PAGE.md
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import math
import os
import re
import subprocess
import sys

import h5py
import numpy as np


def text(value):
    return value.decode("utf-8") if isinstance(value, bytes) else value


def read_dump(path):
    """{table: {column: [text of each cell]}} in the order of the store."""
    tables = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            table, _, column, value = line.rstrip("\n").split("\t")
            tables.setdefault(table, {}).setdefault(column, []).append(value)
    return tables


def same(cell, printed):
    if isinstance(cell, bytes):
        return cell.decode("utf-8") == printed
    if isinstance(cell, np.floating):
        return float(printed) == cell or (math.isnan(cell) and printed == "nan")
    return int(printed) == int(cell)


def check_column(data, name, printed):
    assert data.dtype.kind == "S" or data.dtype.str[0] == "<", f"{name}: {data.dtype.str}"
    assert text(data.attrs["units"]), name
    assert text(data.attrs["long_name"]), name
    assert data.compression == "gzip" and data.compression_opts == 4 and data.shuffle, name
    assert data.dims[0][0].name == os.path.dirname(data.name) + "/row", name
    if data.dtype.kind == "f":
        assert math.isnan(data.attrs["_FillValue"]), name
    elif "_FillValue" in data.attrs:
        assert data.attrs["_FillValue"].dtype == data.dtype, name
    values = data[:]
    assert len(values) == len(printed), name
    for value, want in zip(values, printed):
        assert same(value, want), f"{name}: h5py reads {value!r}, the store {want!r}"


def check_h5dump(path, name, values):
    """h5dump's binary output of a numeric column is the very bytes."""
    out = path + ".bin"
    subprocess.run(["h5dump", "-d", name, "-b", "LE", "-o", out, path], check=True,
                   stdout=subprocess.DEVNULL)
    with open(out, "rb") as file:
        assert file.read() == values.tobytes(), f"{name}: h5dump disagrees"
    os.unlink(out)


def check_tables(path, tables):
    with h5py.File(path) as f:
        root = f["/"]  # h5py iterates over the File itself by name
        assert list(root) == ["meta"] + list(tables), list(root)
        for table, columns in tables.items():
            group = f[table]
            assert text(group.attrs["long_name"])
            assert list(group) == ["row"] + list(columns), "creation order is lost"
            assert list(group["row"][:]) == list(range(len(next(iter(columns.values())))))
            for column, printed in columns.items():
                check_column(group[column], f"/{table}/{column}", printed)
                if group[column].dtype.kind != "S":
                    check_h5dump(path, f"/{table}/{column}", group[column][:])


def check_meta(path):
    with h5py.File(path) as f:
        assert text(f.attrs["Conventions"]) == "Sandtable-1"
        assert text(f.attrs["title"]) == "Sandtable results: sample"
        assert text(f["meta/spec"][()]) == '<experiment name="sample"/>'
        assert [text(a) for a in f["meta/assumptions"][:]] == [
            "gpu h100-sxm-80g: tile_m", "link ndr400-ib: usable"]
        assert f["meta"].attrs["seed"] == 2**64 - 1


def check_h5dump_whole(path, tables):
    """h5dump prints the whole file without complaint, texts included."""
    done = subprocess.run(["h5dump", path], check=True, capture_output=True, text=True)
    assert done.stderr == "", done.stderr
    for columns in tables.values():
        for name, printed in columns.items():
            assert f'DATASET "{name}"' in done.stdout, name
            if printed[0].endswith("\u00e9"):
                assert '"' + printed[0][:-1] in done.stdout, printed[0]  # it escapes the accent


def check_example(path, page):
    with open(page, encoding="utf-8") as file:
        code = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
    done = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True,
                          text=True)
    assert "count" in done.stdout and "cause " in done.stdout, done.stdout
    space = {}
    sys.argv = ["example", path]
    exec(compile(code, page, "exec"), space)  # pylint: disable=exec-used
    frame = space["table"](path, "jobs")
    assert frame.shape[0] == 10 and frame.id[0].startswith("id "), frame
    incidents, roots = space["incidents"], space["roots"]  # losses of children are in their parents'
    assert 0 < len(roots) == (incidents.parent == 2**32 - 1).sum() < len(incidents), incidents.parent


def refused(sample, path, message):
    done = subprocess.run([sample, "dump", path], capture_output=True, text=True)
    assert done.returncode == 3, (path, done.returncode, done.stderr)
    assert message in done.stderr, done.stderr


def edited(path, change):
    """A copy of the file, changed by `change(h5py.File)`."""
    copy = path + ".edited"
    with open(path, "rb") as source, open(copy, "wb") as target:
        target.write(source.read())
    with h5py.File(copy, "r+") as f:
        change(f)
    return copy


def shorten(f):
    del f["jobs/mfu"]
    f["jobs/mfu"] = np.zeros(3)


def retype(f):
    del f["jobs/mfu"]
    f["jobs/mfu"] = np.zeros(10, dtype="<f4")


def lengthen_text(f):
    del f["meta"].attrs["name"]
    f["meta"].attrs["name"] = "variable length"


def check_refusals(sample, path):
    foreign = path + ".foreign"
    with h5py.File(foreign, "w") as f:
        f["x"] = 1
    refused(sample, foreign, "none of Sandtable's")
    newer = edited(path, lambda f: f.attrs.modify("format_version", np.uint32(2)))
    refused(sample, newer, "format version 2, this program reads up to 1")
    refused(sample, edited(path, lambda f: f.attrs.__delitem__("content")), "lacks the root attribute")
    refused(sample, edited(path, lambda f: f.__delitem__("meta/spec")), "/meta is incomplete")
    refused(sample, edited(path, lengthen_text), "/meta is incomplete")
    refused(sample, edited(path, lambda f: f.__delitem__("jobs")), 'table "jobs" is missing')
    refused(sample, edited(path, lambda f: f.__delitem__("jobs/mfu")), 'column "jobs/mfu" is missing')
    refused(sample, edited(path, shorten), 'column "jobs/mfu"')
    refused(sample, edited(path, retype), 'column "jobs/mfu"')


def main(sample, path, dump, page):
    tables = read_dump(dump)
    assert len(tables) >= 10
    check_tables(path, tables)
    check_meta(path)
    check_h5dump_whole(path, tables)
    check_example(path, page)
    check_refusals(sample, path)
    print(f"{sum(map(len, tables.values()))} columns of {len(tables)} tables read back")


main(*sys.argv[1:])
