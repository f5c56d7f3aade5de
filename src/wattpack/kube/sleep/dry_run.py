"""What a `[sleep]` section would do to a cluster as it is now, in words; nothing is done. For `serve --check`."""

from __future__ import annotations

from collections import Counter

from wattpack.kube.sleep.config import SleepConfig
from wattpack.kube.sleep.record import left_behind
from wattpack.kube.sleep.sight import Sight
from wattpack.kube.sleep.states import State
from wattpack.kube.view import View

SHOWN = 20  # names in a line


def dry_run(view: View, config: SleepConfig) -> list[str]:
    """Lines for people. How long nodes have been empty is not known here: those empty now count as long enough."""
    sight = Sight(config)
    sight.look(view, 0.0)
    sight.look(view, float("inf"))
    others = sorted(sight.states.keys() - sight.selected)
    pool = sight.pool
    lines = [f"sleep: {config.mode}; {config.nodes!r} selects {len(sight.selected)} of {len(view.nodes)} nodes"]
    if pool is not None:
        free = pool.free_gpus(sight.counted())
        lines.append(f"  reserve: {pool.reserve_gpus} of {int(pool.gpus.sum())} GPUs; {free} are free now")
        saved_w = pool.saved_w(sight.would_sleep)
        lines.append(
            f"  would switch off {len(sight.would_sleep)} nodes, at most {config.at_most} at once and "
            f"{config.per_hour} an hour, once empty for {config.idle}: {saved_w:.0f} W{named(sight.would_sleep)}"
        )
        if sight.would_wake:
            lines.append(f"  would wake {len(sight.would_wake)} nodes for the reserve{named(sight.would_wake)}")
    counts = Counter(state.value for state in sight.states.values() if state is not State.AWAKE)
    lines += [f"  {count} nodes are {state}" for state, count in sorted(counts.items())]
    if sight.claimed:
        stay = sorted(sight.claimed)
        lines.append(f"  {len(stay)} nodes stay awake: GPUs given out by resource claims{named(stay)}")
    if not config.acts:
        if asleep := [name for name, state in sight.states.items() if state is not State.AWAKE]:
            lines.append(f"  {left_behind(asleep)}")
    elif others:
        lines.append(f"  would wake {len(others)} nodes that are not selected any more{named(others)}")
    return lines


def named(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f" ({', '.join(names[:SHOWN])}{more})" if names else ""
