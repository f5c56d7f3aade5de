"""What a `[sleep]` section would do to a cluster as it is now, in words; nothing is done. For `serve --check`."""

from __future__ import annotations

from collections import Counter

from wattpack.kube.client import ApiError, Client
from wattpack.kube.sleep.config import SleepConfig
from wattpack.kube.sleep.live_look import look_live
from wattpack.kube.sleep.record import left_behind
from wattpack.kube.sleep.sight import Sight
from wattpack.kube.sleep.states import State
from wattpack.kube.view import View
from wattpack.model.counted import counted

SHOWN = 20  # names in a line


def seen_at_once(view: View, config: SleepConfig) -> Sight:
    """How long nodes have been empty is not known here: those empty now count as long enough."""
    sight = Sight(config)
    sight.look(view, 0.0)
    sight.look(view, float("inf"))
    return sight


async def looked_at(client: Client, nodes: list[str]) -> list[str]:
    """What a live look, as before a real order, finds on the nodes that would be switched off."""
    lines = ["  a live look at these nodes, as before each power order:"] if nodes else []
    for name in nodes[:SHOWN]:
        try:
            seen = await look_live(client, name)
        except ApiError as fault:
            lines.append(f"    {name} would stay on: what is on it cannot be read: {fault}")
            continue
        lines.append(f"    {name}{' would stay on' if seen.held else ''}: {seen.words()}")
    return lines


def dry_run(view: View, config: SleepConfig) -> list[str]:
    """Lines for people."""
    sight = seen_at_once(view, config)
    others = sorted(sight.states.keys() - sight.selected)
    pool = sight.pool
    lines = [
        f"sleep: {config.mode}; {config.nodes!r} selects {len(sight.selected)} of {counted(len(view.nodes), 'node')}"
    ]
    if pool is not None:
        free = pool.free_gpus(sight.counted())
        lines.append(f"  reserve: {pool.reserve_gpus} of {counted(int(pool.gpus.sum()), 'GPU')}; {free} are free now")
        saved_w = pool.saved_w(sight.would_sleep)
        lines.append(
            f"  would switch off {counted(len(sight.would_sleep), 'node')}, at most {config.at_most} at once and "
            f"{config.per_hour} an hour, once empty for {config.idle}: {saved_w:.0f} W{named(sight.would_sleep)}"
        )
        if sight.would_wake:
            lines.append(
                f"  would wake {counted(len(sight.would_wake), 'node')} for the reserve{named(sight.would_wake)}"
            )
    counts = Counter(state.value for state in sight.states.values() if state is not State.AWAKE)
    for state, count in sorted(counts.items()):
        lines.append(f"  {counted(count, 'node')} {'is' if count == 1 else 'are'} {state}")
    if sight.claimed:
        stay = sorted(sight.claimed)
        awake = f"{counted(len(stay), 'node')} {'stays' if len(stay) == 1 else 'stay'} awake"
        lines.append(f"  {awake}: GPUs given out by resource claims{named(stay)}")
    if not config.acts:
        if asleep := [name for name, state in sight.states.items() if state is not State.AWAKE]:
            lines.append(f"  {left_behind(asleep)}")
    elif others:
        lines.append(f"  would wake {counted(len(others), 'node')} no longer selected{named(others)}")
    return lines


def named(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f" ({', '.join(names[:SHOWN])}{more})" if names else ""
