"""Small random runs in time, one for each seed, in the words of the plain second implementation.

The hard cases are common: many events at one instant, durations of 0 and without end, budgets that bind, patience
that ends when something else happens, horizons before the last arrival. Seeds, not Hypothesis: drawing a case of forty
tasks there takes three times as long as running it. `smaller` reduces a case that fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from random import Random
from typing import NamedTuple

import reference
from reference import PICKER_ORDER, Node, Task
from time_reference.inputs import BACKFILL, DISCIPLINES, LINEAR, STEP, Options, Sleep, Steps, TimedTask
from time_reference.moments import Run
from time_reference.slack import DAY_S, PERFECT, YESTERDAY, joins_s
from time_reference.watts import Watts

MODELS = ("T4", "G2", "G3", "P100", "V100M16", "V100M32", "A10")
MODEL_OF_NO_NODE = "A100"


class TimedCase(NamedTuple):
    nodes: list[Node]  # empty: `run` takes copies
    tasks: list[TimedTask]  # in any order
    policy: list[tuple[str, int]]
    trace: list[Task]  # what the target workload comes from
    options: Options
    signal: Steps  # that tasks with slack look at, from the first arrival on
    forecast: str

    def fresh_nodes(self) -> list[Node]:
        return [Node(n.name, n.cpu_milli, n.memory_mib, n.gpu, n.model, n.cpu_model) for n in self.nodes]

    def joined_s(self) -> list[float]:
        """When each task joins the queue, on the clock of the arrivals."""
        first_s = min(timed.arrival_s for timed in self.tasks)
        shifted = [timed._replace(arrival_s=timed.arrival_s - first_s) for timed in self.tasks]
        joined = [joins_s(timed, self.signal, self.forecast) for timed in shifted]
        moved = [(timed, t) for timed, t in zip(self.tasks, joined, strict=True)]
        return [timed.arrival_s if t == timed.arrival_s - first_s else t + first_s for timed, t in moved]

    def run(self, **changed: object) -> Run:
        """The second implementation's run; with other options where told."""
        target = reference.target_workload(self.trace)
        options = replace(self.options, **changed)  # type: ignore[arg-type]
        return Run(self.fresh_nodes(), self.tasks, self.policy, target, options, self.joined_s())


def nodes_of(r: Random, most: int) -> list[Node]:
    """Of at most three shapes: nodes alike, so that scores are equal. Odd amounts of CPU, little memory, no GPU."""
    count = r.choice([1, 1, 2, 2, 3, 3, 4, 5, 6, 8, most])
    shapes = []
    for _ in range(r.randint(1, 3)):
        gpu = r.choice([0, 1, 1, 2, 2, 2, 3, 4, 4, 8])
        cpu_milli = r.choice([16000, 32000, 32001, 33000, 64000, 96000, r.randint(0, 40_000)])
        memory_mib = r.choice([262144, 262144, 65536, 4096])
        shapes.append((cpu_milli, memory_mib, gpu, r.choice(MODELS) if gpu > 0 else ""))
    return [Node(f"n{i}", *r.choice(shapes)) for i in range(min(count, most))]


def task_of(r: Random, nodes: list[Node]) -> Task:
    kind = r.choice(["share", "share", "whole", "whole", "multi", "cpu only"])
    gpu = {
        "share": (1, r.choice([1, 100, 250, 333, 500, 500, 501, 999])),
        "whole": (1, 1000),
        "multi": (r.choice([2, 2, 3, 4, 8]), 1000),
        "cpu only": (0, r.choice([0, 0, 500])),  # not 0: must be ignored
    }[kind]
    own = [node.model for node in nodes if node.gpu > 0] or ["G3"]
    specs = [r.choice(own), "|".join(own[:2]), r.choice(MODELS), MODEL_OF_NO_NODE]
    spec = r.choice(specs) if r.random() < 0.15 else ""
    cpu_milli = r.choice([0, 1, 999, 2000, 2001, 4000, 8000, 16000, r.randint(0, 6000)])
    return Task("", cpu_milli, r.choice([0, 1, 1024, 1024, 4096, 4096]), *gpu, spec)


def policy_of(r: Random) -> list[tuple[str, int]]:
    names = r.sample(PICKER_ORDER, r.choice([1, 1, 2, 2, 3]))
    if "pwr" not in names and r.random() < 0.3:  # the one that power matters to
        names[0] = "pwr"
    if len(names) == 1:
        return [(names[0], 1000)]
    return [(name, r.choice([100, 500, 500, 900, r.randint(1, 3000)])) for name in names]


def tasks_of(r: Random, nodes: list[Node], most: int) -> list[TimedTask]:
    shapes = [task_of(r, nodes) for _ in range(r.randint(1, 6))]
    if r.random() < 0.8:  # mostly tasks that fit some node: a refused one tells little
        fitting = [s for s in shapes if any(reference.filter_reason(node, s) is None for node in nodes)]
        shapes = fitting or shapes
    slack = r.random() < 0.3
    origin_s = r.choice([0.0, 0.0, 1000.0, -7.0, 0.1])
    whole = r.random() < 0.7  # whole seconds: much happens at the same instant
    last_s = r.choice([0, 2, 6, 12, 24])
    durations = [0.0, 1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 20.0]
    tasks = []
    for i in range(r.choice([1, 3, 6, 10, 20, 30, most])):
        arrival_s = origin_s + (r.randint(0, last_s) if whole else r.uniform(0, last_s))
        duration_s = r.choice(durations) if whole or r.random() < 0.3 else r.expovariate(0.2)
        duration_s = inf if r.random() < 0.03 else duration_s
        slack_s = r.choice([0.0, 1.0, 3.0, 10.0]) if slack else 0.0
        tasks.append(
            TimedTask(replace(r.choice(shapes), name=f"t{i}"), arrival_s, duration_s, slack_s, r.random() < 0.7)
        )
    if r.random() < 0.5:
        tasks.sort(key=lambda timed: timed.arrival_s)
    return tasks


def budget_of(r: Random, nodes: list[Node], options: Options) -> Steps | None:
    """None, a constant or steps: from below the idle datacenter's power to all that it can draw, often between."""
    kind = r.choice(["none", "none", "constant", "steps", "steps"])
    if kind == "none":
        return None
    watts = Watts(options)
    idle_w = sum(map(watts.idle_mw, nodes)) / 1000
    most_w = sum(map(watts.most_mw, nodes)) / 1000
    shares = [-0.5, 0.0, 0.05, 0.1, 0.2, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0]
    stamps = [0] if kind == "constant" else sorted(r.sample(range(-3, 30), r.randint(1, 5)))
    # whole watts: exact whatever unit the sums are kept in
    return [(float(t), float(round(idle_w + r.choice(shares) * (most_w - idle_w)))) for t in stamps]


def signal_of(r: Random) -> Steps:
    stamps = set(r.sample(range(-5, 30), r.randint(1, 8)))
    if r.random() < 0.8:  # some of it a day earlier, for yesterday's values
        stamps |= {t - int(DAY_S) for t in r.sample(range(-5, 30), 5)}
    return [(float(t), float(r.randint(0, 4))) for t in sorted(stamps)]


def sleep_of(r: Random) -> Sleep:
    short = [0.0, 0.0, 1.0, 2.0, 3.0]
    idle_s = r.choice([0.0, 1.0, 2.0, 5.0, None])
    return Sleep(
        idle_s, r.choice(short), r.choice(short), r.choice([0.0, 10.0, 10.0, 500.0]), r.choice([0, 0, 1, 4, None])
    )


def timed_case(
    seed: int, sleep: bool = False, caps: bool = False, most_nodes: int = 12, most_tasks: int = 40
) -> TimedCase:
    """A run. With `sleep` nodes may sleep; with `caps` GPU models may be capped."""
    r = Random(seed)
    nodes = nodes_of(r, most_nodes)
    tasks = tasks_of(r, nodes, most_tasks)
    options = Options(
        discipline=r.choice(DISCIPLINES),
        patience_s=r.choice([inf, inf, inf, 1.0, 2.0, 5.0, 0.3]),
        horizon_s=r.choice([None, None, None, 4.0, 9.5, 12.0, 60.0, 60.0, 60.0, r.choice([0.0, 300.0])]),
        speeds=None if r.random() < 0.6 else {model: r.choice([0.25, 0.32, 0.5, 1.0, 1.91]) for model in MODELS},
        reference_speed=r.choice([None, 1.0, 0.42]),
        caps={model: r.choice([1.0, 0.7, 0.65, 0.4]) for model in MODELS if r.random() < 0.3} if caps else {},
        sleep=sleep_of(r) if sleep else None,
        curves=r.choice([STEP, STEP, LINEAR]),
        base_w=r.choice([0.0, 0.0, 80.0, 12.5]),
    )
    options = replace(options, budget_w=budget_of(r, nodes, options))
    plain = [timed.task for timed in tasks]
    trace = plain if r.random() < 0.5 else [task_of(r, nodes) for _ in range(20)]
    return TimedCase(nodes, tasks, policy_of(r), trace, options, signal_of(r), r.choice([PERFECT, YESTERDAY]))


def reserve_case(seed: int) -> TimedCase:
    """Nodes sleep, and wake also when the reserve is short; no budget, and time enough for it to happen."""
    case = timed_case(seed, sleep=True)
    assert case.options.sleep is not None
    sleep = replace(case.options.sleep, idle_s=float(seed % 3), reserve=1 + seed % 4, wake_for_reserve=True)
    return case._replace(options=replace(case.options, budget_w=None, horizon_s=60.0, sleep=sleep))


def tight_case(seed: int, sleep: bool = False) -> TimedCase:
    """Two or more nodes unlike, small tasks, little power: in one pass a task fails to start and another changes that.

    The first finds its node too expensive, the second starts on a cheaper one, and then the first would go there too.
    So it matters which instants are moments and how often a class is tried.
    """
    r = Random(seed)
    models = r.sample(MODELS, 3)
    nodes = [
        Node(f"n{i}", r.choice([16000, 64000]), 262144, r.choice([1, 2, 4]), r.choice(models))
        for i in range(r.randint(2, 6))
    ]
    gpus = [(1, 100), (1, 300), (1, 500), (1, 1000), (0, 0)]
    shapes = [Task("", r.choice([0, 1000, 4000, 12000]), 1024, *r.choice(gpus)) for _ in range(r.randint(2, 6))]
    tasks = []
    for i in range(r.randint(4, 30)):
        slack_s = r.choice([0.0, 0.0, 2.0])
        duration_s = r.choice([0.0, 1.0, 2.0, 3.0, 5.0, 9.0])
        tasks.append(TimedTask(replace(r.choice(shapes), name=f"t{i}"), float(r.randint(0, 12)), duration_s, slack_s))
    if r.random() < 0.3:  # refused: its arrival is a moment all the same
        tasks.append(TimedTask(Task("big", 0, 0, 8, 1000), float(r.randint(0, 12)), 1.0, 3.0))
    names = r.sample([name for name in PICKER_ORDER if name != "pwr"], r.choice([1, 1, 2]))
    options = Options(BACKFILL, r.choice([inf, 1.5, 4.0]), horizon_s=40.0, sleep=sleep_of(r) if sleep else None)
    watts = Watts(options)
    idle_w, most_w = (sum(map(draw, nodes)) / 1000 for draw in (watts.idle_mw, watts.most_mw))
    stamps = sorted({0, *r.sample(range(1, 30), r.randint(0, 3))})
    budget = [(float(t), float(round(idle_w + r.uniform(0.02, 0.4) * (most_w - idle_w)))) for t in stamps]
    trace = [timed.task for timed in tasks]
    policy = [(name, 500) for name in names]
    return TimedCase(nodes, tasks, policy, trace, replace(options, budget_w=budget), signal_of(r), PERFECT)


def smaller(case: TimedCase, fails: Callable[[TimedCase], bool]) -> TimedCase:
    """Leave out tasks, nodes and steps of the budget as long as the case still fails."""
    left_out = True
    while left_out:
        left_out = False
        steps = list(case.options.budget_w or ())
        ways = [case._replace(tasks=case.tasks[:i] + case.tasks[i + 1 :]) for i in range(len(case.tasks))]
        ways += [case._replace(nodes=case.nodes[:i] + case.nodes[i + 1 :]) for i in range(len(case.nodes))]
        shorter = [(steps[:i] + steps[i + 1 :]) or None for i in range(len(steps))]
        ways += [case._replace(options=replace(case.options, budget_w=budget)) for budget in shorter]
        for way in ways:
            if way.tasks and way.nodes and fails(way):
                case, left_out = way, True
                break
    return case
