"""Textbook EASY backfilling said again, for comparison with schedule/easy.

Written from the definition alone, with other means than the program's: no tree, no profile array, every
question answered by counting. Times are whole milliseconds. SPDX-License-Identifier: GPL-2.0-or-later
"""
import collections
import heapq

NEVER = float("inf")
# run: how long it really runs; request: how long it says it needs, None if it says nothing
Job = collections.namedtuple("Job", "name submit nodes run request")


def asked(job):
    return NEVER if job.request is None else job.request


def simulate(jobs, nodes, decide):
    """Start times of `jobs` (in submit order). All that ends or arrives at a time is taken in before
    decide(now, free, queue, ends) picks which queued jobs start; ends: {job number: requested end}."""
    pending = collections.deque(range(len(jobs)))
    finishing, ends, queue, starts, free = [], {}, [], {}, nodes
    while pending or finishing:
        now = min(([jobs[pending[0]].submit] if pending else []) + ([finishing[0][0]] if finishing else []))
        while finishing and finishing[0][0] == now:
            number = heapq.heappop(finishing)[1]
            free += jobs[number].nodes
            del ends[number]
        while pending and jobs[pending[0]].submit == now:
            queue.append(pending.popleft())
        for number in decide(now, free, queue, ends):
            starts[number] = now
            free -= jobs[number].nodes
            ends[number] = now + asked(jobs[number])
            heapq.heappush(finishing, (now + jobs[number].run, number))
        queue = [number for number in queue if number not in starts]
    return [starts[number] for number in range(len(jobs))]


def easy(jobs, nodes):
    """One reservation, all the queue, in submit order: shadow time and extra nodes."""
    def decide(now, free, queue, ends):
        chosen = []
        while len(chosen) < len(queue) and jobs[queue[len(chosen)]].nodes <= free:
            free -= jobs[queue[len(chosen)]].nodes
            chosen.append(queue[len(chosen)])
        rest = queue[len(chosen):]
        if len(rest) < 2 or free == 0:
            return chosen
        running = {**ends, **{number: now + asked(jobs[number]) for number in chosen}}
        shadow, extra = head_start(jobs[rest[0]].nodes, free, running)
        for number in rest[1:]:
            job = jobs[number]
            in_time = job.request is not None and now + job.request <= shadow
            if job.nodes <= free and (in_time or job.nodes <= extra):
                chosen.append(number)
                free -= job.nodes
                extra -= 0 if in_time else job.nodes
                if free == 0:
                    break
        return chosen

    def head_start(need, free, running):
        by_date = collections.Counter()
        for number, end in running.items():
            by_date[end] += jobs[number].nodes
        for date in sorted(by_date):
            if date == NEVER:
                break
            free += by_date[date]
            if free >= need:
                return date, free - need
        return NEVER, 0

    return simulate(jobs, nodes, decide)


KEYS = {"submit": lambda job: 0, "shortest": asked, "smallest-area": lambda job: asked(job) * job.nodes}


def backfill(jobs, nodes, order="submit", queue_depth=0, reservation_depth=1):
    """Any number of reservations, any order and depth of the fillers; by brute force."""
    def decide(now, free, queue, ends):
        taken = [(now, end, jobs[number].nodes) for number, end in ends.items()]  # from, to, nodes
        dates = sorted({now} | {end for end in ends.values() if end != NEVER})
        chosen, reserved, hopeless = [], [], 0

        def left(date):
            return nodes - sum(n for begin, end, n in taken if begin <= date < end)

        def fits(job, begin):
            end = begin + asked(job)
            corners = [begin] + [b for b, _, _ in taken if begin < b < end]
            return all(left(corner) >= job.nodes for corner in corners)

        def take(number, begin):
            taken.append((begin, begin + asked(jobs[number]), jobs[number].nodes))
            dates.extend(x for x in taken[-1][:2] if x != NEVER)

        rest = collections.deque(queue)
        while rest and len(reserved) + hopeless < reservation_depth:
            number = rest.popleft()
            date = next((d for d in sorted(set(dates)) if fits(jobs[number], d)), NEVER)
            if date == now:
                chosen.append(number)
                take(number, now)
            elif date == NEVER:
                hopeless += 1
            else:
                reserved.append(date)
                take(number, date)
        fillers = list(rest)[:queue_depth or None]
        for number in sorted(fillers, key=lambda number: KEYS[order](jobs[number])):
            # behind a head without a date only those may pass that say when they end
            if fits(jobs[number], now) and (reserved or jobs[number].request is not None or not hopeless):
                chosen.append(number)
                take(number, now)
        return chosen

    return simulate(jobs, nodes, decide)


class Machine:
    """Nodes of `per` GPUs: who is on which node. Jobs of less than a node share one, others hold whole nodes."""

    def __init__(self, nodes, per, best_fit):
        self.on, self.per, self.best_fit = [{} for _ in range(nodes)], per, best_fit

    def free(self, node):
        return self.per - sum(self.on[node].values())

    def needs(self, gpus):
        """(nodes, GPUs on each)"""
        return (1, gpus) if gpus < self.per else (-(-gpus // self.per), self.per)

    def place(self, gpus):
        count, each = self.needs(gpus)
        fitting = [node for node in range(len(self.on)) if self.free(node) >= each]
        if self.best_fit:
            fitting.sort(key=lambda node: (self.free(node), node))
        return fitting[:count] if len(fitting) >= count else None

    def put(self, number, gpus, where):
        for node in where:
            self.on[node][number] = self.needs(gpus)[1]

    def take_off(self, number):
        for tenants in self.on:
            tenants.pop(number, None)

    def offers(self, gpus, date, ends):
        """The nodes that could take a job of so many GPUs at a date when all requests are kept."""
        each = self.needs(gpus)[1]
        return {node for node, tenants in enumerate(self.on)
                if self.per - sum(n for job, n in tenants.items() if ends[job] > date) >= each}


class Plan:
    """Reservations of jobs in order on nodes that are shared, named ones, found by trying every date."""

    def __init__(self, machine, jobs, ends, now):
        self.machine, self.jobs, self.ends, self.now, self.kept = machine, jobs, ends, now, []

    def left(self, node, date):
        running = sum(n for job, n in self.machine.on[node].items() if self.ends[job] > date)
        reserved = sum(each for begin, end, nodes, each in self.kept if node in nodes and begin <= date < end)
        return self.machine.per - running - reserved

    def least(self, node, begin, end):
        return min(self.left(node, date) for date in [begin] + [b for b, *_ in self.kept if begin < b < end])

    def reserve(self, number):
        job = self.jobs[number]
        count, each = self.machine.needs(job.nodes)
        dates = {self.now} | set(self.ends.values()) | {end for _, end, *_ in self.kept}
        for date in sorted(dates - {NEVER}):
            spare = sorted((self.least(node, date, date + asked(job)) - each, node)
                           for node in range(len(self.machine.on)))
            spare = [(n, node) for n, node in spare if n >= 0]
            if len(spare) >= count:
                self.kept.append((date, date + asked(job), {node for _, node in spare[:count]}, each))
                return
        self.kept.append((NEVER, NEVER, set(), each))

    def dates(self):
        return [begin for begin, *_ in self.kept]


def plan_dates(machine, jobs, ends, now, numbers):
    plan = Plan(machine, jobs, ends, now)
    for number in numbers:
        plan.reserve(number)
    return plan.dates()


def easy_shared(jobs, nodes, per, best_fit=False, depth=1, planned=False):
    """EASY where nodes are shared: a filler may start where the place rule puts it if the head could still
    have enough nodes at the shadow time, the earliest date at which requests leave it enough. With more
    reservations (or `planned`): if, planned anew beside it, none of them would begin later."""
    machine, ends, starts, queue = Machine(nodes, per, best_fit), {}, {}, []
    pending, finishing = collections.deque(range(len(jobs))), []

    def start(now, number, where):
        machine.put(number, jobs[number].nodes, where)
        starts[number], ends[number] = now, now + asked(jobs[number])
        heapq.heappush(finishing, (now + jobs[number].run, number))
        queue.remove(number)

    def decide(now):
        while queue and machine.place(jobs[queue[0]].nodes) is not None:
            start(now, queue[0], machine.place(jobs[queue[0]].nodes))
        if not queue:
            return
        head = jobs[queue[0]].nodes
        count = machine.needs(head)[0]
        dates = sorted({end for end in ends.values() if end != NEVER})
        shadow = next((d for d in dates if len(machine.offers(head, d, ends)) >= count), NEVER)
        for number in queue[1:]:
            where, end = machine.place(jobs[number].nodes), now + asked(jobs[number])
            if where is None:
                continue
            machine.put(number, jobs[number].nodes, where)
            ends[number] = end
            kept = end != NEVER if shadow == NEVER else len(machine.offers(head, shadow, ends)) >= count
            machine.take_off(number)
            del ends[number]
            if kept:
                start(now, number, where)

    def decide_planned(now):
        while queue and machine.place(jobs[queue[0]].nodes) is not None:
            start(now, queue[0], machine.place(jobs[queue[0]].nodes))
        reserved = queue[:1]

        def may_start(number):
            where, end = machine.place(jobs[number].nodes), now + asked(jobs[number])
            if where is None:
                return None
            before = plan_dates(machine, jobs, ends, now, reserved)
            machine.put(number, jobs[number].nodes, where)
            ends[number] = end
            after = plan_dates(machine, jobs, ends, now, reserved)
            machine.take_off(number)
            del ends[number]
            worse = any(b > a for a, b in zip(before, after))
            return None if worse or (end == NEVER and NEVER in before) else where

        for number in queue[1:]:
            where = may_start(number)
            if where is not None:
                start(now, number, where)
            elif len(reserved) < depth:
                reserved.append(number)

    if planned or depth > 1:
        decide = decide_planned
    while pending or finishing:
        now = min(([jobs[pending[0]].submit] if pending else []) + ([finishing[0][0]] if finishing else []))
        while finishing and finishing[0][0] == now:
            number = heapq.heappop(finishing)[1]
            machine.take_off(number)
            del ends[number]
        while pending and jobs[pending[0]].submit == now:
            queue.append(pending.popleft())
        decide(now)
    return [starts[number] for number in range(len(jobs))]
