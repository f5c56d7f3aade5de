"""The run: moments with their five steps, until the end of the horizon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf

import reference
from reference import Gpus, Node
from time_reference.checks import check_moment, check_start, check_wake
from time_reference.inputs import BACKFILL, DROP, FIFO, Options, TimedTask, reference_speed, running_s, value_at
from time_reference.machines import (
    ASLEEP,
    AWAKE,
    SHUTTING_DOWN,
    TIERS,
    WAKING,
    Machine,
    before_mw,
    committed_mw,
    drawn_mw,
    go_to_sleep,
    machine_of,
    to_wake_for_reserve,
)
from time_reference.watts import Watts, decide

DONE, RUNNING, WAITING, FAILED, REFUSED, GAVE_UP = "done", "running", "waiting", "failed", "refused", "gave_up"
Choose = Callable[[int, list[int]], tuple[int | None, Gpus]]  # (task, numbers of nodes) -> node and GPUs


class Run:
    """One run. Times are seconds from the first arrival. Afterwards it holds what became of every task."""

    def __init__(
        self,
        nodes: Sequence[Node],
        tasks: Sequence[TimedTask],
        policy: reference.Policy,
        target: Sequence[reference.TargetClass],
        options: Options,
        joined_s: Sequence[float] | None = None,  # on the clock of the arrivals; with slack
        choose: Choose | None = None,  # in place of the policy
    ) -> None:
        first_s = min(timed.arrival_s for timed in tasks)
        self.arrival_s = [timed.arrival_s - first_s for timed in tasks]
        self.joined_s = self.arrival_s if joined_s is None else [t - first_s for t in joined_s]
        self.horizon_s = max(self.arrival_s) if options.horizon_s is None else options.horizon_s
        self.tasks, self.policy, self.target, self.options = tasks, policy, target, options
        self.watts = Watts(options)
        self.machines = [machine_of(node, self.watts, options) for node in nodes]
        self.s_ref = 1.0 if options.speeds is None or not any(n.gpu for n in nodes) else reference_speed(options, nodes)
        self.choose = choose or self.choose_by_policy
        count = len(tasks)
        self.node: list[int | None] = [None] * count
        self.gpus: list[Gpus] = [()] * count
        self.placed_s: list[float | None] = [None] * count  # before the start where the node must wake
        self.start_s: list[float | None] = [None] * count
        self.end_s: list[float | None] = [None] * count
        self.outcome: list[str | None] = [None] * count  # None: arrives after the horizon, no part of the run
        part = [i for i in range(count) if self.arrival_s[i] <= self.horizon_s]
        self.refused = {i for i in part if all(reference.filter_reason(n, tasks[i].task) for n in nodes)}
        # A refused task is refused on arrival, whatever its slack.
        self.event_s = {i: self.arrival_s[i] if i in self.refused else self.joined_s[i] for i in part}
        self.to_come = sorted(part, key=lambda i: (self.event_s[i], i))
        self.queue: list[int] = []
        self.running: set[int] = set()
        self.placed_until_awake: set[int] = set()
        self.now_s = 0.0
        self.moments: list[tuple[float, tuple[int, ...]]] = []  # (time, milliwatts by PARTS from then on)
        self.counts: list[tuple[int, int]] = []  # queued and running from then on
        self.wakes = 0
        moment_s = 0.0
        while moment_s <= self.horizon_s:
            self.now_s = moment_s
            self.moment()
            moment_s = self.next_moment_s()
        for i in self.to_come:
            self.outcome[i] = WAITING
        for i in [*self.queue, *self.placed_until_awake]:
            self.outcome[i] = WAITING
        for i in self.running:
            self.outcome[i] = RUNNING

    # ---- moments -----------------------------------------------------------------------------------------------------

    def next_moment_s(self) -> float:
        budget = self.options.budget_w or ()
        times = [self.event_s[i] for i in self.to_come]
        times += [self.end_of(i) for i in self.running]
        times += [machine.until_s for machine in self.machines]
        times += [self.joined_s[i] + self.options.patience_s for i in self.queue]
        # A node that was passed over is looked at again at the next moment; that alone is no event.
        times += [machine.sleepy_at_s for machine in self.machines]
        times += [stamp_s for stamp_s, _ in budget]
        return min((t for t in times if t > self.now_s), default=inf)

    def moment(self) -> None:
        due = True
        while due:
            self.tasks_leave()
            self.nodes_wake_and_fall_asleep()
            self.tasks_arrive_and_give_up()
            self.go_through_queue()
            go_to_sleep(self.machines, self.watts, self.options, self.now_s)
            for machine in to_wake_for_reserve(self.machines, self.watts, self.options):
                self.begin_to_wake(machine)
            check_moment(self)
            ends_s = [*map(self.end_of, self.running), *(machine.until_s for machine in self.machines)]
            due = min(ends_s) <= self.now_s
        self.moments.append((self.now_s, self.drawn_mw()))
        self.counts.append((len(self.queue), len(self.running)))

    def drawn_mw(self) -> tuple[int, ...]:
        by_machine = [drawn_mw(machine, self.watts) for machine in self.machines]
        return tuple(sum(column) for column in zip(*by_machine, strict=True))

    # ---- steps -------------------------------------------------------------------------------------------------------

    def tasks_leave(self) -> None:
        for i in sorted(self.running):
            n = self.node[i]
            if n is not None and self.end_of(i) <= self.now_s:
                reference.release(self.machines[n].node, self.tasks[i].task, self.gpus[i])
                self.running.remove(i)
                self.outcome[i] = DONE
                if self.machines[n].empty:
                    self.machines[n].empty_since_s = self.now_s

    def nodes_wake_and_fall_asleep(self) -> None:
        ended = [machine for machine in self.machines if machine.until_s <= self.now_s]
        for machine in ended:
            if machine.state == WAKING:
                drawn_before = sum(self.drawn_mw())
                machine.become(AWAKE, self.now_s)
                if machine.empty:  # it woke for the reserve
                    machine.empty_since_s, machine.woke_empty = self.now_s, True
                for i in machine.to_start:
                    self.placed_until_awake.remove(i)
                    self.start(i)
                machine.to_start = []
                check_wake(self, drawn_before)
        for machine in ended:
            if machine.state == SHUTTING_DOWN:
                machine.become(ASLEEP, self.now_s)
                if machine.to_start:
                    self.begin_to_wake(machine)

    def begin_to_wake(self, machine: Machine) -> None:
        assert self.options.sleep is not None
        machine.become(WAKING, self.now_s, self.now_s + self.options.sleep.wake_s)
        self.wakes += 1

    def tasks_arrive_and_give_up(self) -> None:
        while self.to_come and self.event_s[self.to_come[0]] <= self.now_s:
            i = self.to_come.pop(0)
            if i in self.refused:
                self.outcome[i] = REFUSED
            else:
                self.queue.append(i)
        for i in list(self.queue):
            if self.joined_s[i] + self.options.patience_s <= self.now_s:
                self.queue.remove(i)
                self.outcome[i] = GAVE_UP

    def go_through_queue(self) -> None:
        cannot: set[tuple[object, ...]] = set()
        for i in list(self.queue):
            kind = class_of(self.tasks[i])
            if kind not in cannot and self.placed(i):
                self.queue.remove(i)
                continue
            cannot.add(kind)
            if self.options.discipline == DROP:
                self.queue.remove(i)
                self.outcome[i] = FAILED
            elif self.options.discipline == FIFO:
                return
            else:
                assert self.options.discipline == BACKFILL

    # ---- one task ----------------------------------------------------------------------------------------------------

    def choose_by_policy(self, i: int, numbers: list[int]) -> tuple[int | None, Gpus]:
        nodes = {n: self.machines[n].node for n in numbers}
        before = {n: before_mw(self.machines[n], self.watts, self.options) for n in numbers}
        second = self.tasks[i]._replace(duration_s=1.0)
        longer = {
            n: running_s(second, node.model, self.options, self.s_ref) if node.gpu else 1.0 for n, node in nodes.items()
        }
        return decide(self.watts, nodes, before, longer, self.tasks[i].task, self.policy, self.target)

    def placed(self, i: int) -> bool:
        """Place the task if it can be: on a node of the first tier with room, within the budget."""
        chosen, gpus = None, ()
        for states in TIERS:
            tier = [n for n, machine in enumerate(self.machines) if machine.state in states]
            chosen, gpus = self.choose(i, tier)
            if chosen is not None:
                break
        if chosen is None:
            return False
        machine = self.machines[chosen]
        drawn_before = sum(self.drawn_mw())
        before = sum(committed_mw(m, self.watts) for m in self.machines)
        reference.place(machine.node, self.tasks[i].task, gpus)
        if machine.state != AWAKE:
            machine.to_start.append(i)
        after = sum(committed_mw(m, self.watts) for m in self.machines)
        if after > before and after > self.budget_mw():
            reference.release(machine.node, self.tasks[i].task, gpus)
            if machine.state != AWAKE:
                machine.to_start.remove(i)
            return False
        self.node[i], self.gpus[i], self.placed_s[i] = chosen, gpus, self.now_s
        if machine.state == AWAKE:
            self.start(i)
            check_start(self, drawn_before)
        else:
            self.placed_until_awake.add(i)
            if machine.state == ASLEEP:
                self.begin_to_wake(machine)
        return True

    def budget_mw(self) -> Fraction | float:
        if self.options.budget_w is None:
            return inf
        return Fraction(value_at(self.options.budget_w, self.now_s)) * 1000

    def end_of(self, i: int) -> float:
        end_s = self.end_s[i]
        assert end_s is not None
        return end_s

    def start(self, i: int) -> None:
        n = self.node[i]
        assert n is not None
        self.start_s[i] = self.now_s
        self.end_s[i] = self.now_s + running_s(self.tasks[i], self.machines[n].node.model, self.options, self.s_ref)
        self.running.add(i)


def class_of(timed: TimedTask) -> tuple[object, ...]:
    """Tasks of one class ask for the same; constraints are compared as text."""
    task = timed.task
    each = reference.gpu_milli_each(task)
    return task.cpu_milli, task.memory_mib, task.num_gpu, each, task.gpu_spec, task.cpu_spec
