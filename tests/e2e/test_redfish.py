"""The Redfish switch against a real emulator (sushy-tools): 200 machines in one process, over verified TLS.

BMCs that are slow, refuse, lie or vanish, which the emulator cannot play: tests/kube/switches/test_redfish.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from e2e.emulator import BMC, Emulator
from e2e.processes import Processes
from kube.api_in_memory import InMemory
from kube.switches.bmc import sure
from kube.switches.certificate import self_signed
from wattpack.kube.switches.config import RedfishConfig, SwitchConfig
from wattpack.kube.switches.registry import new_switch
from wattpack.kube.switches.switch import Machine, Power, Switch, SwitchError

pytestmark = pytest.mark.e2e
NODES = [f"gpu-{i:03d}" for i in range(200)]
SLOWEST_S = 11.0  # the emulator's machines take 1 to 11 s


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    folder = tmp_path_factory.mktemp("redfish")
    processes = Processes(folder)
    try:
        yield Emulator(processes, NODES, certificate=self_signed(folder)).start()
    finally:
        processes.kill_all()


def machine(emulator: Emulator, node: str) -> Machine:
    return Machine(node, {BMC: emulator.address(node)}, "")


@asynccontextmanager
async def switch_of(emulator: Emulator, **more: object) -> AsyncIterator[Switch]:
    assert emulator.certificate is not None
    config = {"annotation": BMC, "hosts": ["127.0.0.1"], "ca_file": str(emulator.certificate[0]), **more}
    config.setdefault("credentials", str(emulator.write_credentials()))
    switch = new_switch(SwitchConfig(power="redfish", redfish=RedfishConfig(**config)), InMemory())  # type: ignore[arg-type]
    try:
        yield switch
    finally:
        await switch.close()


async def wait_for(switch: Switch, machines: list[Machine], power: Power) -> None:
    deadline = time.monotonic() + SLOWEST_S + 30
    while True:
        states = await asyncio.gather(*(switch.read(each) for each in machines))
        if set(states) == {power}:
            return
        assert time.monotonic() < deadline, states
        await asyncio.sleep(0.5)


def test_two_hundred_machines_of_one_process_are_read_and_ten_are_switched_off_and_on(emulator: Emulator) -> None:
    async def work() -> None:
        async with switch_of(emulator) as switch:
            everybody = [machine(emulator, node) for node in NODES]
            assert await asyncio.gather(*(switch.read(each) for each in everybody)) == [Power.ON] * 200
            some = everybody[:10]
            await asyncio.gather(*(switch.turn_off(each, sure) for each in some))
            await wait_for(switch, some, Power.OFF)
            assert [emulator.power(node) for node in NODES[:10]] == ["Off"] * 10
            assert emulator.power(NODES[10]) == "On"
            for _ in range(2):  # a second order changes nothing
                await asyncio.gather(*(switch.turn_on(each) for each in some))
            await wait_for(switch, some, Power.ON)

    asyncio.run(work())


def test_a_wrong_password_and_an_unknown_machine_are_told_in_one_line(emulator: Emulator, tmp_path: Path) -> None:
    async def work() -> None:
        async with switch_of(emulator) as switch:
            unknown = Machine("unknown", {BMC: f"{emulator.url}/redfish/v1/Systems/none"}, "")
            with pytest.raises(SwitchError, match=r"^unknown: GET /redfish/v1/Systems/none: its BMC answered 404"):
                await switch.read(unknown)
            many = Machine("many", {BMC: emulator.url}, "")
            with pytest.raises(SwitchError, match="its BMC has 200 systems, expected one"):
                await switch.read(many)
        for name, text in (("username", "operator"), ("password", "wrong-password")):
            (tmp_path / name).write_text(text)
        async with switch_of(emulator, credentials=str(tmp_path)) as switch:
            with pytest.raises(SwitchError, match=r"refused the user or the password \(401\)$"):
                await switch.read(machine(emulator, NODES[0]))

    asyncio.run(work())


def test_a_bmc_that_goes_away_is_told_and_works_again_when_it_is_back(emulator: Emulator) -> None:
    async def work() -> None:
        async with switch_of(emulator, timeout_s=3) as switch:
            emulator.kill()
            with pytest.raises(SwitchError, match=r"^GET https://127.* no answer: "):
                await switch.read(machine(emulator, NODES[20]))
            emulator.start()
            assert await switch.read(machine(emulator, NODES[20])) is Power.ON

    asyncio.run(work())
