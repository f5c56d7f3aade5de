"""What a run cost and delivered: energy by part, carbon, money, GPU-hours, work, waiting. Exact fractions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from time_reference.inputs import Steps, sigma_of, value_at
from time_reference.moments import FAILED, GAVE_UP, REFUSED, Run


def held(run: Run, until_s: float, since_s: float = 0.0) -> Iterator[tuple[float, float, tuple[int, ...]]]:
    """(from, to, milliwatts by part) between moments, from `since_s` up to `until_s`."""
    times = [*[time_s for time_s, _ in run.moments][1:], run.horizon_s]
    for (from_s, parts), to_s in zip(run.moments, times, strict=True):
        if from_s < until_s and to_s > since_s:
            yield max(from_s, since_s), min(to_s, until_s), parts


def energy_j(run: Run, until_s: float, since_s: float = 0.0) -> list[Fraction]:
    """By part."""
    millijoules = [Fraction(0)] * 5
    for from_s, to_s, parts in held(run, until_s, since_s):
        passed = Fraction(to_s) - Fraction(from_s)
        for part, milliwatts in enumerate(parts):
            if milliwatts > 0:
                millijoules[part] += passed * milliwatts
    return [total / 1000 for total in millijoules]


def it_kwh(run: Run) -> Fraction:
    return sum(energy_j(run, run.horizon_s), Fraction(0)) / 3_600_000


def facility_times(run: Run, pue: float, signal: Steps) -> Fraction:
    """The integral of facility kW times the signal over hours: carbon for g/kWh, money for a price per kWh."""
    total = Fraction(0)
    for from_s, to_s, parts in held(run, run.horizon_s):
        edges = [from_s, *(stamp_s for stamp_s, _ in signal if from_s < stamp_s < to_s), to_s]
        for a, b in itertools.pairwise(edges):
            total += sum(parts) * (Fraction(b) - Fraction(a)) * Fraction(value_at(signal, a))
    return total / 1000 / 3_600_000 * Fraction(pue)


def mean_w(run: Run) -> Fraction:
    return sum(energy_j(run, run.horizon_s), Fraction(0)) / Fraction(run.horizon_s)


def power_w(run: Run, time_s: float) -> Fraction:
    """IT power from this time on."""
    now = [sum(parts) for moment_s, parts in run.moments if moment_s <= time_s]
    return Fraction(now[-1], 1000)


def peak_w(run: Run) -> Fraction:
    """The largest IT power that held for some time."""
    return max(Fraction(sum(parts), 1000) for from_s, to_s, parts in held(run, run.horizon_s) if to_s > from_s)


def percentile_w(run: Run, percent: float) -> Fraction:
    """The IT power that is not exceeded for so much of the time."""
    passed = Fraction(0)
    rows = sorted((sum(parts), from_s, to_s) for from_s, to_s, parts in held(run, run.horizon_s))
    for milliwatts, from_s, to_s in rows:
        passed += Fraction(to_s) - Fraction(from_s)
        if passed >= Fraction(percent) / 100 * Fraction(run.horizon_s):
            return Fraction(milliwatts, 1000)
    raise AssertionError("the parts of the run are as long as the run")


def inside_s(run: Run, i: int, until_s: float) -> Fraction:
    """How long task i ran until then."""
    start_s, end_s = run.start_s[i], run.end_s[i]
    if start_s is None or end_s is None or start_s >= until_s:
        return Fraction(0)
    return Fraction(min(end_s, until_s)) - Fraction(start_s)


def gpus_asked(run: Run, i: int) -> Fraction:
    task = run.tasks[i].task
    return Fraction(task.num_gpu * task.gpu_milli, 1000)


def gpu_s(run: Run, until_s: float) -> Fraction:
    """GPU-seconds delivered."""
    started = [i for i, start_s in enumerate(run.start_s) if start_s is not None and start_s < until_s]
    return sum((gpus_asked(run, i) * inside_s(run, i, until_s) for i in started), Fraction(0))


def work_s(run: Run, until_s: float) -> Fraction:
    """GPU request times speed times running time of batch tasks, in seconds of a GPU of speed 1."""
    assert run.options.speeds is not None
    total = Fraction(0)
    for i, timed in enumerate(run.tasks):
        n = run.node[i]
        if n is not None and timed.batch and timed.task.num_gpu > 0:
            model = run.machines[n].node.model
            speed = run.options.speeds[model]
            if model in run.options.caps:
                speed = speed * sigma_of(run.options, model)
            total += gpus_asked(run, i) * Fraction(speed) * inside_s(run, i, until_s)
    return total


def wait_s(run: Run, i: int) -> float | None:
    """From joining until the start, leaving or the end of the horizon; None for tasks that did not wait."""
    if run.outcome[i] in (None, FAILED, REFUSED):
        return None
    if run.outcome[i] == GAVE_UP:
        return run.options.patience_s
    start_s = run.start_s[i]
    return max(0.0, (run.horizon_s if start_s is None else start_s) - run.joined_s[i])


def embodied_kg(kg_by_node: list[float], lifetime_s: float, run: Run) -> float:
    return sum(kg / lifetime_s * run.horizon_s for kg in kg_by_node)


def sci(operational: float, embodied: float, run: Run) -> float:
    """Per GPU-hour delivered."""
    return (operational + embodied) / float(gpu_s(run, run.horizon_s) / 3600)


def marks_s(run: Run, sample_s: float) -> list[float]:
    """Every `sample_s` and the end of the horizon."""
    return [*(k * sample_s for k in range(ceil(run.horizon_s / sample_s))), run.horizon_s]
