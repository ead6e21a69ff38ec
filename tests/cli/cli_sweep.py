# A sweep is its points: the same bytes as `run` with the same settings, whatever fails or is interrupted beside them.
# SPDX-License-Identifier: GPL-2.0-or-later
import csv
import shlex
import signal
import time

from cli_runner import SOURCE, Report, Scratch, environment, run, spawn

OK, UNIT, USAGE, INPUT, IO = 0, 1, 2, 3, 4

SPARES = "policies/@hot_spares"
SWEEP = ["sweep", "small.xml", "--replications", "2", "--vary", f"{SPARES}=0,1", "--vary", "@duration=20d,40d"]


def results(directory):
    return {path.parent.name: path.read_bytes() for path in directory.glob("*/results.h5")}


def points_are_runs(report, scratch):
    done = run([*SWEEP, "-o", "one", "--jobs", "1"], scratch)
    report.check(done.returncode == OK, done.stderr)
    found = results(scratch / "one")
    names = [f"hot_spares={s},duration={d}" for s in (0, 1) for d in ("20d", "40d")]
    report.check(sorted(found) == sorted(names), f"points {sorted(found)}")
    for name in names:
        spares, duration = (part.split("=")[1] for part in name.split(","))
        alone = run(["run", "small.xml", "-q", "--replications", "2", "--set", f"{SPARES}={spares}", "--set",
                     f"@duration={duration}", "-o", "alone", "--force"], scratch)
        report.check(alone.returncode == OK, alone.stderr)
        report.check((scratch / "alone" / "results.h5").read_bytes() == found[name], f"{name} is not its run")
    with open(scratch / "one" / "sweep.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    report.check([(row["point"], row["replication"]) for row in rows] == [(n, r) for n in names for r in "01"],
                 "a row for each replication of each point, in order")
    report.check(all(row[SPARES] == row["point"][11] for row in rows), "levels stand beside the points")
    mean = sum(float(row["goodput_mfu"]) for row in rows[:2]) / 2
    wide = run([*SWEEP, "-o", "one", "--figure", "goodput MFU"], scratch)
    line = next(line for line in wide.stdout.splitlines() if line.startswith(f"  {names[0]}"))
    report.check(abs(float(line.split()[1]) - 100 * mean) <= 0.0005001, f"{line} for a mean of {mean}")
    eight = run([*SWEEP, "-o", "eight", "--jobs", "8", "--figure", "goodput MFU"], scratch)
    report.check(eight.stdout == wide.stdout and results(scratch / "eight") == found, "--jobs has no effect")
    report.check((scratch / "eight" / "sweep.csv").read_bytes() == (scratch / "one" / "sweep.csv").read_bytes(),
                 "the same table whatever --jobs is")
    return found


def values_are_added(report, scratch, before):
    """What is there is not run again, and stays where it is."""
    times = {path: path.stat().st_mtime_ns for path in (scratch / "one").glob("*/results.h5")}
    more = [word.replace("=0,1", "=0,1,2") for word in SWEEP]
    done = run([*more, "-o", "one", "-q"], scratch)
    report.check(done.returncode == OK and done.stdout == "", done.stderr)
    report.check(all(path.stat().st_mtime_ns == time for path, time in times.items()), "a point is run again")
    after = results(scratch / "one")
    report.check(len(after) == 6 and all(after[name] == data for name, data in before.items()), "six points")


def bad_points(report, scratch):
    done = run(["sweep", "small.xml", "-o", "bad", "--vary", f"{SPARES}=-1,0,many"], scratch)
    report.check(done.returncode == INPUT, f"exit {done.returncode}: {done.stderr}")
    report.check("hot_spares=-1: " in done.stderr and "hot_spares=many: " in done.stderr, done.stderr)
    report.check(done.stdout.count("no results") == done.stdout.count("\nhot") + 2 * done.stdout.count("mean  "),
                 f"both bad points in each table: {done.stdout}")
    report.check(list(results(scratch / "bad")) == ["hot_spares=0"], "the good point is run")
    done = run(["sweep", "small.xml", "-o", "none", "--vary", "policies/@hot_spare=0,1,2"], scratch)
    report.check(done.returncode == INPUT and done.stderr.count("did you mean \"hot_spares\"?") == 1, done.stderr)
    report.check(not (scratch / "none").exists(), "a misspelt path leaves nothing behind")
    for words, told in ((["--vary", "a"], "has no path"), ([], "nothing varies"),
                        (["--vary", f"{SPARES}=1", "--figure", "goodput MFV"], "did you mean \"goodput MFU\""),
                        (["--vary", f"{SPARES}=1", "--plot", "x.gif"], "must end with .png, .svg or .pdf")):
        done = run(["sweep", "small.xml", "-o", "none", *words], scratch)
        report.check(done.returncode == USAGE and told in done.stderr, f"{words}: {done.stderr}")


def no_gnuplot(report, scratch):
    """Whoever has no gnuplot need not wait for the runs to learn it."""
    done = run(["sweep", "small.xml", "-o", "none", "--vary", f"{SPARES}=0,1", "--plot", "x.svg"], scratch,
               environment(PATH="/nowhere"))
    report.check(done.returncode == IO and "needs gnuplot" in done.stderr, f"exit {done.returncode}: {done.stderr}")
    report.check(not (scratch / "none").exists(), "nothing is run before")


def foreign_results(report, scratch):
    """Results of another experiment in a point's directory are not touched, and the others go on."""
    other = scratch / "foreign" / "hot_spares=0"
    run(["run", "small.xml", "-q", "--seed", "99", "-o", other], scratch)
    before = (other / "results.h5").read_bytes()
    done = run(["sweep", "small.xml", "-o", "foreign", "--vary", f"{SPARES}=0,1"], scratch)
    report.check(done.returncode == USAGE and "exists and is of another experiment" in done.stderr, done.stderr)
    report.check((other / "results.h5").read_bytes() == before, "foreign results are overwritten")
    report.check("hot_spares=1" in results(scratch / "foreign"), "the other point is run")
    table = scratch / "mine" / "sweep.csv"
    table.parent.mkdir()
    table.write_text("a,b\n1,2\n")
    mine = run(["sweep", "small.xml", "-o", "mine", "--vary", f"{SPARES}=0,1"], scratch)
    report.check(mine.returncode == USAGE and "is no table of a sweep" in mine.stderr, mine.stderr)
    report.check(table.read_text() == "a,b\n1,2\n" and not results(table.parent), "somebody's table is touched")
    done = run(["sweep", "small.xml", "-o", "foreign", "--vary", f"{SPARES}=0,1", "--force"], scratch)
    report.check(done.returncode == OK and (other / "results.h5").read_bytes() != before, done.stderr)


def interrupted(report, scratch):
    many = ["sweep", "small.xml", "-q", "--replications", "4", "--jobs", "2", "--vary", "@duration=200d,210d,220d,230d"]
    report.check(run([*many, "-o", "whole"], scratch).returncode == OK, "whole")
    for number in (signal.SIGINT, signal.SIGKILL):
        out = scratch / f"cut-{number}"
        process = spawn([*many, "-o", out.name], scratch)
        end = time.monotonic() + 30
        while not results(out) and time.monotonic() < end and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(number)
        _, err = process.communicate()
        if process.returncode != OK and number == signal.SIGINT:
            report.check(process.returncode == UNIT and "points done" in err, f"exit {process.returncode}: {err}")
            report.check(f"to go on: sandtable {' '.join(many)} -o {out.name}\n" in err, err)
        time.sleep(0.2)  # the family of a killed parent is gone by then
        done = run([*many, "-o", out.name], scratch)
        report.check(done.returncode == OK, f"signal {number}: {done.stderr}")
        report.check(results(out) == results(scratch / "whole"), f"signal {number}: other bytes")
        report.check((out / "sweep.csv").read_bytes() == (scratch / "whole" / "sweep.csv").read_bytes(), "other table")


def page_is_true(report, scratch):
    """The table of docs/sweeps.md is what its command prints."""
    page = (SOURCE / "docs" / "sweeps.md").read_text(encoding="utf-8")
    command = next(line for line in page.splitlines() if line.startswith("$ sandtable sweep"))
    table = page.split("```\ngoodput MFU")[1].split("```")[0].splitlines()[1:]
    words = [word.replace("examples/", f"{SOURCE}/examples/") for word in shlex.split(command)[2:]]
    done = run(words, scratch)
    report.check(done.returncode == OK and len(table) == 5, done.stderr)
    for line in table:
        report.check(line in done.stdout.splitlines(), f"docs/sweeps.md has {line!r}, the program {done.stdout}")


def main():
    report = Report()
    with Scratch() as scratch:
        found = points_are_runs(report, scratch)
        values_are_added(report, scratch, found)
        bad_points(report, scratch)
        no_gnuplot(report, scratch)
        foreign_results(report, scratch)
        interrupted(report, scratch)
        page_is_true(report, scratch)
    report.end()


if __name__ == "__main__":
    main()
