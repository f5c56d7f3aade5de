"""Metal3: `spec.online` of the BareMetalHost that belongs to a Node."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kube.api_in_memory import InMemory, in_a_loop
from kube.switches.bmc import sure
from wattpack.kube.client import ApiError
from wattpack.kube.switches.config import Metal3Config
from wattpack.kube.switches.metal3 import Metal3
from wattpack.kube.switches.switch import Machine, Power, SwitchError

UID = "0b6b8a2e-58e8-4a5c-9c27-6d3c5a1d0f4e"
HOSTS = "/apis/metal3.io/v1alpha1/namespaces/metal3/baremetalhosts"
MACHINE = Machine("gpu-7", {}, "metal3://metal3/host-7/machine-7")


class HostsInMemory(InMemory):
    """One BareMetalHost."""

    def __init__(self, online: bool = True, powered_on: bool | None = True, **status: Any) -> None:
        super().__init__()
        self.host: dict[str, Any] = {
            "metadata": {"name": "host-7", "uid": UID, "annotations": {}},
            "spec": {"online": online, "bmc": {"address": "redfish://10.0.0.7"}},
            "status": {"poweredOn": powered_on, **status},
        }

    async def call(self, method: str, path: str, body: Any = None, timeout_s: float | None = None) -> bytes:
        self.sent.append((method, path, body))
        if path == HOSTS:
            return msgspec.json.encode({"items": [self.host]})
        if path != f"{HOSTS}/host-7":
            raise ApiError(404, "not found")
        if method == "PATCH":
            self.host["spec"] |= body["spec"]
        return msgspec.json.encode(self.host)


@pytest.mark.parametrize(
    ("provider_id", "host"),
    [
        ("metal3://metal3/host-7/machine-7", ""),
        ("baremetalhost:///metal3/host-7/" + UID, ""),
        (f"metal3://{UID}", ""),
        ("", "metal3/host-7{node}"),
    ],
)
def test_the_host_is_found(provider_id: str, host: str) -> None:
    @in_a_loop
    async def work() -> None:
        machine = Machine("" if host else "gpu-7", {}, provider_id)
        assert await Metal3(Metal3Config(host=host), HostsInMemory()).read(machine) is Power.ON

    work()


@in_a_loop
async def test_a_host_is_switched_once_by_its_spec() -> None:
    client = HostsInMemory()
    switch = Metal3(Metal3Config(), client)
    await switch.turn_on(MACHINE)
    for _ in range(2):
        await switch.turn_off(MACHINE, sure)
    assert await switch.read(MACHINE) is Power.CHANGING
    client.host["status"]["poweredOn"] = False
    assert await switch.read(MACHINE) is Power.OFF
    await switch.turn_on(MACHINE)
    assert [body for method, _, body in client.sent if method == "PATCH"] == [
        {"spec": {"online": False}},
        {"spec": {"online": True}},
    ]


@in_a_loop
async def test_a_host_that_metal3_does_not_switch_is_an_error() -> None:
    client = HostsInMemory()
    for stopped in ("paused", "detached"):
        client.host["metadata"]["annotations"] = {f"baremetalhost.metal3.io/{stopped}": ""}
        with pytest.raises(SwitchError, match=f"gpu-7: its BareMetalHost has .*{stopped}, with which"):
            await Metal3(Metal3Config(), client).turn_off(MACHINE, sure)
    assert not any(method == "PATCH" for method, _, _ in client.sent)


@in_a_loop
async def test_what_metal3_reports_is_told() -> None:
    switch = Metal3(Metal3Config(), HostsInMemory(errorType="power management error"))
    with pytest.raises(SwitchError, match=r"^gpu-7: its BareMetalHost reports: power management error$"):
        await switch.read(MACHINE)
    assert await Metal3(Metal3Config(), HostsInMemory(powered_on=None)).read(MACHINE) is Power.UNKNOWN


@in_a_loop
async def test_a_node_without_a_host_is_an_error_of_one_line() -> None:
    for provider_id, expected in [
        ("", "its providerID names no BareMetalHost"),
        ("aws:///eu-1a/i-1", "its providerID names no BareMetalHost"),
        ("metal3://../secrets/x", "its providerID names no BareMetalHost"),
        (f"metal3://{UID[:-1]}0", "no BareMetalHost in namespace metal3 has the uid"),
        ("metal3://metal3/gone/machine", "GET of its BareMetalHost: 404: not found"),
    ]:
        with pytest.raises(SwitchError, match=expected):
            await Metal3(Metal3Config(), HostsInMemory()).read(Machine("gpu-7", {}, provider_id))
