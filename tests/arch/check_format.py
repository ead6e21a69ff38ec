# Every C and C++ file is as clang-format 14 writes it. Skipped (77) where that is not installed.
# SPDX-License-Identifier: GPL-2.0-or-later
import pathlib
import shutil
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
tool = shutil.which("clang-format-14")
if tool is None:
    print("skipped: clang-format-14 is not installed")
    sys.exit(77)
files = [str(path) for folder in ("sim", "platforms", "workloads", "policies", "analysis", "tests")
         for path in sorted((root / folder).rglob("*")) if path.suffix in (".c", ".h", ".cpp")]
done = subprocess.run([tool, "--dry-run", "-Werror", *files], capture_output=True, text=True)
wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if ": error:" in line})
for path in wrong:
    print(f"{path}: not as clang-format-14 writes it; run clang-format-14 -i on it")
print(f"{len(files)} files, {len(wrong)} wrong")
sys.exit(1 if wrong or not files else 0)
