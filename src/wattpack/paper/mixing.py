"""The paper's statements on PWR and its mixes with FGD on the Default trace (its figure 2)."""

from __future__ import annotations

import numpy as np

from wattpack.experiments.curves import LOADS, at
from wattpack.experiments.lineup import BASELINE, MIXES, PWR
from wattpack.paper.rules import (
    EXACT,
    FULL,
    GRAR_TOLERANCE,
    LOAD_TOLERANCE,
    SAVING_TOLERANCE,
    SETTLED,
    Array,
    Part,
    Reading,
    Rule,
    View,
    about,
    at_most,
    between,
    last_load,
    least,
    load_text,
    name_text,
    named,
    needed,
    part,
    range_text,
)

TRACE = "default"
PLATEAU_END, FALL_END, REBOUND_END = 0.8, 0.9, 0.93  # the phases of the savings; the plateau begins at SETTLED
FASTER = 5.0  # "fast", "steep": at least this many times the slope of the plateau
SUSTAINED = 2 / 3  # of the saving at the beginning of the plateau, at least
STABLE_POINTS = 0.5  # how far from its value at 1.0 a stable saving may be


def phases(view: View) -> Reading:
    """Rise, plateau, fall: at the paper's loads, or with the plateau ending 0.03 earlier and the fall 0.03 later."""
    savings = {policy: view.saving(TRACE, policy) for policy in (PWR, *view.mixes(TRACE))}
    parts = [one for policy, saving in savings.items() for one in _phase_parts(name_text(policy), saving)]
    settled = range_text([float(saving[at(SETTLED)]) for saving in savings.values()], 1)
    lows = range_text([least(saving, SETTLED, PLATEAU_END)[0] for saving in savings.values()], 1)
    fallen = range_text([float(saving[at(FALL_END)]) for saving in savings.values()], 1)
    said = f"{settled} % at 0.15, least {lows} % on [0.15, 0.80], {fallen} % at 0.90 ({len(savings)} curves)"
    return Reading(said, parts)


def _phase_parts(name: str, saving: Array) -> list[Part]:
    rise, plateau, fall = _slopes(saving, PLATEAU_END, FALL_END)
    near_rise, near_plateau, near_fall = _slopes(saving, PLATEAU_END - LOAD_TOLERANCE, FALL_END + LOAD_TOLERANCE)
    needed_low = SUSTAINED * saving[at(SETTLED)]
    low, near_low = (least(saving, SETTLED, end)[0] for end in (PLATEAU_END, PLATEAU_END - LOAD_TOLERANCE))
    slope = f"per 0.1 of load, the plateau {plateau / 10:.1f}"
    return [
        part(rise >= FASTER * plateau, near_rise >= FASTER * near_plateau, f"{name} rises {rise / 10:.1f} {slope}"),
        part(low >= needed_low, near_low >= needed_low, f"{name} is down to {low:.1f} % on the plateau"),
        part(fall >= FASTER * plateau, near_fall >= FASTER * near_plateau, f"{name} falls {fall / 10:.1f} {slope}"),
    ]


def _slopes(saving: Array, plateau_end: float, fall_end: float) -> tuple[float, float, float]:
    """Points of saving per unit of load: rise, plateau (absolute), fall (positive)."""
    start, settled, end, fallen = (float(saving[at(x)]) for x in (0, SETTLED, plateau_end, fall_end))
    plateau = abs(end - settled) / (plateau_end - SETTLED)
    return (settled - start) / SETTLED, plateau, (end - fallen) / (fall_end - plateau_end)


def rebound(view: View) -> Reading:
    """From the least saving beyond 0.85 to the load from which the saving stays near its value at 1.0."""
    parts, starts, ends, gains = [], [], [], []
    for policy in (PWR, *view.mixes(TRACE)):
        saving, name = view.saving(TRACE, policy), name_text(policy)
        low, start = least(saving, 0.85, FULL)
        unstable = np.flatnonzero(between(np.abs(saving - saving[at(FULL)]) > STABLE_POINTS, 0, FULL))
        end = max(start, float(LOADS[unstable[-1] + 1]) if len(unstable) else 0.0)
        gain, lost = float(saving[at(end)]) - low, float(saving[at(PLATEAU_END)]) - low
        small = 0 < gain < lost / 2  # less than half of what was lost before
        parts += [
            about(start, FALL_END, 0.01, LOAD_TOLERANCE, f"{name}: the load at which the rebound begins"),
            about(end, REBOUND_END, 0.01, LOAD_TOLERANCE, f"{name}: the load from which the saving is stable"),
            part(small, abs(gain) <= SAVING_TOLERANCE, f"{name} gains {gain:.1f} points after losing {lost:.1f}"),
        ]
        starts.append(start)
        ends.append(end)
        gains.append(gain)
    begins, stops = (" to ".join(map(load_text, sorted({min(x), max(x)}))) for x in (starts, ends))
    return Reading(f"begins at {begins}, gains {range_text(gains, 1)} points, stable from {stops}", parts)


def perfect_grar(view: View) -> Reading:
    parts, until = [], {}
    for policy in (PWR, *MIXES, BASELINE):
        grar = view.grar(TRACE, policy)
        until[policy] = last_load(grar >= 1, 0) or 0.0
        low, _ = least(grar, 0, 0.88)
        within = low >= 1 - GRAR_TOLERANCE or until[policy] >= 0.88 - LOAD_TOLERANCE - EXACT
        parts.append(part(low >= 1, within, f"{name_text(policy)}: GRAR {low:.4f} before 0.88"))
    listed = ", ".join(f"{name_text(policy)} {load_text(load)}" for policy, load in until.items())
    return Reading(f"1 until {load_text(min(until.values()))} ({listed})", parts)


def two_groups(view: View) -> Reading | None:
    shares = view.mixes(TRACE)
    high = [policy for policy, share in shares.items() if share > 0.2]
    low = [policy for policy, share in shares.items() if share <= 0.2]
    if not high or not low:
        return None
    plain = between(view.saving(TRACE, PWR), SETTLED, PLATEAU_END)
    less = {policy: plain - between(view.saving(TRACE, policy), SETTLED, PLATEAU_END) for policy in shares}
    away = max(float(np.abs(less[policy]).mean()) for policy in high)
    lost = [float(less[policy].mean()) for policy in low]
    grar = {policy: float(view.grar(TRACE, policy)[at(FULL)]) for policy in (PWR, *shares)}
    best_high, worst_low = max(grar[policy] for policy in (PWR, *high)), min(grar[policy] for policy in low)
    lost_text, slightly = range_text(lost, 2), max(lost) <= SAVING_TOLERANCE
    parts = [
        part(away < min(lost), away <= SAVING_TOLERANCE, f"a > 0.2 is up to {away:.2f} points away from PWR"),
        part(
            min(lost) > 0 and slightly, min(lost) > -SAVING_TOLERANCE and slightly, f"a <= 0.2 loses {lost_text} points"
        ),
        part(
            worst_low > best_high, worst_low > best_high - GRAR_TOLERANCE, f"GRAR {worst_low:.4f} and {best_high:.4f}"
        ),
    ]
    said = (
        f"mean saving on [0.15, 0.80]: a > 0.2 up to {away:.2f} points away from PWR, a <= 0.2 less by {lost_text}; "
        f"GRAR at 1.0: PWR {grar[PWR]:.4f}, a > 0.2 {range_text([grar[policy] for policy in high], 4)}, "
        f"a <= 0.2 {range_text([grar[policy] for policy in low], 4)}"
    )
    return Reading(said, parts)


def least_useful_share(view: View) -> Reading | None:
    below = [policy for policy, share in view.mixes(TRACE).items() if share < 0.05]
    if not below:
        return None
    limit = float(view.grar(TRACE, MIXES[0])[at(FULL)])
    grar = {policy: float(view.grar(TRACE, policy)[at(FULL)]) for policy in below}
    parts = [at_most(value, limit, GRAR_TOLERANCE, f"GRAR of {name_text(policy)}") for policy, value in grar.items()]
    return Reading(f"GRAR at 1.0: {named({**grar, MIXES[0]: limit}, 4)}", parts)


NEEDS = needed([TRACE], (PWR, *MIXES))
TURNS = "Close to saturation the curves are steep; where they turn moves with the workloads that the seeds draw."
CLOSE = "The mixes are close to each other: with few seeds their order is chance."

RULES = (
    Rule(
        "A1",
        "combining",
        "Default, PWR and its mixes: savings rise fast to load 0.15, last until 0.8, fall steeply to 0.9",
        "rise on [0, 0.15], sustained on [0.15, 0.8], fall on [0.8, 0.9]",
        NEEDS,
        phases,
        TURNS,
    ),
    Rule(
        "A2",
        "combining",
        "Default: then their savings rebound a little on [0.9, 0.93], and are stable to 1.0",
        "rebound on [0.9, 0.93], stable on [0.93, 1.0]",
        NEEDS,
        rebound,
        TURNS,
    ),
    Rule(
        "A3",
        "combining",
        "Default: GRAR is 1 for PWR, the combinations (a = 0.05, 0.1, 0.2) and FGD up to about 0.88",
        "1 until about 0.88",
        NEEDS,
        perfect_grar,
        TURNS,
    ),
    Rule(
        "A4",
        "combining",
        "Default: mixes with a > 0.2 save as PWR does; those with a <= 0.2 slightly less, with slightly better GRAR",
        "two groups, split at a = 0.2",
        NEEDS,
        two_groups,
        CLOSE,
    ),
    Rule(
        "A5",
        "combining",
        "Default: below a = 0.05 GRAR gets no better",
        "no gain below a = 0.05",
        NEEDS,
        least_useful_share,
        CLOSE,
    ),
)
