# Traces and mixes through the program: what is reported, whose bytes count, what is refused.
# SPDX-License-Identifier: GPL-2.0-or-later
import csv
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


# Each kind of bad row once, in every format: line -> (effect, reason) of the rows that --rows lists. Line 1 is a header.
BAD = [  # submit, run, size, request, more fields; what becomes of it
    (0, "10", "8", "100", "", None),
    (50, "10", "8", "100", "", None),
    (20, "10", "8", "100", "", ("noted", "UNSORTED")),
    (50, "10", "8", "100", "", ("noted", "DUPLICATE")),
    (70, "0", "8", "100", "", ("dropped", "NO_RUN")),
    (80, "-5", "8", "100", "", ("dropped", "NO_RUN")),
    (81, "1e-300", "8", "100", "", ("dropped", "NO_RUN")),
    (90, "10", "8", "-1", "", ("noted", "NO_REQUEST")),
    (95, "10", "8", "100", "7 8 9", ("noted", "EXTRA_FIELDS")),
    (96, "10", "2.5", "100", "", ("changed", "FRACTION_UP")),
    (97, "10", "1000", "100", "", ("dropped", "TOO_LARGE")),
    (98, "\x01\x02", "8", "100", "", ("dropped", "BINARY")),
    (99, "nan", "8", "100", "", ("dropped", "BAD_NUMBER")),
    (100, "1e300", "8", "100", "", ("dropped", "BAD_NUMBER")),
    (101, "10", "99999999999999999999", "100", "", ("dropped", "BAD_NUMBER")),
    (102, "10", "0", "100", "", ("dropped", "NO_SIZE")),
    (103, None, None, None, "", ("dropped", "FEW_FIELDS")),
    (104, "10", "8", "100", "", ("noted", "NO_NEWLINE")),
]
FORMATS = {
    "swf": ('format="swf" processors_per_node="8"', "; MaxNodes: 4"),
    "philly": ('format="philly"', "timestamp,duration,num_gpus,gpu_time,cluster"),
    "csv": ('format="csv" columns="submit=sub,run=run,gpus=gpus,request=req,id=job"', "job,sub,run,gpus,req"),
}


def bad_line(kind, number, row):
    submit, run_s, size, request, more, _ = row
    short = run_s is None
    if kind == "swf":
        words = [number, submit] if short else [number, submit, 0, run_s, size, -1, -1, size, request, -1, 1, 1, 1, 1, 1,
                                                1, -1, -1] + more.split()
        return " ".join(map(str, words))
    if kind == "philly":
        stamp = f"2017-10-01 00:{submit // 60:02}:{submit % 60:02}"
        words = [stamp] if short else [stamp, run_s, size, 0, "vc"] + more.split()
    else:
        words = [number, submit] if short else [number, submit, run_s, size, request] + more.split()
    return ",".join(map(str, words))


def bad_rows(scratch):
    for kind, (attributes, head) in FORMATS.items():
        numbers = [2 if row[0] == 50 else n for n, row in enumerate(BAD, 1)]
        lines = [head] + [bad_line(kind, n, row) for n, row in zip(numbers, BAD)]
        (scratch / f"bad.{kind}").write_text("\n".join(lines))
        name = write(scratch, f"bad-{kind}.xml", f'<trace file="bad.{kind}" {attributes}/>')
        done = run(["validate", name, "--rows", f"rows-{kind}.csv"], scratch)
        report.check(done.returncode == 0, f"{kind}: {done}")
        with open(scratch / f"rows-{kind}.csv", encoding="utf-8") as file:
            listed = {(int(row["line"]), row["effect"], row["reason"]) for row in csv.DictReader(file)}
        for line, row in enumerate(BAD, 2):
            what = row[-1]
            if what is None or (kind == "philly" and what[1] == "NO_REQUEST"):  # it has no requests at all
                bad = {x for x in listed if x[0] == line and x[1] != "noted"}
                report.check(not bad, f"{kind}, line {line}: a good row is {bad}")
            else:
                report.check((line, *what) in listed, f"{kind}, line {line}: {what} is not in {sorted(listed)}")
        dropped = {line for line, effect, _ in listed if effect == "dropped"}
        report.check(len(dropped) == sum(row[-1] is not None and row[-1][0] == "dropped" for row in BAD),
                     f"{kind}: no other row is dropped: {sorted(dropped)}")
        found = re.search(r"(\d+) rows = (\d+) kept \((\d+) changed\) \+ (\d+) dropped", done.stdout)
        report.check(found and list(map(int, found.groups())) == [len(BAD), len(BAD) - len(dropped), 1, len(dropped)],
                     f"{kind}: {found and found[0]}")
        again = run(["validate", name, "--rows", f"rows-{kind}.csv"], scratch)
        report.check(again.returncode != 0 and "--force" in again.stderr, f"{kind}: nothing is overwritten: {again}")
    for kind, head in (("philly", "timestamp,duration,num_gpus,gpu_time,cluster,duration"),
                       ("csv", "job,sub,run,gpus,req,run")):
        (scratch / f"bad.{kind}").write_text(head + "\n")
        done = run(["validate", f"bad-{kind}.xml"], scratch)
        report.check(done.returncode == 3 and "are both" in done.stderr, f"{kind}: two columns of a name: {done}")


with Scratch() as directory:
    traces(directory)
    bad_rows(directory)
    refusals(directory)
    mixes(directory)
report.end()
