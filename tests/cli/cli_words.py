# What the program prints, where, and with which exit status: one row per command line.
# SPDX-License-Identifier: GPL-2.0-or-later
import csv
import io
import json
import os
import pty
import re
import shutil
import subprocess

from cli_runner import DATA, PROGRAM, SOURCE, Report, Scratch, environment, run

OK, UNIT, USAGE, INPUT, IO, PLUGIN = 0, 1, 2, 3, 4, 5

# (command line, exit status, parts of stdout, parts of stderr); run in this order in one directory.
ROWS = [
    # help and versions
    ("--help", OK, ["Usage: sandtable", "Examples:", "Commands:", "validate", "Exit status: 0"], []),
    ("--version", OK, ["sandtable 0.", "(physics ", "SimGrid 3.", "HDF5 1."], []),
    *[(f"{verb} --help", OK, [f"Usage: sandtable {verb}", "Examples:\n  sandtable"], [])
      for verb in ("run", "validate", "step", "show", "policy", "schema", "export", "import",
                   "fabric", "fabric check", "fabric cut", "fabric faults", "import ibnetdiscover",
                   "export fabric", "policy show", "cache info")],
    # usage
    ("", USAGE, [], ["a command is needed", "sandtable --help"]),
    ("rnu small.xml", USAGE, [], ['no command "rnu"; did you mean "run"?']),
    ("frobnicate", USAGE, [], ['no command "frobnicate"\n']),
    ("run", USAGE, [], ["an experiment is needed"]),
    ("run small.xml other.xml", USAGE, [], ["one file is enough"]),
    ("run small.xml --jbos 2", USAGE, [], ["no option --jbos; did you mean --jobs?"]),
    ("run small.xml --zzzzzz", USAGE, [], ["--zzzzzz"]),
    ("run small.xml --jobs 0", USAGE, [], ['--jobs is "0": must be from 1']),
    ("run small.xml --jobs two", USAGE, [], ['--jobs is "two": is not a whole number']),
    ("run small.xml --replications 1.5", USAGE, [], ["no whole number"]),
    ("run small.xml --set duration", USAGE, [], ["has no value; write PATH=VALUE"]),
    ("run small.xml --data nowhere", USAGE, [], ["platforms/catalogue cannot be read",
                                                  "No such file or directory"]),
    ("step small.xml --format=jsn", USAGE, [], ["must be text, json or csv; did you mean json?"]),
    ("step small.xml --job pretrian", USAGE, [], ['did you mean "pretrain"?']),
    ("step small.xml --job batch", USAGE, [], ["recorded duration"]),
    ("collective --node dgx-h100 --bytes 8", USAGE, [], ['write "8GB" or "8B"']),
    ("collective --node dgx-h100 --bytes 0", USAGE, [], ["must be from 1B to 1e18B"]),
    ("collective --node dgx-h100 --nodes 2 --algorithm sharp", INPUT, [],
     ["needs the network's switches to reduce", "--sharp"]),
    ("collective --node dgx-h100 --collective alltoall --algorithm ring", INPUT, [],
     ["alltoall cannot run under algorithm ring", "does no point-to-point traffic"]),
    ("collective --node dgx-h10 --nodes 2", INPUT, [], ['did you mean "dgx-h100"?']),
    ("collective --node unheard-of", INPUT, [], ["which the catalogue does not have; it has", "dgx-h100"]),
    ("policy", USAGE, [], ["a subcommand is needed"]),
    ("policy lst", USAGE, [], ['did you mean "list"?']),
    ("policy show", USAGE, [], ["policy show NAME"]),
    ("policy show checkpoint/dally", USAGE, [], ['did you mean "checkpoint/daly"?']),
    ("schema x", USAGE, [], ['nothing to do with "x"']),
    # input
    ("validate absent.xml", IO, [], ["absent.xml", "No such file"]),
    ("validate broken.xml", INPUT, [], ["broken.xml:8", "broken.xml:18"]),
    ("run broken.xml -o out/broken", INPUT, [], ["error:"]),
    ("validate small.xml --set @durration=1d", INPUT, [], ["durration"]),
    ("validate small.xml --set @duration=1", INPUT, [], ["has no unit"]),
    ("validate small.xml --set policies/schedule/@policy=schedule/fifi", INPUT, [],
     ["schedule/fifi", "schedule/fifo"]),
    ("validate small.xml --set jobs/job[@id='pretrain']/split/@tp=3", INPUT, [],
     ['the split above is that of job "pretrain"'], ),
    # data on stdout, nothing else
    ("validate small.xml", OK, ["small.xml: valid", "digest: ", "assumed (no source"], []),
    ("validate small.xml --data SOURCE", OK, ["small.xml: valid"], []),
    ("policy list", OK, ["schedule/fifo", "recover/spare"], []),
    ("policy show checkpoint/fixed", OK, ["interval", "a time"], []),
    ("schema", OK, ['<grammar', "urn:sandtable:1"], []),
    ("schema --paths", OK, ["cluster/@nodes\t", "policies/@hot_spares\t"], []),
    ("schema --format", OK, ["# ", "hot_spares"], []),
    ("step small.xml", OK, ["step time", "MFU", "tokens per second", "weights", "nic_up"], []),
    # fabrics
    ("fabric", USAGE, [], ["a subcommand is needed"]),
    ("fabric chek small.xml", USAGE, [], ['no subcommand "chek"; did you mean "check"?']),
    ("fabric check", USAGE, [], ["an experiment is needed"]),
    ("fabric check small.xml", OK, ["2 leaves, 2 spines, 0 cores", "diameter             3 switches",
                                    "all-to-all  leaf_up"], []),
    ("fabric check SOURCE/examples/fabrics/degraded.xml", OK, ["without a living cable  1"], []),
    ("fabric cut small.xml", OK, ["minimum cut             800 GB/s, 100 % of it"], []),
    ("fabric cut small.xml --format=json", OK, ['{"value_Bps": 8'], []),
    ("fabric cut small.xml --from=0-0 --to=3", OK, ["8 and 8", "400 GB/s"], []),
    ("fabric cut small.xml --from=0-1", USAGE, [], ["--from and --to belong together"]),
    ("fabric cut small.xml --from=0-1 --to=1-2", USAGE, [], ["node 1 is on both sides"]),
    ("fabric cut small.xml --from=0-1 --to=3-9", USAGE, [], ["node 9 is beyond the last, 3"]),
    ("fabric cut small.xml --from=x --to=1", USAGE, [], ["--from: \"x\" must begin with a node or a rising range"]),
    ("fabric cut small.xml --from=0,2 --to=1,3", OK, ["16 and 16", "800 GB/s"], []),
    ("fabric cut small.xml --from=0,2-1 --to=3", USAGE, [], ["--from: \"2-1\" must begin"]),
    ("fabric faults small.xml", OK, ["leaf0", "spine0", "rack0", "row0", "hall0"], []),
    ("fabric faults small.xml --of=spine1", OK, ["spine1", "400 GB/s", "50 %"], []),
    ("fabric faults small.xml --of=rack7", USAGE, [], ['no "rack7"', "rack0 to rack1"]),
    ("export", USAGE, [], ["a subcommand is needed"]),
    ("export jobs small.xml", USAGE, [], ['no subcommand "jobs"']),
    ("export fabric", USAGE, [], ["an experiment is needed"]),
    ("export fabric small.xml --format=dott", USAGE, [], ["did you mean dot?"]),
    ("export fabric small.xml", OK, ["graph fabric {", "leaf0"], []),
    ("export fabric small.xml --format=graphml -o f.graphml", OK, [], []),
    ("export fabric small.xml --format=graphml -o f.graphml", USAGE, [], ["exists; --force"]),
    ("import", USAGE, [], ["a subcommand is needed"]),
    ("import graphml", USAGE, [], ["a file is needed"]),
    ("import grapml f.graphml", USAGE, [], ['did you mean "graphml"?']),
    ("import graphml absent.graphml", IO, [], ["absent.graphml"]),
    ("import graphml small.xml", INPUT, [], ["this is no GraphML"]),
    ("import graphml f.graphml --node=dgx-h10", INPUT, [],
     ['no node "dgx-h10" in the catalogue; did you mean "dgx-h100"?']),
    ("import graphml f.graphml -o imported.xml", OK, [], ["0 differences"]),
    ("import graphml f.graphml --nics-per-node=8", USAGE, [], ["--nics-per-node"]),
    ("import graphml f.graphml -o ./f.graphml --force", USAGE, [], ["is an input itself"]),
    ("import graphml f.graphml -o imported.xml", USAGE, [], ["exists; --force"]),
    ("export fabric small.xml -o ./small.xml --force", USAGE, [], ["is an input itself"]),
    ("export fabric small.xml -o /dev/null --force", USAGE, [], ["is no regular file"]),
    # results
    ("run small.xml -o out/a", OK, ["3 replications, seed 7"], ["results: out/a/results.h5\n"]),
    ("run small.xml -o out/a", OK, ["3 replications, seed 7"], ["this experiment is finished; --force"]),
    ("run small.xml -o out/a --quiet", OK, [], []),
    ("run small.xml -o out/a --seed 8", USAGE, [], ['out/a/results.h5: exists and is of another experiment',
                                                    'seed="8" here, seed="7" there', "--force", "-o"]),
    ("run small.xml -o out/a --force --quiet --seed 8", OK, [], []),
    ("show out/a/results.h5", OK, ["seed 8"], []),
    ("run small.xml -q --replications 2", OK, [], []),
    ("show out/small/results.h5", OK, ["2 replications"], []),
    ("show", USAGE, [], ["a results file is needed"]),
    ("show absent.h5", IO, [], ["absent.h5"]),
    ("show small.xml", None, [], ["small.xml"]),
    ("run small.xml -o small.xml/x", IO, [], ["Not a directory"]),
]


def run_rows(report, scratch):
    for row in ROWS:
        line, status, out_parts, err_parts = row
        done = run([word.replace("SOURCE", str(SOURCE)) for word in line.split()], scratch)
        said = f"`sandtable {line}`: exit {done.returncode}\n{done.stdout[-600:]}{done.stderr}"
        if status is None:
            report.check(done.returncode in (INPUT, IO), said)
        else:
            report.check(done.returncode == status, f"{said}\n  expected exit {status}")
        for part in out_parts:
            report.check(part in done.stdout, f"{said}\n  stdout lacks {part!r}")
        for part in err_parts:
            report.check(part in done.stderr, f"{said}\n  stderr lacks {part!r}")
        if status != OK:
            report.check(done.stdout == "", f"{said}\n  stdout is not empty")
        if status == OK and not err_parts:
            report.check("error" not in done.stderr, f"{said}\n  an error on stderr")


def formats(report, scratch):
    """JSON and CSV hold the same figures; the parts of the step sum to it; folding changes nothing."""
    folded = json.loads(run(["step", "small.xml", "--format=json"], scratch).stdout)
    full = json.loads(run(["step", "small.xml", "--format=json", "--no-fold"], scratch).stdout)
    rows = list(csv.DictReader(io.StringIO(run(["step", "small.xml", "--format=csv"],
                                               scratch).stdout)))
    figures = {row["name"]: float(row["value"]) for row in rows}
    for name in ("step_s", "mfu", "memory_total_B", "tokens_per_s"):
        report.check(figures[name] == folded[name], f"{name}: {figures[name]}, {folded[name]}")
    for name, value in folded.items():
        if isinstance(value, float) and value:
            report.check(abs(full[name] / value - 1) < 1e-9, f"{name}: {value} folded, {full[name]}")
    parts = ("compute_s", "exposed_tp_s", "exposed_cp_s", "exposed_pp_s", "exposed_dp_s", "bubble_s",
             "data_stall_s")
    total = sum(folded[part] for part in parts)
    report.check(abs(total / folded["step_s"] - 1) < 1e-9, f"parts {total}, {folded['step_s']}")
    report.check(folded["job"] == "pretrain" and len(folded["digest"]) == 64, "names of the step")
    report.check(all(item["utilisation"] <= 1 for item in folded["links"].values()), "links")


def record(report, scratch):
    text = (scratch / "out" / "a" / "results.run.json").read_text()
    data = json.loads(text)
    report.check(data["units"] == 3 and data["units_reused"] == 0, text)
    report.check(data["wall_s"] > 0 and data["libraries"]["SimGrid"].startswith("3."), text)
    report.check(not (scratch / "out" / "a" / "units").exists(), "units/ is removed after the merge")


def same_bytes(report, scratch):
    """Same input, same bytes: whatever --jobs, locale, time zone and directory."""
    other = scratch / "elsewhere"
    other.mkdir()
    run(["run", "small.xml", "-q", "-o", "one", "--jobs", "1"], scratch)
    run(["run", "../small.xml", "-q", "-o", "two", "--jobs", "3"], other,
        env=environment(LC_ALL="de_DE.UTF-8", TZ="Asia/Kolkata"))
    one, two = scratch / "one" / "results.h5", other / "two" / "results.h5"
    report.check(one.read_bytes() == two.read_bytes(), "results differ between equal runs")


def terminal(report, scratch):
    """The bar is drawn on a terminal only, and not with CI; colour not with NO_COLOR."""
    for changes, drawn in (({}, True), ({"CI": "1"}, False), ({"TERM": "dumb"}, False)):
        master, slave = pty.openpty()
        done = subprocess.run([PROGRAM, "run", "small.xml", "-o", "tty", "--force"], cwd=scratch,
                              env=environment(**changes), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=slave, check=False)
        os.close(slave)
        said = os.read(master, 65536).decode()
        os.close(master)
        report.check(done.returncode == 0, f"run on a terminal: {said}")
        report.check(("of 3 replications" in said) == drawn, f"bar with {changes}: {said!r}")
        report.check(b"\033" not in done.stdout, "colour in a pipe")
    for changes, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        master, slave = pty.openpty()
        child = subprocess.Popen([PROGRAM, "show", "tty/results.h5"], cwd=scratch, stdout=slave,
                                 env=environment(**changes), stderr=subprocess.DEVNULL)
        os.close(slave)
        said = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the terminal is closed
                break
            if not piece:
                break
            said += piece
        child.wait()
        os.close(master)
        report.check((b"\033[" in said) == coloured, f"colour with {changes}: {said[:200]!r}")


def full_output(report, scratch):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = run(["schema"], scratch, stdout=full)
    report.check(done.returncode == IO and "No space left" in done.stderr,
                 f"schema to a full disk: {done.returncode} {done.stderr}")


# (attributes of the fabric, what refuses them or None): a side at its end, the others such that the
# fabric exists. What the format page allows and no other rule forbids is built.
TORI = [
    ("x=235 y=2 z=1", "NICs, but the torus"), ("x=2 y=235 z=1", "NICs, but the torus"),
    ("x=2 y=2 z=233", "NICs, but the torus"), ('x=79 y=79 z=79 block=79 switching="0s"', "NICs, but the torus"),
    ("x=2 y=2 z=8", None), ("x=2 y=16 z=1", None), ("x=236 y=2 z=1", "write at most 235"),
    ("x=2 y=2 z=234", "write at most 233"), ("x=4 y=8 z=1 block=80", "write at most 79"),
    ("x=1 y=8 z=4", "write at least 2"),
]
DRAGONFLIES = [
    ("global_links=1 routers=2 endpoints_per_router=16 groups=3", None),
    ("global_links=65536 routers=1 endpoints_per_router=16 groups=2", None),
    ("global_links=1 routers=1 endpoints_per_router=65536 groups=2", None),
    ("global_links=1 routers=65536 endpoints_per_router=1 groups=2", "more links than"),
    ("global_links=65537", "write at most 65536"), ("global_links=1 routers=65537", "at most 65536"),
]


def ends_of_ranges(report, scratch):
    text = (scratch / "small.xml").read_text()
    for kind, rows in (("torus", TORI), ("dragonfly", DRAGONFLIES)):
        for row, why in rows:
            attributes = re.sub(r"=(\d+)", r'="\1"', row)
            fabric = f'<{kind} {attributes} link="sandtable:link/ndr400-ib"/>'
            (scratch / "ends.xml").write_text(re.sub(r"<fat_tree.*?/>", fabric, text, flags=re.S))
            done = run(["fabric", "show", "ends.xml"], scratch)
            report.check(done.returncode == (INPUT if why else OK) and (why or "") in done.stderr,
                         f"{kind} {row}: {done.returncode} {done.stderr}")


def slow_saves(report, scratch):
    """Saves that take longer than their interval are named before and after, with both figures."""
    path = "jobs/job[@id='pretrain']/checkpoint/param[@name='interval']/@value"
    for interval, slow in (("5s", True), ("19s", True), ("20s", False), ("30min", False)):
        done = run(["validate", "small.xml", "--set", f"{path}={interval}"], scratch)
        words = 'warning: job "pretrain": a save takes at least 20 s until it is durable, longer than the interval of'
        report.check(done.returncode == OK and (f"{words} {interval[:-1]} s" in done.stderr) == slow,
                     f"saves every {interval}: {done.stderr}")
    run(["run", "small.xml", "-q", "-o", "slow", "--set", f"{path}=5s"], scratch)
    shown = run(["show", "slow/results.h5"], scratch).stdout
    report.check("pretrain: 20 s until a save is durable, 5 s between saves" in shown, shown)
    shown = run(["show", "out/a/results.h5"], scratch).stdout
    report.check("CHECKPOINTS" in shown and "until a save is durable" not in shown, shown)


def inputs_stay(report, scratch):
    """No output replaces anything that made it: not what is included, nor a trace, nor --trace."""
    cluster = re.search(r"<cluster.*</cluster>", (scratch / "small.xml").read_text(), re.S)[0]
    (scratch / "cluster.xml").write_text(cluster.replace("<cluster ",
                                                         '<cluster xmlns="urn:sandtable:1" '))
    (scratch / "parts.xml").write_text("""<experiment xmlns="urn:sandtable:1" name="p" duration="1d">
        <xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="cluster.xml"/>
        <jobs><trace file="jobs.swf" format="swf" processors_per_node="8"/></jobs></experiment>""")
    for name in ("jobs.swf", "other.swf"):
        (scratch / name).write_bytes((SOURCE / "tests/data/traces/good.swf").read_bytes())
    (scratch / "linked.xml").hardlink_to(scratch / "cluster.xml")
    for name in ("cluster.xml", "linked.xml", "jobs.swf", "other.swf"):
        before = (scratch / name).read_bytes()
        trace = ["--trace=other.swf"] if name == "other.swf" else []
        done = run(["export", "fabric", "parts.xml", "--force", "-o", name, *trace], scratch)
        report.check(done.returncode == USAGE and "is an input itself" in done.stderr,
                     f"export over {name}: {done.returncode} {done.stderr}")
        report.check((scratch / name).read_bytes() == before, f"export wrote over {name}")
    done = run(["export", "fabric", "parts.xml", "-o", "parts.dot"], scratch)
    report.check(done.returncode == OK, f"export beside the inputs: {done.stderr}")


def catalogue(report, scratch):
    """Why there is no catalogue is said, however long its path."""
    deep = scratch.joinpath(*["d" * 200] * 3)
    deep.mkdir(parents=True)
    for part in ("platforms/catalogue", "workloads/models"):
        shutil.copytree(SOURCE / part, deep / part)
    (scratch / "plain").mkdir()
    for data, why in ((deep, None), ("x" * 300, "File name too long"), ("x/" * 3000, "File name too long"),
                      ("absent", "No such file or directory"), ("plain", "No such file or directory"),
                      ("small.xml", "Not a directory")):
        for args, env in ((["--data", data], environment()),
                          ([], environment(SANDTABLE_DATA=str(data)))):
            done = run(["validate", "small.xml", *args], scratch, env)
            report.check((done.returncode == OK) == (why is None) and (why or "") in done.stderr,
                         f"catalogue {str(data)[:40]}: {done.returncode} {done.stderr[:400]}")


def main():
    report = Report()
    with Scratch() as scratch:
        run_rows(report, scratch)
        ends_of_ranges(report, scratch)
        slow_saves(report, scratch)
        inputs_stay(report, scratch)
        catalogue(report, scratch)
        record(report, scratch)
        formats(report, scratch)
        same_bytes(report, scratch)
        terminal(report, scratch)
        full_output(report, scratch)
    report.end()


if __name__ == "__main__":
    assert DATA.is_dir()
    main()
