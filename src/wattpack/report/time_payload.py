"""Series over time as the page's script reads them: the least and largest value of each bucket of time, packed.

A month of minutes is 43,200 samples for each policy and panel. Where a page would exceed its budget, samples are put
together into buckets, and a bucket keeps its least and largest value, so that no peak is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.scenario import Inputs
from wattpack.experiments.timed_result import J_PER_KWH, NODES_BY_STATE, Series
from wattpack.experiments.timed_scenarios import BUDGET, CARBON, PRICE, signal_over_run
from wattpack.experiments.timed_table import Group, Table, TimedRow, baseline_of, group_titles
from wattpack.report.payload import pack
from wattpack.report.style import label, look
from wattpack.report.time_rows import row_title
from wattpack.report.units import power_unit

Array = NDArray[np.float64]

BUDGET_LETTERS = 1_200_000  # of all packed curves of a page
LETTERS_A_VALUE = 2.5
MOST_BUCKETS = 12_000  # a week of minutes as it is
FEWEST_BUCKETS = 200
# Words for `NODES_BY_STATE`, from the bottom of the stack up.
STATES = ("busy", "empty", "in transition", "asleep")
# Dashes of the second, third, ... datacenter; the first has the policy's own.
MORE_DASHES: tuple[tuple[int, ...], ...] = ((2, 2), (6, 3), (1, 2), (8, 2, 2, 2))


@dataclass(frozen=True)
class Buckets:
    """Buckets of equal length from the start of the run on; the last may end after the run."""

    step_s: float
    count: int

    def range_of(self, time_s: Array, value: Array) -> tuple[Array, Array]:
        """Least and largest value of each bucket, of values that hold from their time until the next.

        Values from after the end of the run are left out.
        """
        edges = np.arange(self.count) * self.step_s
        held = value[np.maximum(np.searchsorted(time_s, edges, side="right") - 1, 0)]  # at the start of each bucket
        inside = time_s < self.count * self.step_s
        place, value = (time_s[inside] / self.step_s).astype(np.int64), value[inside]
        low, high = held.copy(), held.copy()
        np.minimum.at(low, place, value)
        np.maximum.at(high, place, value)
        return low, high

    def mean_of(self, time_s: Array, integral: Array) -> Array:
        """Mean over each bucket of what `integral` is the integral of."""
        edges = np.minimum(np.arange(self.count + 1) * self.step_s, time_s[-1])
        lengths = np.diff(edges)
        return np.diff(np.interp(edges, time_s, integral)) / np.where(lengths > 0, lengths, 1.0)

    def mean_held(self, time_s: Array, value: Array) -> Array:
        """Mean over each bucket of values that hold from their time until the next."""
        passed = np.cumsum(value * np.diff(time_s, append=time_s[-1:]))
        return self.mean_of(time_s, np.concatenate([[0.0], passed[:-1]]))


def time_payload(table: Table, folder: ResultsFolder, inputs: Inputs) -> dict[str, Any]:
    """Everything that the page draws, ready for JSON. Of several seeds the first is shown."""
    curves = sum(len(rows) for rows in table.values())
    arrays = 7 + (len(STATES) if any(group.options.sleep for group in table) else 0)  # ranges of three panels, one more
    most = int(BUDGET_LETTERS / LETTERS_A_VALUE / max(1, curves) / arrays)
    most = min(MOST_BUCKETS, max(FEWEST_BUCKETS, most))
    titles = group_titles(list(table))
    policies = list(dict.fromkeys(row.policy for rows in table.values() for row in rows))
    return {
        "groups": [_group(titles[group], group, rows, folder, inputs, most, policies) for group, rows in table.items()]
    }


def _group(
    title: str,
    group: Group,
    rows: Sequence[TimedRow],
    folder: ResultsFolder,
    inputs: Inputs,
    most: int,
    policies: Sequence[str],
) -> dict[str, Any]:
    series = [folder.read_series(row.scenarios[0]) for row in rows]
    horizon_s = float(series[0].time_s[-1])
    buckets = _buckets(horizon_s, group.options.sample_s, most)
    datacenters = list(dict.fromkeys(row.datacenter for row in rows))
    start_s = rows[0].runs[0].start_s
    signals = {
        name: steps for name in (CARBON, PRICE, BUDGET) if (steps := _signal(name, group, rows[0], inputs, horizon_s))
    }
    seed = f" Tasks are those of seed {rows[0].seeds[0]}." if group.options.load > 0 else ""
    sampled = f"A point is {_length(buckets.step_s)}"
    thinned = (
        f"{sampled}: its least and largest value are drawn."
        if buckets.step_s > group.options.sample_s
        else f"{sampled}."
    )
    asleep = " Nodes by state are means over a point." if any(one.sleeps for one in series) else ""
    return {
        "title": title,
        "step": buckets.step_s,
        "count": buckets.count,
        "start": None if start_s != start_s else start_s,
        "note": thinned + seed + asleep,
        "curves": [
            {
                "name": row_title(row, rows),
                "cls": f"p{policies.index(row.policy)}",
                "dash": _dash(row, datacenters),
                "heavy": row is baseline_of(rows),
            }
            for row in rows
        ],
        "panels": _panels(rows, series, buckets, signals),
    }


def _panels(
    rows: Sequence[TimedRow],
    series: Sequence[Series],
    buckets: Buckets,
    signals: Mapping[str, tuple[Array, Array, str]],
) -> list[dict[str, Any]]:
    unit, unit_w = power_unit(row.mean("peak_kw") * 1000 for row in rows)
    power = [(buckets.range_of(one.time_s, one.power_w / unit_w)) for one in series]
    panels = [_panel(f"IT power, {unit}", unit, unit, 190, power, from_zero=False, digits=3)]
    if BUDGET in signals:
        time_s, value, _ = signals[BUDGET]
        low, high = buckets.range_of(time_s, value * 1000 / unit_w)
        panels[0]["lines"].append({"name": "budget", "dash": [3, 2], **_packed(low, high, panels[0]["step"])})
    baseline = baseline_of(rows)
    if baseline is not None and len(rows) > 1:
        means = [buckets.mean_of(one.time_s, one.kwh * J_PER_KWH) for one in series]
        base = means[rows.index(baseline)]
        most_w = max(float(np.abs(base - own).max(initial=0.0)) for own in means)
        unit, unit_w = difference_unit(most_w)
        saved = [((base - own) / unit_w, (base - own) / unit_w) for own in means]
        other = label(baseline.policy)
        panel = _panel(f"IT power below that of {other}, {unit}", unit, f"below {other}, {unit}", 120, saved, digits=1)
        panel["lines"] = [line for line in panel["lines"] if line["curve"] != rows.index(baseline)]
        panels.append(panel)
    gpus = [buckets.range_of(one.time_s, one.allocated_gpus) for one in series]
    panels.append(_panel("GPUs in use", "GPUs", "GPUs", 120, gpus, from_zero=False, digits=1))
    if any(one.queued.any() for one in series):
        queue = [buckets.range_of(one.time_s, one.queued) for one in series]
        panels.append(_panel("Tasks that wait", "tasks", "waiting", 110, queue, digits=0))
    panels += [
        _states(place, row_title(row, rows), one, buckets)
        for place, (row, one) in enumerate(zip(rows, series, strict=True))
        if one.sleeps
    ]
    for name, title in ((CARBON, "Carbon intensity"), (PRICE, "Price")):
        if name in signals:
            time_s, value, unit = signals[name]
            panel = _panel(f"{title}, {unit}", unit, title, 80, [buckets.range_of(time_s, value)], digits=4)
            panel["lines"][0] = {"name": title.lower(), **{k: v for k, v in panel["lines"][0].items() if k != "curve"}}
            panels.append(panel)
    return panels


def difference_unit(most_w: float) -> tuple[str, float]:
    """MW, kW or W for differences of at most so many watts, and its size in watts."""
    return ("MW", 1e6) if most_w >= 1e6 else ("kW", 1e3) if most_w >= 1e3 else ("W", 1.0)


def _states(curve: int, name: str, series: Series, buckets: Buckets) -> dict[str, Any]:
    """Nodes by state as a stack: means over each bucket, so that they add up to all nodes."""
    means = [buckets.mean_held(series.time_s, getattr(series, state)) for state in NODES_BY_STATE]
    areas = [{"lo": pack(mean, 0.01)} for mean in means]
    head = {"name": f"Nodes by state: {name}", "unit": "nodes", "short": " / ".join(STATES), "height": 110}
    return {**head, "fromZero": True, "digits": 1, "step": 0.01, "lines": [], "curve": curve, "areas": areas}


def _panel(
    name: str,
    unit: str,
    short: str,
    height: int,
    ranges: Sequence[tuple[Array, Array]],
    from_zero: bool = True,
    digits: int = 2,
) -> dict[str, Any]:
    largest = max((float(np.abs(values).max(initial=0.0)) for pair in ranges for values in pair), default=0.0)
    step = float(10.0 ** np.floor(np.log10(max(largest, 1e-9))) / 1000)
    lines = [{"curve": place, **_packed(low, high, step)} for place, (low, high) in enumerate(ranges)]
    head = {"name": name, "unit": unit, "short": short, "height": height, "fromZero": from_zero, "digits": digits}
    return {**head, "step": step, "lines": lines}


def _packed(low: Array, high: Array, step: float) -> dict[str, str]:
    packed = pack(low, step)
    return {"lo": packed} if np.array_equal(low, high) else {"lo": packed, "hi": pack(high, step)}


def _buckets(horizon_s: float, sample_s: float, most: int) -> Buckets:
    """As many whole samples in a bucket as the budget asks for."""
    samples = max(1, int(np.ceil(horizon_s / sample_s)))
    together = int(np.ceil(samples / most))
    return Buckets(sample_s * together, int(np.ceil(samples / together)))


def _signal(
    name: str, group: Group, row: TimedRow, inputs: Inputs, horizon_s: float
) -> tuple[Array, Array, str] | None:
    """Times and values of a signal on the clock of the run, with its unit; None for one that never changes."""
    if not getattr(group.options, name):
        return None
    found = signal_over_run(name, group.options, inputs.timed[row.scenarios[0].trace], inputs, horizon_s)
    if found is None or (len(found.time_s) == 1 and name != BUDGET):
        return None
    currency = row.runs[0].currency or "money"
    units = {CARBON: "g CO2e per kWh", BUDGET: "kW", PRICE: f"{currency} per kWh"}
    first = max(0, int(np.searchsorted(found.time_s, 0.0, side="right")) - 1)
    return np.maximum(found.time_s[first:], 0.0), found.value[first:], units[name]


def _dash(row: TimedRow, datacenters: Sequence[str]) -> list[int]:
    place = datacenters.index(row.datacenter)
    return list(look(row.policy).dash if place == 0 else MORE_DASHES[(place - 1) % len(MORE_DASHES)])


def _length(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:g} s"
    return f"{seconds / 60:g} min" if seconds < 7200 else f"{seconds / 3600:g} h"
