"""Brings one node one transition further: writes what has happened to it on the Node, and orders the switch.

The record is written first and the order sent afterwards, so a restart in between repeats the order; orders may be
repeated. A patch fails if the Node has changed since it was read: then nothing is done, and the next step looks again.
Every order to switch off, the first and those repeated, of every switch, goes through `turn_off`: it leaves only right
after a live look at the node, while this replica holds the lease.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import msgspec

from wattpack.kube.client import ApiError
from wattpack.kube.objects import NODE, Node
from wattpack.kube.sleep.evict import Evictions
from wattpack.kube.sleep.find_out import FindOut
from wattpack.kube.sleep.live_look import Evidence, look_live
from wattpack.kube.sleep.record import (
    WAKE,
    Record,
    ask,
    asked_of,
    changed_record,
    erase,
    machine_of,
    record_of,
    undo_of,
    write,
)
from wattpack.kube.sleep.states import GOING, Event, State, next_state
from wattpack.kube.switches.switch import SwitchError

if TYPE_CHECKING:
    from wattpack.kube.sleep.keeper import Keeper

log = logging.getLogger("wattpack")
ORDER_AGAIN_S = 30.0  # an order to a switch is repeated while the machine does not follow
REST_S = 600.0  # a node that could not be emptied is not tried again for this long
LOOK_AGAIN_S = 60.0  # nor is one that could not be looked at
CANNOT_LOOK_S = 600.0  # that a node cannot be looked at is told once in this time
LEASE_LOST = "{}: not switched off: this replica does not hold the lease any more"
CONFLICT = 409


class HeldError(Exception):
    """Something is on the node: nothing was sent to the switch."""


class CarryOut:
    """What is remembered between steps are times; all of it may be lost."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.ordered_s: dict[str, float] = {}  # when this process last tried to send an order
        self.not_sent: set[str] = set()  # turning off since this process marked them so, and nothing was sent yet
        self.told_s: dict[str, float] = {}  # when people were told that a node cannot be looked at
        self.resting_until_s: dict[str, float] = {}
        self.find_out = FindOut(keeper)
        self.evictions = Evictions(keeper)

    def take_over(self, before: CarryOut) -> None:
        self.ordered_s, self.resting_until_s = before.ordered_s, before.resting_until_s
        self.not_sent, self.told_s = before.not_sent, before.told_s
        self.find_out.take_over(before.find_out)
        self.evictions.take_over(before.evictions)

    def is_resting(self, name: str) -> bool:
        return self.keeper.now_s() < self.resting_until_s.get(name, 0.0)

    def moves_away(self, name: str) -> bool:
        """Whether the pods on the node are to be evicted, and may be."""
        record = record_of(self.node(name))
        return record is not None and record.moving and self.evictions.go_on(name, record)

    def node(self, name: str) -> Node:
        return self.keeper.sight.node(self.keeper.service.view, name)

    async def advance(self, name: str) -> None:
        node = self.node(name)
        record = record_of(node)
        state = State.AWAKE if record is None else record.state
        self.find_out.saw(node, state)
        found = await self.find_out.happened(node, record)
        if found is not None and (following := next_state(state, found[0])) is not state:
            await self.enter(node, record, following, found[1], found[0])
        elif record is None:
            if asked_of(node) == WAKE:  # it is awake: the wish is fulfilled
                self.keeper.sight.empty_since_s.pop(name, None)
                await self.patch(node, ask(node, None))
        else:
            await self.keep(node, record)

    # ---- what follows

    async def enter(self, node: Node, record: Record | None, state: State, why: str, event: Event) -> None:
        """Write the state on the Node, then order the switch."""
        name, keeper = node.metadata.name, self.keeper
        if state is State.AWAKE:
            left = record.state if record else State.AWAKE
            if not await self.patch(node, erase(node)):
                return
            keeper.sight.empty_since_s.pop(name, None)
            self.evictions.no_room.discard(name)
            if left in GOING:
                self.resting_until_s[name] = keeper.now_s() + (0.0 if left is State.MARKED else REST_S)
        else:
            changed = changed_record(node, record, state, why, keeper.promises.on(name))
            if state is State.MARKED:
                changed = msgspec.structs.replace(changed, moving=name in keeper.sight.busy)
            sent_s = keeper.wall_s() if state is State.MARKED else None
            evicted: tuple[str, ...] = ()
            if state is State.DRAINING and changed.moving:
                changed = msgspec.structs.replace(changed, evicting=self.evictions.uids_on(name))
                evicted = self.evictions.note(name)
            if not await self.patch(node, write(node, changed, sent_s, evicted, keeper.wall_s())):
                return
            record = changed
        self.find_out.came_to(node, state)
        keeper.promises.entered(name, state)
        keeper.service.metrics.count("wattpack_sleep_changes_total", to=state.value)
        log.info("sleep: %s is %s: %s", name, state.value, why)
        ends = state in (State.GIVEN_UP, State.LEFT_ALONE)
        undo = f"; to undo: {undo_of(node)}" if ends else ""
        kind, reason = "Warning" if ends else "Normal", EVENT_REASON[state]
        if event is Event.HELD:
            kind, reason = "Warning", "WattpackNotSwitchedOff"
        keeper.service.events.add_node(node, kind, reason, f"{state.value}: {why}{undo}")
        if state is State.TURNING_OFF:
            self.not_sent.add(name)
        else:
            self.not_sent.discard(name)
        if record is not None and state in (State.TURNING_OFF, State.TURNING_ON):
            await self.order(self.node(name), record)

    async def keep(self, node: Node, record: Record) -> None:
        """Nothing has happened: keep the record current, repeat an order that is not followed, evict pods."""
        keeper, name = self.keeper, node.metadata.name
        promised = keeper.promises.on(name)
        wake = record.wake or (keeper.why_wake(name) if record.state is State.TURNING_OFF else "")
        again_s = keeper.now_s() - self.ordered_s.get(name, float("-inf"))
        ordered = record.state is State.TURNING_ON or (record.state is State.TURNING_OFF and not keeper.stopped)
        again = ordered and again_s >= ORDER_AGAIN_S
        changed = msgspec.structs.replace(record, promised=promised, wake=wake, asked=record.asked + again)
        if changed != record and not await self.patch(node, write(node, changed)):
            return
        if again:
            await self.order(self.node(name), changed)
            return
        if record.state is State.DRAINING and record.moving:
            await self.evictions.evict(name, record.evicting)

    async def order(self, node: Node, record: Record) -> None:
        """Ask the switch. Only with the lease: another replica may have taken over while we waited."""
        name, keeper = node.metadata.name, self.keeper
        assert keeper.switch is not None
        if keeper.service.lease.left_s() <= 0:
            return
        self.ordered_s[name] = keeper.now_s()
        try:
            if record.state is State.TURNING_OFF:
                await self.turn_off(node, record)
            else:
                log.info("sleep: power on %s: %s; Node at %s", name, record.why, node.metadata.resource_version)
                await keeper.switch.turn_on(machine_of(node))
        except HeldError as held:
            await self.held(node, record, str(held))
        except ApiError as fault:
            self.cannot_look(node, fault)
        except SwitchError as fault:
            keeper.service.metrics.count("wattpack_sleep_errors_total", what="switch")
            keeper.service.events.add_node(node, "Warning", "WattpackSwitchFailed", str(fault))
            log.warning("switch of %s: %s", name, fault)

    async def turn_off(self, node: Node, record: Record) -> None:
        """The only place that orders a machine off."""
        name, keeper = node.metadata.name, self.keeper
        assert keeper.switch is not None

        async def sure() -> None:
            """The switch awaits this right before its order leaves."""
            seen = await look_live(keeper.service.client, name)
            if seen.held:
                raise HeldError(seen.words())
            if keeper.service.lease.left_s() <= 0:
                raise SwitchError(LEASE_LOST.format(name))
            self.not_sent.discard(name)
            version = node.metadata.resource_version
            log.info("sleep: power off %s: %s; %s; Node at %s", name, record.why, seen.words(), version)

        await self.while_leading(name, keeper.switch.turn_off(machine_of(node), sure))

    async def while_leading(self, name: str, call: Coroutine[Any, Any, None]) -> None:
        """A call of the switch, which may take long: it is ended when the lease runs out, as another one may decide."""
        lease, task = self.keeper.service.lease, asyncio.ensure_future(call)
        try:
            while not task.done():
                if (left_s := lease.left_s()) <= 0:
                    raise SwitchError(LEASE_LOST.format(name))
                await asyncio.wait({task}, timeout=left_s)
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def held(self, node: Node, record: Record, why: str) -> None:
        """Something is on a node whose machine was to be switched off: it was not, at least not by this order."""
        name = node.metadata.name
        if name in self.not_sent:  # nor by any other
            await self.enter(node, record, next_state(record.state, Event.HELD), why, Event.HELD)
        elif not record.wake:  # an earlier order may still be followed: the node wakes then, or when that is too late
            await self.patch(node, write(node, msgspec.structs.replace(record, wake=why)))

    def stays_awake(self, node: Node, seen: Evidence | None) -> None:
        """The watches show nothing on the node; a live look did, or failed: it is not marked, nor tried again soon."""
        name, keeper = node.metadata.name, self.keeper
        self.resting_until_s[name] = keeper.now_s() + (LOOK_AGAIN_S if seen is None else REST_S)
        if seen is not None:
            log.info("sleep: %s stays awake: %s", name, seen.words())
            words = f"stays awake: {seen.words()}"
            keeper.service.events.add_node(node, "Warning", "WattpackNotSwitchedOff", words)

    def cannot_look(self, node: Node, fault: ApiError) -> None:
        """Without a live look no machine goes off: people are told, since it may be a right that is missing."""
        name, keeper = node.metadata.name, self.keeper
        keeper.service.metrics.count("wattpack_sleep_errors_total", what="api")
        log.warning("sleep of %s: what is on it cannot be read: %s", name, fault)
        now_s = keeper.now_s()
        if now_s - self.told_s.get(name, float("-inf")) >= CANNOT_LOOK_S:
            self.told_s[name] = now_s
            words = f"not switched off, since what is on it cannot be read: {fault}"
            keeper.service.events.add_node(node, "Warning", "WattpackNotSwitchedOff", words)

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
