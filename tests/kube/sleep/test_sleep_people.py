"""What people ask works without the service: nodes are woken from every state, or it is said what is in the way."""

from __future__ import annotations

import asyncio

import pytest

from kube.api_in_memory import in_a_loop
from kube.sleep.made import World
from wattpack.kube.objects import Node
from wattpack.kube.sleep import people
from wattpack.kube.sleep.people import wake_directly
from wattpack.kube.sleep.record import ASK
from wattpack.kube.sleep.states import State


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "LOOK_S", 0.0)


async def woken(world: World, monkey: pytest.MonkeyPatch | None = None, limit_s: float = 5.0) -> str:
    """Wake n0 without the service; its kubelet follows its machine."""

    async def get_node(_: object, name: str) -> Node:
        world.follow()
        await asyncio.sleep(0)
        return world.api.node(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people, "get_node", get_node)
        return await wake_directly(world.api, world.machines, "n0", limit_s, lambda _: None)


@pytest.mark.parametrize("state", [State.MARKED, State.DRAINING, State.ASLEEP, State.LEFT_ALONE, State.WAKING])
def test_a_node_is_woken_from_any_state_without_the_service(state: State) -> None:
    async def test() -> None:
        world = await World(machines=1).start()
        await world.step()
        await world.step(600)
        if state in (State.LEFT_ALONE, State.WAKING):
            await world.until("n0", State.ASLEEP)
            world.boot_s = 60.0
            world.api.annotate("n0", ASK, "wake")
            await world.until("n0", State.WAKING)
            world.booting.clear()
            world.boot_s = 0.0
        if state is State.LEFT_ALONE:
            world.api.taint("n0", "repair")
            await world.step()
        await world.until("n0", state)
        assert await woken(world) == ""
        assert world.is_open("n0")
        assert world.machines.on["n0"]

    in_a_loop(test)()


@in_a_loop
async def test_a_node_that_does_not_wake_is_said_with_what_is_in_the_way_and_keeps_its_record() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    world.machines.away = True
    assert await woken(world, limit_s=0.05) == "n0: no answer"
    world.check()
    world.machines.away = False
    assert await woken(world) == ""


@in_a_loop
async def test_a_machine_that_is_shutting_down_is_waited_for_and_then_turned_on() -> None:
    world = await World(machines=1).start_slow()
    world.machines.slow = False
    waiting = asyncio.ensure_future(woken(world))
    await asyncio.sleep(0.05)
    assert world.state("n0") is State.TURNING_OFF
    world.end_slow()
    assert await waiting == ""
    assert world.is_open("n0")
