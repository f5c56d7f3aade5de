"""No switch sends an order to switch off that its caller takes back at the last moment, whatever it asked before."""

from __future__ import annotations

from pathlib import Path

import pytest

import wattpack
from kube.switches.bmc import Bmc, in_a_loop, switch_of
from kube.switches.test_command import command
from kube.switches.test_metal3 import MACHINE, HostsInMemory
from kube.switches.test_webhook import with_hook
from wattpack.kube.switches.config import Metal3Config
from wattpack.kube.switches.metal3 import Metal3

SOURCE = Path(wattpack.__file__).parent


class TakenBackError(Exception):
    pass


async def not_sure() -> None:
    raise TakenBackError


@in_a_loop
async def test_redfish_has_asked_the_bmc_and_sends_no_reset(folder: Path) -> None:
    bmc = Bmc()
    async with switch_of(bmc, folder) as (switch, machine):
        with pytest.raises(TakenBackError):
            await switch.turn_off(machine, not_sure)
    assert [method for method, *_ in bmc.asked] == ["GET", "GET"]  # the collection and the system, before it is sure
    assert bmc.resets == []


@in_a_loop
async def test_metal3_has_read_the_host_and_does_not_change_it(folder: Path) -> None:
    client = HostsInMemory()
    with pytest.raises(TakenBackError):
        await Metal3(Metal3Config(), client).turn_off(MACHINE, not_sure)
    assert [method for method, *_ in client.sent] == ["GET"]
    assert client.host["spec"]["online"] is True


@in_a_loop
async def test_the_webhook_is_not_called(folder: Path) -> None:
    server, switch, asked, _ = await with_hook(folder)
    try:
        with pytest.raises(TakenBackError):
            await switch.turn_off(MACHINE, not_sure)
    finally:
        await switch.close()
        await server.close()
    assert asked == []


@in_a_loop
async def test_the_program_is_not_started(folder: Path) -> None:
    with pytest.raises(TakenBackError):
        await command(folder).turn_off(MACHINE, not_sure)
    assert not (folder / "calls").exists()


def test_one_place_alone_orders_a_machine_off() -> None:
    """Where it looks at the node first: a call of a switch from anywhere else would not."""
    lines = [
        (file.name, line.strip())
        for file in SOURCE.rglob("*.py")
        for line in file.read_text().splitlines()
        if ".turn_off(" in line and "def " not in line
    ]
    assert [name for name, line in lines if "self.turn_off(" not in line] == ["carry_out.py"], lines
    assert {name for name, _ in lines} == {"carry_out.py"}, lines
