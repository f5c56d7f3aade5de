"""The service is killed at every step and started again; two replicas share a cluster; the Nodes remember."""

from __future__ import annotations

import pytest

from kube.api_in_memory import in_a_loop, started
from kube.sleep.made import Killed, World
from wattpack.kube.config import LeaseConfig
from wattpack.kube.sleep.record import ASK
from wattpack.kube.sleep.states import State


async def sleep_and_wake(world: World) -> None:
    """A night of one node: it goes to sleep and is asked to wake. Ends when a kill is due."""
    world.boot_s = 5.0
    await world.step()
    await world.step(600)
    await world.until("n0", State.ASLEEP)
    world.api.annotate("n0", ASK, "wake")
    await world.until("n0", State.AWAKE)


@pytest.mark.parametrize("patches", range(1, 8))
def test_killed_after_any_patch_the_next_process_goes_on_from_the_node(patches: int) -> None:
    async def test() -> None:
        world = await World(machines=1).start()
        world.api.kill_after = patches
        with pytest.raises(Killed):
            await sleep_and_wake(world)
        assert len(world.api.patches) == patches
        world.api.kill_after = 0
        world.check()
        await world.start()
        if patches < 4:
            await world.until("n0", State.ASLEEP)
            world.check()
            world.api.annotate("n0", ASK, "wake")
        elif patches == 4:
            world.api.annotate("n0", ASK, "wake")
        await world.until("n0", State.AWAKE)
        assert world.is_open("n0")
        assert world.machines.on["n0"]

    in_a_loop(test)()


@pytest.mark.parametrize(("order", "state"), [("off", State.TURNING_OFF), ("on", State.TURNING_ON)])
def test_killed_between_the_record_and_the_order_the_next_process_sends_the_order(order: str, state: State) -> None:
    async def test() -> None:
        world = await World(machines=1).start()
        world.machines.kill_at = order
        with pytest.raises(Killed):
            await sleep_and_wake(world)
        assert world.state("n0") is state
        assert (order, "n0") not in world.machines.orders
        world.check()
        world.machines.kill_at = ""
        await world.start()
        await world.until("n0", State.ASLEEP if order == "off" else State.AWAKE)
        assert (order, "n0") in world.machines.orders

    in_a_loop(test)()


@in_a_loop
async def test_a_restart_does_not_forget_which_pod_was_promised_a_node() -> None:
    world = await (await World(machines=2).start()).all_asleep()
    world.boot_s = 30.0
    pod = world.api.add_pod("p", milli=1000, count=2)
    assert await world.place(pod) == ""
    await world.step(times=3)
    (promised,) = world.service.view.cluster.reservations.promises()
    await world.start()
    await world.step()
    (again,) = world.service.view.cluster.reservations.promises()
    assert (again.node, again.gpus) == (promised.node, promised.gpus)
    await world.until(promised.node, State.AWAKE)
    assert await world.place(pod) == promised.node


@in_a_loop
async def test_of_two_replicas_only_the_one_with_the_lease_acts_and_the_other_takes_over() -> None:
    world = World(machines=2)
    lease = LeaseConfig(duration_s=1)
    await world.start("one", lease=lease)
    first = world.service
    second = await started(world.api, "two", sleep=world.config, lease=lease)
    world.take(second)
    await world.step()
    await world.step(600)
    assert world.states() == [State.MARKED, State.MARKED]
    assert second.sleep is not None
    await second.nodes.relist()
    await second.sleep.step(wait=True)
    assert (world.keeper.acting, second.sleep.acting) == (True, False)
    assert world.machines.orders == []
    await first.lease.leave()
    world.service = second
    second.lease.tried_s = float("-inf")
    await world.until("n0", State.ASLEEP)
    assert second.sleep.acting
    world.check()


@in_a_loop
async def test_a_replica_whose_patch_comes_too_late_does_nothing() -> None:
    """Two processes believe to act: the version in the patch lets one of them win, and only it orders the switch."""
    world = await World(machines=1).start()
    other = await started(world.api, "two", sleep=world.config)
    one = world.service
    world.take(other)
    assert one.sleep is not None
    assert other.sleep is not None
    for service in (one, other):
        assert service.sleep is not None
        await service.sleep.step(wait=True)
    world.time_s += 600
    for service in (one, other):
        assert service.sleep is not None
        await service.sleep.step(wait=True)
    assert world.api.patches == ["marked"]  # the second one was refused: the Node had changed


@in_a_loop
async def test_a_process_that_crashes_again_and_again_does_not_exceed_the_rate_of_an_hour() -> None:
    world = await World(machines=6, per_hour=2, at_most=9, idle="1m").start()
    for _ in range(20):  # 20 processes, each of which sees every node empty for long enough
        await world.step()
        await world.step(61)
        await world.step(times=30)
        assert world.states().count(State.AWAKE) >= 4
        await world.start()
    assert world.states().count(State.ASLEEP) == 2
    await world.step(3600)
    await world.step(61)
    await world.step(times=30)
    assert world.states().count(State.ASLEEP) == 4


@in_a_loop
async def test_a_node_that_was_sent_to_sleep_twice_within_an_hour_counts_twice_after_a_restart() -> None:
    world = await World(machines=1, per_hour=2, idle="1m").start()
    for _ in range(2):
        await world.step(61)
        await world.until("n0", State.ASLEEP, 100)
        world.api.annotate("n0", ASK, "wake")
        await world.until("n0", State.AWAKE)
        await world.start()
    await world.step(61, times=3)
    assert world.state("n0") is State.AWAKE
    world.api.annotate("n0", "wattpack.io/sleep-times", "no time")  # whatever a person wrote there
    await world.step(61, times=2)
    assert world.state("n0") is not State.AWAKE
