"""Scenarios of runs in time: what the options of a block mean for one datacenter and trace, and checks before a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from wattpack.datasets import alibaba2023
from wattpack.datasets.alibaba2023_times import timed_trace
from wattpack.datasets.generators import check_wanted
from wattpack.datasets.inflation import MAX_TASKS
from wattpack.datasets.speed_files import mean_speed, speeds_by_model
from wattpack.datasets.timed_files import read_timed_tasks
from wattpack.datasets.timed_trace import TimedTrace, timed_trace_of
from wattpack.energy.signal import BUDGET as BUDGET  # quantities, also for reports
from wattpack.energy.signal import CARBON as CARBON
from wattpack.energy.signal import PRICE as PRICE
from wattpack.energy.signal import run_start
from wattpack.energy.slack import ALL_TASKS, slack_by_class
from wattpack.engine.moments.options import TimeOptions
from wattpack.engine.moments.simulate import marks
from wattpack.errors import UserError
from wattpack.experiments.scenario import STEADY, Inputs, Scenario, new_scenario
from wattpack.experiments.sleep_and_caps import check_caps
from wattpack.experiments.timed import on_clock
from wattpack.experiments.timed_options import DAYS, LOAD, SHAPE, Timed, start_of
from wattpack.model.durations import DAY_S
from wattpack.model.steps import Steps
from wattpack.model.timed_tasks import TimedTasks

AS_IT_IS = 0  # seed of a run of tasks at their own times: nothing is drawn


def load_timed(name: str, path: str | Path | None = None) -> TimedTrace | TimedTasks:
    """A built-in trace with its durations, or the tasks of a file with their times."""
    return timed_trace(name) if name in alibaba2023.TRACES else read_timed_tasks(path or name)


def timed_scenario(
    inputs: Inputs, datacenter: str, trace: str, policy: str, seed: int, profile: str, timed: Timed, first: str
) -> Scenario:
    """One run. `first`: the datacenter that loads and speeds refer to, so that all see the same tasks."""
    resolved = resolved_timed(timed, inputs, datacenter, trace, first)
    plain = new_scenario(inputs, datacenter, trace, policy, seed, profile, kind=STEADY)
    digest = inputs.digests["timed"][trace]
    return replace(plain, timed=resolved, seed=seed if resolved.load > 0 else AS_IT_IS, trace_digest=digest, up_to=0.0)


def resolved_timed(timed: Timed, inputs: Inputs, datacenter: str, trace: str, first: str) -> Timed:
    """The options of a block for one datacenter and trace, defaults filled in, with digests."""
    source, nodes = inputs.timed[trace], inputs.datacenters[first]
    load = timed.load or (LOAD if isinstance(source, TimedTrace) else 0.0)
    if load > 0:
        found = timed._replace(
            load=load,
            days=timed.days or DAYS,
            arrivals=timed.arrivals or SHAPE,
            load_gpu_milli=timed.load_gpu_milli or nodes.gpu_milli,
        )
    else:
        found = timed._replace(load=0.0, days=0.0, arrivals="", load_gpu_milli=0)
    waits = bool(timed.slack) or bool((source.slack_s > 0).any())
    if not waits or not found.slack_by:
        found = found._replace(slack_by="", forecast="")
    if timed.speed:
        table = inputs.speeds[timed.speed]
        speeds_by_model(table, inputs.datacenters[datacenter].models, timed.speed)
        mean = timed.speed_reference or mean_speed(nodes, speeds_by_model(table, nodes.models, timed.speed))
        found = found._replace(speed_reference=mean)
    digests = inputs.digests

    def digest(kind: str, name: str) -> str:
        return digests[kind][name] if name else ""

    return found._replace(
        carbon_digest=digest(CARBON, timed.carbon),
        price_digest=digest(PRICE, timed.price),
        budget_digest=digest(BUDGET, timed.budget),
        speed_digest=digest("speed", timed.speed),
        target_digest=digest("trace", timed.target),
        cap_speed_digest=digest("cap_speed", timed.cap_speed),
    )


def check_timed(scenarios: Iterable[Scenario], inputs: Inputs) -> None:
    """Refuse what would fail in each run: too many tasks or samples, a signal that does not cover the run."""
    seen: set[tuple[str, Timed]] = set()
    scenarios = list(scenarios)
    models: dict[str, set[str]] = {}  # by caps: of all datacenters that run under them
    for scenario in scenarios:
        if scenario.timed is not None:
            models.setdefault(scenario.timed.cap, set()).update(inputs.datacenters[scenario.datacenter].models)
    for caps, there in models.items():
        check_caps(caps, there)
    for scenario in scenarios:
        timed = scenario.timed
        if timed is None or (scenario.trace, timed) in seen:
            continue
        seen.add((scenario.trace, timed))
        source = inputs.timed[scenario.trace]
        horizon_s = timed.horizon_s or timed.days * DAY_S
        if timed.load > 0:
            trace = source if isinstance(source, TimedTrace) else timed_trace_of(source)
            check_wanted(trace, timed.load_gpu_milli, timed.load, timed.days)
            tasks = timed.load * timed.load_gpu_milli / 1000 * timed.days * DAY_S / trace.mean_gpu_s()
            if tasks > MAX_TASKS:
                raise UserError(
                    f"{scenario.trace}: load {timed.load:g} over {timed.days:g} days makes {tasks:,.0f} tasks, "
                    f"expected at most {MAX_TASKS:,}"
                )
        elif isinstance(source, TimedTasks) and not timed.horizon_s:
            horizon_s = float(source.arrival_s.max() - source.first_s)
        marks(TimeOptions(sample_s=timed.sample_s), horizon_s)
        for quantity in (CARBON, PRICE, BUDGET):
            signal_over_run(quantity, timed, source, inputs, horizon_s)
        known = sorted(set(source.service_class) - {""})
        for name in slack_by_class(timed.slack.split(",")) if timed.slack else ():
            if name not in (ALL_TASKS, *known):
                raise UserError(
                    f"slack {name}: no task of that class of service in {scenario.trace}, expected one of "
                    f"{', '.join(known) or 'none: its tasks have no class'}"
                )


def signal_over_run(
    quantity: str, timed: Timed, source: TimedTrace | TimedTasks, inputs: Inputs, horizon_s: float
) -> Steps | None:
    """A signal on the clock of the run; None where the options name none."""
    names = {quantity: name for quantity in (CARBON, PRICE, BUDGET) if (name := getattr(timed, quantity))}
    if quantity not in names:
        return None
    start = start_of(timed.start) if timed.start else None
    if start is None and timed.load == 0 and isinstance(source, TimedTasks):
        start = source.start
    signals = {own: inputs.signals[own, name] for own, name in names.items()}
    return on_clock(signals[quantity], run_start(signals.values(), start), horizon_s, timed)
