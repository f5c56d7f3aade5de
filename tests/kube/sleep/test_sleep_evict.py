"""`consolidate = true`: pods that may move are evicted, so that nodes become empty; budgets are obeyed."""

from __future__ import annotations

from kube.api_in_memory import in_a_loop
from kube.sleep.made import World
from wattpack.kube.sleep.record import MAY_MOVE
from wattpack.kube.sleep.states import State


def two_half_full(may_move: str, **more: object) -> World:
    """Nodes with half a GPU in use each: the pod of n0 would fit n1."""
    world = World(machines=2, **more)
    for i in range(2):
        world.api.add_pod(f"p{i}", node=f"n{i}", index="0")
    world.api.pods["p0"]["metadata"]["annotations"][MAY_MOVE] = may_move
    return world


@in_a_loop
async def test_a_pod_that_may_move_is_evicted_and_its_node_sleeps() -> None:
    world = await two_half_full("true", consolidate=True).start()
    await world.until("n0", State.ASLEEP, 30)
    assert world.api.evicted == ["p0"]
    assert world.state("n1") is State.AWAKE
    world.check()


@in_a_loop
async def test_no_pod_is_evicted_without_its_annotation_or_without_consolidate() -> None:
    for world in (two_half_full("false", consolidate=True), two_half_full("true")):
        await world.start()
        await world.step(times=30)
        assert (world.api.evicted, world.states()) == ([], [State.AWAKE, State.AWAKE])


@in_a_loop
async def test_no_pod_is_evicted_that_would_fit_nowhere_else() -> None:
    world = two_half_full("true", consolidate=True)
    world.api.pods["p0"]["metadata"]["annotations"]["alibabacloud.com/gpu-milli"] = "1000"
    world.api.add_pod("big", milli=600, node="n1", index="1")
    await world.start()
    await world.step(times=10)
    assert world.api.evicted == []


@in_a_loop
async def test_no_pod_is_evicted_if_only_some_of_the_pods_of_its_node_have_room_elsewhere() -> None:
    """n0 has two pods of a whole GPU, each of which would fit n1: not both."""
    world = World(machines=2, consolidate=True)
    for i in range(2):
        world.api.add_pod(f"p{i}", milli=1000, node="n0", index=str(i))
        world.api.pods[f"p{i}"]["metadata"]["annotations"][MAY_MOVE] = "true"
    world.api.add_pod("stays", milli=1000, node="n1", index="0")
    await world.start()
    await world.step(times=10)
    assert world.api.evicted == []


@in_a_loop
async def test_the_node_that_saves_most_watts_a_move_is_emptied_first_as_in_simulations() -> None:
    """One half pod each; the A100s draw more than the T4s, and n2 has two pods to move."""
    world = World(machines=0, consolidate=True)
    for name, model in (("n0", "T4"), ("n1", "A100"), ("n2", "A100"), ("n3", "T4")):
        world.add(name, model=model)
        world.api.add_pod(f"on-{name}", node=name, index="0")
        world.api.pods[f"on-{name}"]["metadata"]["annotations"][MAY_MOVE] = "true"
    world.api.add_pod("more", milli=100, node="n2", index="0")
    world.api.pods["more"]["metadata"]["annotations"][MAY_MOVE] = "true"
    await world.start()
    await world.until("n1", State.MARKED, 10)
    assert [world.state(name) for name in ("n0", "n2", "n3")] == [State.AWAKE] * 3


@in_a_loop
async def test_an_eviction_that_a_budget_refuses_is_tried_again_and_the_node_opened_after_its_time() -> None:
    world = two_half_full("true", consolidate=True, drain_timeout="2m")
    world.api.budget_refuses = True
    await world.start()
    await world.until("n0", State.DRAINING)
    await world.step(times=100)
    assert world.state("n0") is State.DRAINING
    await world.until("n0", State.AWAKE, 60)
    assert world.is_open("n0")
    assert (world.api.evicted, world.machines.orders) == ([], [])
    await world.step(times=60)
    assert world.state("n0") is State.AWAKE  # it rests for a while


@in_a_loop
async def test_a_pod_that_may_not_move_and_comes_meanwhile_opens_the_node() -> None:
    world = two_half_full("true", consolidate=True)
    world.api.budget_refuses = True
    await world.start()
    await world.until("n0", State.DRAINING)
    world.api.add_pod("late", node="n0", index="1")
    await world.step()
    assert world.is_open("n0")
