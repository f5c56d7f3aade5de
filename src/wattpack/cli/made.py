"""What became of the runs of a command: failures on stderr, and the exit code."""

from __future__ import annotations

import sys

from wattpack.errors import RunError
from wattpack.experiments.runner import Outcome
from wattpack.report.made import made_with as made_with  # for the commands: one import for how results were made
from wattpack.report.made import told as told


def raise_if_failed(outcome: Outcome) -> None:
    """All failures on stderr, each with its scenario; then the exit code."""
    for scenario, fault in outcome.failed:
        print(f"failed: {scenario}: {fault}", file=sys.stderr)
    if outcome.failed:
        raise RunError(f"{len(outcome.failed)} runs failed; the same command tries them again")
