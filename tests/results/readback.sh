#!/bin/sh
# Reads a sample results file back without Sandtable: every column with h5dump, every cell with h5py and
# pandas, and the page's own example. Exit 77 (skipped) when Debian's packages are missing.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
sample=$1
page=$2
here=$(dirname "$0")

command -v h5dump >/dev/null || { echo "skipped: h5dump is missing (Debian: hdf5-tools)"; exit 77; }
/usr/bin/python3 -c 'import h5py, pandas' 2>/dev/null ||
    { echo "skipped: h5py or pandas is missing (Debian: python3-h5py python3-pandas)"; exit 77; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$sample" write "$dir/sample.h5"
"$sample" dump "$dir/sample.h5" >"$dir/sample.tsv"
/usr/bin/python3 "$here/readback.py" "$sample" "$dir/sample.h5" "$dir/sample.tsv" "$page"
