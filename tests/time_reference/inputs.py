"""What a run in time is told: tasks with times, the queue, budget, speeds, caps, sleep."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import NamedTuple

from reference import GPU_MODELS, Node, Task

Steps = Sequence[tuple[float, float]]  # (seconds from the start of the run, value), ascending

DROP, FIFO, BACKFILL = "drop", "fifo", "backfill"
DISCIPLINES = (DROP, FIFO, BACKFILL)
DEFAULT_SIGMA = ((0.5, 0.80), (0.6, 0.90), (0.7, 0.95), (0.8, 0.98), (0.9, 0.995), (1.0, 1.0))  # (cap, speed)


class TimedTask(NamedTuple):
    task: Task
    arrival_s: float
    duration_s: float  # work at full speed; inf: never leaves
    slack_s: float = 0.0
    batch: bool = True


class Curve(NamedTuple):
    """Watts of a GPU: idle, or context + (most - context) * share ** exponent with a share in use."""

    idle_w: float
    context_w: float
    most_w: float
    exponent: float = 1.0


STEP = {model: Curve(idle, most, most) for model, (idle, most) in GPU_MODELS.items()}  # the paper's
LINEAR = {model: Curve(idle, idle, most) for model, (idle, most) in GPU_MODELS.items()}


@dataclass(frozen=True)
class Sleep:
    idle_s: float | None = None  # None: energy of one shutdown and wake divided by the watts saved, node by node
    shutdown_s: float = 60.0
    wake_s: float = 300.0
    sleep_w: float = 10.0
    reserve: int | None = None  # GPUs; None: 2 % of the datacenter's
    wake_for_reserve: bool = False


NO_TIMES = Sleep(idle_s=0.0, shutdown_s=0.0, wake_s=0.0, reserve=0)


@dataclass(frozen=True)
class Options:
    discipline: str = DROP
    patience_s: float = inf
    budget_w: Steps | None = None
    horizon_s: float | None = None  # None: until the last arrival
    speeds: Mapping[str, float] | None = None  # by GPU model
    reference_speed: float | None = None  # None: mean over the datacenter's GPUs
    caps: Mapping[str, float] = field(default_factory=dict)  # by GPU model
    sigma: Sequence[tuple[float, float]] = DEFAULT_SIGMA
    sleep: Sleep | None = None
    curves: Mapping[str, Curve] = field(default_factory=lambda: STEP)
    base_w: float = 0.0  # of every node


def value_at(steps: Steps, time_s: float | Fraction) -> float:
    """A value holds until the next time stamp; before the first one the first holds."""
    value = steps[0][1]
    for stamp_s, at_stamp in steps:
        if stamp_s <= time_s:
            value = at_stamp
    return value


def integral(steps: Steps, from_s: Fraction, until_s: Fraction) -> Fraction:
    """The exact integral of the steps."""
    inside = [stamp_s for stamp_s, _ in steps if from_s < stamp_s < until_s]
    edges = [from_s, *inside, until_s]
    pairs = itertools.pairwise(edges)
    return sum((Fraction(value_at(steps, a)) * (Fraction(b) - Fraction(a)) for a, b in pairs), Fraction(0))


# ---- how long a task runs --------------------------------------------------------------------------------------------


def sigma_of(options: Options, model: str) -> float:
    """The speed under the model's cap, linear between the rows of the table; 1 without a cap."""
    cap = options.caps.get(model, 1.0)
    rows = sorted(options.sigma)
    if cap <= rows[0][0]:
        return rows[0][1]
    for (low, at_low), (high, at_high) in itertools.pairwise(rows):
        if cap == high:
            return at_high
        if cap < high:
            return at_low + (at_high - at_low) * (cap - low) / (high - low)
    return rows[-1][1]


def reference_speed(options: Options, nodes: Sequence[Node]) -> float:
    """s_ref: as told, else the mean speed over the datacenter's GPUs."""
    assert options.speeds is not None
    if options.reference_speed is not None:
        return options.reference_speed
    total = sum(node.gpu * options.speeds[node.model] for node in nodes if node.gpu > 0)
    return total / sum(node.gpu for node in nodes)


def running_s(timed: TimedTask, model: str, options: Options, s_ref: float) -> float:
    """d * s_ref / (s_m * sigma) for batch tasks with GPUs; services and CPU-only tasks run d."""
    if timed.task.num_gpu == 0 or not timed.batch:
        return timed.duration_s
    if options.speeds is None:
        return timed.duration_s / sigma_of(options, model) if model in options.caps else timed.duration_s
    speed = options.speeds[model]
    if model in options.caps:
        speed = speed * sigma_of(options, model)
    return timed.duration_s * s_ref / speed
