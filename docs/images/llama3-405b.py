#!/usr/bin/python3
# Draws docs/images/llama3-405b.png from a results file, with h5py and gnuplot.
# Usage: docs/images/llama3-405b.py results.h5 picture.png
# SPDX-License-Identifier: GPL-2.0-or-later
import subprocess
import sys

import h5py

CLASSES = [("checkpoint stall", "#8fb8de"), ("lost", "#c0392b"),
           ("detecting", "#f2b134"), ("diagnosing", "#e67e22"), ("restarting", "#9b59b6"),
           ("spare", "#b0b7bf"), ("down", "#5d6d7e")]

results, picture = sys.argv[1], sys.argv[2]
with h5py.File(results, "r") as file:
    cluster, mfu = file["cluster"], file["mfu"]
    first = cluster["replication"][...] == cluster["replication"][0]
    day = cluster["begin_ns"][...][first] / 86400e9
    name = [n.decode().rstrip("\0") for n in cluster["gpu_class"][...][first]]
    hours = cluster["gpu_s"][...][first] / 3600
    mine = mfu["replication"][...] == mfu["replication"][0]
    curve = [(b / 86400e9, m) for b, m in zip(mfu["begin_ns"][...][mine], mfu["mfu"][...][mine])]

days = sorted(set(day))
share = {(d, n): h for d, n, h in zip(day, name, hours)}
rows = "\n".join(" ".join([f"{d:g}"] + [f"{share.get((d, c), 0) / 1000:.6g}" for c, _ in CLASSES])
                 for d in days)
stack = ", ".join(
    f"$data using {i + 2}:xtic(int($1)%9==0 ? sprintf('%d',$1) : '') title '{c}' lc rgb '{colour}'"
    for i, (c, colour) in enumerate(CLASSES))
line = "\n".join(f"{d:g} {100 * m:.6g}" for d, m in curve)
script = f"""
set terminal pngcairo size 1200,620 font 'DejaVu Sans,11'
set output '{picture}'
set multiplot layout 2,1 title '54 days of Llama-3 405B on 16,384 H100: what was not useful, and the MFU that was left'
$data << EOD
{rows}
EOD
$mfu << EOD
{line}
EOD
set style data histograms
set style histogram rowstacked
set style fill solid 1.0 border -1
set boxwidth 0.9
set key outside right
set ylabel 'thousand GPU-hours a day, of 393'
set yrange [0:*]
set lmargin at screen 0.07
set rmargin at screen 0.83
set tics nomirror
plot {stack}
set style data lines
set ylabel 'MFU, recoveries included (%)'
set xlabel 'day'
set yrange [*:*]
set xrange [0:54]
set key off
set grid y
plot $mfu using 1:2 with steps lw 2 lc rgb '#2a7f62'
"""
subprocess.run(["gnuplot"], input=script, text=True, check=True)
