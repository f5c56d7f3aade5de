"""`wattpack policies`: the list of policies."""

from __future__ import annotations

from pathlib import Path

from wattpack.choose.choice import SUMMARY
from wattpack.cli.plugins import load_plugins
from wattpack.policies import OF_WATTPACK, REGISTRY, groups
from wattpack.policies.expression import AUTO


def policies_command(*, plugin: list[Path] | None = None) -> None:
    """The policies, one line each, by where they come from. Mix them with weights: `pwr:0.1+fgd:0.9`.

    Parameters
    ----------
    plugin
        Python file that registers policies of your own; may be given again.
    """
    load_plugins(plugin or [], check=False)  # nothing is run
    width = max(len(name) for name in REGISTRY)
    for heading, members in groups().items():
        print(f"{heading}:")
        for policy in members:
            print(f"  {policy.name:<{width}}  {policy.summary}")
        if heading == OF_WATTPACK:
            print(f"  {AUTO:<{width}}  {SUMMARY}")
