"""Nodes with their states of sleep: what each draws now, and what is committed."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

from reference import Node
from time_reference.inputs import Options
from time_reference.watts import Watts

AWAKE, WAKING, SHUTTING_DOWN, ASLEEP = "awake", "waking", "shutting down", "asleep"
TIERS = ((AWAKE,), (WAKING,), (ASLEEP, SHUTTING_DOWN))


@dataclass
class Machine:
    node: Node  # with all tasks that are placed on it, running or not
    idle_s: float  # empty for so long, it may sleep
    state: str = AWAKE
    until_s: float = inf  # when its wake or shutdown ends
    empty_since_s: float = 0.0
    to_start: list[int] = field(default_factory=list)  # tasks that wait for its wake
    woke_empty: bool = False  # at some time, for the reserve
    history: list[tuple[float, str]] = field(
        default_factory=list
    )  # since when it was in which state, from its first change

    def become(self, state: str, now_s: float, until_s: float = inf) -> None:
        self.state, self.until_s = state, until_s
        self.history.append((now_s, state))

    @property
    def empty(self) -> bool:
        return not self.node.tasks

    @property
    def sleepy_at_s(self) -> float:
        """When it has been empty for so long that it may sleep; inf where it cannot."""
        return self.empty_since_s + self.idle_s if self.state == AWAKE and self.empty else inf


def machine_of(node: Node, watts: Watts, options: Options) -> Machine:
    if options.sleep is None:
        return Machine(node, inf)
    idle_s = options.sleep.idle_s
    if idle_s is None:  # ski rental
        idle_mw, saved_mw = watts.idle_mw(node), watts.idle_mw(node) - watts.asleep_mw(node)
        transition_s = options.sleep.shutdown_s + options.sleep.wake_s
        idle_s = transition_s * idle_mw / saved_mw if saved_mw > 0 else inf
    return Machine(node, idle_s)


def drawn_mw(machine: Machine, watts: Watts) -> tuple[int, int, int, int, int]:
    """By PARTS, now. While a node shuts down or wakes it draws its idle watts."""
    if machine.state == AWAKE:
        return (*watts.parts_mw(machine.node), 0, 0)
    if machine.state == ASLEEP:
        return 0, 0, 0, watts.asleep_mw(machine.node), 0
    return 0, 0, 0, 0, watts.idle_mw(machine.node)


def committed_mw(machine: Machine, watts: Watts) -> int:
    """As it draws; where tasks wait for its wake, as if it were awake and they ran."""
    return watts.awake_mw(machine.node) if machine.to_start else sum(drawn_mw(machine, watts))


def before_mw(machine: Machine, watts: Watts, options: Options) -> int:
    """What a placement's added power is measured from: sleep_w on a node that is empty or not awake, with sleep on."""
    if options.sleep is not None and (machine.empty or machine.state != AWAKE):
        return watts.asleep_mw(machine.node)
    return watts.awake_mw(machine.node)


def untouched_gpus(machine: Machine) -> int:
    """GPUs with nothing on them or placed on them, on a node that is awake or waking."""
    return machine.node.gpu_left.count(1000) if machine.state in (AWAKE, WAKING) else 0


def reserve_of(machines: list[Machine], options: Options) -> Fraction:
    assert options.sleep is not None
    reserve = options.sleep.reserve
    return Fraction(2, 100) * sum(m.node.gpu for m in machines) if reserve is None else Fraction(reserve)


def to_wake_for_reserve(machines: list[Machine], watts: Watts, options: Options) -> list[Machine]:
    """At the end of step 5: least idle watts per GPU first, the last of equals first, until the reserve is there."""
    if options.sleep is None or not options.sleep.wake_for_reserve:
        return []
    free, wanted, found = sum(map(untouched_gpus, machines)), reserve_of(machines, options), []
    asleep = [m for m in reversed(machines) if m.state == ASLEEP and m.node.gpu > 0]
    for machine in sorted(asleep, key=lambda m: Fraction(watts.idle_mw(m.node), m.node.gpu)):
        if free >= wanted:
            break
        free += machine.node.gpu_left.count(1000)
        found.append(machine)
    return found


def go_to_sleep(machines: list[Machine], watts: Watts, options: Options, now_s: float) -> None:
    """Step 5. Most idle watts per GPU first; `sorted` keeps node order among equals."""
    if options.sleep is None:
        return
    wanted = reserve_of(machines, options)
    sleepy = [m for m in machines if m.sleepy_at_s <= now_s]
    for machine in sorted(sleepy, key=lambda m: -Fraction(watts.idle_mw(m.node), m.node.gpu or 1)):
        others = sum(untouched_gpus(m) for m in machines if m is not machine)
        if others >= wanted:
            machine.become(SHUTTING_DOWN, now_s, now_s + options.sleep.shutdown_s)
