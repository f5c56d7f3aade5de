"""How results were made, with the command line as it was given; and the exit code of failed runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from wattpack.cli import given_words
from wattpack.cli.streams import note
from wattpack.errors import RunError
from wattpack.experiments.compare import unplaceable
from wattpack.experiments.curves import Results
from wattpack.experiments.runner import Outcome
from wattpack.experiments.scenario import Inputs, Scenario
from wattpack.report import provenance


def provenance_of(
    command: str, outcome: Outcome, results: Results, on: str, choices: Sequence[str] = ()
) -> dict[str, Any]:
    words = given_words.get()
    said = shlex.join(["wattpack", *words]) if words else command
    return provenance.provenance_of(said, outcome, results, on, choices)


def timed_provenance(
    outcome: Outcome, scenarios: Sequence[Scenario], on: str, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """The same for runs in time. `notes`: what was assumed when inputs were read."""
    said = shlex.join(["wattpack", *given_words.get()])
    seeds = sorted({scenario.seed for scenario in scenarios if scenario.timed is not None and scenario.timed.load > 0})
    found = provenance.made_with(said, outcome, seeds, on)
    return found | ({"notes": "; ".join(notes)} if notes else {})


def note_never_fit(inputs: Inputs) -> None:
    """A line on stderr for each trace with tasks that no node could ever hold: why, and how many.

    With tasks that are held somewhere: runs start empty, and refuse them.
    """
    for name, kinds in unplaceable(inputs, with_held=True).items():
        note(f"{name}: {provenance.never_fit(kinds)}")


def raise_if_failed(outcome: Outcome) -> None:
    """All failures on stderr, each with its scenario; then the exit code."""
    for scenario, fault in outcome.failed:
        note(f"failed: {scenario}: {fault}")
    if outcome.failed:
        raise RunError(f"{len(outcome.failed)} runs failed; the same command tries them again")
