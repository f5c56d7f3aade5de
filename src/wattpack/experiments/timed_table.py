"""`time.csv`: a row for each run in time; and the runs of a policy together, with what they save."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wattpack.experiments.saving import DEFAULT_AGAINST, in_files, saved
from wattpack.experiments.scenario import Scenario
from wattpack.experiments.timed_options import Timed
from wattpack.experiments.timed_result import TimedNumbers
from wattpack.files import write_whole

# Columns that are numbers of a run: the fixed ones, and those after them.
NUMBERS = (
    *("kwh", "facility_kwh", "mean_kw", "peak_kw", "co2_kg", "money", "gpu_hours", "work"),
    *("arrived", "failed", "refused", "gave_up", "waiting"),
    *("wait_mean_s", "wait_p50_s", "wait_p95_s", "wait_p99_s"),
)
SLEEP = ("wakes", "asleep_node_hours")
MORE = (
    *("p99_kw", "wh_per_gpu_hour", "kwh_per_work", "co2_embodied_kg", "sci_g_per_gpu_hour"),
    *("slowdown_mean", "slowdown_p95", "done", "running"),
    *("gpu_kwh", "cpu_kwh", "base_kwh", "asleep_kwh", "transition_kwh", "horizon_s"),
    *("mean_asleep_nodes", "nodes", "moves", "paused_gpu_hours", "least_kwh"),
)
COMPLETION = ("jct_mean_s", "jct_p50_s", "jct_p95_s", "jct_p99_s", "makespan_s")  # after the options: they came later
OPTIONS = (
    "queue",
    "patience_s",
    "load",
    "days",
    "arrivals",
    "pue",
    "carbon",
    "price",
    "budget",
    "speed",
    "slack",
    "sleep",
    "cap",
    "consolidate",
)
HEADER = (
    *("datacenter", "trace", "policy", "seed"),
    *NUMBERS,
    *SLEEP,
    *MORE,
    "currency",
    "profile",
    *OPTIONS,
    *COMPLETION,
    "wait_max_s",
    "until",
    "saving",
    "against",
)
FIELD = {"co2_kg": "co2_operational_kg"}  # carbon of electricity; that of making the machines is a column of its own


def write_time(path: Path, results: Mapping[Scenario, TimedNumbers], against: Sequence[str] = DEFAULT_AGAINST) -> None:
    """Empty where a number does not apply. `saving` is that of the row's own seed, against the first of `against`."""
    other = in_files(against)
    bases: dict[tuple[object, ...], TimedNumbers] = {}  # those on the first datacenter: the tasks are the same on all
    for scenario, run in results.items():
        if scenario.label == other:
            bases.setdefault(_same_tasks(scenario), run)

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEADER)
            for scenario, numbers in results.items():
                base = bases.get(_same_tasks(scenario))
                saving = "" if base is None else _text(kwh_saving(numbers, base))
                writer.writerow([*cells(scenario, numbers), saving, "" if base is None else other])

    write_whole(path, write)


def _same_tasks(scenario: Scenario) -> tuple[object, ...]:
    """What two runs have in common that see the same tasks under the same options."""
    return scenario.trace, scenario.seed, scenario.profile, scenario.timed


def kwh_saving(run: TimedNumbers, base: TimedNumbers) -> float:
    """The share of kWh per GPU-hour delivered that is saved; NaN where nothing is delivered."""
    return float(saved(run.kwh, run.gpu_hours, base.kwh, base.gpu_hours))


def cells(scenario: Scenario, numbers: TimedNumbers) -> list[str]:
    timed = scenario.timed or Timed()
    values = [_text(getattr(numbers, FIELD.get(name, name))) for name in (*NUMBERS, *SLEEP)]
    more = [_text(getattr(numbers, name)) for name in MORE]
    options = [_text(getattr(timed, name)) if getattr(timed, name) else "" for name in OPTIONS]
    named = [scenario.datacenter, scenario.trace, scenario.named, str(scenario.seed)]
    completion = [_text(getattr(numbers, name)) for name in (*COMPLETION, "wait_max_s")]
    return [*named, *values, *more, numbers.currency, scenario.profile, *options, *completion, timed.until]


def _text(value: float | int | str) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if isnan(value) or value == inf else f"{value:.15g}"  # 15 digits: what is read is what was run


class Group(NamedTuple):
    """What a table shows together: one trace under one set of options. Datacenters and policies are its rows."""

    trace: str
    profile: str
    options: Timed  # without what belongs to one datacenter

    @property
    def text(self) -> str:
        return self.options.text


@dataclass(frozen=True)
class TimedRow:
    """One policy on one datacenter: the numbers of its seeds, seeds ascending."""

    datacenter: str
    policy: str
    seeds: tuple[int, ...]
    runs: tuple[TimedNumbers, ...]
    scenarios: tuple[Scenario, ...]
    against: tuple[str, ...] = DEFAULT_AGAINST  # the policies that savings are against, the first where one is shown

    def mean(self, measure: str) -> float:
        return float(np.mean([getattr(run, measure) for run in self.runs]))

    def spread(self, measure: str) -> float:
        """Standard deviation over the seeds; 0 for one."""
        return float(np.std([getattr(run, measure) for run in self.runs], ddof=1 if len(self.runs) > 1 else 0))

    def saving(self, baseline: TimedRow) -> float:
        """The share of kWh per GPU-hour delivered that is saved, of the means over the seeds."""
        own, other = ([row.mean(name) for name in ("kwh", "gpu_hours")] for row in (self, baseline))
        return float(saved(*own, *other))

    def saving_spread(self, baseline: TimedRow) -> float:
        """Standard deviation over the seeds of the saving seed by seed; NaN without a common seed."""
        other = dict(zip(baseline.seeds, baseline.runs, strict=True))
        pairs = [(run, other[seed]) for seed, run in zip(self.seeds, self.runs, strict=True) if seed in other]
        found = [kwh_saving(run, base) for run, base in pairs]
        return float(np.std(found, ddof=1 if len(found) > 1 else 0)) if found else float("nan")

    def differences(self, measure: str, baseline: TimedRow) -> list[float]:
        """Relative to the baseline, seed by seed: the policies of a seed see the same tasks."""
        other = dict(zip(baseline.seeds, baseline.runs, strict=True))
        pairs = [(run, other[seed]) for seed, run in zip(self.seeds, self.runs, strict=True) if seed in other]
        return [getattr(run, measure) / getattr(base, measure) - 1 for run, base in pairs if getattr(base, measure)]

    def difference(self, measure: str, baseline: TimedRow) -> tuple[float, float]:
        """Mean and standard deviation of `differences`; NaN where there are none."""
        found = self.differences(measure, baseline)
        if not found:
            return float("nan"), float("nan")
        return float(np.mean(found)), float(np.std(found, ddof=1 if len(found) > 1 else 0))


Table = dict[Group, list[TimedRow]]


def timed_table(results: Mapping[Scenario, TimedNumbers], against: Sequence[str] = DEFAULT_AGAINST) -> Table:
    """The runs by trace and options, then by datacenter and policy, in the order in which they were asked for."""
    found: dict[Group, dict[tuple[str, str], dict[int, tuple[Scenario, TimedNumbers]]]] = {}
    for scenario, numbers in results.items():
        assert scenario.timed is not None
        rows = found.setdefault(Group(scenario.trace, scenario.profile, scenario.timed), {})
        rows.setdefault((scenario.datacenter, scenario.label), {})[scenario.seed] = (scenario, numbers)
    table: Table = {}
    for group, rows in found.items():
        table[group] = []
        for (datacenter, policy), by_seed in rows.items():
            seeds = tuple(sorted(by_seed))
            pairs = [by_seed[seed] for seed in seeds]
            runs, scenarios = tuple(run for _, run in pairs), tuple(scenario for scenario, _ in pairs)
            table[group].append(TimedRow(datacenter, policy, seeds, runs, scenarios, tuple(against)))
    return table


def baseline_of(rows: Sequence[TimedRow], against: str | None = None) -> TimedRow | None:
    """The policy that savings are against, or another one of them, on the first datacenter: the tasks are the same on
    all. None where it was not run."""
    return next((row for row in rows if row.policy == (against or row.against[0])), None)


def group_titles(groups: Sequence[Group]) -> dict[Group, str]:
    """The trace, with profile and options where the groups have several."""
    profiles = len({group.profile for group in groups}) > 1
    traces = [group.trace for group in groups]
    titles = {}
    for group in groups:
        parts = [group.profile] if profiles else []
        parts += [group.text] if traces.count(group.trace) > 1 or group.text else []
        titles[group] = f"{group.trace}: {', '.join(parts)}" if parts else group.trace
    return titles
