"""What other simulators call FCFS, EASY and conservative, said again, for comparison with policies/peers.

Written from their published schedules' description (tests/data/schedules/README.md, docs/policies.md), not from the
program: sets of node numbers, lists that are searched, nothing kept that can be counted anew. Times are whole
milliseconds; every job has a request. SPDX-License-Identifier: GPL-2.0-or-later
"""
import heapq
import itertools

ENDS, ARRIVES = 0, 1


class Clock:
    """Ends and arrivals by time, ends first, then as they were put in."""

    def __init__(self, jobs):
        self.order = itertools.count()
        self.events = [(job.submit, ARRIVES, next(self.order), number) for number, job in enumerate(jobs)]
        heapq.heapify(self.events)

    def ends_at(self, date, number):
        heapq.heappush(self.events, (date, ENDS, next(self.order), number))

    def each(self):
        """(now, [who ends], [who arrives]), one event at a time."""
        while self.events:
            now, kind, _, number = heapq.heappop(self.events)
            yield now, [number] if kind == ENDS else [], [number] if kind == ARRIVES else []

    def instants(self):
        """The same, all of a time together."""
        while self.events:
            now, ended, arrived = self.events[0][0], [], []
            while self.events and self.events[0][0] == now:
                _, kind, _, number = heapq.heappop(self.events)
                (ended if kind == ENDS else arrived).append(number)
            yield now, ended, arrived


def fifo(jobs, nodes):
    clock, starts, queue, free = Clock(jobs), {}, [], nodes
    for now, ended, arrived in clock.instants():
        free += sum(jobs[number].nodes for number in ended)
        queue += arrived
        while queue and jobs[queue[0]].nodes <= free:
            number = queue.pop(0)
            free -= jobs[number].nodes
            starts[number] = now
            clock.ends_at(now + jobs[number].run, number)
    return [starts[number] for number in range(len(jobs))]


def easy_nodes(jobs, nodes):
    """batsched's easy_bf: the head's reservation is of named nodes."""
    clock, starts, queue = Clock(jobs), {}, []
    plans = {}  # of jobs that run and of the head: (from, to by the request, nodes)

    def find(number, now):
        """The earliest place of a job, on the lowest numbers free all the while."""
        dates = {now} | {date for begin, end, _ in plans.values() for date in (begin, end) if date > now}
        for date in sorted(dates):
            end = date + jobs[number].request
            taken = set().union(*(where for b, e, where in plans.values() if b < end and e > date))
            left = [node for node in range(nodes) if node not in taken]
            if len(left) >= jobs[number].nodes:
                return date, end, set(left[:jobs[number].nodes])
        raise AssertionError("a job larger than the machine")

    def starts_now(number, now):
        plans[number] = find(number, now)
        if plans[number][0] > now:
            return False
        starts[number] = now
        queue.remove(number)
        clock.ends_at(now + jobs[number].run, number)
        return True

    for now, ended, arrived in clock.instants():
        for number in ended:
            del plans[number]
        was_empty = not queue
        queue += arrived
        while was_empty and queue and starts_now(queue[0], now):
            pass
        for number in list(queue) if ended else [number for number in arrived if number in queue[1:]]:
            is_head = number == queue[0]
            plans.pop(number, None)
            if not starts_now(number, now) and not is_head:
                del plans[number]
    return [starts[number] for number in range(len(jobs))]


def easy_no_extra(jobs, nodes):
    """batsched's easy_bf_fast: nodes are counted, nobody may run past the head's date, which is set once."""
    clock, starts, waiting, running = Clock(jobs), {}, [], {}
    head, shadow = None, None

    def free():
        return nodes - sum(jobs[number].nodes for number in running)

    def start(number, now):
        starts[number] = now
        running[number] = now + jobs[number].request
        clock.ends_at(now + jobs[number].run, number)

    def date_of(number):
        left = free()
        for other in sorted(running, key=running.get):
            left += jobs[other].nodes
            if left >= jobs[number].nodes:
                return running[other]
        raise AssertionError("a job larger than the machine")

    def passes(number, now):
        return jobs[number].nodes <= free() and (head is None or now + jobs[number].request <= shadow)

    for now, ended, arrived in clock.instants():
        for number in ended:
            del running[number]
        if ended and head is not None and jobs[head].nodes <= free():
            start(head, now)
            head = None
            while waiting and head is None:
                number = waiting.pop(0)
                if jobs[number].nodes <= free():
                    start(number, now)
                else:
                    head, shadow = number, date_of(number)
        if ended and head is not None:
            for number in list(waiting):
                if passes(number, now):
                    start(number, now)
                    waiting.remove(number)
        for number in arrived:
            if passes(number, now):
                start(number, now)
            elif jobs[number].nodes > free() and head is None:
                head, shadow = number, date_of(number)
            else:
                waiting.append(number)
    return [starts[number] for number in range(len(jobs))]


def cqsim(jobs, nodes, conservative):
    """CQSim's backfill modes 1 and 2: run times are known, every event has a pass of its own."""
    clock, starts, queue, running = Clock(jobs), {}, [], {}

    def start(number, now):
        starts[number] = running[number] = now
        queue.remove(number)
        clock.ends_at(now + jobs[number].run, number)

    def profile(now):
        """[date, free nodes from then on]: now, and whenever a job ends that has not been seen to end."""
        steps = [[now, nodes - sum(jobs[number].nodes for number in running)]]
        for number in sorted(running, key=lambda number: running[number] + jobs[number].run):
            end = running[number] + jobs[number].run
            if len(steps) == 1 or steps[-1][0] != end:
                steps.append([end, steps[-1][1]])
            steps[-1][1] += jobs[number].nodes
        return steps

    def reserve(steps, number, places):
        """Takes the earliest of the first `places` steps at which the job fits; whether that is the first."""
        job = jobs[number]
        for first in range(min(places, len(steps))):
            end = steps[first][0] + job.run
            inside = list(itertools.takewhile(lambda step: step[0] < end, steps[first:]))
            if any(free < job.nodes for _, free in inside):
                continue
            after = first + len(inside)
            if after == len(steps) or steps[after][0] != end:
                steps.insert(after, [end, steps[after - 1][1]])
            for step in inside:
                step[1] -= job.nodes
            return first == 0
        return False

    for now, ended, arrived in clock.each():
        for number in ended:
            del running[number]
        queue += arrived
        while queue and jobs[queue[0]].nodes <= nodes - sum(jobs[number].nodes for number in running):
            start(queue[0], now)
        if len(queue) < 2:
            continue
        steps = profile(now)
        reserve(steps, queue[0], len(steps))
        for number in queue[1:]:
            if reserve(steps, number, len(steps) if conservative else 1):
                start(number, now)
    return [starts[number] for number in range(len(jobs))]


# policy, its decisions, its restatement
PEERS = (("schedule/fifo", "instant", fifo),
         ("schedule/easy-nodes", "instant", easy_nodes),
         ("schedule/easy-no-extra", "instant", easy_no_extra),
         ("schedule/easy-counted-cqsim", "each", lambda jobs, nodes: cqsim(jobs, nodes, False)),
         ("schedule/conservative-cqsim", "each", lambda jobs, nodes: cqsim(jobs, nodes, True)))
