"""Machines that Metal3 runs: `spec.online` of the BareMetalHost; Metal3 itself talks to the BMC."""

from __future__ import annotations

import re

import msgspec

from wattpack.kube.client import ApiError, Client
from wattpack.kube.switches.config import Metal3Config, filled
from wattpack.kube.switches.switch import Machine, Power, Sure, SwitchError

HOSTS = "/apis/metal3.io/v1alpha1/namespaces/{}/baremetalhosts"
# metal3://NAMESPACE/HOST/MACHINE (Cluster API), baremetalhost:///NAMESPACE/HOST/UID (OpenShift), metal3://UID (older)
NAME = r"[a-z0-9][a-z0-9.-]*"  # no "..", which would lead elsewhere
BY_NAME = re.compile(rf"(?:metal3://|baremetalhost:///)({NAME})/({NAME})(?:/[^/]*)?")
BY_UID = re.compile(r"metal3://([0-9a-fA-F-]{36})")
# Metal3 does not act on `spec.online` while a host has one of these.
STOPPED = ("baremetalhost.metal3.io/paused", "baremetalhost.metal3.io/detached")


class HostMetadata(msgspec.Struct):
    name: str = ""
    uid: str = ""
    annotations: dict[str, str] = {}


class HostSpec(msgspec.Struct):
    online: bool = False


class HostStatus(msgspec.Struct, rename="camel"):
    powered_on: bool | None = None
    error_type: str = ""


class Host(msgspec.Struct):
    metadata: HostMetadata = msgspec.field(default_factory=HostMetadata)
    spec: HostSpec = msgspec.field(default_factory=HostSpec)
    status: HostStatus = msgspec.field(default_factory=HostStatus)


class HostList(msgspec.Struct):
    items: list[Host] = []


HOST = msgspec.json.Decoder(Host)
HOST_LIST = msgspec.json.Decoder(HostList)


class Metal3:
    def __init__(self, config: Metal3Config, client: Client) -> None:
        self.config, self.client = config, client

    async def read(self, machine: Machine) -> Power:
        host = await self._host(machine, await self._path(machine))
        if host.status.error_type:
            raise SwitchError(f"{machine.node}: its BareMetalHost reports: {host.status.error_type}")
        if host.status.powered_on is None:
            return Power.UNKNOWN
        if host.status.powered_on != host.spec.online:
            return Power.CHANGING
        return Power.ON if host.status.powered_on else Power.OFF

    async def turn_off(self, machine: Machine, sure: Sure) -> None:
        await self._set(machine, False, sure)

    async def turn_on(self, machine: Machine) -> None:
        await self._set(machine, True)

    async def close(self) -> None:
        """The client belongs to the service."""

    async def _set(self, machine: Machine, online: bool, sure: Sure | None = None) -> None:
        path = await self._path(machine)
        host = await self._host(machine, path)
        stopped = next((name for name in STOPPED if name in host.metadata.annotations), "")
        if stopped:
            raise SwitchError(f"{machine.node}: its BareMetalHost has {stopped}, with which Metal3 does not switch it")
        if host.spec.online != online:
            if sure is not None:
                await sure()
            await self._call(machine, "PATCH", path, {"spec": {"online": online}})

    async def _path(self, machine: Machine) -> str:
        """The address of the machine's BareMetalHost."""
        if self.config.host:
            namespace, _, name = filled(self.config.host, machine.node).partition("/")
            return f"{HOSTS.format(namespace)}/{name}"
        if named := BY_NAME.fullmatch(machine.provider_id):
            return f"{HOSTS.format(named[1])}/{named[2]}"
        if numbered := BY_UID.fullmatch(machine.provider_id):
            text = await self._call(machine, "GET", HOSTS.format(self.config.namespace))
            name = next((h.metadata.name for h in HOST_LIST.decode(text).items if h.metadata.uid == numbered[1]), "")
            if name:
                return f"{HOSTS.format(self.config.namespace)}/{name}"
            raise SwitchError(
                f"{machine.node}: no BareMetalHost in namespace {self.config.namespace} has the uid of its providerID"
            )
        raise SwitchError(
            f"{machine.node}: its providerID names no BareMetalHost, expected metal3://NAMESPACE/HOST/MACHINE, or "
            "host in [sleep.metal3]"
        )

    async def _host(self, machine: Machine, path: str) -> Host:
        try:
            return HOST.decode(await self._call(machine, "GET", path))
        except msgspec.MsgspecError as fault:
            raise SwitchError(f"{machine.node}: its BareMetalHost cannot be read: {fault}") from None

    async def _call(self, machine: Machine, method: str, path: str, body: object = None) -> bytes:
        try:
            return await self.client.call(method, path, body)
        except ApiError as fault:
            raise SwitchError(f"{machine.node}: {method} of its BareMetalHost: {fault}") from None
