"""`wattpack policies`: the list of policies."""

from __future__ import annotations

from pathlib import Path

from wattpack.choose.choice import SUMMARY
from wattpack.cli.plugins import load_plugins
from wattpack.policies import REGISTRY
from wattpack.policies.expression import AUTO


def policies_command(*, plugin: list[Path] | None = None) -> None:
    """The policies, one line each. Mix them with weights: `pwr:0.1+fgd:0.9`.

    Parameters
    ----------
    plugin
        Python file that registers policies of your own; may be given again.
    """
    load_plugins(plugin or [], check=False)  # nothing is run
    width = max(len(name) for name in REGISTRY)
    for policy in REGISTRY.values():
        print(f"{policy.name:<{width}}  {policy.summary}")
    print(f"{AUTO:<{width}}  {SUMMARY}")
