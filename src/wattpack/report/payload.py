"""The curves as the page's script reads them: means and spreads at loads 0, 0.01, ..., as small as they can be.

A curve is one string: whole numbers of a unit that is stated beside, each as the difference from the one before, in
base64 VLQ (the code of source maps). Curves are smooth, so most points take one or two characters: 13 traces x 16
policies are a page of 0.8 MB; as JSON numbers they were 1.4 MB.
"""

from __future__ import annotations

import json
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.curves import FRAGMENTATION_COLUMNS, LOADS, STEP, Results
from wattpack.experiments.lineup import BOUND
from wattpack.report.metrics import eopc_w, mean, policies, saving, saving_spread, spread, traces
from wattpack.report.style import REASONS, label, look, trace_label

Array = NDArray[np.float64]

PAGE_STEP = 0.01
EVERY = round(PAGE_STEP / STEP)  # loads of the curves per load of the page
BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
DIGITS = 10_000  # a unit is the largest power of ten that resolves the largest value this finely


def payload(results: Results, gpus: float | None) -> dict[str, Any]:
    """Everything that the page draws, ready for JSON."""
    found = list(dict.fromkeys(policy for _, policy in results))
    units = {
        "saving": 0.01,  # percent
        "eopc": _unit(results, "eopc_w"),  # W
        "grar": 0.0001,
        "allocated": 0.0001,  # of the GPU capacity
        "fragmentation": _unit(results, "fragmentation_milli") / 1000,  # GPUs
    }
    units["reasons"] = units["fragmentation"] * 10  # six curves a policy: coarser, as no one reads them to a decimal
    reasons = [column.removeprefix("fragmentation_").removesuffix("_milli") for column in FRAGMENTATION_COLUMNS]
    return {
        "step": PAGE_STEP,
        "count": len(LOADS[::EVERY]),
        "against": label(results.against[0]),
        "bound": BOUND,
        "gpus": gpus,
        "units": units,
        "reasons": [{"name": REASONS[name][0] if name in REASONS else name.replace("_", " ")} for name in reasons],
        "policies": [{"name": policy, "label": label(policy), "dash": look(policy).dash} for policy in found],
        "traces": [
            {
                "name": trace,
                "label": trace_label(trace),
                "curves": [_curve(results, trace, p, found.index(p), units) for p in policies(results, trace)],
            }
            for trace in traces(results)
        ],
    }


def _curve(results: Results, trace: str, policy: str, place: int, units: dict[str, float]) -> dict[str, Any]:
    curves = results[trace, policy]
    several = len(curves.seeds) > 1
    pairs = {
        "saving": (saving(results, trace, policy) * 100, saving_spread(results, trace, policy) * 100),
        "eopc": (eopc_w(results, trace, policy), spread(curves, "eopc_w")),
        "grar": (mean(curves, "grar"), spread(curves, "grar")),
        "allocated": (mean(curves, "allocated"), spread(curves, "allocated")),
        "fragmentation": (mean(curves, "fragmentation_milli") / 1000, spread(curves, "fragmentation_milli") / 1000),
    }
    by_reason = [mean(curves, column) / 1000 for column in FRAGMENTATION_COLUMNS]
    return {
        "policy": place,
        "mean": {name: packed(pair[0], units[name]) for name, pair in pairs.items()},
        "spread": {name: packed(pair[1], units[name]) for name, pair in pairs.items()} if several else {},
        "reasons": [packed(values, units["reasons"]) for values in by_reason],
    }


def packed(values: Array, unit: float) -> str:
    """`values` at the page's loads, packed."""
    return pack(values[::EVERY], unit)


def pack(values: Array, unit: float) -> str:
    """`values` as differences of whole units in VLQ, `~` for NaN, nothing for NaN at the end."""
    whole = [round(value / unit) if isfinite(value) else None for value in values.tolist()]
    while whole and whole[-1] is None:
        whole.pop()
    parts, before = [], 0
    for value in whole:
        if value is None:
            parts.append("~")
            continue
        parts.append(_vlq(value - before))
        before = value
    return "".join(parts)


@lru_cache(4096)  # series over time have a million values and few differences
def _vlq(number: int) -> str:
    """Five bits a character, the least first; the sixth says that more follow; the sign is the lowest bit of all."""
    rest, text = (abs(number) << 1) | (number < 0), ""
    while True:
        digit, rest = rest & 31, rest >> 5
        text += BASE64[digit | (32 if rest else 0)]
        if not rest:
            return text


def _unit(results: Results, column: str) -> float:
    largest = [float(np.nanmax(mean(curves, column), initial=0.0)) for curves in results.values()]
    return float(10.0 ** np.floor(np.log10(max([*largest, 1e-9]))) / DIGITS)


def json_in_script(value: object) -> str:
    """JSON that is safe between <script> tags: nothing in it can end the element or open a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
