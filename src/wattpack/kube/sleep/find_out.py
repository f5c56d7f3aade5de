"""Finds out what has happened to one node: from its Node, its pods, its switch, the time, and what people ask.

It changes nothing in the cluster; carry_out.py does what follows. What is remembered between steps are times and the
latest answers of switches; all of it may be lost.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from wattpack.kube.client import ApiError
from wattpack.kube.constraints import is_ready
from wattpack.kube.objects import Node
from wattpack.kube.sleep.live_look import Evidence, look_live
from wattpack.kube.sleep.record import (
    HOLD,
    WAKE,
    Record,
    asked_of,
    foreign_taints,
    has_woken,
    is_marked,
    machine_of,
    record_of,
)
from wattpack.kube.sleep.states import COMING, Event, State
from wattpack.kube.switches.switch import Power, SwitchError

if TYPE_CHECKING:
    from wattpack.kube.sleep.keeper import Keeper

log = logging.getLogger("wattpack")
READ_EVERY_S = 2.0  # the power of a machine in transition
LOOK_EVERY_S = 5.0  # a live look at a node, where the one before could not be read
WATCH_EVERY_S = 30.0  # the power of a machine that is off: a person may have turned it on
Found = tuple[Event, str]


class FindOut:
    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.entered: dict[str, tuple[State, str, float]] = {}  # state, `since` of its record, first seen at
        self.read_s: dict[str, float] = {}  # when the power was last read
        self.looked_s: dict[str, float] = {}  # when a live look was last tried
        self.seen_on: set[str] = set()  # nodes asleep whose machine was on when it was last read
        self.seen_not_ready: set[str] = set()  # nodes that were seen not Ready since they went off

    def take_over(self, before: FindOut) -> None:
        self.entered, self.read_s, self.looked_s = before.entered, before.read_s, before.looked_s
        self.seen_on, self.seen_not_ready = before.seen_on, before.seen_not_ready

    def forget(self) -> None:
        """Another replica may have acted meanwhile: what was seen before may be of another night."""
        self.entered.clear()
        self.seen_on.clear()
        self.seen_not_ready.clear()

    def saw(self, node: Node, state: State) -> None:
        """The node as it is at the beginning of a step."""
        if not is_ready(node):
            self.seen_not_ready.add(node.metadata.name)
        elif state is State.AWAKE:
            self.seen_not_ready.discard(node.metadata.name)
        self.note_time(node, state)

    def came_to(self, node: Node, state: State) -> None:
        """The node has come to a new state."""
        name = node.metadata.name
        self.entered.pop(name, None)
        self.note_time(self.keeper.carry_out.node(name), state)
        self.read_s.pop(name, None)
        if state is State.ASLEEP:
            self.seen_on.discard(name)
            if is_ready(node):
                self.seen_not_ready.discard(name)

    def note_time(self, node: Node, state: State) -> float:
        """Seconds since this process first saw the node in the state; to turn on and to wake share one time.

        The same state written anew, which `since` shows, is another one: a node may have been awake in between.
        """
        name, now_s, record = node.metadata.name, self.keeper.now_s(), record_of(node)
        since = record.since if record is not None and state not in COMING else ""
        known = self.entered.get(name)
        same = known is not None and (known[:2] == (state, since) or (known[0] in COMING and state in COMING))
        if not same:
            self.entered[name] = state, since, now_s
        return now_s - self.entered[name][2]

    async def happened(self, node: Node, record: Record | None) -> Found | None:
        keeper, name = self.keeper, node.metadata.name
        if record is None:
            if name not in keeper.starting or name in keeper.to_wake:
                return None
            if name in keeper.sight.busy:
                return Event.SLEEP, "its pods may move"
            seen = await self.look(node)
            if seen is None or seen.held:  # a cordon for nothing would only take room from others
                keeper.rate.take_back()
                keeper.carry_out.stays_awake(node, seen)
                return None
            return Event.SLEEP, f"empty for {keeper.config.idle}"
        told = asked_of(node) == WAKE or (asked_of(node) == HOLD and record.state is not State.GIVEN_UP)
        if record.state is State.LEFT_ALONE:
            return (Event.TOLD, "asked for by a person") if asked_of(node) == WAKE else None
        if touched := touched_by(node, record):
            return Event.TOUCHED, touched
        elapsed_s = self.note_time(node, record.state)
        if record.state in (State.MARKED, State.DRAINING):
            if told:
                return Event.TOLD, "asked for by a person"
            if why := keeper.why_wake(name) or keeper.stopped:
                return Event.WAKE, why
            if name in keeper.recalled:
                return Event.WAKE, "other nodes are to wake first"
            if record.state is State.MARKED:
                if elapsed_s < keeper.config.binding_timeout_s:
                    return None
                if record.moving and not keeper.carry_out.evictions.have_room(name):
                    return Event.WAKE, "its pods have no room elsewhere any more"
                return Event.SETTLED, record.why
            if name not in keeper.sight.busy and (seen := await self.look(node)) is not None:
                return (Event.HELD, seen.words()) if seen.held else (Event.EMPTY, record.why)
            return (Event.LATE, "it was not found empty in time") if self.is_late(record, elapsed_s) else None
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
            if record.state is State.TURNING_OFF:
                if (seen := await self.look(node)) is None:
                    return None  # given up, it would stay cordoned: first it must be known whether pods need it
                if seen.held:
                    return Event.WAKE, f"not off in time, and {seen.words()}"
            what = "off" if record.state is State.TURNING_OFF else "Ready"
            return Event.LATE, f"not {what} in time: {record.why}"
        return None

    async def look(self, node: Node) -> Evidence | None:
        """What is on the node by a live look; None: it was tried lately, or it cannot be read."""
        name, now_s = node.metadata.name, self.keeper.now_s()
        if now_s - self.looked_s.get(name, float("-inf")) < LOOK_EVERY_S:
            return None
        self.looked_s[name] = now_s
        try:
            seen = await look_live(self.keeper.service.client, name)
        except ApiError as fault:
            self.keeper.carry_out.cannot_look(node, fault)
            return None
        del self.looked_s[name]
        return seen

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


def touched_by(node: Node, record: Record) -> str:
    """What a person has changed on the Node; "": nothing."""
    if not is_marked(node):
        return "it was uncordoned, or its taint removed, by hand"
    added = set(foreign_taints(node)) - set(record.taints)
    return f"the taint {sorted(added)[0]} was added by hand" if added else ""
