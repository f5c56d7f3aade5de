"""One place for how a policy is named and drawn, so that it looks the same in every figure, table and page.

A look depends on the policy's expression alone, never on what else is drawn. Colours are Okabe and Ito's where they
suffice (safe for the colour-blind); dashes and markers tell the curves apart in grey print.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from itertools import pairwise

from wattpack.experiments.lineup import BASELINE, BOUND, OWN_BEST, PWR, expression_parts, pwr_share

NAMES = {
    "fgd": "FGD",
    "pwr": "PWR",
    "bestfit": "BestFit",
    "dotprod": "DotProd",
    "gpupacking": "GpuPacking",
    "gpuclustering": "GpuClustering",
    "random": "Random",
    "ocs": "OCS",
    "pwrload": "PWR by load",
    "pwrfeedback": "PWR by fragmentation",
    "ocsplan": "OCS with a plan",
    "pwrexpected": "expected PWR",
    "epsilon": "epsilon",
    "bound": "Bound",
}

SOLID: tuple[int, ...] = ()


@dataclass(frozen=True)
class Look:
    """How a curve is drawn. `dash`: on, off, ... in units of the line width, empty for a solid line."""

    colour: str
    colour_dark: str  # the same on a dark page
    dash: tuple[int, ...] = SOLID
    marker: str = ""  # matplotlib's letter, empty for none
    width: float = 1.0  # relative to the other curves


KNOWN = {
    "fgd": Look("#000000", "#f5f5f5", SOLID, "", 1.15),
    "pwr": Look("#d55e00", "#ff8a3c", SOLID, "D"),
    "ocs": Look("#009e73", "#2ed3a2", SOLID, "*", 1.15),
    "bestfit": Look("#e69f00", "#f5b82e", (5, 2), "v"),
    "dotprod": Look("#707070", "#a5a5a5", (6, 2, 1, 2), "P"),
    "gpupacking": Look("#cc79a7", "#eb9dc8", (2, 1), "X"),
    "gpuclustering": Look("#7a4a1e", "#c79263", (8, 2, 1, 2, 1, 2), "<"),
    "random": Look("#a8a8a8", "#7d7d7d", (1, 2), ""),
    "bound": Look("#000000", "#f5f5f5", (1, 1), "", 0.8),
}

# Mixes of PWR and FGD: the colour is a scale of PWR's share, from sky blue to PWR's own vermilion. The three mixes of
# the paper sit on anchors that differ in hue and lightness (three blues could not be told apart) and in their dashes.
SCALE = (
    (0.01, "#93cdee", "#c9ecff"),
    (0.05, "#56b4e9", "#8fd3fb"),
    (0.1, "#0072b2", "#3b9fe8"),
    (0.2, "#6a1b9a", "#b07cff"),
    (0.4, "#8d1f6f", "#e070c8"),
    (0.7, "#a52c62", "#e0699b"),
    (1.0, "#d55e00", "#ff8a3c"),
)
MIX_MARKERS = {
    0.01: "p", 0.02: "h", 0.05: "o", 0.1: "s", 0.2: "^", 0.3: ">",
    0.4: "<", 0.5: "d", 0.6: "8", 0.7: "P", 0.8: "X", 0.9: "H",
}  # fmt: skip
MIX_DASHES: dict[float, tuple[int, ...]] = {0.05: (6, 2), 0.2: (4, 1, 1, 1)}
OTHER_MARKERS = ("p", "h", ">", "d", "H", "8")

# For policies that are not known here, chosen by a digest of the name: the same in every run and on every machine.
STRANGERS = (
    ("#6a3d9a", "#b48be0"),
    ("#1f9e89", "#45cdb6"),
    ("#a6761d", "#d9a648"),
    ("#b2184e", "#f0709b"),
    ("#4d6b1f", "#9cc063"),
    ("#34516b", "#86a9c9"),
)
STRANGE_DASHES: tuple[tuple[int, ...], ...] = ((4, 1), (3, 1, 1, 1), (7, 2), (2, 2, 6, 2))

REASONS = {
    "lacks_gpu": ("too little GPU", "#0072b2", "#3b9fe8"),
    "lacks_cpu": ("too little vCPU", "#e69f00", "#f5b82e"),
    "lacks_both": ("too little of both", "#d55e00", "#ff8a3c"),
    "no_access": ("GPU model not allowed", "#cc79a7", "#eb9dc8"),
    "cpu_only_fits": ("task asks for no GPU", "#b8bcc2", "#7b818a"),
    "cpu_only_lacks_cpu": ("task asks for no GPU, too little vCPU", "#7d838b", "#a4abb5"),
}


def label(policy: str) -> str:
    """The policy as shown to a reader: `pwr:0.1+fgd:0.9` is "PWR 0.1 + FGD 0.9". Unknown names stay as they are."""
    policy, _, batch = policy.partition(" batch ")
    shown = []
    for name, weight in expression_parts(policy):
        base, at, knob = name.partition("@")
        known = NAMES.get(base.lower(), base) + at + knob
        shown.append(known if weight is None else f"{known} {weight.normalize():f}")
    return " + ".join(shown) + (f", batch {batch}" if batch else "")


def trace_label(trace: str) -> str:
    """`multigpu20` is "Multi-GPU 20 %"; a trace of the user's keeps its name."""
    kinds = {"multigpu": "Multi-GPU", "gpushare": "Sharing-GPU", "gpuspec": "Constrained-GPU"}
    match = re.fullmatch(r"(multigpu|gpushare|gpuspec)(\d+)", trace)
    if match:
        return f"{kinds[match[1]]} {match[2]} %"
    return "Default" if trace == "default" else trace


def trace_title(trace: str) -> str:
    """The trace's label, with its name where that is not plain from the label."""
    shown = trace_label(trace)
    return shown if shown.lower() == trace.lower() else f"{shown} ({trace})"


def look(policy: str) -> Look:
    """Colour, dash and marker of a policy."""
    known = KNOWN.get(policy.strip().lower())
    if known is not None:
        return known
    digest = zlib.crc32(policy.lower().encode())
    share = pwr_share(policy)
    if share is not None:
        marker = MIX_MARKERS.get(round(share, 4), OTHER_MARKERS[digest % len(OTHER_MARKERS)])
        return Look(_on_scale(share, 1), _on_scale(share, 2), MIX_DASHES.get(round(share, 4), SOLID), marker)
    light, dark = STRANGERS[digest % len(STRANGERS)]
    dash = STRANGE_DASHES[digest // 7 % len(STRANGE_DASHES)]
    return Look(light, dark, dash, OTHER_MARKERS[digest // 31 % len(OTHER_MARKERS)])


def _on_scale(share: float, column: int) -> str:
    """The colour between the two anchors around `share`."""
    if share <= SCALE[0][0]:
        return str(SCALE[0][column])
    for low, high in pairwise(SCALE):
        if share <= high[0]:
            way = (share - low[0]) / (high[0] - low[0])
            pairs = zip(_channels(str(low[column])), _channels(str(high[column])), strict=True)
            return "#" + "".join(f"{round(a + (b - a) * way):02x}" for a, b in pairs)
    return str(SCALE[-1][column])


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def rank(policy: str) -> tuple[int, float, str]:
    """Sort key for legends: baseline, mixes by PWR's share, PWR, unknown ones, the other known ones, bound."""
    name = policy.lower()
    share = pwr_share(policy)
    if name == BASELINE:
        return (0, 0.0, "")
    if share is not None:
        return (1, share, name)
    if name == BOUND:
        return (6, 0.0, "")
    if name in (PWR, OWN_BEST):
        return (2, float(name == OWN_BEST), "")
    if name in KNOWN:
        return (4, float(list(KNOWN).index(name)), "")
    return (3, 0.0, name)
