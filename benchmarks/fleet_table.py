"""The table of `python -m benchmarks fleets`: each policy over all settings, against FGD, the mixes and the bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.fleet_runs import BOUND_AT, FILL_UP, GRAR_AT, GRAR_LOSS, STEADY, STEADY_AT, WATTS_AT, Record

BASELINE = "fgd"
WATTS_MORE = 0.005  # above the best mix's watts per GPU by more than this share

Setting = Mapping[str, Any]  # "fleet", "nodes", "trace", "profile", "records": by `REGIME POLICY`


def is_mix(policy: str) -> bool:
    """A mix of PWR and FGD, as in the paper."""
    return "+" in policy and {part.partition(":")[0] for part in policy.split("+")} == {"pwr", "fgd"}


def grar_below(record: Record, baseline: Record) -> tuple[float, int]:
    """The least GRAR against FGD's over the loads, and its place among them."""
    difference = np.array(record["grar"]) - np.array(baseline["grar"])
    return float(difference.min()), int(difference.argmin())


def rows_of(setting: Setting, regime: str) -> list[dict[str, Any]]:
    """One row a policy: what the table counts."""
    own = {key.partition(" ")[2]: record for key, record in setting["records"].items() if key.startswith(f"{regime} ")}
    if BASELINE not in own:
        return []
    mean_w = {policy: float(np.mean(record["w_per_gpu"])) for policy, record in own.items()}
    below = {policy: grar_below(record, own[BASELINE]) for policy, record in own.items()}
    mixes = [policy for policy in own if is_mix(policy)]
    safe = [policy for policy in (BASELINE, *mixes) if below[policy][0] >= -GRAR_LOSS]
    best_mix_w = min((mean_w[policy] for policy in mixes), default=mean_w[BASELINE])
    best_safe_w = min(mean_w[policy] for policy in safe)
    gaps = {policy: float(np.mean(record["gap_w"])) for policy, record in own.items() if "gap_w" in record}
    best_gap = min((gaps[policy] for policy in mixes if policy in gaps), default=float("nan"))
    loads = GRAR_AT if regime == FILL_UP else STEADY_AT
    return [
        {
            **{key: setting[key] for key in ("fleet", "trace", "profile")},
            "regime": regime,
            "policy": policy,
            "saving": 1 - mean_w[policy] / mean_w[BASELINE],
            "grar_below": below[policy][0],
            "grar_below_at": loads[below[policy][1]],
            "above_mix": mean_w[policy] / best_mix_w - 1,
            "above_safe": mean_w[policy] / best_safe_w - 1,
            "gap_w": gaps.get(policy),
            "mix_gap_w": best_gap if policy in gaps else None,
            "chosen": own[policy].get("chosen"),
            # Above 0.5 %: no fill-up keeps both aims, whoever places.
            "least_above_mix": own[policy]["least_fill_up_w"] / best_mix_w - 1
            if "least_fill_up_w" in own[policy]
            else None,
        }
        for policy in own
    ]


def summarise(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a policy over all settings of a regime."""
    found = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        own = [row for row in rows if row["policy"] == policy]
        gaps = [(row["gap_w"], row["mix_gap_w"]) for row in own if row["gap_w"] is not None]
        low = [row for row in own if row["grar_below"] < -GRAR_LOSS]
        found.append(
            {
                "policy": policy,
                "settings": len(own),
                "saving": float(np.mean([row["saving"] for row in own])),
                "grar_low": len(low),
                "grar_worst": min(row["grar_below"] for row in own),
                "above_mix": sum(row["above_mix"] > WATTS_MORE for row in own),
                "above_mix_worst": max(row["above_mix"] for row in own),
                "above_safe": sum(row["above_safe"] > WATTS_MORE for row in own),
                "above_safe_worst": max(row["above_safe"] for row in own),
                "both": sum(row["grar_below"] >= -GRAR_LOSS and row["above_mix"] <= WATTS_MORE for row in own),
                "gap_to_bound": float(sum(a for a, _ in gaps) / sum(b for _, b in gaps)) if gaps else None,
            }
        )
    return found


def table(summary: Sequence[dict[str, Any]], regime: str) -> str:
    """The summary as Markdown."""
    at = f"{WATTS_AT[0]} to {WATTS_AT[-1]}" if regime == FILL_UP else " ".join(map(str, STEADY_AT))
    lines = [
        f"| {regime}: policy | saving per GPU served, loads {at} | GRAR below FGD's - {GRAR_LOSS}, worst"
        f" | watts above best mix + {WATTS_MORE:.1%}, worst | both aims kept | above best safe mix or FGD, worst"
        f" | gap to the bound / best mix's, loads {' '.join(map(str, BOUND_AT))} | settings |",
        "|" + "---|" * 8,
    ]
    for row in summary:
        gap = "" if row["gap_to_bound"] is None else f"{row['gap_to_bound']:.2f}"
        mix, safe = (f"{row[key]}, {row[f'{key}_worst']:+.1%}" for key in ("above_mix", "above_safe"))
        lines.append(
            f"| `{row['policy']}` | {row['saving']:+.1%} | {row['grar_low']}, {row['grar_worst']:+.3f}"
            f" | {mix} | {row['both']} | {safe} | {gap} | {row['settings']} |"
        )
    return "\n".join(lines)


def worst(rows: Sequence[dict[str, Any]], policy: str, count: int, nodes: Mapping[int, str]) -> str:
    """The settings where a policy does worst: first by GRAR, then by watts."""
    own = [row for row in rows if row["policy"] == policy]
    lines = []
    for title, key, sign in (("GRAR against FGD", "grar_below", 1), ("watts above the best mix", "above_mix", -1)):
        lines.append(f"{policy}, {title}:")
        for row in sorted(own, key=lambda row: sign * row[key])[:count]:
            chosen = f", chose {row['chosen']}" if row["chosen"] else ""
            gap = "" if row["gap_w"] is None else f", gap {row['gap_w']:.1f} W (best mix {row['mix_gap_w']:.1f})"
            lines.append(
                f"  fleet {row['fleet']} {row['trace']} {row['profile']} {row['regime']}: GRAR {row['grar_below']:+.4f}"
                f" at {row['grar_below_at']}, saving {row['saving']:+.1%}, above mix {row['above_mix']:+.1%}"
                f"{gap}{chosen}"
            )
            lines.append(f"    {nodes[row['fleet']]}")
    return "\n".join(lines)


def failures(rows: Sequence[dict[str, Any]], policy: str) -> str:
    """Every setting where a policy misses an aim, as Markdown: it serves less than FGD, or draws more than the best mix
    or than the best of FGD and the mixes that serve as much."""
    lines = [
        "| fleet | trace | profile | GRAR against FGD's | above the best mix | above the best safe one | saving |",
        "|---|---|---|---|---|---|---|",
    ]
    own = [row for row in rows if row["policy"] == policy]
    for row in sorted(own, key=lambda row: row["grar_below"]):
        low = row["grar_below"] < -GRAR_LOSS
        above = [f"{row[key]:+.1%}" if row[key] > WATTS_MORE else "" for key in ("above_mix", "above_safe")]
        if low or any(above):
            grar = f"{row['grar_below']:+.4f} at {row['grar_below_at']}" if low else ""
            chosen = f" (`{row['chosen']}`)" if row["chosen"] else ""
            what = f"{row['fleet']} | {row['trace']} | {row['profile']}"
            lines.append(f"| {what} | {grar} | {' | '.join(above)} | {row['saving']:+.1%}{chosen} |")
    return "\n".join(lines)


def choices(rows: Sequence[dict[str, Any]]) -> str:
    """How often `auto` chose what, in a line."""
    found = Counter(row["chosen"] for row in rows if row["chosen"])
    return ", ".join(f"`{name}` {count}" for name, count in found.most_common())


def everything(settings: Sequence[Setting]) -> dict[str, list[dict[str, Any]]]:
    """Rows by regime, of the regimes that were measured."""
    found = {regime: [row for one in settings for row in rows_of(one, regime)] for regime in (FILL_UP, STEADY)}
    return {regime: rows for regime, rows in found.items() if rows}
