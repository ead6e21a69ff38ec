# Traces and mixes through the program: what is reported, whose bytes count, what is refused.
# SPDX-License-Identifier: GPL-2.0-or-later
import re
import shutil

from cli_runner import SOURCE, Report, Scratch, run

report = Report()
TRACES = SOURCE / "tests" / "data" / "traces"
HEAD = """<experiment xmlns="urn:sandtable:1" name="t" duration="{duration}">
<cluster name="c" nodes="4" node="sandtable:node/dgx-h100"><fat_tree tiers="2" endpoints_per_leaf="16" spines="2"
link="sandtable:link/ndr400-ib"/></cluster><jobs>{jobs}</jobs></experiment>"""
SWF = '<trace file="jobs.swf" format="swf" processors_per_node="8" {more}/>'


def write(scratch, name, jobs, duration="1d"):
    (scratch / name).write_text(HEAD.format(jobs=jobs, duration=duration))
    return name


def digest(text):
    found = re.search(r"^digest: (\w{64})$", text, re.M)
    return found and found[1]


def traces(scratch):
    shutil.copy(TRACES / "good.swf", scratch / "jobs.swf")
    shutil.copy(TRACES / "quirks.swf", scratch / "quirks.swf")
    name = write(scratch, "trace.xml", SWF.format(more=""))
    done = run(["validate", name], scratch)
    report.check(done.returncode == 0 and "5 rows = 5 kept" in done.stdout, f"validate: {done}")
    done_run = run(["run", name, "-o", "out"], scratch)
    report.check(done_run.returncode == 0 and "5 rows = 5 kept" in done_run.stdout, f"run: {done_run}")
    report.check("cancelled, as recorded" in done_run.stdout, "endings are told apart")
    report.check("first start - submit" in done_run.stdout, "the definitions are printed")

    # The same bytes from another place are the same experiment; other bytes are another.
    (scratch / "else").mkdir()
    shutil.copy(TRACES / "good.swf", scratch / "else" / "copy.swf")
    same = run(["validate", name, "--trace", "else/copy.swf"], scratch)
    report.check(digest(same.stdout) == digest(done.stdout) is not None, "equal bytes, equal digest")
    other = run(["validate", name, "--trace", "quirks.swf"], scratch)
    report.check(other.returncode == 0 and digest(other.stdout) != digest(done.stdout),
                 f"other bytes, other digest: {other}")
    rows = re.search(r"(\d+) rows = (\d+) kept \((\d+) changed\) \+ (\d+) dropped", other.stdout)
    report.check(rows and int(rows[1]) == int(rows[2]) + int(rows[4]) and int(rows[4]) > 0,
                 f"every row is accounted for: {rows and rows[0]}")


def refusals(scratch):
    name = write(scratch, "trace.xml", SWF.format(more=""))
    (scratch / "binary.swf").write_bytes(b"\0\1\2\3" * 100)
    for trace, status, words in [("missing.swf", 3, "missing.swf"), ("binary.swf", 3, "binary"),
                                 ("/dev/null", 3, "regular file"), (".", 3, "regular file")]:
        done = run(["run", name, "-o", "never", "--trace", trace], scratch)
        report.check(done.returncode == status and words in done.stderr, f"{trace}: {done}")
    report.check(not (scratch / "never").exists(), "nothing is written for what cannot be read")
    none = write(scratch, "none.xml", '<job id="a" nodes="1" duration="1h"/>')
    done = run(["run", none, "-o", "never", "--trace", "jobs.swf"], scratch)
    report.check(done.returncode == 3 and "there are 0" in done.stderr, f"no trace to replace: {done}")
    outside = write(scratch, "outside.xml", '<trace file="/etc/passwd" format="swf"/>')
    done = run(["validate", outside], scratch)
    report.check(done.returncode == 3 and "absolute path" in done.stderr, f"outside: {done}")


def mixes(scratch):
    name = write(scratch, "mix.xml", '<mix use="sandtable:mix/acme-kalos"/>', duration="2d")
    done = run(["run", name, "-o", "mix", "--replications", "2", "--jobs", "2"], scratch)
    report.check(done.returncode == 0 and "mix acme-kalos:" in done.stdout, f"mix: {done}")
    report.check("left out" in done.stdout, "jobs beyond 4 nodes are counted")
    again = run(["run", name, "-o", "again", "--replications", "2", "--jobs", "1", "-q"], scratch)
    report.check((scratch / "mix/results.h5").read_bytes() == (scratch / "again/results.h5").read_bytes(),
                 f"equal bytes with one process and two: {again.stderr}")
    for mix in ("acme-seren", "llm-campus-2048"):
        done = run(["validate", write(scratch, "m.xml", f'<mix use="sandtable:mix/{mix}"/>')], scratch)
        report.check(done.returncode == 0 and f"mix {mix}:" in done.stdout, f"{mix}: {done}")


with Scratch() as directory:
    traces(directory)
    refusals(directory)
    mixes(directory)
report.end()
