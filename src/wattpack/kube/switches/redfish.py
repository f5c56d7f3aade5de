"""Machines with a Redfish controller (BMC): three calls, and no library (decision 021).

GET the collection of systems (only where the address names none), GET the system, POST its Reset action.
"""

from __future__ import annotations

import re
import time
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

import msgspec

from wattpack.kube.client import Client
from wattpack.kube.switches.config import RedfishConfig, address_fault, filled, host_allowed
from wattpack.kube.switches.credentials import Credential, Credentials
from wattpack.kube.switches.http_call import Answer, call, new_session
from wattpack.kube.switches.switch import Machine, Power, Sure, SwitchError

SYSTEMS = "/redfish/v1/Systems"
STATES = {"On": Power.ON, "Off": Power.OFF, "PoweringOn": Power.CHANGING, "PoweringOff": Power.CHANGING}
ON, GRACEFUL_OFF = "On", "GracefulShutdown"
# BMCs lock an account after a few wrong passwords: one that was refused is not sent again for this long.
REFUSED_S = 300.0
MESSAGE_ID = re.compile(r"[A-Za-z0-9.]{1,80}")
Body = TypeVar("Body", bound=msgspec.Struct)


class Link(msgspec.Struct):
    path: str = msgspec.field(name="@odata.id", default="")


class Systems(msgspec.Struct):
    members: list[Link] = msgspec.field(name="Members", default_factory=list)


class Reset(msgspec.Struct):
    target: str = ""
    allowed: list[str] | None = msgspec.field(name="ResetType@Redfish.AllowableValues", default=None)


class Actions(msgspec.Struct):
    reset: Reset | None = msgspec.field(name="#ComputerSystem.Reset", default=None)


class System(msgspec.Struct):
    power_state: str | None = msgspec.field(name="PowerState", default=None)
    actions: Actions = msgspec.field(name="Actions", default_factory=Actions)


class Message(msgspec.Struct):
    id: str = msgspec.field(name="MessageId", default="")


class Fault(msgspec.Struct):
    messages: list[Message] = msgspec.field(name="@Message.ExtendedInfo", default_factory=list)


class FaultBody(msgspec.Struct):
    error: Fault = msgspec.field(default_factory=Fault)


SYSTEMS_BODY = msgspec.json.Decoder(Systems)
SYSTEM_BODY = msgspec.json.Decoder(System)
FAULT_BODY = msgspec.json.Decoder(FaultBody)


class Redfish:
    """All machines whose BMC `[sleep.redfish]` can find."""

    def __init__(self, config: RedfishConfig, client: Client) -> None:
        self.config = config
        self.credentials = Credentials(config, client)
        self.session = new_session(config.ca_file, config.verify, config.timeout_s)
        self._systems: dict[str, str] = {}  # address of the only system, by address of the BMC
        self._refused: dict[str, tuple[float, Credential]] = {}  # when, and which, by address of the BMC

    async def read(self, machine: Machine) -> Power:
        _, system = await self._system(machine)
        return STATES.get(system.power_state or "", Power.UNKNOWN)

    async def turn_off(self, machine: Machine, sure: Sure) -> None:
        await self._reset(machine, GRACEFUL_OFF, ("Off", "PoweringOff"), sure)

    async def turn_on(self, machine: Machine) -> None:
        await self._reset(machine, ON, ("On", "PoweringOn"))

    async def close(self) -> None:
        await self.session.close()

    async def _reset(self, machine: Machine, kind: str, already: tuple[str, str], sure: Sure | None = None) -> None:
        address, system = await self._system(machine)
        if system.power_state in already:
            return
        reset = system.actions.reset or Reset()
        if reset.allowed is not None and kind not in reset.allowed:
            raise SwitchError(f"{machine.node}: its BMC does not offer {kind}, only {', '.join(reset.allowed)[:200]}")
        target = self._on_same_host(machine, address, reset.target or f"{address}/Actions/ComputerSystem.Reset")
        await self._call(machine, "POST", target, {"ResetType": kind}, sure)

    async def _system(self, machine: Machine) -> tuple[str, System]:
        """The address of the machine's system, and the system."""
        address = self._address(machine)
        if urlsplit(address).path in ("", "/"):
            address = await self._only_system(machine, address.rstrip("/"))
        answer = await self._call(machine, "GET", address)
        return address, _decoded(SYSTEM_BODY, answer, machine)

    async def _only_system(self, machine: Machine, bmc: str) -> str:
        if bmc not in self._systems:
            answer = await self._call(machine, "GET", bmc + SYSTEMS)
            paths = [member.path for member in _decoded(SYSTEMS_BODY, answer, machine).members]
            if len(paths) != 1 or not paths[0]:
                raise SwitchError(
                    f"{machine.node}: its BMC has {len(paths)} systems, expected one, or the path of the right one "
                    f"in the address (for example https://HOST{SYSTEMS}/1)"
                )
            self._systems[bmc] = self._on_same_host(machine, bmc, paths[0])
        return self._systems[bmc]

    def _address(self, machine: Machine) -> str:
        told = machine.annotations.get(self.config.annotation, "") if self.config.annotation else ""
        pattern = told or self.config.addresses.get(machine.node) or self.config.address
        if not pattern:
            raise SwitchError(f"{machine.node}: no BMC address, expected one in [sleep.redfish] or on the Node")
        address = filled(pattern, machine.node).rstrip("/")
        if told:
            if fault := address_fault(address):
                raise SwitchError(f"{machine.node}: annotation {self.config.annotation}: {fault}")
            if not host_allowed(address, self.config.hosts):
                raise SwitchError(
                    f"{machine.node}: annotation {self.config.annotation} leads to a host that is not in hosts of "
                    "[sleep.redfish]: nothing was sent there"
                )
        return address

    def _on_same_host(self, machine: Machine, address: str, path: str) -> str:
        """A link of the BMC, followed only on the BMC itself: the next call carries the password."""
        target = urljoin(address + "/", path).rstrip("/")
        if urlsplit(target)[:2] != urlsplit(address)[:2]:
            raise SwitchError(f"{machine.node}: its BMC points to another host, which was not called")
        return target

    async def _call(
        self, machine: Machine, method: str, address: str, body: object = None, sure: Sure | None = None
    ) -> Answer:
        credential = await self.credentials.of(machine.node)
        bmc = "://".join(urlsplit(address)[:2])
        refused_at_s, refused = self._refused.get(bmc, (-REFUSED_S, None))
        if refused == credential and time.monotonic() - refused_at_s < REFUSED_S:
            raise SwitchError(
                f"{machine.node}: its BMC refused the user or the password; the same are not sent again for "
                f"{REFUSED_S:g} s, since BMCs lock accounts"
            )
        if sure is not None:
            await sure()
        answer = await call(self.session, method, address, body, {"Authorization": credential.header()})
        if answer.status == 401:
            self._refused[bmc] = time.monotonic(), credential
            raise SwitchError(f"{machine.node}: its BMC refused the user or the password (401)")
        self._refused.pop(bmc, None)
        if not 200 <= answer.status < 300:
            path = urlsplit(address).path
            raise SwitchError(f"{machine.node}: {method} {path}: its BMC answered {_said(answer, credential)}")
        return answer


def _decoded(decoder: msgspec.json.Decoder[Body], answer: Answer, machine: Machine) -> Body:
    try:
        return decoder.decode(answer.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise SwitchError(f"{machine.node}: its BMC gave no answer of Redfish") from None


def _said(answer: Answer, credential: Credential) -> str:
    """The status, and the identifier of the message. Not its text: it may repeat what was sent, password included."""
    try:
        messages = FAULT_BODY.decode(answer.body).error.messages
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return str(answer.status)
    found = next((message.id for message in messages if MESSAGE_ID.fullmatch(message.id)), "")
    if not found or credential.password in found or credential.username in found:
        return str(answer.status)
    return f"{answer.status} ({found})"
