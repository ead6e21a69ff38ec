#!/usr/bin/env python3
"""Fits the shipped mixes to their sources' figures and writes them, or checks that they are the fit.

Sources give totals (rates, means, medians, GPU time by outcome), not laws by class. What they leave open
is assumed below and labelled so in the files; the rest is solved for:
  - the ends of the largest class, from the rates of completed, cancelled and failed jobs;
  - the exponent of the sizes of pre-training (weight ~ gpus^exponent), from the mean GPUs of a job;
  - pre-training's mean run by outcome, from GPU time by outcome, and one factor on all other runs, from the
    mean run: four linear equations;
  - the spread of the other runs, from the median run.

SPDX-License-Identifier: GPL-2.0-or-later
Usage: fit_mixes.py [--check] DIRECTORY (workloads/mixes); fit_mixes.py --cycle philly.csv.xz
"""
import csv
import lzma
import math
import sys
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from statistics import NormalDist

NORMAL = NormalDist()
OUTCOMES = ("complete", "cancel", "fail")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

# Jobs submitted by hour of the day and, per calendar day, by day of the week, relative to the mean: the 82,247 GPU
# jobs of the Philly trace, whose time stamps (2017-09-04 to 2017-12-22) state no zone and are read as UTC.
# `fit_mixes.py --cycle philly.csv.xz` counts them again.
HOURS = (1.27, 0.98, 1.12, 1.1, 0.7, 1.15, 1.67, 2.09, 1.11, 1.01, 1.02, 0.87,
         0.75, 0.7, 0.64, 0.65, 0.88, 0.67, 0.8, 0.73, 1.02, 0.92, 1.13, 1.01)
WEEK = (0.85, 1.05, 1.13, 1.27, 1.43, 0.64, 0.63)
CYCLE = ("hours, days: the 82,247 GPU jobs of Microsoft's Philly trace, time stamps of 2017 read as UTC "
         "(msr-fiddle/philly-traces, CC-BY-4.0; Jeon et al., USENIX ATC 2019), counted in petuum/adaptdl's "
         "simulator/traces/philly.csv")


def count_cycle(path):
    """HOURS and WEEK from a copy of the trace."""
    with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8") as file:
        dates = [datetime.fromisoformat(row["timestamp"]) for row in csv.DictReader(file)]
    first, last = min(dates).date(), max(dates).date()
    calendar = Counter((first + timedelta(days)).weekday() for days in range((last - first).days + 1))
    hours, week = Counter(d.hour for d in dates), Counter(d.weekday() for d in dates)
    a_day = [week[d] / calendar[d] for d in range(7)]
    return (tuple(round(hours[h] * 24 / len(dates), 2) for h in range(24)),
            tuple(round(x * 7 / sum(a_day), 2) for x in a_day))


# ---- lognormal runs, cut at a bound --------------------------------------------------------------

def mean_of(median, sigma, bound):
    """E[min(X, bound)]."""
    z = math.log(bound / median) / sigma
    return (median * math.exp(sigma * sigma / 2) * NORMAL.cdf(z - sigma) + bound * NORMAL.cdf(-z))


def median_for(mean, sigma, bound):
    """The median that gives a mean."""
    low, high = 1e-6, bound * 1e3
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if mean_of(middle, sigma, bound) < mean else (low, middle)
    return math.sqrt(low * high)


def bisect(function, low, high):
    """The zero of an increasing function."""
    if not function(low) < 0 < function(high):
        raise ValueError("the figures cannot be met with what is assumed")
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low + high) / 2


def solve(matrix, right):
    """Gaussian elimination with pivoting."""
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(len(rows)):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


# ---- classes -------------------------------------------------------------------------------------

class JobClass:
    """A class of jobs: sizes {gpus: weight}, ends {outcome: share}, relative or absolute mean runs."""

    def __init__(self, name, share, sizes, ends, runs, sigma, **attributes):
        self.name, self.share, self.sizes, self.ends = name, share, sizes, ends
        self.runs, self.sigma, self.attributes, self.trains = dict(runs), sigma, attributes, ()
        self.medians = {}

    def gpus(self):
        """Mean GPUs."""
        return sum(g * w for g, w in self.sizes.items()) / sum(self.sizes.values())

    def below(self, run, bound):
        """Share of jobs that run no longer."""
        if run >= bound:
            return 1.0
        return sum(self.ends[o] * NORMAL.cdf(math.log(run / self.medians[o]) / self.sigma)
                   for o in OUTCOMES)


def power_sizes(sizes, exponent):
    """Weights ~ gpus^exponent, the largest 1."""
    top = max(g ** exponent for g in sizes)
    return {g: float(f"{g ** exponent / top:.4g}") for g in sizes}


def fit_ends(classes, balance, rates):
    """Ends of the class `balance`, so that all rates are met."""
    total = sum(rates.values())  # rounded in the source
    rest = {o: rates[o] / total - sum(c.share * c.ends[o] for c in classes if c is not balance)
            for o in OUTCOMES}
    balance.ends = {o: round(rest[o] / balance.share, 6) for o in OUTCOMES}
    balance.ends["complete"] = round(1 - balance.ends["cancel"] - balance.ends["fail"], 6)


def fit_sizes(classes, train, mean):
    """Exponent of the sizes of pre-training."""
    rest = sum(c.share * c.gpus() for c in classes if c is not train)
    sizes = list(train.sizes)

    def excess(exponent):
        train.sizes = {g: g ** exponent for g in sizes}
        return rest + train.share * train.gpus() - mean
    train.sizes = power_sizes(sizes, bisect(excess, -4, 4))


def fit_runs(classes, train, gpu_s, mean_run):
    """Mean runs: of pre-training by outcome, and one factor on all others."""
    others = [c for c in classes if c is not train]
    matrix, right = [], []
    for k, outcome in enumerate(OUTCOMES):
        row = [0.0] * 4
        row[k] = train.share * train.ends[outcome] * train.gpus()
        row[3] = sum(c.share * c.ends[outcome] * c.gpus() * c.runs[outcome] for c in others)
        matrix.append(row)
        right.append(gpu_s[outcome])
    matrix.append([train.share * train.ends[o] for o in OUTCOMES] +
                  [sum(c.share * c.ends[o] * c.runs[o] for c in others for o in OUTCOMES)])
    right.append(mean_run)
    *runs, factor = solve(matrix, right)
    if min(runs) <= 0 or factor <= 0:
        raise ValueError("the figures cannot be met with what is assumed")
    train.runs = dict(zip(OUTCOMES, runs))
    for c in others:
        c.runs = {o: c.runs[o] * factor for o in OUTCOMES}


def set_medians(classes, bound):
    """Medians of all runs from their means."""
    for c in classes:
        c.medians = {o: median_for(c.runs[o], c.sigma, bound) for o in OUTCOMES}


def fit_spread(classes, train, median, bound):
    """One sigma for all classes but pre-training."""
    def excess(sigma):
        for c in classes:
            if c is not train:
                c.sigma = sigma
        set_medians(classes, bound)
        return sum(c.share * c.below(median, bound) for c in classes) - 0.5
    sigma = round(bisect(excess, 0.3, 4.0), 4)
    for c in classes:
        if c is not train:
            c.sigma = sigma
    set_medians(classes, bound)


# ---- the mixes -----------------------------------------------------------------------------------

TRAIN_SIZES = dict.fromkeys((32, 64, 128, 256, 512, 1024), 1.0)
SHORT = {"complete": 1.0, "cancel": 1.5, "fail": 0.6}  # relative mean runs of all but pre-training


def acme_classes(shares, tune_gpus):
    """Pre-training, fine-tuning, evaluation, debugging; shares in this order."""
    return [
        JobClass("pre-training", shares[0], dict(TRAIN_SIZES),
                 {"complete": 0.25, "cancel": 0.30, "fail": 0.45}, {}, 1.2, cycle="0.5", users="10",
                 request_factor="2", limit="14d"),
        JobClass("fine-tuning", shares[1], tune_gpus,
                 {"complete": 0.55, "cancel": 0.15, "fail": 0.30},
                 {o: 6 * r for o, r in SHORT.items()}, 1.5, cycle="1", users="40",
                 request_factor="2", limit="14d"),
        JobClass("evaluation", shares[2], {1: 0.80, 2: 0.05, 4: 0.05, 8: 0.10}, {}, SHORT, 1.5,
                 cycle="0.5", users="60", request_factor="2", limit="14d"),
        JobClass("debugging", shares[3], {1: 0.50, 8: 0.40, 16: 0.10},
                 {"complete": 0.40, "cancel": 0.20, "fail": 0.40},
                 {o: 2 * r for o, r in SHORT.items()}, 1.5, cycle="1", users="60",
                 request_factor="2", limit="14d"),
    ]


ACME_ASSUMED = "rate share cycle users request_factor limit gpus weight run_law run_shape"


def acme(name, row, shares, tune_gpus, jobs_per_day, note):
    """A mix fitted to a row of Acme's cluster summary."""
    classes = acme_classes(shares, tune_gpus)
    train = classes[0]
    gpu_s = {o: row[o + "_time"] / row["jobs"] for o in OUTCOMES}
    total = sum(gpu_s.values())
    fit_ends(classes, classes[2], {o: row[o + "_rate"] for o in OUTCOMES})
    fit_sizes(classes, train, row["mean_gpus"])
    fit_runs(classes, train, gpu_s, row["mean_run"])
    fit_spread(classes, train, row["median_run"], row["max_run"])
    figures = [("mean_gpus", row["mean_gpus"], 0.005), ("median_gpus", row["median_gpus"], 0.001),
               ("mean_run", row["mean_run"], 0.005), ("median_run", row["median_run"], 0.005),
               ("mean_gpu_s", round(total, 1), 0.005)]
    figures += [(o + "_rate", row[o + "_rate"], 0.01) for o in OUTCOMES]
    figures += [(o + "_time", round(gpu_s[o] / total, 4), 0.01) for o in OUTCOMES]
    source = (f"figures: row {name} of data/cluster_summary.csv in InternLM/AcmeTrace (CC-BY-4.0; Hu et al., "
              "Characterization of Large Language Model Development in the Datacenter, NSDI 2024); run, sizes of "
              f"pre-training and ends of evaluation are fitted to them by tests/mixes/fit_mixes.py; {CYCLE}; {note}")
    return {"id": "acme-" + name.lower(), "title": f"GPU jobs of the Acme cluster {name}.",
            "source": source, "date": "2024", "assumed": ACME_ASSUMED, "rate": jobs_per_day,
            "classes": classes, "bound": row["max_run"], "figures": figures}


SEREN = {"jobs": 663813, "mean_gpus": 5.68, "median_gpus": 1, "mean_run": 1414.335, "median_run": 122.0,
         "max_run": 1209604.0, "complete_rate": 0.497, "cancel_rate": 0.075, "fail_rate": 0.429,
         "complete_time": 4560592618.0, "cancel_time": 14274584510.0, "fail_time": 2675447459.0}
KALOS = {"jobs": 19907, "mean_gpus": 26.77, "median_gpus": 1, "mean_run": 1259.689, "median_run": 124.0,
         "max_run": 625740.0, "complete_rate": 0.541, "cancel_rate": 0.062, "fail_rate": 0.397,
         "complete_time": 1667685146.0, "cancel_time": 3239202064.0, "fail_time": 426292851.0}
ACME_DAYS = 184  # March to August 2023, the span in AcmeTrace's README


# What no source of the mix says: which models its two training classes train, and how. A run drawn from the laws is
# what the job takes on the first nodes of an empty cluster; on other nodes, or beside others, it takes longer.
SPLIT = ('micro_batch="1" sequence="8192" sequence_parallel="yes" distributed_optimizer="yes"\n'
         '               overlap_grad_reduce="yes" overlap_param_gather="yes" buckets="8" recompute="selective" '
         'precision="bf16"/>')
TRAINS = {
    "pre-training": ("sandtable:model/llama-3-70b", "sandtable:software/megatron-core-24",
                     f'<split tp="8" pp="2" dp="16" virtual_stages="1" global_batch="512" {SPLIT}',
                     '<checkpoint policy="checkpoint/daly" mode="blocking"/>'),
    "fine-tuning": ("sandtable:model/llama-3-8b", "sandtable:software/megatron-core-24",
                    f'<split tp="2" pp="1" dp="4" virtual_stages="1" global_batch="128" {SPLIT}',
                    '<checkpoint policy="checkpoint/daly" mode="blocking"/>'),
}


def campus():
    """A campus cluster of 2,048 GPUs, fitted to RSC-1 scaled by its size."""
    scale = 2048 / 16000
    per_day = round(7200 * scale, 1)
    gpu_s = 0.83 * 16000 * 86400 / 7200
    # Of the jobs that are not preempted, requeued or hit by a node failure, which the simulation adds.
    ended = {"complete": 60.0, "fail": 24.0 + 0.1, "cancel": 100 - 60 - 24 - 0.1 - 10 - 2 - 0.1}
    total = sum(ended.values())
    ends = {o: round(ended[o] / total, 4) for o in OUTCOMES}
    ends["complete"] = round(1 - ends["cancel"] - ends["fail"], 4)
    rows = (("pre-training", 0.01, {256: 0.6, 512: 0.3, 1024: 0.1}, 0.66, 1.2, "0.5", "8"),
            ("fine-tuning", 0.20, {8: 0.45, 16: 0.25, 32: 0.15, 64: 0.10, 128: 0.05}, 0.29, 1.5, "1", "40"),
            ("evaluation", 0.45, {1: 0.72, 2: 0.06, 4: 0.06, 8: 0.16}, 0.03, 1.5, "0.5", "60"),
            ("debugging", 0.34, {1: 0.25, 8: 0.65, 16: 0.10}, 0.02, 1.5, "1", "60"))
    classes, bound = [], 7 * 86400.0
    for name, share, sizes, time, sigma, cycle, users in rows:
        c = JobClass(name, share, sizes, dict(ends), {}, sigma, cycle=cycle, users=users,
                     request_factor="2", limit="7d")
        mean = time * gpu_s / (share * c.gpus())
        relative = {"complete": 1.0, "cancel": 1.0, "fail": 0.5}
        scale_run = mean / sum(ends[o] * relative[o] for o in OUTCOMES)
        c.runs = {o: relative[o] * scale_run for o in OUTCOMES}
        c.trains = TRAINS.get(name, ())
        classes.append(c)
    set_medians(classes, bound)
    figures = [("one_gpu", 0.4, 0.05), ("large_time", 0.66, 0.005), ("mean_gpu_s", round(gpu_s, 1), 0.005)]
    figures += [(o + "_rate", ends[o], 0.001) for o in OUTCOMES]
    source = ("Kokolis et al., Revisiting Reliability in Large-Scale Machine Learning Research Clusters, "
              "arXiv:2410.21680: RSC-1 of 16,000 GPUs has 7,200 jobs a day at 83% use, more than 40% of jobs with "
              "one GPU, 66% of GPU time in jobs of 256 GPUs or more, ends 60% completed, 24% failed, 10% preempted, "
              "2% requeued, 0.1% each node failure and out of memory, the rest (timeouts among them) taken as cancelled, jobs of at most "
              "7 days; rate and run are scaled from these to 2,048 GPUs by tests/mixes/fit_mixes.py; " + CYCLE)
    return {"id": "llm-campus-2048", "title": "LLM jobs of a campus cluster with 2,048 GPUs.", "source": source,
            "date": "2025", "assumed": "share cycle users request_factor gpus weight run run_law run_shape speed model software tp pp "
            "virtual_stages micro_batch global_batch sequence recompute policy", "rate": per_day, "classes": classes, "bound": bound, "figures": figures}


def mixes():
    """All shipped mixes."""
    note = "rate: its GPU jobs over the 184 days of March to August 2023"
    return [acme("Kalos", KALOS, (0.032, 0.009, 0.929, 0.030), {8: 0.5, 16: 0.2, 32: 0.2, 64: 0.1},
                 round(KALOS["jobs"] / ACME_DAYS, 1), note),
            acme("Seren", SEREN, (0.009, 0.10, 0.70, 0.191), {1: 0.3, 2: 0.1, 4: 0.1, 8: 0.45, 16: 0.05},
                 round(SEREN["jobs"] / ACME_DAYS, 1), note),
            campus()]


# ---- writing -------------------------------------------------------------------------------------

def class_lines(c, bound):
    """The element of a class."""
    head = " ".join(f'{key}="{value}"' for key, value in c.attributes.items())
    if c.trains:
        head += f' speed="model"\n        model="{c.trains[0]}" software="{c.trains[1]}"'
    yield f'    <class id="{c.name}" share="{c.share:g}" {head}>'
    for line in c.trains[2:]:
        yield "        " + line
    for gpus, weight in c.sizes.items():
        yield f'        <size gpus="{gpus}" weight="{weight:.4g}"/>'
    for outcome in OUTCOMES:
        yield (f'        <end as="{outcome}" share="{c.ends[outcome]:.6g}" run="{c.medians[outcome]:.4g}s" '
               f'run_law="lognormal" run_shape="{c.sigma:g}" run_max="{bound:g}s"/>')
    yield "    </class>"


def text_of(mix):
    """The file of a mix."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>',
             f'<!-- {mix["title"]} Written by tests/mixes/fit_mixes.py, which states how it was fitted.',
             "     SPDX-License-Identifier: GPL-2.0-or-later -->",
             f'<mix xmlns="urn:sandtable:1" id="{mix["id"]}"',
             f'    source="{mix["source"]}"',
             f'    date="{mix["date"]}" assumed="{mix["assumed"]}"',
             f'    rate="{mix["rate"]:g}/d">']
    lines += [f'    <hour of="{h}" weight="{w:g}"/>' for h, w in enumerate(HOURS)]
    lines += [f'    <day of="{d}" weight="{w:g}"/>' for d, w in zip(DAYS, WEEK)]
    for c in mix["classes"]:
        lines += class_lines(c, mix["bound"])
    lines += [f'    <figure of="{name}" value="{value:.10g}" within="{within:g}"/>'
              for name, value, within in mix["figures"]]
    return "\n".join(lines + ["</mix>", ""])


def main():
    """Writes the files, or compares them with what would be written."""
    if "--cycle" in sys.argv:
        counted = count_cycle(sys.argv[-1])
        print(f"hours {counted[0]}\nweek {counted[1]}")
        return counted != (HOURS, WEEK)
    directory = Path(sys.argv[-1])
    different = 0
    for mix in mixes():
        path = directory / (mix["id"] + ".xml")
        if "--check" not in sys.argv:
            path.write_text(text_of(mix), encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text_of(mix):
            print(f"{path}: is not what the fit gives; run fit_mixes.py {directory}")
            different = 1
    return different


if __name__ == "__main__":
    sys.exit(main())
