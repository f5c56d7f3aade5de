"""Nodes sleep and wake, one transition after the other, and nothing is forgotten."""

from __future__ import annotations

from kube.api_in_memory import in_a_loop
from kube.sleep.made import World
from wattpack.kube.sleep.states import State


@in_a_loop
async def test_a_node_that_is_empty_for_long_goes_to_sleep_step_by_step() -> None:
    world = await World(machines=1).start()
    await world.step()
    await world.step(599)
    assert world.state("n0") is State.AWAKE
    await world.step(1)
    assert world.state("n0") is State.MARKED
    await world.until("n0", State.ASLEEP)
    assert world.api.patches == ["marked", "draining", "turning off", "asleep"]
    assert world.machines.orders == [("off", "n0")]
    world.check()
