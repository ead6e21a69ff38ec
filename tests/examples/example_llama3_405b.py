# The main example over replications 0-19 of its default seed: counts, mix and balance of 54 days.
# SPDX-License-Identifier: GPL-2.0-or-later
import hashlib

from example_support import check, close, end, numpy, run, table, told

# Llama 3 report (arXiv:2407.21783), Table 5.
COUNTS = {"faulty-gpu": 148, "gpu-hbm3": 72, "software-bug": 54, "network-switch-cable": 35,
          "host-maintenance": 32, "gpu-sram": 19, "gpu-gsp": 17, "nic": 7, "nccl-watchdog": 7,
          "silent-data-corruption": 6, "gpu-thermal": 6, "ssd": 3, "power-supply": 3,
          "server-chassis": 2, "io-expansion-board": 2, "dependency": 2, "cpu": 2,
          "system-memory": 2}
REPLICATIONS = 20
CAPACITY_GPU_S = 24576 * 54 * 86400.0
PARTS = ["detect_s", "diagnose_s", "wait_nodes_s", "restart_s", "restore_s", "recompute_s",
         "catch_up_s"]


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


path = run("llama3-405b/experiment.xml", "--replications", str(REPLICATIONS), "--jobs", "2")
units, incidents = table(path, "replications"), table(path, "incidents")
cluster, jobs = table(path, "cluster"), table(path, "jobs")

close(units["incidents"].mean(), 419, 14, "mean unexpected interruptions")
check(units["dispersion"].min() >= 0.35 and units["dispersion"].max() <= 2.1,
      f"dispersion {units['dispersion'].min():.2f} to {units['dispersion'].max():.2f} "
      "within 0.35 to 2.1")

# Class mix: chi-square over 18 classes against the published counts; 40.79 is its 0.999 quantile
# at 17 degrees of freedom.
names, seen = numpy.unique(incidents["fault_class"], return_counts=True)
seen = {name.decode().rstrip("\0"): n for name, n in zip(names, seen)}
total = sum(seen.values())
chi2 = sum((seen.get(name, 0) - total * n / 419) ** 2 / (total * n / 419)
           for name, n in COUNTS.items())
check(set(seen) <= set(COUNTS) and chi2 < 40.79, f"class mix: chi-square {chi2:.1f} < 40.79")

for replication in range(REPLICATIONS):
    booked = cluster["gpu_s"][cluster["replication"] == replication].sum()
    if abs(booked - CAPACITY_GPU_S) > 1e-6 * CAPACITY_GPU_S:
        check(False, f"replication {replication}: {booked} of {CAPACITY_GPU_S} GPU-s booked")
check(True, "the ledger classes sum to capacity x time in every replication")

done = incidents["recovered_ns"] >= 0
parts = sum(incidents[part][done] for part in PARTS)
check(numpy.allclose(parts, incidents["recovery_s"][done], rtol=0, atol=1e-6),
      f"the parts of {done.sum()} recoveries sum to the recovery time")

check(len(set(jobs["steps_done"])) > 1, "replications differ")
mfu, goodput, ettr = (units[name].mean() for name in ("mfu", "goodput_mfu", "ettr_run"))
check(0.3 < goodput < mfu < 0.6, f"MFU {mfu:.3f} (published: 0.41), goodput MFU {goodput:.3f}")
T95 = 2.093  # Student's t of 19 degrees of freedom, 95 %
spread = {name: T95 * units[name].std(ddof=1) / REPLICATIONS ** 0.5 for name in ("incidents", "ettr_run")}
told("llama3-405b", "| unexpected interruptions in 54 days | # +- # |", units["incidents"].mean(), spread["incidents"])
told("llama3-405b", "| effective training time (ETTR) | # % +- # |", 100 * ettr, 100 * spread["ettr_run"])
told("llama3-405b", "| MFU while stepping | # % |", 100 * mfu)
check(ettr > 0.9, f"ETTR {ettr:.3f} (published: above 0.90)")

once = run("llama3-405b/experiment.xml", "--replications", "3", "--jobs", "1", name="one")
twice = run("llama3-405b/experiment.xml", "--replications", "3", "--jobs", "2", name="two")
check(digest(once) == digest(twice), "equal bytes with --jobs 1 and 2")
end()
