"""Tasks of a trace with their own durations, arriving at a wanted mean load: seeded, the same everywhere.

Arrivals are a Poisson process whose rate follows a shape (`arrival_shapes.py`). Three things are done so that a run has
the load that was asked for:

- The process has run forever. Tasks of weeks would take weeks to fill an empty datacenter; so the tasks that arrived
  before the start and still run at it are part of the run. They arrive at time 0, before all others, in random order,
  with the time that is left of their duration. A task of duration d is among them in proportion to the arrivals in the
  d before the start: long tasks are more likely there than among those who arrive, as in a cluster that one looks into.
- The rate is such that the GPUs in use, if every task ran from its arrival on, are on average over the run `load` times
  those of the datacenter. For a constant rate that is: rate * mean(gpu_request * duration) = load * GPUs.
- The number of tasks is the expected one, and each row of the trace comes as often as its weight says, give or take
  one; only times and order are drawn. (Given their number, arrivals of a Poisson process are independent draws.) Free
  numbers would make the load differ more from seed to seed, for no use to anyone who compares policies.

Only `Generator.integers` and `Generator.permutation` are drawn from, and the rest is additions, products and quotients
of floats, which IEEE 754 defines to the last bit, and sums by `math.fsum`. A test compares a digest.
"""

from __future__ import annotations

import math
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.arrival_shapes import SHAPES, Clock, Shape
from wattpack.datasets.inflation import MAX_TASKS
from wattpack.datasets.timed_trace import TimedTrace
from wattpack.errors import UserError
from wattpack.model.tasks import Workload
from wattpack.model.timed_tasks import TimedTasks

RHYTHM = SHAPES["rhythm"][0]
MAX_LOAD = 10.0
MAX_DAYS = 3660.0
HOUR_S = 3600.0
STEPS = 2**53  # of a number drawn from [0, 1): exact as a float


def generate(
    trace: TimedTrace,
    datacenter_gpu_milli: int,
    load: float,
    days: float,
    rng: np.random.Generator,
    shape: Shape = RHYTHM,
    start: datetime | None = None,
) -> TimedTasks:
    """Tasks over `days` at mean load `load`; those at time 0 first, then the others in order of arrival.

    `start` is the clock time of time 0, which sets where in the week the run begins; default: a Monday at 0:00, of no
    known date.
    """
    check_wanted(trace, datacenter_gpu_milli, load, days)
    clock = Clock(shape.hour_weights(), _hour_of_week(start))
    hours = np.array([0.0, days * 24])
    rate, there, arriving = _numbers(trace, clock, datacenter_gpu_milli / 1000, load, hours)
    if there + arriving > MAX_TASKS:
        raise UserError(
            f"trace {trace.name}: load {load:g} over {days:g} days makes {there + arriving:,.0f} tasks "
            f"({rate:,.0f} an hour), expected at most {MAX_TASKS:,}"
        )
    duration_h = trace.duration_s / HOUR_S
    earliest = clock.arrivals(-duration_h)
    begin, end = clock.arrivals(hours).tolist()

    first = _dealt(trace.weight * (begin - earliest), int(there), rng)
    at = clock.times(earliest[first] + (begin - earliest[first]) * _fractions(len(first), rng))
    age_h = np.clip(-at, 0.0, duration_h[first])
    left_s = np.ceil((duration_h[first] - age_h) * HOUR_S * 1000) / 1000  # to the millisecond, so that files are short

    then = _dealt(trace.weight, int(arriving), rng)
    instants = begin + (end - begin) * _instants(len(then), shape.burst, rng)
    arrival_s = np.floor(np.clip(clock.times(instants), 0.0, hours[1]) * HOUR_S * 1000) / 1000
    order = np.argsort(arrival_s, kind="stable")

    rows = np.concatenate((first, then))
    return TimedTasks(
        Workload(trace.classes, trace.class_index[rows], None, trace.name),
        np.concatenate((np.zeros(len(first)), arrival_s[order])),
        np.concatenate((left_s, trace.duration_s[then])),
        trace.slack_s[rows],
        trace.batch[rows],
        tuple(map(trace.service_class.__getitem__, rows.tolist())),
        tuple(map(trace.owner.__getitem__, rows.tolist())) if trace.owner else (),
        start,
    )


def check_wanted(trace: TimedTrace, datacenter_gpu_milli: int, load: float, days: float) -> None:
    """Refuse what no tasks can be made for."""
    if not 0 < load <= MAX_LOAD:
        raise UserError(f"load {load:g}, expected above 0 and at most {MAX_LOAD:g}")
    if not 0 < days <= MAX_DAYS:
        raise UserError(f"days {days:g}, expected above 0 and at most {MAX_DAYS:g}")
    if datacenter_gpu_milli <= 0:
        raise UserError("the datacenter has no GPU, expected at least one for tasks at a load")
    if not trace.gpu_request_milli().any():
        raise UserError(f"trace {trace.name}: no task asks for GPU, expected at least one for tasks at a load")


def offered_load(tasks: TimedTasks, datacenter_gpu_milli: int, length_s: float) -> float:
    """GPUs in use from the first arrival on over `length_s`, if each task ran from its arrival, as a fraction."""
    begin = tasks.first_s
    ends = np.minimum(tasks.arrival_s + tasks.duration_s, begin + length_s)
    inside_s = np.maximum(ends - tasks.arrival_s, 0.0)
    return math.fsum(tasks.workload.gpu_request_milli() * inside_s) / (datacenter_gpu_milli * length_s)


def _numbers(
    trace: TimedTrace, clock: Clock, gpus: float, load: float, hours: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Tasks an hour at the mean rate; how many are there at the start, and how many arrive, both whole."""
    share = trace.weight / math.fsum(trace.weight)
    duration_h = trace.duration_s / HOUR_S
    area = clock.arrivals_area(hours)
    # a task of duration d is in use at t if it arrived between t - d and t: that number, integrated over the run
    in_use = (area[1] - area[0]) - (clock.arrivals_area(hours[1] - duration_h) - clock.arrivals_area(-duration_h))
    gpu_hours = math.fsum(share * trace.gpu_request_milli() / 1000 * in_use)
    rate = load * gpus * float(hours[1]) / gpu_hours
    begin, end = clock.arrivals(hours).tolist()
    there = rate * math.fsum(share * (begin - clock.arrivals(-duration_h)))
    return rate, float(round(there)), float(round(rate * (end - begin)))


def _dealt(weight: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """`count` rows in random order, each as often as its share of the weight says, rounded up or down."""
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    upper = np.cumsum(weight)
    places = (np.arange(count) + _fractions(1, rng)[0]) * (upper[-1] / count)
    rows = np.minimum(np.searchsorted(upper, places, side="right"), len(weight) - 1)
    return rng.permutation(rows).astype(np.int64)


def _fractions(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Numbers from [0, 1), of integers."""
    return rng.integers(STEPS, size=count) / STEPS


def _instants(count: int, burst: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Where in [0, 1) each task arrives: alone, or with others in bursts of 1 to 2 * burst - 1 tasks, all as likely."""
    if burst == 1:
        return _fractions(count, rng)
    sizes: list[int] = []
    while (left := count - sum(sizes)) > 0:
        sizes += rng.integers(1, 2 * burst, size=left // burst + 1).tolist()
    return np.repeat(_fractions(len(sizes), rng), sizes)[:count]


def _hour_of_week(start: datetime | None) -> float:
    if start is None:
        return 0.0
    return start.weekday() * 24 + start.hour + start.minute / 60 + start.second / 3600
