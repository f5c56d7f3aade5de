"""The results in words: a few sentences a trace, computed from the same numbers as the tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wattpack.experiments.curves import Results, at
from wattpack.experiments.lineup import BOUND
from wattpack.report.metrics import (
    FULL_LOAD,
    SUSTAINED,
    mean,
    policies,
    saving,
    shown_against,
    sustained_saving,
    until,
)
from wattpack.report.style import label

MIDDLE = 0.5  # the load at which a sentence states the saving
THRESHOLDS = (20, 15, 12, 10, 8, 5, 4, 3, 2, 1)  # percent, for "stays above ... until ..."
NEAR_BEST = 0.9  # a policy with this share of the best saving may be chosen for its better service


def leader(results: Results, trace: str) -> str | None:
    """The policy to speak of first: of those that save nearly as much as the best, the one that serves most."""
    savings = _savings(results, trace)
    if not savings:
        return None
    best = max(savings.values())
    near = [policy for policy, value in savings.items() if value >= best * NEAR_BEST]
    served = {policy: served_at_full(results, trace, policy) for policy in near}
    return max(near or savings, key=lambda policy: (served.get(policy, 0.0), savings[policy]))


def sentences(results: Results, trace: str) -> list[str]:
    """What a reader should know of a trace, most important first."""
    first = leader(results, trace)
    if first is None:
        if results.base(trace) is None:
            return [f"On {trace}, there is no {results.against[0]} to compare with."]
        alone = len(policies(results, trace)) == 1
        return [
            f"On {trace}, only {results.against[0]} ran."
            if alone
            else f"On {trace}, the workload ends before load {SUSTAINED[0]:g}."
        ]
    savings = _savings(results, trace)
    if savings[first] <= 0:
        return [f"On {trace}, no policy saves power against {results.against[0]}; {first} comes nearest."]
    said = [_about(results, trace, first)]
    refusals = _about_refusals(results, trace, first)
    if refusals is not None:
        said.append(refusals)
    most = max(savings, key=lambda policy: savings[policy])
    if most != first and savings[most] - savings[first] >= 0.0005:
        said.append(
            f"{most} saves most ({_percent(savings[most])} on average from 0.15 to 0.8, against "
            f"{_percent(savings[first])}) and serves {_served(results, trace, most)}."
        )
    others = [policy for policy, value in savings.items() if value < savings[first] / 2]
    if others:
        said.append(_about_others(results, trace, others))
    limit = saving(results, trace, BOUND)[at(MIDDLE)] if (trace, BOUND) in results else np.nan
    if np.isfinite(limit):
        said.append(f"No scheduler that serves all it can saves more than {_percent(limit)} at load {MIDDLE:g}.")
    return said


def overall(results: Results, found: Sequence[str]) -> str | None:
    """One sentence over several traces: between what and what the leading policies save; None if there is no saving."""
    leaders = {trace: first for trace in found if (first := leader(results, trace)) is not None}
    saved = {trace: float(saving(results, trace, first)[at(MIDDLE)]) for trace, first in leaders.items()}
    saved = {trace: value for trace, value in saved.items() if np.isfinite(value)}
    if len(saved) < 2:
        return None
    least, most = min(saved, key=lambda t: saved[t]), max(saved, key=lambda t: saved[t])
    low, high = (f"{_percent(saved[trace])} ({trace}, {leaders[trace]})" for trace in (least, most))
    return f"Across {len(saved)} traces, the best compromise saves {low} to {high} at load {MIDDLE:g}."


def kept_above(results: Results, trace: str, policy: str) -> tuple[int, float] | None:
    """(percent, load): the highest threshold that the saving keeps from 0.15 to the middle, and how far it keeps it."""
    percent = saving(results, trace, policy) * 100
    for threshold in THRESHOLDS:
        end = until(percent, threshold)
        if end is not None and end >= MIDDLE:
            return threshold, end
    return None


def served_at_full(results: Results, trace: str, policy: str) -> float:
    """GRAR at full load, at -1 where the workload does not go so far (so that it ranks last)."""
    value = float(mean(results[trace, policy], "grar")[at(FULL_LOAD)])
    return value if np.isfinite(value) else -1.0


def _savings(results: Results, trace: str) -> dict[str, float]:
    """Mean saving in the region of sustained savings of every policy that has one."""
    found = {
        p: sustained_saving(results, trace, p) for p in policies(results, trace) if p not in (results.against[0], BOUND)
    }
    return {policy: value for policy, value in found.items() if np.isfinite(value)}


def _about(results: Results, trace: str, policy: str) -> str:
    at_middle = saving(results, trace, policy)[at(MIDDLE)]
    text = f"On {trace}, {policy} saves "
    if np.isfinite(at_middle):
        text += f"{_percent(at_middle)} of {label(results.against[0])}'s watts per GPU served at load {MIDDLE:g}"
    else:
        text += f"{_percent(sustained_saving(results, trace, policy))} on average from load {SUSTAINED[0]:g}"
    for other in shown_against(results, trace)[1:]:
        value = saving(results, trace, policy, other)[at(MIDDLE)]
        text += f" ({_percent(value)} against {label(other)})" if np.isfinite(value) and other != policy else ""
    kept = kept_above(results, trace, policy)
    if kept is not None:
        text += f" and stays above {kept[0]} % until {kept[1]:.2f}"
    if served_at_full(results, trace, policy) < 0:
        return f"{text}; the workload does not reach full load."
    return f"{text}; it serves {_served(results, trace, policy)} of the requested GPU at full load against " + (
        f"{label(results.against[0])}'s {_served(results, trace, results.against[0])}."
    )


def _about_others(results: Results, trace: str, others: Sequence[str]) -> str:
    steady = slice(at(SUSTAINED[0]), at(SUSTAINED[1]) + 1)
    peaks = {policy: float(np.nanmax(saving(results, trace, policy)[steady])) for policy in others}
    best = max(peaks, key=lambda policy: peaks[policy])
    reach = f"between {SUSTAINED[0]:g} and {SUSTAINED[1]:g}"
    if peaks[best] <= 0:
        return f"{_listed(others)} {'saves' if len(others) == 1 else 'save'} nothing {reach}."
    if len(others) == 1:
        return f"{best} saves at most {_percent(peaks[best])} {reach}."
    return f"{_listed(others)} save at most {_percent(peaks[best])} {reach} ({best})."


def _listed(names: Sequence[str]) -> str:
    if len(names) > 6:
        return f"The {len(names)} policies that save less than half of that"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _about_refusals(results: Results, trace: str, policy: str) -> str | None:
    """A sentence where a saving comes with refused work: it is per GPU served, so the refusals are no part of it."""
    own, base = (float(mean(results[trace, name], "grar")[at(MIDDLE)]) for name in (policy, results.against[0]))
    if not own < base - 0.005:
        return None
    other = label(results.against[0])
    return f"It refuses more than {other}: at load {MIDDLE:g} it serves {own:.3f}, {other} {base:.3f}."


def _served(results: Results, trace: str, policy: str) -> str:
    return f"{served_at_full(results, trace, policy):.3f}"


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.1f} %"
