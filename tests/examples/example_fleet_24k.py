# What first-fit and packed lose to contention on 24,576 GPUs: the books agree, packed loses less, and
# both runs stay within what the example promises.
# SPDX-License-Identifier: GPL-2.0-or-later
import resource
import time

from example_support import check, close, end, run, table, told


def measure(name):
    begin = time.monotonic()
    path = run(f"fleet-24k/{name}.xml", "--no-cache", name=name)
    row = {column: values[0] for column, values in table(path, "replications").items()}
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{name}: MFU {row['mfu']:.4f}, without neighbours {row['mfu_alone']:.4f}, lost {row['neighbours_gpu_s'] / 3600:.0f} GPU-hours; "
          f"{row['joint_questions']} joint questions, {row['joint_known']} known, {row['joint_jobs']} jobs at most; "
          f"{time.monotonic() - begin:.1f} s wall, {used.ru_maxrss / 1024:.0f} MiB the largest process so far")
    check(used.ru_maxrss < 1 << 20, f"{name}: under 1 GiB")
    attempts = table(path, "attempts")
    gpus = dict(zip(table(path, "jobs")["job"], table(path, "jobs")["gpus"]))
    lost_s = sum(ns / 1e9 * gpus[job] for ns, job in zip(attempts["neighbours_ns"], attempts["job"]))
    close(row["neighbours_gpu_s"], lost_s, 1e-6 * lost_s + 1e-6, f"{name}: the attempts sum to what was lost")
    check((table(path, "jobs")["state"] == b"finished").all(), f"{name}: all jobs finish")
    return row


packed, first_fit = measure("packed"), measure("first-fit")
check(first_fit["neighbours_gpu_s"] > 1.25 * packed["neighbours_gpu_s"], "first-fit loses clearly more to neighbours")
check(first_fit["mfu"] < first_fit["mfu_alone"] and packed["mfu"] > first_fit["mfu"], "and its MFU is lower for it")
both = (packed, first_fit)
told("fleet-24k", "| MFU while stepping, without neighbours | # %, # % | # %, # % |",
     *(100 * row[mfu] for row in both for mfu in ("mfu", "mfu_alone")))
told("fleet-24k", "| lost to neighbours | # GPU-hours | # GPU-hours |", *(row["neighbours_gpu_s"] / 3600 for row in both))
told("fleet-24k", "| joint questions, known already | # (# a day), # % | # (# a day), # % |",
     *(value for row in both for value in (row["joint_questions"], row["joint_questions"] / 28,
                                           100 * row["joint_known"] / row["joint_questions"])))
told("fleet-24k", "| most jobs in a question | # | # |", *(row["joint_jobs"] for row in both))
told("fleet-24k", "contention is # points of the fleet's MFU under first-fit and # packed",
     *(100 * (row["mfu_alone"] - row["mfu"]) for row in (first_fit, packed)))
check(first_fit["joint_known"] > 0.9 * first_fit["joint_questions"], "nine of ten joint questions are known")
end()
