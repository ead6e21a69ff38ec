# Every command has a manual page with its options and examples, which man formats without a warning;
# the page of the results file names every table; completion offers what the program accepts.
# SPDX-License-Identifier: GPL-2.0-or-later
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
SOURCE = pathlib.Path(sys.argv[2])
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)


def said(*args):
    """What a program says, in lines that nobody has broken."""
    env = {**os.environ, "ARGP_HELP_FMT": "rmargin=250"}
    return subprocess.run(args, text=True, capture_output=True, check=True, env=env).stdout


def listed(*args):
    """The commands of the program, or the subcommands of one; none where it has none."""
    parts = re.split(r"^(?:Commands|Subcommands):\n", said(PROGRAM, *args, "--help"), flags=re.M)
    return [line.split()[0] for line in parts[-1].split("\n\n")[0].splitlines()] if parts[1:] else []


def commands():
    """Every command and every subcommand as its words."""
    return [words for c in listed() for words in [(c,), *((c, s) for s in listed(c))]]


def options(*args):
    return sorted(set(re.findall(r"(?:^|[ ,])(--[a-z-]+)", said(PROGRAM, *args, "--help"), re.M)))


def check_formatted(page):
    done = subprocess.run(["man", "--warnings", "-l", str(page)], text=True, capture_output=True,
                          env={**os.environ, "MANWIDTH": "250", "LC_ALL": "C.UTF-8"})
    check(done.returncode == 0 and done.stderr == "", f"{page.name}: {done.stderr}")
    return done.stdout


def check_page(directory, name, args):
    page = directory / f"{name}.1"
    check(page.exists(), f"no page {name}")
    roff = page.read_text().replace("\\-", "-")
    check(f".TH {name.upper()} " in roff and f"\n{name} - " in roff, f"{name}: its name")
    for option in options(*args):
        check(option in roff, f"{name}: {option}")
    text = check_formatted(page)
    examples = re.findall(r"^  ((?:[A-Z_]+=\S+ )?sandtable .*)$", said(PROGRAM, *args, "--help"), re.M)
    check(len(examples) >= 2, f"{name}: two examples")
    for example in examples:
        check(re.search(r"^ +" + re.escape(example) + "$", text, re.M), f"{name}: {example}")
    check("sandtable-results(5)" in text, f"{name}: see also")


def check_pages():
    with tempfile.TemporaryDirectory(prefix="sand-man-") as scratch:
        made = [pathlib.Path(scratch) / name for name in ("one", "two")]
        env = {**os.environ, "SOURCE_DATE_EPOCH": "1796000000"}
        for directory in made:
            subprocess.run(["sh", SOURCE / "cmake" / "manpages.sh", PROGRAM, directory, "0.1.0"],
                           check=True, env=env)
        names = sorted(file.name for file in made[0].iterdir())
        check(names == sorted(["sandtable.1", *(f"sandtable-{'-'.join(c)}.1" for c in commands())]), f"{names}")
        for name in names:
            check((made[0] / name).read_bytes() == (made[1] / name).read_bytes(), f"{name} differs")
        check_page(made[0], "sandtable", [])
        top = (made[0] / "sandtable.1").read_text().replace("\\-", "-")
        for command in listed():
            check(f".TP\n{command}\n" in top, f"sandtable.1: {command} is no entry of its list")
        for words in commands():
            check_page(made[0], f"sandtable-{'-'.join(words)}", words)


def check_results_page():
    page = SOURCE / "docs" / "man" / "sandtable-results.5"
    tables = re.findall(r"^TABLE\((\w+),", (SOURCE / "sim/model/results.def").read_text(), re.M)
    check(len(tables) >= 10, "tables of results.def")
    roff = page.read_text()
    for table in tables:
        check(f".TP\n.B {table}\n" in roff, f"sandtable-results.5: table {table}")
    check_formatted(page)


def complete(*words):
    script = (f'source "{SOURCE}/docs/completion/sandtable.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); '
              f'_sandtable "{PROGRAM}"; printf "%s\\n" "${{COMPREPLY[@]}}"')
    return sorted(said("bash", "-c", script, "bash", "sandtable", *words).split())


def check_completion():
    check(complete("") == sorted(listed()), f"completion: {complete('')}")
    check(complete("expl") == ["explain"], "completion of expl")
    check(complete("ex") == ["explain", "export"], "completion of ex")
    check(complete("run", "x.xml", "--rep") == ["--replications="], "completion of --rep")
    for words in commands():
        offered = sorted({word.rstrip("=") for word in complete(*words, "--")})
        check(offered == options(*words), f"completion of {words}: {offered}")
        offered = complete(*words, "")
        check(offered == sorted(listed(*words)), f"completion below {words}: {offered}")
    check(listed("fabric") and listed("import"), "fabric and import have subcommands")
    check(complete("fabric", "ch") == ["check"], "completion of fabric ch")
    check(complete("import", "nccl-topo", "topo.xml", "--na") == ["--name="], "completion of --na")
    check(complete("run", "fab") == [], "a file is no subcommand")


def main():
    if not shutil.which("help2man") or not shutil.which("man"):
        print("skipped: help2man or man is missing (Debian: help2man man-db)")
        sys.exit(77)
    check_pages()
    check_results_page()
    check_completion()
    for what in failures:
        print(f"FAILED: {what}")
    sys.exit(1 if failures else 0)


main()
