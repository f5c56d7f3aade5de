"""Keeps the nodes that may sleep: each step looks, decides by the rule, and starts what has to be done.

A step can be the first one after a restart at any point: all that matters is on the Nodes (record.py). Every order to
a switch follows a record that was just written, so nothing is off or tainted without one. Times are monotonic and
start anew with the process; a node may then wait longer, never shorter. Only the rate of an hour is kept on the Nodes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from wattpack.kube.client import ApiError
from wattpack.kube.sleep.carry_out import CarryOut
from wattpack.kube.sleep.config import SleepConfig
from wattpack.kube.sleep.promises import Promises
from wattpack.kube.sleep.rate import Rate
from wattpack.kube.sleep.record import (
    CLAIMED_STAYS,
    HOLD,
    KILL_LABEL,
    KILLED,
    WAKE,
    asked_of,
    left_behind,
    record_of,
)
from wattpack.kube.sleep.sight import Sight
from wattpack.kube.sleep.states import State
from wattpack.kube.switches.registry import new_switch
from wattpack.kube.switches.switch import Switch

if TYPE_CHECKING:
    from wattpack.kube.objects import Pod
    from wattpack.kube.service import Service

log = logging.getLogger("wattpack")
STEP_S = 1.0
KILL_SWITCH_S = 5.0  # the namespace's label is read this often


class Keeper:
    """One `[sleep]` section at work. `service.sleep`; a new configuration makes a new one that takes over."""

    def __init__(
        self,
        service: Service,
        config: SleepConfig,
        before: Keeper | None = None,
        now_s: Callable[[], float] = time.monotonic,
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        self.service, self.config, self.now_s, self.wall_s = service, config, now_s, wall_s
        self.sight = Sight(config)
        self.promises = Promises(self)
        self.carry_out = CarryOut(self)
        self.switch: Switch | None = None
        self.rate = Rate(now_s, wall_s)
        self.acting = False  # this replica holds the lease
        self.stopped = ""  # why no node goes to sleep
        self.asked_label_s = float("-inf")
        self.advised: set[str] = set()  # nodes that people were told of
        self.to_wake: dict[str, str] = {}  # node asleep -> why it is to wake now
        self.recalled: set[str] = (
            set()
        )  # nodes on the way to sleep that go back, since others are to wake and have no slot
        self.running: dict[str, asyncio.Task[None]] = {}  # by node
        self.starting: set[str] = set()  # nodes whose task begins a transition
        if before is not None:
            self.sight.empty_since_s, self.sight.latest = before.sight.empty_since_s, before.sight.latest
            self.rate.sent_s, self.promises.waiting = before.rate.sent_s, before.promises.waiting
            self.carry_out.take_over(before.carry_out)

    # ---- what the watches show

    def saw(self, event: str, pod: Pod) -> None:
        """A pod as the watch shows it."""
        self.promises.saw(event, pod)
        self.carry_out.evictions.saw(event, pod)
        if pod.spec.node_name and event != "DELETED":
            known = self.service.view.pods.get(pod.metadata.uid)
            if known is not None and not known.of_node:
                self.sight.came([pod.spec.node_name])

    def saw_all(self, pods: list[Pod]) -> None:
        """The whole list."""
        self.promises.waiting.clear()
        self.carry_out.evictions.saw_all(pods)
        for pod in pods:
            self.saw("LISTED", pod)

    # ---- one step

    async def step(self, wait: bool = False) -> None:
        """Look, decide, and start what has to be done; `wait` until that is done, for tests."""
        if not self.service.ready:
            return
        self.sight.look(self.service.view, self.now_s())
        if not self.config.acts:
            self.tell_engine()
            self.tell_advice()
            return
        if self.service.lease.left_s() <= 0:
            self.carry_out.find_out.forget()
        self.acting = await self.service.lease.held_while_idle()
        self.tell_engine()
        if not self.acting:
            return
        if self.switch is None:
            self.switch = new_switch(self.config, self.service.client)
        await self.read_kill_switch()
        self.promises.keep()
        self.decide()
        for name, state in self.sight.states.items():
            record = record_of(self.sight.node(self.service.view, name))
            needs_care = record is not None or name in self.starting or self.has_wish(name)
            if name not in self.running and (state is not State.AWAKE or needs_care):
                self.start(name)
        if wait:
            await asyncio.gather(*self.running.values())
            self.sight.look(self.service.view, self.now_s())
            self.tell_engine()

    def has_wish(self, name: str) -> bool:
        return asked_of(self.sight.node(self.service.view, name)) == WAKE

    def start(self, name: str) -> None:
        task = asyncio.ensure_future(self.advance(name))
        self.running[name] = task

        def ended(_: Any) -> None:
            self.running.pop(name, None)
            self.starting.discard(name)

        task.add_done_callback(ended)

    async def advance(self, name: str) -> None:
        """Bring one node one transition further. A failure is tried again in the next step."""
        try:
            await self.carry_out.advance(name)
        except ApiError as fault:
            self.service.metrics.count("wattpack_sleep_errors_total", what="api")
            log.warning("sleep of %s: %s", name, fault)
        except Exception:
            self.service.metrics.count("wattpack_sleep_errors_total", what="fault")
            log.exception("sleep of %s", name)

    def decide(self) -> None:
        """Who begins to sleep and who begins to wake, within the limits. Wakes go first."""
        slots = self.config.at_most - len(self.starting) - self.sight.in_transition
        reasons = {name: why for name in sorted(self.sight.in_states(State.ASLEEP)) if (why := self.why_wake(name))}
        for name in self.sight.would_wake:
            reasons.setdefault(name, "the reserve of free GPUs is short")
        self.to_wake, short = {}, 0
        for name, why in reasons.items():
            if name in self.running:
                continue
            if slots > 0:
                self.to_wake[name] = why
                self.starting.add(name)
                slots -= 1
            else:
                short += 1
        going = [*sorted(self.sight.in_states(State.MARKED)), *sorted(self.sight.in_states(State.DRAINING))]
        self.recalled = set(going[:short])
        left = min(
            slots,
            self.config.per_hour
            - self.rate.used(self.sight.node(self.service.view, name) for name in self.sight.selected),
        )
        if self.stopped or len(self.to_wake) < len(reasons):
            return
        moving = self.carry_out.evictions.candidate() if self.config.consolidate and not self.sight.would_sleep else ""
        for name in [*self.sight.would_sleep, *([moving] if moving else [])]:
            if left > 0 and name not in self.running and not self.carry_out.is_resting(name):
                self.starting.add(name)
                self.rate.count()
                left -= 1

    def why_wake(self, name: str) -> str:
        """Why a node that is asleep, or on its way there, is needed; "": it is not."""
        node = self.sight.node(self.service.view, name)
        record = record_of(node)
        if asked_of(node) in (WAKE, HOLD):
            return "asked for by a person"
        if name in self.sight.promised:
            return f"pod {self.sight.promised[name][0]} waits for it"
        if name in self.sight.busy and not self.carry_out.moves_away(name):
            return f"pod {self.sight.busy[name][0]} is on it"
        if name not in self.sight.selected:
            return f"it is not selected by {self.config.nodes!r} any more"
        if name in self.sight.claimed:
            return CLAIMED_STAYS
        return record.wake if record is not None else ""

    async def read_kill_switch(self) -> None:
        """The label on the namespace. Where it cannot be read, no node goes to sleep."""
        if self.now_s() - self.asked_label_s < KILL_SWITCH_S:
            return
        self.asked_label_s = self.now_s()
        namespace = self.service.config.lease.namespace
        try:
            read = msgspec.json.decode(await self.service.client.call("GET", f"/api/v1/namespaces/{namespace}"))
            labels = (read.get("metadata") or {}).get("labels") or {}
            killed = labels.get(KILL_LABEL) == KILLED
            self.stopped = f"namespace {namespace} has the label {KILL_LABEL}={KILLED}" if killed else ""
        except ApiError as fault:
            self.stopped = f"the labels of namespace {namespace} cannot be read: {fault}"

    # ---- telling

    def tell_engine(self) -> None:
        """Who sleeps, for the watts; and in mode act policies see an empty node that may sleep as asleep."""
        states = self.sight.states
        sleepers = {name: states[name] is State.AWAKE for name in self.sight.selected if self.config.acts}
        self.service.view.cluster.in_step.take_sleepers(
            sleepers, frozenset(self.sight.in_states(State.ASLEEP)), self.config.sleep_w
        )

    def tell_advice(self) -> None:
        """Mode advise: an event on each node that would be switched off, once while that lasts."""
        named, pool = set(self.sight.would_sleep), self.sight.pool
        left = [name for name, state in self.sight.states.items() if state is not State.AWAKE]
        self.stopped = left_behind(left) if left else ""
        for name in sorted(named - self.advised):
            saved_w = pool.saved_w([name]) if pool is not None else 0.0
            words = f"empty for {self.config.idle}: switched off it would save {saved_w:.0f} W"
            self.service.events.add_node(self.service.view.nodes[name], "Normal", "WattpackWouldSleep", words)
        self.advised = named

    async def close(self) -> None:
        for task in list(self.running.values()):
            task.cancel()
        await asyncio.gather(*self.running.values(), return_exceptions=True)
        if self.switch is not None:
            await self.switch.close()


async def run_sleep(service: Service) -> None:
    """Steps until it is cancelled."""
    try:
        while True:
            try:
                if service.sleep is not None:
                    await service.sleep.step()
            except Exception:  # pods are placed all the same, and the next step looks again
                service.metrics.count("wattpack_sleep_errors_total", what="fault")
                log.exception("sleep")
            await asyncio.sleep(STEP_S)
    finally:
        if service.sleep is not None:
            await service.sleep.close()
