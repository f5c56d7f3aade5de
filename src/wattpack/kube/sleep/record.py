"""What is remembered on the Node, so that any replica, or a person, can go on from there.

A node that is not awake has a taint, a cordon and a record: one annotation that says why and how to undo it. All three
are written and removed by one patch, which fails if the Node has changed since it was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from wattpack.kube.constraints import is_ready
from wattpack.kube.objects import Node, Taint
from wattpack.kube.sleep.states import COMING, State
from wattpack.kube.switches.switch import Machine

RECORD = "wattpack.io/sleep"  # annotation of a Node: a Record as JSON
ASK = "wattpack.io/sleep-ask"  # annotation of a Node by which people ask: WAKE or HOLD
TAINT = "wattpack.io/asleep"
WAKE, HOLD = "wake", "hold"
MAY_MOVE = "wattpack.io/may-move"  # annotation of a pod: "true" lets it be evicted
KILL_LABEL, KILLED = "wattpack.io/sleep", "off"  # label of the service's namespace: no node goes to sleep
LIFECYCLE = "node.kubernetes.io/"  # taints that Kubernetes itself sets
KEPT_PROMISES = 200  # on one Node: an annotation is small

TO_UNDO = (
    "run `wattpack sleep wake {node}`; without wattpack: turn the machine on, then `kubectl uncordon {node}`, "
    "`kubectl taint node {node} " + TAINT + "-` and `kubectl annotate node {node} " + RECORD + "-`"
)


class PromisedPod(msgspec.Struct, frozen=True):
    """A pod that goes to this node as soon as it is awake."""

    pod: str  # NAMESPACE/NAME
    uid: str
    gpus: str  # like 0-1


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """The annotation. Times are notes for people: nothing is decided by them."""

    state: State
    since: str = ""
    why: str = ""
    undo: str = ""
    wake: str = ""  # why it is to wake as soon as it is off; "": it is not
    taints: tuple[str, ...] = ()  # keys of the other taints it had when it was marked
    beat: str = ""  # last sign of life of the kubelet when the machine was off
    moving: bool = False  # its pods are evicted, so that it becomes empty
    asked: int = 0  # orders sent to the switch in this state
    promised: tuple[PromisedPod, ...] = ()


_DECODER = msgspec.json.Decoder(Record)


def now_text() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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


def state_of(node: Node) -> State:
    record = record_of(node)
    return State.AWAKE if record is None else record.state


def asked_of(node: Node) -> str:
    """What a person asked for: WAKE, HOLD or nothing."""
    return node.metadata.annotations.get(ASK, "")


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
    if coming and record.state in (State.LEFT_ALONE, State.GIVEN_UP):  # a person says: as it is, it is right
        beat = record.beat if record.state is State.GIVEN_UP else ""
        changed = msgspec.structs.replace(changed, taints=foreign_taints(node), beat=beat)
    return changed


# ---- patches


def write(node: Node, record: Record) -> dict[str, Any]:
    """The patch that writes the record, and taint and cordon where they are not there."""
    annotations: dict[str, str | None] = {RECORD: msgspec.json.encode(record).decode()}
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
