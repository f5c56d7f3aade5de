"""How results were made: the last section of a report. And the outcome of runs, in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from wattpack.experiments.compare import Nowhere, by_reason
from wattpack.experiments.curves import Results
from wattpack.experiments.provenance import machine, versions
from wattpack.experiments.runner import Outcome

NAMED = 3  # kinds of tasks that are spelled out


def provenance_of(
    command: str, outcome: Outcome, results: Results, on: str, choices: Sequence[str] = ()
) -> dict[str, Any]:
    """choices: what `auto` chose and why."""
    seeds = sorted({seed for curves in results.values() for seed in curves.seeds if seed >= 0})
    return made_with(command, outcome, seeds, on, choices)


def made_with(
    command: str, outcome: Outcome, seeds: Sequence[int], on: str, choices: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "command": command,
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "runs": f"{outcome_text(outcome)} ({on})",
        "seeds": seeds,
        **({"auto": "; ".join(choices)} if choices else {}),
        **{f"version of {name}": text for name, text in versions().items()},
        **machine(),
    }


def outcome_text(outcome: Outcome) -> str:
    """The outcome of the runs, in a line."""
    parts = [f"{outcome.done} runs done in {outcome.seconds:.1f} s"]
    if outcome.skipped:
        parts.append(f"{outcome.skipped} were there")
    if outcome.failed:
        parts.append(f"{len(outcome.failed)} failed")
    return ", ".join(parts)


def never_fit(kinds: Sequence[Nowhere]) -> str:
    """The tasks that no node could ever hold, in a line, and why, with counts."""
    texts = [kind.text for kind in kinds]
    total = f"; {by_reason(kinds)}"
    if len(texts) == 1:
        return f"can never fit any node: {texts[0]}{total}"
    more = f"; and {len(texts) - NAMED} more kinds" if len(texts) > NAMED else ""
    return f"can never fit any node: {len(texts)} kinds of tasks: {'; '.join(texts[:NAMED])}{total}{more}"
