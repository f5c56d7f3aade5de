"""`--allow-slower` and `--same-model`: to which GPUs running tasks may go."""

from __future__ import annotations

from wattpack.cli.streams import note
from wattpack.datasets.placements import Placements
from wattpack.datasets.running_tasks import NO_SLOWER, SAME_MODEL, kept_from_slower, unknown_speeds
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import Workload


def keep_speed(
    workload: Workload, placed: Placements, datacenter: Datacenter, allow_slower: bool, same_model: bool
) -> Workload:
    """The tasks with the models that they may go to; names on stderr the models whose speed is not known."""
    if allow_slower and same_model:
        raise UserError("--allow-slower with --same-model, expected one of them")
    if allow_slower:
        return workload
    if same_model:
        return kept_from_slower(workload, placed, datacenter, SAME_MODEL)
    if unknown := unknown_speeds(workload, placed, datacenter):
        note(f"tasks on {', '.join(unknown)} stay on their model: no speed is known of it (--allow-slower moves them)")
    return kept_from_slower(workload, placed, datacenter, NO_SLOWER)
