# What a run leaves behind when it is interrupted, killed, or finds the disk full.
# SPDX-License-Identifier: GPL-2.0-or-later
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

from cli_runner import PROGRAM, Report, Scratch, environment, run, spawn

OK, UNIT, USAGE, IO, PLUGIN = 0, 1, 2, 4, 5

# Many short units: there is always one to kill, and always one committed before.
SLOW = ["run", "small.xml", "-q", "--replications", "24", "--set", "@duration=120d", "--jobs", "2"]


def children(pid):
    """Ids of the direct children of a process."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def alive(pids):
    def state(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return "Z"
    return [pid for pid in pids if state(pid) != "Z"]


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.002)
    return False


def journal_lines(out):
    try:
        return (out / "units" / "journal").read_text().count("\n")
    except OSError:
        return 0


def start_and_wait(scratch, out, lines):
    process = spawn([*SLOW, "-o", out], scratch)
    reached = wait_for(lambda: journal_lines(scratch / out) >= lines or process.poll() is not None)
    assert reached and process.poll() is None, process.communicate()
    return process


def no_leftover(report, out, what):
    report.check(not (out / "results.h5").exists(), f"{what}: results.h5 exists")


def resume(report, scratch, out, whole, what):
    """The same command line again: what was committed is not run twice, and the bytes are the same."""
    before = journal_lines(scratch / out)
    done = run([*SLOW, "-o", out], scratch)
    report.check(done.returncode == OK, f"{what}: resumed run: {done.stderr}")
    result = scratch / out / "results.h5"
    report.check(result.exists() and result.read_bytes() == whole, f"{what}: other bytes")
    record = (scratch / out / "results.run.json").read_text()
    report.check(f'"units_reused": {before},' in record and before > 0,
                 f"{what}: {before} lines in the journal, {record}")
    report.check(not (scratch / out / "units").exists(), f"{what}: units/ is left")


def killed_parent(report, scratch, whole):
    """kill -9 of the parent at several moments: its whole family is gone, no results, resumable."""
    for lines in (1, 6, 15):
        out = f"killed-{lines}"
        process = start_and_wait(scratch, out, lines)
        family = descendants(process.pid)
        process.kill()
        process.communicate()
        report.check(wait_for(lambda: not alive(family)), f"{out}: children outlive their parent")
        no_leftover(report, scratch / out, out)
        resume(report, scratch, out, whole, out)


def kill_a_child(scratch, out):
    """Kills one unit of a new run; returns the ended run, or None when the unit was done before it
    could be killed."""
    process = start_and_wait(scratch, out, 2)
    victim = []

    def kill_one():
        victim.extend(children(process.pid)[-1:])
        if victim:
            os.kill(victim[0], signal.SIGKILL)
        return bool(victim)

    wait_for(kill_one)
    _, err = process.communicate()
    return (process.returncode, err) if process.returncode != OK else None


def killed_child(report, scratch, whole):
    ended, out = None, ""
    for attempt in range(20):
        out = f"child-{attempt}"
        ended = kill_a_child(scratch, out)
        if ended:
            break
    report.check(ended is not None, "no child could be killed in time")
    code, err = ended
    report.check(code == UNIT, f"child killed: exit {code}: {err}")
    report.check("(seed 7): its process was killed by signal 9 (SIGKILL" in err and
                 "replication " in err, f"child killed: {err}")
    report.check(journal_lines(scratch / out) == 23, "the others go on")
    no_leftover(report, scratch / out, "child killed")
    resume(report, scratch, out, whole, "child killed")


def crashing_policy(report, scratch):
    """A plug-in that crashes takes its replication with it, not the program."""
    plugin = pathlib.Path(PROGRAM).parent / "tests" / "policies" / "plugins" / "crashes.so"
    if not plugin.exists():
        print(f"skipped: {plugin} is not built")
        return
    shutil.copy(plugin, scratch / "crashes.so")
    unhandled = environment()  # a sanitizer would catch the signal and leave with a status of its own
    unhandled["ASAN_OPTIONS"] = unhandled.get("ASAN_OPTIONS", "") + ":handle_segv=0"
    done = run(["run", "small.xml", "-q", "-o", "crash", "--replications", "1", "--set",
                "policies/schedule/@policy=schedule/crashes", "--set",
                "policies/schedule/@plugin=crashes.so"], scratch, unhandled)
    told = "schedule/crashes: its process was killed by signal 11 (SIGSEGV"
    report.check(done.returncode == PLUGIN and told in done.stderr,
                 f"a policy that crashes: exit {done.returncode}: {done.stderr}")
    no_leftover(report, scratch / "crash", "a policy that crashes")


def interrupted(report, scratch, whole):
    for number in (signal.SIGINT, signal.SIGTERM):
        out = f"interrupted-{number}"
        process = start_and_wait(scratch, out, 3)
        family = descendants(process.pid)
        process.send_signal(number)
        _, err = process.communicate()
        report.check(process.returncode == UNIT, f"{out}: exit {process.returncode}")
        report.check("replications committed" in err, f"{out}: {err}")
        line = f"to go on: sandtable run small.xml -q --replications 24 --set @duration=120d --jobs 2 -o {out}\n"
        report.check(err.endswith(line), f"{out}: {err}")
        report.check(not alive(family), f"{out}: children are left")
        no_leftover(report, scratch / out, out)
        resume(report, scratch, out, whole, out)


def second_run(report, scratch):
    """Two runs in one directory: the second is refused and the first not disturbed."""
    process = start_and_wait(scratch, "shared", 1)
    done = run([*SLOW, "-o", "shared"], scratch)
    report.check(done.returncode == IO and "in use by another run" in done.stderr, done.stderr)
    _, err = process.communicate()
    report.check(process.returncode == OK, f"first of two runs: {err}")


def other_digest(report, scratch, whole):
    """Units of another experiment are neither reused nor dropped without --force."""
    process = start_and_wait(scratch, "mixed", 5)
    process.kill()
    process.communicate()
    before = journal_lines(scratch / "mixed")
    done = run(["run", "small.xml", "-q", "-o", "mixed", "--seed", "9"], scratch)
    report.check(done.returncode == USAGE and "of another experiment" in done.stderr, done.stderr)
    report.check(journal_lines(scratch / "mixed") == before > 0, "a refused run drops units")
    done = run(["run", "small.xml", "-q", "-o", "mixed", "--seed", "9", "--force"], scratch)
    report.check(done.returncode == OK, done.stderr)
    record = (scratch / "mixed" / "results.run.json").read_text()
    report.check('"units_reused": 0,' in record, record)
    report.check((scratch / "mixed" / "results.h5").read_bytes() != whole, "seed without effect")


def small_files(limit):
    def limit_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return limit_files


def file_limit(report, scratch):
    """Writes that fail, in a unit (4 kB) and in the merge (150 kB): exit 4, nothing half-written."""
    for limit in (4096, 150000):
        out = f"limit-{limit}"
        done = run(["run", "small.xml", "-q", "-o", out], scratch, preexec_fn=small_files(limit))
        report.check(done.returncode == IO, f"{out}: exit {done.returncode}: {done.stderr}")
        report.check("File too large" in done.stderr or "cannot write" in done.stderr, done.stderr)
        no_leftover(report, scratch / out, out)
        parts = list((scratch / out).rglob("*.part"))
        report.check(not parts, f"{out}: {parts}")
        report.check(run(["run", "small.xml", "-q", "-o", out], scratch).returncode == OK, out)


def full_disk(report, scratch):
    """A file system of 100 kB, where we may mount one."""
    disk = scratch / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(disk)],
                           capture_output=True, check=False)
    if mount.returncode != 0:
        print("full disk: not tested here, for mounting is not allowed")
        return
    try:
        done = run(["run", "small.xml", "-q", "-o", "disk/out"], scratch)
        report.check(done.returncode == IO, f"full disk: exit {done.returncode}: {done.stderr}")
        report.check("No space left" in done.stderr or "cannot write" in done.stderr, done.stderr)
        no_leftover(report, disk / "out", "full disk")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def main():
    report = Report()
    with Scratch() as scratch:
        done = run([*SLOW, "-o", "whole"], scratch)
        report.check(done.returncode == OK, done.stderr)
        whole = (scratch / "whole" / "results.h5").read_bytes()
        killed_parent(report, scratch, whole)
        killed_child(report, scratch, whole)
        crashing_policy(report, scratch)
        interrupted(report, scratch, whole)
        second_run(report, scratch)
        other_digest(report, scratch, whole)
        file_limit(report, scratch)
        full_disk(report, scratch)
    report.end()


if __name__ == "__main__":
    main()
