"""The paper's statements on GRAR of the combinations and of the competitors (its figures 7 to 10)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wattpack.experiments.curves import at
from wattpack.experiments.lineup import BASELINE, COMPETITORS, MIXES
from wattpack.paper.rules import (
    EXACT,
    FULL,
    GRAR_TOLERANCE,
    LEAST_LOAD,
    LOAD_TOLERANCE,
    Part,
    Reading,
    Rule,
    View,
    about,
    at_most,
    compared,
    last_load,
    least,
    load_text,
    most,
    name_text,
    named,
    part,
    positive_around,
)

BESTFIT = ("bestfit",)
REST = ("dotprod", "gpupacking", "gpuclustering")
BESTFIT_AND_TWO, LAST = ("bestfit", "gpupacking", "gpuclustering"), ("dotprod",)
CONSTRAINED = ("gpuspec10", "gpuspec20", "gpuspec25", "gpuspec33")
LEAD_LOADS = (0.21, 0.73)  # of G7

# A group of policies, and by how much its mean GRAR is below that of the group before (None: not stated).
Step = tuple[Sequence[str], float | None]


def _ladder(view: View, trace: str, steps: Sequence[Step]) -> tuple[str, list[Part]]:
    """FGD, then group after group: the gap of each group's mean to the mean before it, and who is ahead of whom."""
    behind = view.behind(trace, [policy for group, _ in steps for policy in group])
    parts, said = [], []
    before, lowest = 0.0, 0.0
    for group, gap in steps:
        names = ", ".join(name_text(policy) for policy in group)
        gaps = [behind[policy] for policy in group]
        mean = float(np.mean(gaps))
        if gap is not None:
            parts.append(about(mean - before, gap, 0.01, GRAR_TOLERANCE, f"the gap before {names}"))
        ahead = min(gaps) - lowest
        parts.append(part(ahead > 0, ahead > -GRAR_TOLERANCE, f"one of {names} is {-ahead:.4f} above the group before"))
        listed = named({policy: behind[policy] for policy in group}, 3)
        said.append(f"then {listed} behind, a gap of {mean - before:.3f}")
        before, lowest = mean, max(gaps)
    best = float(view.grar(trace, BASELINE)[at(FULL)])
    return f"FGD {best:.3f}; {'; '.join(said)}", parts


def default_order(view: View) -> Reading:
    return Reading(*_ladder(view, "default", [((*MIXES, *BESTFIT), 0.02), (REST, 0.01)]))


def default_start(view: View) -> Reading:
    parts, until = [], {}
    for policy in (BASELINE, *MIXES, *COMPETITORS):
        grar = view.grar("default", policy)
        until[policy] = last_load(grar >= 1, LEAST_LOAD) or 0.0
        low, _ = least(grar, LEAST_LOAD, 0.85)
        within = low >= 1 - GRAR_TOLERANCE or until[policy] >= 0.85 - LOAD_TOLERANCE - EXACT
        parts.append(part(low >= 1, within, f"{name_text(policy)}: GRAR {low:.4f} before 0.85"))
    first = min(until, key=lambda policy: until[policy])
    return Reading(f"1 for every policy until {load_text(until[first])} ({name_text(first)} first)", parts)


def sharing_40(view: View) -> Reading:
    return Reading(*_ladder(view, "gpushare40", [((*BESTFIT, *MIXES), 0.02), (REST, 0.02)]))


def sharing_100(view: View) -> Reading:
    return Reading(*_ladder(view, "gpushare100", [(BESTFIT, 0.02), (MIXES, 0.01), (REST, 0.01)]))


def multi_20(view: View) -> Reading:
    said, parts = _ladder(view, "multigpu20", [(MIXES, None), (BESTFIT_AND_TWO, 0.01), (LAST, None)])
    gap = max(view.behind("multigpu20", MIXES).values())
    miss = f"a combination is {gap:.4f} behind FGD"
    return Reading(said, [part(gap < 0.01, gap < 0.01 + GRAR_TOLERANCE, miss), *parts])


def multi_50(view: View) -> Reading:
    """The gap of every group to FGD is smaller than with 20 %, and nobody has changed places."""
    groups: list[Step] = [(MIXES, None), (BESTFIT_AND_TWO, None), (LAST, None)]
    said, parts = _ladder(view, "multigpu50", groups)
    policies = (*MIXES, *COMPETITORS)
    few, many = view.behind("multigpu20", policies), view.behind("multigpu50", policies)
    for group, _ in groups:
        wider = float(np.mean([many[policy] - few[policy] for policy in group]))
        names = ", ".join(name_text(policy) for policy in group)
        parts.append(part(wider < 0, wider < GRAR_TOLERANCE, f"the gap of {names} widens by {wider:.4f}"))
    order = sorted(policies, key=lambda policy: few[policy])
    # who was ahead with 20 % and is behind with 50 %: by how much at most
    overtaken = max(many[a] - many[b] for i, a in enumerate(order) for b in order[i + 1 :])
    miss = f"a policy is overtaken by one that was behind it, and is now {overtaken:.4f} behind that"
    parts.append(part(overtaken <= 0, overtaken <= GRAR_TOLERANCE, miss))
    now = ", ".join(name_text(policy) for policy in sorted(policies, key=lambda policy: many[policy]))
    then = ", ".join(name_text(policy) for policy in order)
    return Reading(f"{said}; order with 20 %: {then}; with 50 %: {now}", parts)


def constrained_10(view: View) -> Reading:
    """The largest lead is judged; the interval on which FGD leads at all is stated."""
    trace, best = "gpuspec10", view.grar("gpuspec10", BASELINE)
    leads = {policy: best - view.grar(trace, policy) for policy in MIXES}
    highs = {policy: most(lead, *LEAD_LOADS) for policy, lead in leads.items()}
    top = max(high for high, _ in highs.values())
    listed = ", ".join(f"{name_text(policy)} {high:.4f} at {load_text(load)}" for policy, (high, load) in highs.items())
    first, last = positive_around(leads[MIXES[2]], highs[MIXES[2]][1])
    said = f"largest lead {listed}; FGD leads a=0.2 on [{load_text(first)}, {load_text(last)}]"
    return Reading(said, [about(top, 0.025, 0.005, GRAR_TOLERANCE, "the largest lead of FGD")])


def constrained_33(view: View) -> Reading:
    trace, best = "gpuspec33", view.grar("gpuspec33", BASELINE)
    more = view.grar(trace, MIXES[0]) - best
    (high, where), (low, low_where) = most(more, LEAST_LOAD, FULL), least(more, LEAST_LOAD, FULL)
    parts = [
        part(low >= 0, low >= -GRAR_TOLERANCE, f"a=0.05 is {-low:.4f} below FGD at load {load_text(low_where)}"),
        about(high, 0.04, 0.01, GRAR_TOLERANCE, "the largest lead of a=0.05 over FGD"),
    ]
    said = [f"a=0.05 above FGD by up to {high:.4f} (at {load_text(where)})"]
    for policy, paper in zip(MIXES[1:], (0.05, 0.08), strict=True):
        gap, where = most(best - view.grar(trace, policy), LEAST_LOAD, FULL)
        parts.append(about(gap, paper, 0.01, GRAR_TOLERANCE, f"the largest gap of {name_text(policy)} to FGD"))
        said.append(f"{name_text(policy)} below it by up to {gap:.4f} (at {load_text(where)})")
    return Reading(", ".join(said), parts)


def constrained_end(view: View) -> Reading:
    parts, said = [], []
    ours, others = (BASELINE, *MIXES), COMPETITORS
    for trace in CONSTRAINED:
        if any((trace, policy) not in view.results for policy in (*ours, *others)):
            continue
        low, high = (
            chosen(float(view.grar(trace, policy)[at(FULL)]) for policy in group)
            for chosen, group in ((min, ours), (max, others))
        )
        parts.append(at_most(high, low, GRAR_TOLERANCE, f"the best competitor's GRAR on {trace}"))
        said.append(f"{trace} {low:.3f} or more against {high:.3f} or less")
    return Reading("; ".join(said), parts)


SPREAD = "Near saturation GRAR varies by some thousandths from seed to seed, and the competitors by more than FGD."
SCARCE = "On constrained traces one scarce GPU model decides, and with it a few tasks of the workload."


RULES = (
    Rule(
        "G1",
        "GRAR, Default",
        "at load 1.0 FGD is best, the combinations and BestFit about 0.02 behind, the other competitors "
        "about 0.01 further",
        "gaps of about 0.02 and 0.01",
        compared("default"),
        default_order,
        SPREAD,
    ),
    Rule(
        "G2",
        "GRAR, Default",
        "GRAR gets worse only beyond 0.85, for every policy",
        "1 until 0.85",
        compared("default"),
        default_start,
        SPREAD,
    ),
    Rule(
        "G3",
        "GRAR, sharing 40 %",
        "at load 1.0 FGD is best, BestFit and the combinations about 0.02 behind, the rest about 0.02 further",
        "gaps of about 0.02 and 0.02",
        compared("gpushare40"),
        sharing_40,
        SPREAD,
    ),
    Rule(
        "G4",
        "GRAR, sharing 100 %",
        "at load 1.0 FGD is best, BestFit about 0.02 behind, the combinations about 0.01 further, the "
        "rest about 0.01 further",
        "gaps of about 0.02, 0.01 and 0.01",
        compared("gpushare100"),
        sharing_100,
        SPREAD,
    ),
    Rule(
        "G5",
        "GRAR, multi 20 %",
        "at load 1.0 FGD is best, the combinations less than 0.01 behind, BestFit and two others about "
        "0.01 further, DotProd last",
        "gaps below 0.01 and of about 0.01, DotProd last",
        compared("multigpu20"),
        multi_20,
        SPREAD,
    ),
    Rule(
        "G6",
        "GRAR, multi 50 %",
        "the gaps are narrower than with 20 %, and the order is the same",
        "narrower gaps, same order",
        compared("multigpu20", "multigpu50"),
        multi_50,
        SPREAD,
    ),
    Rule(
        "G7",
        "GRAR, constrained 10 %",
        "FGD is at most about 0.025 above the combinations, on [0.21, 0.73]",
        "at most about 0.025",
        compared("gpuspec10"),
        constrained_10,
        SCARCE,
    ),
    Rule(
        "G8",
        "GRAR, constrained 33 %",
        "a = 0.05 is above FGD by up to about 0.04; a = 0.1 and 0.2 are below it by up to about 0.05 and 0.08",
        "0.04 above; 0.05 and 0.08 below",
        compared("gpuspec33"),
        constrained_33,
        SCARCE,
    ),
    Rule(
        "G9",
        "GRAR, constrained",
        "FGD and the combinations are the best at load 1.0",
        "FGD and the combinations before all competitors",
        compared("gpuspec10", "gpuspec33"),
        constrained_end,
        SCARCE,
    ),
)
