"""Brings one node one transition further: finds out what has happened to it, writes the record, orders the switch.

The record is written first and the order sent afterwards, so a restart in between repeats the order; orders may be
repeated. A patch fails if the Node has changed since it was read: then nothing is done, and the next step looks again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from wattpack.kube.client import ApiError
from wattpack.kube.constraints import is_ready
from wattpack.kube.objects import NODE, Node
from wattpack.kube.sleep.evict import Evictions
from wattpack.kube.sleep.record import (
    HOLD,
    WAKE,
    Record,
    ask,
    asked_of,
    changed_record,
    erase,
    foreign_taints,
    has_woken,
    is_marked,
    machine_of,
    record_of,
    undo_of,
    write,
)
from wattpack.kube.sleep.states import COMING, GOING, Event, State, next_state
from wattpack.kube.switches.switch import Power, SwitchError

if TYPE_CHECKING:
    from wattpack.kube.sleep.keeper import Keeper

log = logging.getLogger("wattpack")
SETTLE_S = 5.0  # between the mark and the drain: pods that a scheduler had sent there arrive
ORDER_AGAIN_S = 30.0  # an order to a switch is repeated while the machine does not follow
READ_EVERY_S = 2.0  # the power of a machine in transition
WATCH_EVERY_S = 30.0  # the power of a machine that is off: a person may have turned it on
REST_S = 600.0  # a node that could not be emptied is not tried again for this long
CONFLICT = 409
Found = tuple[Event, str]


class CarryOut:
    """What is remembered between steps are times and the latest answers of switches; all of it may be lost."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.entered: dict[str, tuple[State, float]] = {}
        self.read_s: dict[str, float] = {}  # when the power was last read
        self.ordered_s: dict[str, float] = {}  # when this process last sent an order
        self.seen_on: set[str] = set()  # nodes asleep whose machine was on when it was last read
        self.seen_not_ready: set[str] = set()  # nodes that were seen not Ready since they went off
        self.resting_until_s: dict[str, float] = {}
        self.evictions = Evictions(keeper)

    def take_over(self, before: CarryOut) -> None:
        self.entered, self.read_s, self.ordered_s = before.entered, before.read_s, before.ordered_s
        self.seen_on, self.seen_not_ready = before.seen_on, before.seen_not_ready
        self.resting_until_s = before.resting_until_s
        self.evictions.movable = before.evictions.movable

    def is_resting(self, name: str) -> bool:
        return self.keeper.now_s() < self.resting_until_s.get(name, 0.0)

    def moves_away(self, name: str) -> bool:
        """Whether the pods on the node are to be evicted, and may be."""
        record = record_of(self.node(name))
        return record is not None and record.moving and self.evictions.may_all_move(name)

    def node(self, name: str) -> Node:
        return self.keeper.sight.node(self.keeper.service.view, name)

    async def advance(self, name: str) -> None:
        node = self.node(name)
        record = record_of(node)
        state = State.AWAKE if record is None else record.state
        if not is_ready(node):
            self.seen_not_ready.add(name)
        elif state is State.AWAKE:
            self.seen_not_ready.discard(name)
        self.note_time(name, state)
        found = await self.happened(node, record)
        if found is not None and (following := next_state(state, found[0])) is not state:
            await self.enter(node, record, following, found[1])
        elif record is None:
            if asked_of(node) == WAKE:  # it is awake: the wish is fulfilled
                self.keeper.sight.empty_since_s.pop(name, None)
                await self.patch(node, ask(node, None))
        else:
            await self.keep(node, record)

    def note_time(self, name: str, state: State) -> float:
        """Seconds since this process first saw the node in the state; to turn on and to wake share one time."""
        now_s = self.keeper.now_s()
        known = self.entered.get(name)
        if known is None or not (known[0] is state or (known[0] in COMING and state in COMING)):
            self.entered[name] = state, now_s
        return now_s - self.entered[name][1]

    # ---- what has happened

    async def happened(self, node: Node, record: Record | None) -> Found | None:
        keeper, name = self.keeper, node.metadata.name
        if record is None:
            if name not in keeper.starting:
                return None
            return Event.SLEEP, "its pods may move" if name in keeper.sight.busy else f"empty for {keeper.config.idle}"
        told = asked_of(node) == WAKE or (asked_of(node) == HOLD and record.state is not State.GIVEN_UP)
        if record.state is State.LEFT_ALONE:
            return (Event.TOLD, "asked for by a person") if asked_of(node) == WAKE else None
        if touched := touched_by(node, record):
            return Event.TOUCHED, touched
        elapsed_s = self.note_time(name, record.state)
        if record.state in (State.MARKED, State.DRAINING):
            if told:
                return Event.TOLD, "asked for by a person"
            if why := keeper.why_wake(name) or keeper.stopped:
                return Event.WAKE, why
            if record.state is State.MARKED:
                return (Event.SETTLED, record.why) if elapsed_s >= SETTLE_S else None
            if name not in keeper.sight.busy:
                return Event.EMPTY, record.why
            return (Event.LATE, "it did not become empty in time") if self.is_late(record, elapsed_s) else None
        if record.state is State.ASLEEP and name in keeper.to_wake:
            return Event.TOLD if told else Event.WAKE, keeper.to_wake[name]
        if record.state is State.GIVEN_UP and asked_of(node) == WAKE:
            return Event.TOLD, "asked for by a person"
        comes = record.state in COMING or (record.state is State.GIVEN_UP and record.wake != "")
        if comes and has_woken(node, record, name in self.seen_not_ready):
            return Event.READY, record.why
        power = await self.read_power(node, record.state)
        if power is Power.OFF:
            return Event.OFF, record.why if record.state is State.TURNING_OFF else "the machine is off again"
        if power is Power.ON and record.state is State.TURNING_ON:
            return Event.ON, record.why
        if record.state is State.ASLEEP and power is not None:
            before, self.seen_on = name in self.seen_on, self.seen_on - {name}
            if power is Power.ON:
                self.seen_on.add(name)
                if before:
                    return Event.TOUCHED, "the machine was turned on by hand"
        if self.is_late(record, elapsed_s):
            what = "off" if record.state is State.TURNING_OFF else "Ready"
            return Event.LATE, f"not {what} in time: {record.why}"
        return None

    def is_late(self, record: Record, elapsed_s: float) -> bool:
        config = self.keeper.config
        limits_s = {
            State.DRAINING: config.drain_timeout_s,
            State.TURNING_OFF: config.shutdown_timeout_s,
            State.TURNING_ON: config.wake_timeout_s,
            State.WAKING: config.wake_timeout_s,
        }
        return elapsed_s >= limits_s.get(record.state, float("inf"))

    async def read_power(self, node: Node, state: State) -> Power | None:
        """What the switch says; None: it was asked lately, it does not answer, or it does not matter."""
        name, now_s = node.metadata.name, self.keeper.now_s()
        if state is State.GIVEN_UP:
            return None
        every_s = WATCH_EVERY_S if state is State.ASLEEP else READ_EVERY_S
        if now_s - self.read_s.get(name, float("-inf")) < every_s:
            return None
        self.read_s[name] = now_s
        assert self.keeper.switch is not None
        try:
            return await self.keeper.switch.read(machine_of(node))
        except SwitchError as fault:
            self.keeper.service.metrics.count("wattpack_sleep_errors_total", what="switch")
            log.warning("power of %s: %s", name, fault)
            return None

    # ---- what follows

    async def enter(self, node: Node, record: Record | None, state: State, why: str) -> None:
        """Write the state on the Node, then order the switch."""
        name, keeper = node.metadata.name, self.keeper
        if state is State.AWAKE:
            left = record.state if record else State.AWAKE
            if not await self.patch(node, erase(node)):
                return
            keeper.sight.empty_since_s.pop(name, None)
            if left in GOING:
                self.resting_until_s[name] = keeper.now_s() + (REST_S if left is State.DRAINING else 0.0)
        else:
            changed = changed_record(node, record, state, why, keeper.promises.on(name))
            if state is State.MARKED:
                changed = msgspec.structs.replace(changed, moving=name in keeper.sight.busy)
            if not await self.patch(node, write(node, changed)):
                return
            record = changed
        self.entered.pop(name, None)
        self.note_time(name, state)
        self.read_s.pop(name, None)
        if state is State.ASLEEP:
            self.seen_on.discard(name)
            if is_ready(node):
                self.seen_not_ready.discard(name)
        keeper.promises.entered(name, state)
        keeper.service.metrics.count("wattpack_sleep_changes_total", to=state.value)
        log.info("sleep: %s is %s: %s", name, state.value, why)
        kind = "Warning" if state in (State.GIVEN_UP, State.LEFT_ALONE) else "Normal"
        undo = f"; to undo: {undo_of(node)}" if kind == "Warning" else ""
        keeper.service.events.add_node(node, kind, EVENT_REASON[state], f"{state.value}: {why}{undo}")
        if record is not None and state in (State.TURNING_OFF, State.TURNING_ON):
            await self.order(self.node(name), state)

    async def keep(self, node: Node, record: Record) -> None:
        """Nothing has happened: keep the record current, repeat an order that is not followed, evict pods."""
        keeper, name = self.keeper, node.metadata.name
        promised = keeper.promises.on(name)
        wake = record.wake or (keeper.why_wake(name) if record.state is State.TURNING_OFF else "")
        again_s = keeper.now_s() - self.ordered_s.get(name, float("-inf"))
        again = record.state in (State.TURNING_OFF, State.TURNING_ON) and again_s >= ORDER_AGAIN_S
        changed = msgspec.structs.replace(record, promised=promised, wake=wake, asked=record.asked + again)
        if changed != record and not await self.patch(node, write(node, changed)):
            return
        if again:
            await self.order(self.node(name), record.state)
        if record.state is State.DRAINING and record.moving:
            await self.evictions.evict(name)

    async def order(self, node: Node, state: State) -> None:
        """Ask the switch. Only with the lease: another replica may have taken over while we waited."""
        name, keeper = node.metadata.name, self.keeper
        assert keeper.switch is not None
        if keeper.service.lease.left_s() <= 0:
            return
        self.ordered_s[name] = keeper.now_s()
        try:
            if state is State.TURNING_OFF:
                await keeper.switch.turn_off(machine_of(node))
            else:
                await keeper.switch.turn_on(machine_of(node))
        except SwitchError as fault:
            keeper.service.metrics.count("wattpack_sleep_errors_total", what="switch")
            keeper.service.events.add_node(node, "Warning", "WattpackSwitchFailed", str(fault))
            log.warning("switch of %s: %s", name, fault)

    async def patch(self, node: Node, body: object) -> bool:
        """Whether it was written. False: the Node has changed since it was read."""
        name = node.metadata.name
        try:
            answer = await self.keeper.service.client.call("PATCH", f"/api/v1/nodes/{name}", body)
        except ApiError as fault:
            if fault.status == CONFLICT:
                log.debug("sleep of %s: %s", name, fault)
                return False
            raise
        self.keeper.sight.latest[name] = NODE.decode(answer)
        return True


EVENT_REASON = {
    State.AWAKE: "WattpackAwake",
    State.MARKED: "WattpackMarked",
    State.DRAINING: "WattpackDraining",
    State.TURNING_OFF: "WattpackTurningOff",
    State.ASLEEP: "WattpackAsleep",
    State.TURNING_ON: "WattpackTurningOn",
    State.WAKING: "WattpackWaking",
    State.GIVEN_UP: "WattpackGivenUp",
    State.LEFT_ALONE: "WattpackLeftAlone",
}


def touched_by(node: Node, record: Record) -> str:
    """What a person has changed on the Node; "": nothing."""
    if not is_marked(node):
        return "it was uncordoned, or its taint removed, by hand"
    added = set(foreign_taints(node)) - set(record.taints)
    return f"the taint {sorted(added)[0]} was added by hand" if added else ""
