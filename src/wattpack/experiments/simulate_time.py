"""`wattpack.simulate` in time: one run in Python, and its result as columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wattpack.datasets.alibaba2023 import TRACES
from wattpack.datasets.alibaba2023_times import timed_trace
from wattpack.datasets.inflation import FIRST_SEED, node_order, seeded
from wattpack.datasets.speed_files import mean_speed, speeds_by_model
from wattpack.datasets.timed_trace import timed_trace_of
from wattpack.engine.moments.options import Speeds
from wattpack.engine.moments.record import OUTCOMES, TimeRecord
from wattpack.engine.runs.record import gpu_index_text
from wattpack.errors import UserError
from wattpack.experiments.sleep_and_caps import check_caps
from wattpack.experiments.timed import clock_s, drawn_tasks, prepared
from wattpack.experiments.timed_fields import load_cap_tables, load_signals, load_speed_tables
from wattpack.experiments.timed_options import DAYS, LOAD, SHAPE, Timed
from wattpack.experiments.timed_result import Series, TimedNumbers, numbers_of, series_of
from wattpack.frames import new_frame
from wattpack.model.caps import SPEED_UNDER_CAP
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.model.timed_tasks import TimedTasks

if TYPE_CHECKING:
    from pandas import DataFrame

TASK_COLUMNS = ("task", "node", "gpu_index", "arrival_s", "start_s", "end_s", "wait_s", "outcome")


@dataclass(frozen=True, repr=False, eq=False)
class TimedRun:
    """One run in time. Times are seconds from the first arrival.

    The datacenter over time, one row a sample: `time_s`, `power_w`, `kwh`, `allocated_gpus`, `gpu_hours`, `queued`,
    `running`, and where nodes sleep `busy_nodes`, `empty_nodes`, `transition_nodes`, `asleep_nodes`; `columns` explains
    them, `to_pandas()` gives them as a frame. Of the whole run: `numbers.kwh`, `numbers.wait_p99_s`, ...: the columns
    of `time.csv`. What became of each task: `record`, `tasks_to_pandas()`. `chosen` says what `auto` chose.
    """

    datacenter: Datacenter
    tasks: TimedTasks
    record: TimeRecord
    numbers: TimedNumbers
    series: Series
    chosen: str = ""  # what `auto` chose, and why; empty for other policies

    @property
    def columns(self) -> dict[str, str]:
        """What each column holds, and its unit, by name."""
        return dict(self.series.meaning)

    def __getattr__(self, name: str) -> NDArray[np.float64]:
        if name in (known := self.__dict__["series"].meaning):
            found: NDArray[np.float64] = getattr(self.series, name)
            return found
        raise AttributeError(f"TimedRun has no {name!r}, expected one of {', '.join(known)}")

    def __len__(self) -> int:
        return len(self.tasks)

    def __repr__(self) -> str:
        own = self.numbers
        text = f"TimedRun: {own.arrived:,} tasks in {own.horizon_s / 3600:,.1f} h on {len(self.datacenter):,} nodes"
        chosen = f"; {self.chosen}" if self.chosen else ""
        return f"{text}, {own.kwh:,.1f} kWh, mean {own.mean_kw:,.2f} kW, {own.gpu_hours:,.1f} GPU-hours{chosen}"

    def to_pandas(self) -> DataFrame:
        """The series as a frame, one row a sample."""
        return new_frame(self.series.columns())

    def tasks_to_pandas(self) -> DataFrame:
        """A frame with one row a task in the order of the workload; `outcome` is done, running, waiting, failed,
        refused or gave_up, and empty for a task that arrived after the end of the run."""
        record, workload, names = self.record, self.tasks.workload, self.datacenter.names
        started = ~np.isnan(record.start_s)
        columns: dict[str, Any] = {
            "task": [workload.task_name(i) for i in range(len(self))],
            "node": [names[n] if is_on else "" for n, is_on in zip(record.node, started, strict=True)],
            "gpu_index": [gpu_index_text(int(bits)) for bits in record.gpus],
            "arrival_s": self.tasks.arrival_s - self.tasks.first_s,
            "start_s": record.start_s,
            "end_s": record.end_s,
            "wait_s": record.wait_s,
            "outcome": [OUTCOMES[ended] if ended >= 0 else "" for ended in record.outcome],
        }
        return new_frame({name: columns[name] for name in TASK_COLUMNS})


def simulate_in_time(
    datacenter: Datacenter,
    workload: Workload | TimedTasks,
    mix: Mix,
    profile: PowerProfile,
    timed: Timed,
    seed: int | None = None,
    target: Workload | None = None,
) -> TimedRun:
    """One run. With a load, tasks are drawn with `seed` from a built-in trace or from tasks with durations."""
    drawn = timed.load > 0 or not isinstance(workload, TimedTasks)
    seeds = seeded(seed if seed is not None else FIRST_SEED if drawn else 0)  # 0: as the command line
    own = workload.workload if isinstance(workload, TimedTasks) else workload
    if drawn:
        timed = timed._replace(load=timed.load or LOAD, days=timed.days or DAYS, arrivals=timed.arrivals or SHAPE)
        if not isinstance(workload, TimedTasks) and own.name not in TRACES:
            raise UserError(f"{own.name}: no times, expected arrival_s and duration_s, or a built-in trace")
        source = timed_trace_of(workload) if isinstance(workload, TimedTasks) else timed_trace(own.name)
        tasks = drawn_tasks(source, timed, datacenter, seeds.workload)
        datacenter = datacenter.ordered(node_order(datacenter, seeds.node_order))
    else:
        assert isinstance(workload, TimedTasks)
        tasks = workload
        if seed is not None:
            raise UserError(f"seed {seed} with tasks at their own times: nothing is drawn, expected a load too")
        timed = timed._replace(days=0.0, arrivals="")
    signals = {quantity: signal for (quantity, _), signal in load_signals((timed,)).items()}
    speeds = None
    if timed.speed:
        table = load_speed_tables((timed,))[timed.speed]
        by_model = speeds_by_model(table, datacenter.models, timed.speed)
        speeds = Speeds(timed.speed_reference or mean_speed(datacenter, by_model), by_model)
    aim = Target.of(own if target is None else target)
    check_caps(timed.cap, datacenter.models)
    under_cap = load_cap_tables((timed,))[timed.cap_speed] if timed.cap_speed else SPEED_UNDER_CAP
    ready = prepared(datacenter, tasks, mix, aim, seeds.policy, profile, timed, signals, speeds, under_cap)
    outcome = ready.run()
    numbers = numbers_of(outcome.account, clock_s(outcome.start))
    series = series_of(outcome.record, len(datacenter) if timed.sleep else None)
    return TimedRun(datacenter, outcome.tasks, outcome.record, numbers, series)


def timed_tasks_from(
    workload: Workload,
    arrival_s: ArrayLike,
    duration_s: ArrayLike,
    slack_s: ArrayLike | None = None,
    service_class: Any = None,
    owner: Any = None,
) -> TimedTasks:
    """The workload with these times, one value a task."""
    found = TimedTasks(workload, _floats(arrival_s, "arrival_s"), _floats(duration_s, "duration_s"))
    if slack_s is not None:
        found = replace(found, slack_s=_floats(slack_s, "slack_s"))
    if service_class is not None:
        from wattpack.model.timed_tasks import is_batch

        names = tuple(str(name) for name in service_class)
        found = replace(found, service_class=names, batch=np.array([is_batch(name) for name in names], dtype=bool))
    if owner is not None:
        found = replace(found, owner=tuple(str(name) for name in owner))
    return found


def _floats(values: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        return np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise UserError(f"{what}: {values!r}, expected seconds") from None
