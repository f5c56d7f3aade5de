"""Two columns of numbers side by side: before and after, as it is and with a policy."""

from __future__ import annotations

from collections.abc import Sequence

from wattpack.experiments.placed import Emptied, Placed

MOST_NAMED = 12  # nodes


def print_side_by_side(rows: Sequence[tuple[str, str, str]]) -> None:
    """A name and two values per row, after an empty line."""
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    print()
    for name, left, right in rows:
        print(f"{name:<{widths[0]}}  {left:>{widths[1]}}  {right:>{widths[2]}}")


def print_saving(now: Placed, policy: Placed, expression: str) -> None:
    """Both side by side, and the difference in watts and percent of the power now."""
    rows = [
        ("", "as it is", expression),
        ("power, W", f"{now.power_w:,.0f}", f"{policy.power_w:,.0f}"),
        ("GRAR", f"{now.grar:.4f}", f"{policy.grar:.4f}"),
        ("GPUs served", f"{now.served_gpus:,.1f}", f"{policy.served_gpus:,.1f}"),
        ("tasks placed", f"{now.tasks:,}", f"{policy.tasks:,}"),
        ("nodes in use", f"{now.nodes_in_use:,}", f"{policy.nodes_in_use:,}"),
        ("fragmentation, GPUs", f"{now.fragmentation_gpus:,.1f}", f"{policy.fragmentation_gpus:,.1f}"),
    ]
    print_side_by_side(rows)
    saved = now.power_w - policy.power_w
    percent = 100 * saved / now.power_w if now.power_w else 0.0
    word = "saves" if saved >= 0 else "costs"
    print(f"{expression} {word} {abs(saved):,.0f} W, {abs(percent):.1f} % of the power as it is")
    if abs(now.served_gpus - policy.served_gpus) > 0.0005 or now.tasks != policy.tasks:
        print("  (not the same tasks are served: compare the watts with that in mind)")


def print_emptied(found: Emptied) -> None:
    """The nodes that could be switched off, and what that saves beside the moves."""
    if not found.nodes:
        return
    names = ", ".join(found.nodes[:MOST_NAMED])
    more = f" and {len(found.nodes) - MOST_NAMED} more" if len(found.nodes) > MOST_NAMED else ""
    one = len(found.nodes) == 1
    print(f"{len(found.nodes)} {'node becomes' if one else 'nodes become'} empty: {names}{more}")
    print(f"  switching {'it' if one else 'them'} off saves {found.idle_w:,.0f} W more, the idle draw")
    if found.newly_used:
        other = "other node that is" if found.newly_used == 1 else "other nodes that are"
        print(f"  {found.newly_used} {other} empty now {'comes' if found.newly_used == 1 else 'come'} into use")
