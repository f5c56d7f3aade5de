"""Brings one node one transition further: writes what has happened to it on the Node, and orders the switch.

The record is written first and the order sent afterwards, so a restart in between repeats the order; orders may be
repeated. A patch fails if the Node has changed since it was read: then nothing is done, and the next step looks again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from wattpack.kube.client import ApiError
from wattpack.kube.objects import NODE, Node
from wattpack.kube.sleep.evict import Evictions
from wattpack.kube.sleep.find_out import FindOut
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
from wattpack.kube.sleep.states import GOING, State, next_state
from wattpack.kube.switches.switch import SwitchError

if TYPE_CHECKING:
    from wattpack.kube.sleep.keeper import Keeper

log = logging.getLogger("wattpack")
ORDER_AGAIN_S = 30.0  # an order to a switch is repeated while the machine does not follow
REST_S = 600.0  # a node that could not be emptied is not tried again for this long
CONFLICT = 409


class CarryOut:
    """What is remembered between steps are times; all of it may be lost."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.ordered_s: dict[str, float] = {}  # when this process last sent an order
        self.resting_until_s: dict[str, float] = {}
        self.find_out = FindOut(keeper)
        self.evictions = Evictions(keeper)

    def take_over(self, before: CarryOut) -> None:
        self.ordered_s, self.resting_until_s = before.ordered_s, before.resting_until_s
        self.find_out.take_over(before.find_out)
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
        self.find_out.saw(node, state)
        found = await self.find_out.happened(node, record)
        if found is not None and (following := next_state(state, found[0])) is not state:
            await self.enter(node, record, following, found[1])
        elif record is None:
            if asked_of(node) == WAKE:  # it is awake: the wish is fulfilled
                self.keeper.sight.empty_since_s.pop(name, None)
                await self.patch(node, ask(node, None))
        else:
            await self.keep(node, record)

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
            if not await self.patch(node, write(node, changed, keeper.wall_s() if state is State.MARKED else None)):
                return
            record = changed
        self.find_out.came_to(node, state)
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
