"""What is shown of nodes that sleep: `/sleep` and the gauges."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypedDict

from wattpack.kube.metrics import Labels
from wattpack.kube.sleep.record import CLAIMED_STAYS, HOLD, asked_of, record_of, undo_of
from wattpack.kube.sleep.states import State

if TYPE_CHECKING:
    from wattpack.kube.sleep.keeper import Keeper


class SleepNode(TypedDict):
    """A node that may sleep, or that sleeps."""

    node: str
    state: str
    since: str  # UTC; "": awake
    why: str  # of an awake node: why it never sleeps; "": it may
    undo: str  # how a person gets it back; "": awake
    gpus: int
    idle_w: float  # drawn awake and empty
    asleep_w: float
    empty_s: float | None  # how long it has been empty; None: it is not, or not awake
    would_sleep: bool  # it would be switched off now
    held: bool  # a person holds it awake
    promised: list[str]  # pods that go there when it is awake


class SleepStatus(TypedDict):
    """What `[sleep]` does, or in mode advise would do."""

    mode: str
    acting: bool  # this replica switches nodes
    stopped: str  # why no node goes to sleep now; "": they may
    reserve_gpus: int
    free_gpus: int  # on nodes that are awake or waking
    saved_w: float  # by the nodes asleep
    would_save_w: float  # by switching off those that would sleep now
    in_transition: int
    nodes: list[SleepNode]


def status_of(keeper: Keeper) -> SleepStatus:
    sight, view = keeper.sight, keeper.service.view
    pool, now_s = sight.pool, keeper.now_s()
    columns = {name: i for i, name in enumerate(pool.names)} if pool is not None else {}
    rows: list[SleepNode] = []
    for name in sorted(sight.states.keys() & view.nodes.keys()):
        node, state = sight.node(view, name), sight.states[name]
        record, i = record_of(node), columns.get(name)
        awake_and_empty = state is State.AWAKE and name in sight.empty_since_s
        rows.append(
            {
                "node": name,
                "state": state.value,
                "since": record.since if record else "",
                "why": record.why if record else CLAIMED_STAYS if name in sight.claimed else "",
                "undo": undo_of(node) if record else "",
                "gpus": 0 if pool is None or i is None else int(pool.gpus[i]),
                "idle_w": 0.0 if pool is None or i is None else float(pool.idle_mw[i]) / 1000,
                "asleep_w": 0.0 if pool is None or i is None else float(pool.asleep_mw[i]) / 1000,
                "empty_s": round(now_s - sight.empty_since_s[name], 3) if awake_and_empty else None,
                "would_sleep": name in sight.would_sleep,
                "held": asked_of(node) == HOLD,
                "promised": [promised.pod for promised in record.promised] if record else [],
            }
        )
    return {
        "mode": keeper.config.mode,
        "acting": keeper.acting,
        "stopped": keeper.stopped,
        "reserve_gpus": pool.reserve_gpus if pool else 0,
        "free_gpus": pool.free_gpus(sight.counted()) if pool else 0,
        "saved_w": pool.saved_w(sight.in_states(State.ASLEEP)) if pool else 0.0,
        "would_save_w": pool.saved_w(sight.would_sleep) if pool else 0.0,
        "in_transition": sight.in_transition,
        "nodes": rows,
    }


def sleep_gauges(keeper: Keeper) -> dict[str, list[tuple[Labels, float]]]:
    sight, pool = keeper.sight, keeper.sight.pool
    counts = Counter(state.value for state in sight.states.values())
    rows: dict[str, list[tuple[Labels, float]]] = {
        "wattpack_sleep_nodes": [((("state", state.value),), counts[state.value]) for state in State],
        "wattpack_sleep_would_nodes": [((), len(sight.would_sleep))],
        "wattpack_sleep_stopped": [((), float(keeper.stopped != ""))],
    }
    if pool is not None:
        rows["wattpack_sleep_saved_watts"] = [
            ((("when", "now"),), pool.saved_w(sight.in_states(State.ASLEEP))),
            ((("when", "possible"),), pool.saved_w(sight.would_sleep)),
        ]
        rows["wattpack_sleep_gpus"] = [
            ((("which", "free"),), pool.free_gpus(sight.counted())),
            ((("which", "reserve"),), pool.reserve_gpus),
        ]
    return rows
