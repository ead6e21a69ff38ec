#!/usr/bin/env python3
"""Writes record.swf: jobs of a made-up week on 32 nodes, and when a scheduler that strictly queues, and looks at its
queue every 30 s, starts them. Same output for ever: the generator is written out.

SPDX-License-Identifier: GPL-2.0-or-later
"""
import heapq

NODES, CYCLE_S, WEEK_S = 32, 30, 7 * 86400
state = 2026


def draw(n):
    """A whole number from 0 to n - 1: Knuth's MMIX linear congruential generator, its upper half."""
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state >> 32) % n


def make_jobs():
    jobs, submit = [], 0
    while True:
        submit += 60 * draw(58)
        if submit >= WEEK_S:
            return jobs
        kind = draw(10)  # queue 1: debugging, 2: fine-tuning, 3: training
        queue, nodes, run = ((1, 1, 120 + draw(1800)) if kind < 5 else
                             (2, 2 + draw(3), 3600 + draw(4 * 3600)) if kind < 9 else
                             (3, 8 * (1 + draw(3)), 4 * 3600 + draw(16 * 3600)))
        jobs.append((submit, nodes, run, min(24 * 3600, 600 * -(-2 * run // 600)), 1 + draw(6), queue, draw(12) == 0))


def schedule(jobs):
    """First come, first served; starts at whole cycles only."""
    starts, running, free, now = [], [], NODES, 0
    for submit, nodes, run, *_ in jobs:
        now = max(now, -(-submit // CYCLE_S) * CYCLE_S)
        while True:
            while running and running[0][0] <= now:
                free += heapq.heappop(running)[1]
            if free >= nodes:
                break
            now = -(-running[0][0] // CYCLE_S) * CYCLE_S
        free -= nodes
        heapq.heappush(running, (now + run, nodes))
        starts.append(now)
    return starts


def main():
    jobs = make_jobs()
    print("; Version: 2.2\n; Computer: made up\n; MaxNodes: 32\n; MaxProcs: 32\n"
          "; Note: written by make_record.py; a processor is a node")
    for number, ((submit, nodes, run, request, user, queue, failed), start) in enumerate(zip(jobs, schedule(jobs)), 1):
        print(number, submit, start - submit, run, nodes, -1, -1, nodes, request, -1, 0 if failed else 1, user, -1, -1,
              queue, 1, -1, -1)


main()
