"""A run in time: tasks at their own times or drawn at a load, a queue, signals; the third kind of scenario."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wattpack.datasets.arrival_shapes import read_shape
from wattpack.datasets.cap_speed_files import CapSpeeds
from wattpack.datasets.generators import generate
from wattpack.datasets.inflation import node_order, seeded
from wattpack.datasets.speed_files import speeds_by_model
from wattpack.datasets.timed_trace import TimedTrace, timed_trace_of
from wattpack.energy.account import Account, account
from wattpack.energy.chosen import chosen_embodied
from wattpack.energy.signal import BUDGET, CARBON, PRICE, Signal, run_start, signal_marks
from wattpack.energy.slack import joined_s, slack_by_class, with_slack
from wattpack.engine.moments.options import LEARNT, Sleep, Speeds, TimeOptions, with_caps
from wattpack.engine.moments.record import TimeRecord
from wattpack.engine.moments.simulate import Simulation, endless_s, length_until_done_s, new_simulation
from wattpack.experiments.consolidating import consolidation_of, moves_in_time
from wattpack.experiments.recent import Recent
from wattpack.experiments.sleep_and_caps import caps_of, sleep_of
from wattpack.experiments.timed_options import DONE, Timed, start_of
from wattpack.model.caps import SPEED_UNDER_CAP, capped, speed_under_cap
from wattpack.model.durations import DAY_S
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.steps import Steps
from wattpack.model.target import Target
from wattpack.model.timed_tasks import TimedTasks
from wattpack.optimise.bound.least_energy import least_energy
from wattpack.policies.expression import parse

if TYPE_CHECKING:
    from wattpack.experiments.scenario import Inputs, Scenario

_tasks = Recent(2)  # of one seed: a million tasks take 100 MB

BOUND_SAMPLES = 10  # moments at which the LP is solved; 400 give the same within 0.003 % (docs/research/bound.md)


@dataclass(frozen=True, eq=False)
class TimedOutcome:
    """A finished run: what became of each task, what it cost, and what it ran on."""

    record: TimeRecord
    account: Account
    tasks: TimedTasks
    datacenter: Datacenter  # in the order of the run
    start: datetime | None  # clock time of the first arrival: of the tasks, or where a signal begins


def run_timed_scenario(scenario: Scenario, inputs: Inputs, note_sleep: bool = False) -> TimedOutcome:
    """The run of a scenario. All policies of a seed see the same tasks and node order.

    `note_sleep`: the record has every change of a node's state of sleep.
    """
    return prepared(**told_of(scenario, inputs), note_sleep=note_sleep).run()


def simulation_of(scenario: Scenario, inputs: Inputs) -> Simulation:
    """The same run before it begins: for a look at it under way."""
    return prepared(**told_of(scenario, inputs)).simulation


def told_of(scenario: Scenario, inputs: Inputs) -> dict[str, Any]:
    """What the run of a scenario is made of: the arguments of `prepared`."""
    timed = scenario.timed
    assert timed is not None
    datacenter, source = inputs.datacenters[scenario.datacenter], inputs.timed[scenario.trace]
    seeds = seeded(scenario.seed)
    if timed.load > 0:
        key = (scenario.trace_digest, scenario.seed, timed.load, timed.days, timed.arrivals, timed.load_gpu_milli)
        tasks = _tasks.get((*key, timed.start), lambda: drawn_tasks(source, timed, datacenter, seeds.workload))
        datacenter = datacenter.ordered(node_order(datacenter, seeds.node_order))
    else:
        assert isinstance(source, TimedTasks)
        tasks = source
    target = inputs.traces[timed.target or scenario.trace]
    signals = {name: inputs.signals[name, text] for name in (CARBON, PRICE, BUDGET) if (text := getattr(timed, name))}
    table = inputs.speeds[timed.speed] if timed.speed else None
    speeds = None
    if table is not None:
        speeds = Speeds(timed.speed_reference, speeds_by_model(table, datacenter.models, timed.speed))
    return {
        "datacenter": datacenter,
        "tasks": tasks,
        "mix": parse(scenario.policy),
        "target": Target.of(target),
        "rng": seeds.policy,
        "profile": inputs.profiles[scenario.profile],
        "timed": timed,
        "signals": signals,
        "speeds": speeds,
        "under_cap": inputs.cap_speeds[timed.cap_speed] if timed.cap_speed else SPEED_UNDER_CAP,
    }


def drawn_tasks(
    source: TimedTrace | TimedTasks, timed: Timed, datacenter: Datacenter, rng: np.random.Generator
) -> TimedTasks:
    """Tasks at the load of `timed`, drawn from a trace or from the tasks of a file."""
    trace = source if isinstance(source, TimedTrace) else timed_trace_of(source)
    gpu_milli = timed.load_gpu_milli or datacenter.gpu_milli
    start = start_of(timed.start) if timed.start else None
    return generate(trace, gpu_milli, timed.load, timed.days, rng, read_shape(timed.arrivals), start)


class Prepared(NamedTuple):
    """A run in time that is about to begin, and what its account needs."""

    simulation: Simulation
    timed: Timed
    tasks: TimedTasks
    datacenter: Datacenter
    steps: dict[str, Steps]  # carbon and price on the clock of the run
    currency: str
    watts: PowerProfile  # with capped GPUs
    has_speeds: bool  # of models, from a table: without one, speeds under caps are no A100-hours
    start: datetime | None

    def run(self) -> TimedOutcome:
        """Let it happen, and account for it."""
        timed, options = self.timed, self.simulation.options
        record = self.simulation.record()
        found = account(
            record,
            self.tasks,
            self.datacenter,
            pue=timed.pue,
            carbon=self.steps.get(CARBON),
            price=self.steps.get(PRICE),
            currency=self.currency,
            embodied=chosen_embodied(timed.embodied) if timed.embodied else None,
            speeds=options.speeds if self.has_speeds else None,
            sleeps=options.sleep is not None,
            moves=self.simulation.moves is not None,
        )
        if timed.bound:
            least = least_kwh(record, self.tasks, self.datacenter, self.watts, options.sleep)
            found = replace(found, least_kwh=least)
        return TimedOutcome(record, found, self.tasks, self.datacenter, self.start)


def prepared(
    datacenter: Datacenter,
    tasks: TimedTasks,
    mix: Mix,
    target: Target,
    rng: np.random.Generator | None = None,
    profile: PowerProfile = PAPER,
    timed: Timed | None = None,
    signals: dict[str, Signal] | None = None,
    speeds: Speeds | None = None,
    under_cap: CapSpeeds = SPEED_UNDER_CAP,
    note_sleep: bool = False,
) -> Prepared:
    """Tasks that are about to run at their times. `signals`: carbon, price and budget by their quantity.

    `under_cap`: speeds of GPUs under power caps. `note_sleep`: see `TimeOptions`.
    """
    timed, signals = timed or Timed(), signals or {}
    tasks = as_told(tasks, timed)

    def ready(horizon_s: float, signals_until_s: float) -> Prepared:
        finds_length = horizon_s > signals_until_s
        told = timed._replace(sample_s=horizon_s) if finds_length else timed
        own = (deepcopy(rng), profile, told, signals, speeds, under_cap, note_sleep and not finds_length)
        return _prepared(datacenter, tasks, mix, target, horizon_s, signals_until_s, *own)

    length_s = run_length_s(tasks, timed)
    if timed.until != DONE:
        return ready(length_s, length_s)
    # The run happens twice: to find its length, and with samples up to there. What is known of signals decides a run
    # with a budget or with slack: where it is longer than that, the length is looked for again.
    moving = consolidation_of(timed.consolidate)
    endless = endless_s(tasks, inf if moving is None else moving.every_s)
    while True:
        known_s, length_s = length_s, length_until_done_s(ready(endless, length_s).simulation)
        if length_s <= known_s or not signals:
            return ready(length_s, length_s)


def _prepared(
    datacenter: Datacenter,
    tasks: TimedTasks,
    mix: Mix,
    target: Target,
    horizon_s: float,
    signals_until_s: float,
    rng: np.random.Generator | None,
    profile: PowerProfile,
    timed: Timed,
    signals: dict[str, Signal],
    speeds: Speeds | None,
    under_cap: CapSpeeds,
    note_sleep: bool,
) -> Prepared:
    start = run_start(signals.values(), tasks.start)
    steps = {name: on_clock(signal, start, signals_until_s, timed) for name, signal in signals.items()}
    budget = steps.pop(BUDGET, None)
    joined = None
    if timed.slack_by in steps and bool((tasks.slack_s > 0).any()):
        joined = joined_s(tasks, steps[timed.slack_by], timed.forecast)
    caps, run_speeds = caps_of(timed.cap, datacenter.models), speeds
    if caps:
        shares = [speed_under_cap(caps.get(model, 1.0), under_cap) for model in datacenter.models]
        run_speeds = with_caps(speeds, np.array(shares))
    moving = consolidation_of(timed.consolidate)
    options = TimeOptions(
        discipline=timed.queue,
        patience_s=timed.patience_s,
        budget_w=None if budget is None else Steps(budget.time_s, budget.value * 1000),
        horizon_s=horizon_s,
        sample_s=timed.sample_s,
        more_marks_s=tuple(mark for one in steps.values() for mark in signal_marks(one, signals_until_s)),
        speeds=run_speeds,
        sleep=sleep_of(timed.sleep, int(datacenter.gpus.sum())),
        note_sleep=note_sleep,
        durations=timed.durations or LEARNT,
        move_every_s=inf if moving is None else moving.every_s,
    )
    moves = None if moving is None else moves_in_time(moving, datacenter, exact_speeds=run_speeds is not None)
    watts = capped(profile, caps)
    simulation = new_simulation(datacenter, tasks, mix, target, rng, watts, options, joined, moves)
    currency = signals[PRICE].currency if PRICE in signals else ""
    return Prepared(simulation, timed, tasks, datacenter, steps, currency, watts, speeds is not None, start)


def least_kwh(
    record: TimeRecord, tasks: TimedTasks, datacenter: Datacenter, profile: PowerProfile, sleep: Sleep | None
) -> float:
    """With nodes asleep at no cost of transitions and the same reserve, where nodes sleep."""
    asleep = (inf, 0) if sleep is None else (sleep.sleep_w, sleep.reserve_gpus or 0)
    return least_energy(
        record, tasks, datacenter, profile, sleep_w=asleep[0], reserve_gpus=asleep[1], samples=BOUND_SAMPLES
    ).kwh


def run_length_s(tasks: TimedTasks, timed: Timed) -> float:
    """The horizon: as told, the days of drawn tasks, or until the last arrival."""
    if timed.horizon_s > 0:
        return timed.horizon_s
    if timed.load > 0 and timed.until != DONE:
        return timed.days * DAY_S
    return float(tasks.arrival_s.max() - tasks.first_s) if len(tasks) else 0.0


def on_clock(signal: Signal, start: datetime | None, horizon_s: float, timed: Timed) -> Steps:
    return signal.on_run_clock(start, horizon_s, bool(timed.repeat), bool(timed.hold_gaps))


def as_told(tasks: TimedTasks, timed: Timed) -> TimedTasks:
    """The tasks with the clock time and the slack of `timed`."""
    if timed.start and timed.load == 0:
        tasks = replace(tasks, start=start_of(timed.start))
    return with_slack(tasks, slack_by_class(timed.slack.split(","))) if timed.slack else tasks


def clock_s(start: datetime | None) -> float:
    """A clock time in its own time zone, as seconds since 1970; NaN where it is not known."""
    if start is None:
        return float("nan")
    offset = start.utcoffset()
    return start.timestamp() + (offset.total_seconds() if offset is not None else 0.0)
