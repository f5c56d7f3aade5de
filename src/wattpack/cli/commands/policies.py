"""`wattpack policies`: the list of policies."""

from __future__ import annotations

from pathlib import Path

from wattpack.cli.plugins import load_plugins
from wattpack.policies.listing import listed


def policies_command(*, plugin: list[Path] | None = None) -> None:
    """The policies, one line each, by where they come from. Mix them with weights: `pwr:0.1+fgd:0.9`.

    Parameters
    ----------
    plugin
        Python file that registers policies of your own; may be given again.
    """
    load_plugins(plugin or [], check=False)  # nothing is run
    print(listed())
