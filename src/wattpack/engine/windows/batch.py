"""Batch windows: when a window closes, how long its tasks have waited, and the arrival run with windows.

A window closes when it holds `tasks` tasks, or when its first task has waited `seconds`, whichever is first.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import COLUMNS
from wattpack.engine.runs.arrivals import draw_luck
from wattpack.engine.runs.record import Run
from wattpack.engine.windows.place import place_window
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload

MAX_BATCH = 256
MAX_SECONDS = 1e9  # of a hold; infinite is no limit
MAX_MILP_SECONDS = 3600.0


class Batch(NamedTuple):
    """How tasks are held and placed together; `tasks` = 1 means no windows."""

    tasks: int = 1
    seconds: float = inf  # the longest time that the first task of a window waits
    milp_seconds: float = 0.0  # time limit of the MILP of a window; 0: no MILP

    @property
    def label(self) -> str:
        """The text after a policy's name, `batch 16 milp 10 s`; empty without windows."""
        if self.tasks == 1:
            return ""
        return f"batch {self.tasks}" + (f" milp {self.milp_seconds:g} s" if self.milp_seconds > 0 else "")


ALONE = Batch()


def new_batch(tasks: int, seconds: float | None = None, milp_seconds: float = 0.0) -> Batch:
    """A Batch from a user's options; raises UserError for values that make no sense."""
    if not 1 <= tasks <= MAX_BATCH:
        raise UserError(f"batch {tasks}, expected 1 (no windows) to {MAX_BATCH} tasks")
    if seconds is not None and not (0 < seconds <= MAX_SECONDS or seconds == inf):
        raise UserError(f"batch seconds {seconds:g}, expected above 0 and at most {MAX_SECONDS:g}")
    if not 0 <= milp_seconds <= MAX_MILP_SECONDS:
        raise UserError(f"batch MILP seconds {milp_seconds:g}, expected 0 (without it) to {MAX_MILP_SECONDS:g}")
    if tasks == 1 and (seconds is not None or milp_seconds > 0):
        raise UserError("a limit in seconds without windows, expected a batch of 2 tasks or more too")
    return Batch(tasks, inf if seconds is None else float(seconds), float(milp_seconds))


class Closing(NamedTuple):
    """A window: its tasks are `begin` to `end`, placed at `moment_s`."""

    begin: int
    end: int
    moment_s: float


def closings(arrival_s: NDArray[np.float64], batch: Batch) -> Iterator[Closing]:
    """The windows of tasks that arrive at these times, ascending.

    A task that arrives exactly when the time of a window is up still belongs to it. Without a limit in seconds, the
    last window, which may not be full, closes with the last arrival.
    """
    begin, tasks = 0, len(arrival_s)
    while begin < tasks:
        up_s = float(arrival_s[begin]) + batch.seconds
        end = min(begin + batch.tasks, int(np.searchsorted(arrival_s, up_s, side="right")))
        full = end - begin == batch.tasks or batch.seconds == inf
        yield Closing(begin, end, float(arrival_s[end - 1]) if full else up_s)
        begin = end


def run_windows(
    engine: Engine,
    workload: Workload,
    luck: NDArray[np.float64],
    batch: Batch,
    arrival_s: NDArray[np.float64] | None = None,
) -> Run:
    """`run_arrivals` with windows. A limit in seconds needs `arrival_s`.

    Row i of the series is the state after i + 1 tasks, in the order in which they were placed (`Run.order`): tasks that
    are still held are in no row.
    """
    if arrival_s is None and batch.seconds < inf:
        raise UserError("windows with a limit in seconds, expected the times of arrival too")
    times = np.zeros(len(workload)) if arrival_s is None else arrival_s
    run = Run.empty(engine.datacenter, workload, engine.state.totals[:COLUMNS])
    order, wait_s = np.arange(len(workload)), np.zeros(len(workload))
    for begin, end, moment_s in closings(times, batch):
        rows = slice(begin, end)
        placed = place_window(engine, workload, workload.sequence[rows], luck[rows], batch.milp_seconds)
        tasks = begin + placed.order
        run.node[tasks], run.gpus[tasks], run.reason[tasks] = placed.node, placed.gpus, placed.reason
        run.series[rows], order[rows], wait_s[rows] = placed.series, tasks, moment_s - times[rows]
    return run.with_windows(order, None if arrival_s is None else wait_s)


def simulate_windows(
    datacenter: Datacenter,
    workload: Workload,
    mix: Mix,
    target: Target,
    rng: np.random.Generator | None = None,
    profile: PowerProfile = PAPER,
    batch: Batch = ALONE,
    arrival_s: NDArray[np.float64] | None = None,
) -> Run:
    """`simulate` with windows; with those of one task it is the same run."""
    engine = Engine(datacenter, workload.classes, mix, target, profile)
    return run_windows(engine, workload, draw_luck(workload, rng), batch, arrival_s)
