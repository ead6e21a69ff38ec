# Runs every `$ command` of every ```console block in the documents, block by block, in a scratch
# directory that sees the examples and the documents, and checks that each ends with 0 (or with the status that a
# line `# exit status N` after it names). Also checks that relative links lead somewhere.
# SPDX-License-Identifier: GPL-2.0-or-later
import os
import pathlib
import re
import subprocess
import sys
import tempfile

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
failures = []


def documents():
    for path in sorted(source.rglob("*.md")):
        relative = path.relative_to(source)
        if relative.parts[0] not in ("build", "out") and not any(
                part.startswith(".") for part in relative.parts):
            yield path


def commands(text):
    """(line number, command, expected status) of every console block."""
    found, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            found.append([number, line[2:], 0])
        elif inside and (status := re.match(r"# exit status (\d+)$", line)) and found:
            found[-1][2] = int(status[1])
    return found


def run(path, number, command, expected, scratch, environment):
    done = subprocess.run(["bash", "-c", command], cwd=scratch, env=environment,
                          capture_output=True, text=True)
    where = f"{path.relative_to(source)}:{number}"
    print(f"{'ok  ' if done.returncode == expected else 'FAIL'} {where}: {command}")
    if done.returncode != expected:
        failures.append(where)
        print(f"     status {done.returncode}, expected {expected}: {done.stderr.strip()[-500:]}")


def check_links(path, text):
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#\s]+)", prose):
        if "://" not in target and not (path.parent / target).exists():
            failures.append(f"{path.relative_to(source)}: link to {target}")
            print(f"FAIL {failures[-1]}")


with tempfile.TemporaryDirectory(prefix="sandtable-docs-") as scratch:
    for name in ("examples", "docs", "platforms", "workloads", "policies", "tests"):
        os.symlink(source / name, os.path.join(scratch, name))
    environment = dict(os.environ, PATH=f"{os.path.dirname(program)}:{os.environ['PATH']}",
                       XDG_CACHE_HOME=os.path.join(scratch, "cache"), CI="true")
    count = 0
    for path in documents():
        text = path.read_text(encoding="utf-8")
        check_links(path, text)
        for number, command, expected in commands(text):
            count += 1
            run(path, number, command, expected, scratch, environment)
print(f"{count} commands, {len(failures)} failed")
sys.exit(1 if failures or count == 0 else 0)
