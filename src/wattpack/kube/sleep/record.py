"""What is remembered on the Node, so that any replica, or a person, can go on from there.

A node that is not awake has a taint, a cordon and a record: one annotation that says why and how to undo it. All three
are written and removed by one patch, which fails if the Node has changed since it was read.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from wattpack.kube.constraints import is_ready
from wattpack.kube.objects import Node, Taint
from wattpack.kube.sleep.states import COMING, State
from wattpack.kube.switches.switch import Machine

RECORD = "wattpack.io/sleep"  # annotation of a Node: a Record as JSON
ASK = "wattpack.io/sleep-ask"  # annotation of a Node by which people ask: WAKE or HOLD
TIMES = "wattpack.io/sleep-times"  # annotation of a Node: when it was sent to sleep, within the last hour
EVICTED = "wattpack.io/sleep-evicted"  # annotation of a Node: whose pods were evicted from it within the last hour
TAINT = "wattpack.io/asleep"
WAKE, HOLD = "wake", "hold"
MAY_MOVE = "wattpack.io/may-move"  # annotation of a pod: "true" lets it be evicted
KILL_LABEL, KILLED = "wattpack.io/sleep", "off"  # label of the service's namespace: no node goes to sleep
LIFECYCLE = "node.kubernetes.io/"  # taints that Kubernetes itself sets
HOUR_S = 3600.0

TO_UNDO = (
    "run `wattpack sleep wake {node}`; without wattpack: turn the machine on, then `kubectl uncordon {node}`, "
    "`kubectl taint node {node} " + TAINT + "-` and `kubectl annotate node {node} " + RECORD + "-`"
)
CLAIMED_STAYS = "its GPUs are given out by resource claims, and pods with claims cannot wake a node"


class PromisedPod(msgspec.Struct, frozen=True):
    """A pod that goes to this node as soon as it is awake."""

    pod: str  # NAMESPACE/NAME
    uid: str
    gpus: str  # like 0-1


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """The annotation. Its time is a note for people: nothing is decided by it."""

    state: State
    since: str = ""
    why: str = ""
    undo: str = ""
    wake: str = ""  # why it is to wake as soon as it is off; "": it is not
    taints: tuple[str, ...] = ()  # keys of the other taints it had when it was marked
    beat: str = ""  # last sign of life of the kubelet when the machine was off
    moving: bool = False  # its pods are evicted, so that it becomes empty
    evicting: tuple[str, ...] = ()  # uids of these pods
    asked: int = 0  # orders sent to the switch in this state
    promised: tuple[PromisedPod, ...] = ()


_DECODER = msgspec.json.Decoder(Record)


def now_text() -> str:
    return time_text(time.time())


def time_text(wall_s: float) -> str:
    return datetime.fromtimestamp(wall_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def record_of(node: Node) -> Record | None:
    """None: there is none. One that cannot be read was changed by a person."""
    text = node.metadata.annotations.get(RECORD)
    if text is None:
        return None
    try:
        return _DECODER.decode(text)
    except msgspec.DecodeError:
        return Record(State.LEFT_ALONE, why="the record cannot be read", undo=undo_of(node))


def undo_of(node: Node) -> str:
    return TO_UNDO.format(node=node.metadata.name)


def left_behind(names: Sequence[str]) -> str:
    """Mode advise switches nothing: nodes that `act` has put to sleep stay so until somebody wakes them."""
    return (
        f"mode advise wakes no node: {len(names)} with a record stay as they are; to wake them run "
        "`wattpack sleep wake --all --direct --config FILE`, with the switch in FILE"
    )


def state_of(node: Node) -> State:
    record = record_of(node)
    return State.AWAKE if record is None else record.state


def asked_of(node: Node) -> str:
    """What a person asked for: WAKE, HOLD or nothing."""
    return node.metadata.annotations.get(ASK, "")


def sent_to_sleep(node: Node, wall_s: float) -> tuple[str, ...]:
    """The times within an hour of now at which the node was sent to sleep. Other replicas read them, and restarts.

    A time in the future is from before a clock was set back: it counts, so that the rate is kept rather than exceeded.
    """
    return tuple(text for text in node.metadata.annotations.get(TIMES, "").split() if _is_lately(text, wall_s))


def evicted_lately(node: Node, wall_s: float) -> dict[str, str]:
    """Whose pods were evicted from the node within an hour of now: uids of pods and of their controllers, and when."""
    said = (text.partition("@") for text in node.metadata.annotations.get(EVICTED, "").split())
    return {uid: when for uid, _, when in said if _is_lately(when, wall_s)}


def _is_lately(text: str, wall_s: float) -> bool:
    with suppress(ValueError, OverflowError):
        return abs(wall_s - datetime.fromisoformat(text).timestamp()) <= HOUR_S
    return False


def is_marked(node: Node) -> bool:
    """Whether taint and cordon are there."""
    return node.spec.unschedulable and any(taint.key == TAINT for taint in node.spec.taints)


def foreign_taints(node: Node) -> tuple[str, ...]:
    """Keys of the taints that neither we nor Kubernetes itself have set."""
    keys = {taint.key for taint in node.spec.taints}
    return tuple(sorted(key for key in keys if key != TAINT and not key.startswith(LIFECYCLE)))


def machine_of(node: Node) -> Machine:
    return Machine(node.metadata.name, node.metadata.annotations, node.spec.provider_id)


def beat_of(node: Node) -> str:
    """When the kubelet last reported that it is well, as it wrote that."""
    return next((c.last_heartbeat_time or "" for c in node.status.conditions if c.type == "Ready"), "")


def has_woken(node: Node, record: Record, seen_not_ready: bool) -> bool:
    """Whether the kubelet is Ready again. It looks Ready for a while after its machine was turned off."""
    return is_ready(node) and (seen_not_ready or record.beat == "" or beat_of(node) != record.beat)


def changed_record(
    node: Node, before: Record | None, state: State, why: str, promised: tuple[PromisedPod, ...] = ()
) -> Record:
    """The record of a node that comes to `state`."""
    record = before or Record(state, taints=foreign_taints(node))
    coming, orders = state in COMING, state in (State.TURNING_OFF, State.TURNING_ON)
    changed = msgspec.structs.replace(
        record, state=state, since=now_text(), why=why, undo=undo_of(node), asked=int(orders), promised=promised
    )
    if state is State.ASLEEP:
        changed = msgspec.structs.replace(changed, beat=beat_of(node))
    if state is State.GIVEN_UP and record.state is State.TURNING_OFF:
        changed = msgspec.structs.replace(changed, wake="")  # it may still go off: only a person can tell
    if coming:
        changed = msgspec.structs.replace(changed, wake=record.wake or why)
    if coming and record.state is State.TURNING_OFF:  # its kubelet looks Ready until it is off: only a new sign counts
        changed = msgspec.structs.replace(changed, beat=beat_of(node))
    if coming and record.state in (State.LEFT_ALONE, State.GIVEN_UP):  # a person says: as it is, it is right
        beat = record.beat if record.state is State.GIVEN_UP else ""
        changed = msgspec.structs.replace(changed, taints=foreign_taints(node), beat=beat)
    return changed


# ---- patches


def write(
    node: Node, record: Record, sent_s: float | None = None, evicted: Sequence[str] = (), evicted_s: float = 0.0
) -> dict[str, Any]:
    """The patch that writes the record, and taint and cordon where they are not there.

    `sent_s`: the node is sent to sleep now, at this time of the wall clock. `evicted`: pods are evicted at the time
    `evicted_s`, theirs and their controllers' uids.
    """
    annotations: dict[str, str | None] = {RECORD: msgspec.json.encode(record).decode()}
    if sent_s is not None:
        annotations[TIMES] = " ".join([*sent_to_sleep(node, sent_s), time_text(sent_s)])
    if evicted:
        kept = evicted_lately(node, evicted_s) | dict.fromkeys(evicted, time_text(evicted_s))
        annotations[EVICTED] = " ".join(f"{uid}@{when}" for uid, when in kept.items())
    if record.state is State.TURNING_ON and asked_of(node) == WAKE:
        annotations[ASK] = None
    body = _patch(node, annotations)
    if record.state is not State.LEFT_ALONE and not is_marked(node):
        body["spec"] = {"unschedulable": True, "taints": [*_taints(node), _plain(Taint(TAINT, "", "NoSchedule"))]}
    return body


def erase(node: Node) -> dict[str, Any]:
    """The patch that removes record, taint and cordon, and a wish to wake it, which is fulfilled."""
    annotations: dict[str, str | None] = {RECORD: None}
    if asked_of(node) == WAKE:
        annotations[ASK] = None
    return {**_patch(node, annotations), "spec": {"unschedulable": False, "taints": _taints(node)}}


def ask(node: Node, wish: str | None) -> dict[str, Any]:
    """The patch by which a person asks; None: no more."""
    return _patch(node, {ASK: wish})


def _patch(node: Node, annotations: Mapping[str, str | None]) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": node.metadata.resource_version, "annotations": dict(annotations)}}


def _taints(node: Node) -> list[dict[str, str]]:
    return [_plain(taint) for taint in node.spec.taints if taint.key != TAINT]


def _plain(taint: Taint) -> dict[str, str]:
    plain = {"key": taint.key, "effect": taint.effect}
    if taint.value:
        plain["value"] = taint.value
    if taint.time_added:
        plain["timeAdded"] = taint.time_added
    return plain
