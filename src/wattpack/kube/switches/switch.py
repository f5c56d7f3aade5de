"""The contract of a power switch: what turns a machine off and on, and what it may know of the machine's Node.

A switch keeps no state between calls, decides nothing, and never waits for the machine: `turn_off` and `turn_on` return
once the order is accepted, `read` says how far it has come. All three may be called again at any time.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from wattpack.errors import OneLineError


class Power(enum.Enum):
    """What the machine's controller says. It may be wrong: only a Ready node proves that a machine runs."""

    ON = "on"
    OFF = "off"
    CHANGING = "changing"
    UNKNOWN = "unknown"


class SwitchError(OneLineError):
    """A call failed: machine, what, what to do. Never holds a credential."""


@dataclass(frozen=True)
class Machine:
    """What a switch may know of a Node."""

    node: str
    annotations: Mapping[str, str]
    provider_id: str


# Awaited by `turn_off` right before its order leaves, after all calls that prepare it. What it raises ends the call,
# and nothing is sent: only the caller knows whether the machine may still be switched off.
Sure = Callable[[], Awaitable[None]]


class Switch(Protocol):
    """Every call raises SwitchError when it fails, also when there is no answer within the time limit."""

    async def read(self, machine: Machine) -> Power: ...

    async def turn_off(self, machine: Machine, sure: Sure) -> None:
        """Ask for a graceful shutdown; returns when it is accepted. No order is sent where the machine is off."""

    async def turn_on(self, machine: Machine) -> None:
        """Ask for power; returns when it is accepted. No order is sent where the machine is on."""

    async def close(self) -> None: ...
