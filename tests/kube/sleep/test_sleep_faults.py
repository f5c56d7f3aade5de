"""Switches that fail, machines that do not follow, people who intervene: nothing is lost and everything is told."""

from __future__ import annotations

import pytest

from kube.api_in_memory import in_a_loop
from kube.sleep.made import World
from wattpack.kube.sleep.record import ASK, TAINT
from wattpack.kube.sleep.states import State


def reasons(world: World) -> list[str]:
    return [getattr(event, "reason", "") for event in world.service.events.queue]


@in_a_loop
async def test_a_slow_machine_is_waited_for_and_ordered_again_while_it_says_it_is_on() -> None:
    world = await World(machines=1).start_slow()
    await world.step(times=10)
    assert world.state("n0") is State.TURNING_OFF
    world.end_slow()
    await world.until("n0", State.ASLEEP)


@in_a_loop
async def test_a_machine_that_refuses_to_go_off_is_ordered_again_and_given_up_after_its_time() -> None:
    world = World(machines=1, shutdown_timeout="2m")
    world.machines.stuck.add("n0")
    await world.start()
    await world.step()
    await world.step(600)
    await world.until("n0", State.GIVEN_UP)
    assert world.machines.orders.count(("off", "n0")) >= 3
    assert "WattpackGivenUp" in reasons(world)
    world.check()
    await world.step(times=100)
    assert world.state("n0") is State.GIVEN_UP  # it may still go off: only a person can tell
    world.machines.stuck.clear()
    world.api.annotate("n0", ASK, "wake")
    await world.until("n0", State.AWAKE)
    assert world.is_open("n0")


@in_a_loop
async def test_a_node_that_never_wakes_is_given_up_and_another_one_is_woken_for_its_pod() -> None:
    world = await (await World(machines=2, wake_timeout="2m").start()).all_asleep()
    world.machines.stuck.update(world.machines.on)
    pod = world.api.add_pod("p")
    assert await world.place(pod) == ""
    first = world.keeper.sight.promised or {r.node for r in world.service.view.cluster.reservations.promises()}
    (dead,) = first
    world.machines.stuck = {dead}
    (alive,) = set(world.machines.on) - {dead}
    world.api.pods["p"]["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    ]
    await world.until(dead, State.GIVEN_UP)
    assert "WattpackGivenUp" in reasons(world)
    await world.until(alive, State.AWAKE)
    assert await world.place(world.api.pod("p")) == alive
    world.check()


@in_a_loop
async def test_a_controller_that_says_on_while_the_machine_stays_off_does_not_count_as_a_node_that_woke() -> None:
    world = await (await World(machines=1, wake_timeout="2m").start()).all_asleep()
    world.machines.lying.add("n0")
    assert await world.place(world.api.add_pod("p")) == ""
    await world.until("n0", State.GIVEN_UP)
    record = world.record("n0")
    assert record is not None
    assert "not Ready in time" in record.why
    world.machines.lying.clear()
    world.machines.on["n0"] = True  # somebody pulled the plug and put it back
    await world.until("n0", State.AWAKE)


@in_a_loop
async def test_a_node_still_looks_ready_after_its_machine_went_off_and_that_does_not_count() -> None:
    world = World(machines=1)
    await world.start()
    await world.step()
    await world.step(600)
    world.follow = lambda: None  # type: ignore[method-assign]  # the node controller has not noticed yet
    await world.until("n0", State.ASLEEP)
    assert world.is_ready("n0")
    world.api.annotate("n0", ASK, "wake")
    await world.until("n0", State.WAKING)
    await world.step(times=20)
    assert world.state("n0") is State.WAKING
    world.api.nodes["n0"]["status"]["conditions"][0]["lastHeartbeatTime"] = "later"
    world.api.changed("n0")
    await world.step()
    assert world.state("n0") is State.AWAKE


@in_a_loop
async def test_a_switch_without_an_answer_changes_nothing_and_is_asked_again() -> None:
    world = await (await World(machines=1, wake_timeout="5m").start()).all_asleep()
    world.machines.away = True
    world.api.annotate("n0", ASK, "wake")
    await world.step(times=60)
    assert world.state("n0") is State.TURNING_ON
    assert "WattpackSwitchFailed" in reasons(world)
    world.machines.away = False
    await world.until("n0", State.AWAKE, 60)


@in_a_loop
async def test_while_the_api_server_is_away_no_machine_is_switched() -> None:
    world = await World(machines=2).start()
    await world.step()
    world.api.away = True
    await world.step(600)
    await world.step(times=30)
    assert (world.machines.orders, world.states()) == ([], [State.AWAKE, State.AWAKE])
    world.api.away = False
    await world.all_asleep()
    world.check()


@in_a_loop
async def test_the_api_server_goes_away_between_two_transitions_and_the_rest_follows_when_it_is_back() -> None:
    world = await World(machines=1).start()
    await world.step()
    await world.step(600)
    await world.until("n0", State.TURNING_OFF)
    world.api.away = True
    await world.step(times=30)
    assert world.state("n0") is State.TURNING_OFF
    world.api.away = False
    await world.until("n0", State.ASLEEP)
    world.check()


@pytest.mark.parametrize("state", [State.MARKED, State.DRAINING, State.TURNING_OFF, State.ASLEEP, State.WAKING])
@pytest.mark.parametrize("touch", ["uncordon", "untaint", "taint"])
def test_a_node_that_a_person_touched_is_left_alone_until_told(state: State, touch: str) -> None:
    async def test() -> None:
        world = World(machines=1)
        world.machines.slow = state is State.TURNING_OFF
        world.boot_s = 60.0
        await world.start()
        await world.step()
        await world.step(600)
        if state is State.WAKING:
            await world.until("n0", State.ASLEEP)
            world.api.annotate("n0", ASK, "wake")
        await world.until("n0", state)
        spec = world.api.nodes["n0"]["spec"]
        if touch == "uncordon":
            spec["unschedulable"] = False
        elif touch == "untaint":
            spec["taints"] = [taint for taint in spec["taints"] if taint["key"] != TAINT]
        else:
            spec["taints"].append({"key": "repair", "effect": "NoSchedule"})
        world.api.changed("n0")
        await world.step()
        assert world.state("n0") is State.LEFT_ALONE
        orders, patches = list(world.machines.orders), list(world.api.patches)
        world.machines.slow = False
        world.machines.changing.clear()
        await world.step(600, times=5)
        assert (world.machines.orders, world.api.patches) == (orders, patches)
        record = world.record("n0")
        assert record is not None
        assert "by hand" in record.why
        assert "wattpack sleep wake n0" in record.undo
        world.api.annotate("n0", ASK, "wake")
        await world.until("n0", State.AWAKE)
        assert [taint["key"] for taint in spec["taints"]] == (["repair"] if touch == "taint" else [])
        assert not spec["unschedulable"]

    in_a_loop(test)()


@in_a_loop
async def test_a_machine_that_a_person_turned_on_is_left_alone() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    world.machines.on["n0"] = True
    await world.step(31)
    await world.step(31)
    assert world.state("n0") is State.LEFT_ALONE
    assert "WattpackLeftAlone" in reasons(world)


@in_a_loop
async def test_a_record_that_a_person_has_spoilt_is_left_alone() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    world.api.annotate("n0", "wattpack.io/sleep", "{what")
    await world.step(times=5)
    assert world.machines.orders == [("off", "n0")]
    assert world.keeper.sight.states["n0"] is State.LEFT_ALONE
    world.api.annotate("n0", ASK, "wake")
    await world.until("n0", State.AWAKE)


@pytest.mark.parametrize("jump_s", [-90_000.0, -30.0, 30.0, 90_000.0])
def test_a_jump_of_the_wall_clock_in_any_state_changes_nothing(jump_s: float) -> None:
    """A node goes to sleep and wakes; before every step the wall clock jumps there, or back. The same as without."""

    async def night(jumps: bool) -> tuple[list[str], list[tuple[str, str]], float]:
        world = await World(machines=2, per_hour=2).start()
        world.boot_s = 20.0

        async def steps_until(name: str, state: State) -> None:
            while world.state(name) is not state:
                world.wall_s += jump_s if jumps else 0.0
                await world.step()
                world.wall_s -= jump_s if jumps and world.time_s % 2 else 0.0

        await steps_until("n1", State.ASLEEP)
        world.api.annotate("n0", ASK, "wake")
        await steps_until("n0", State.AWAKE)
        world.check()
        return world.api.patches, world.machines.orders, world.time_s

    async def test() -> None:
        assert await night(jumps=True) == await night(jumps=False)

    in_a_loop(test)()


@pytest.mark.parametrize("jump_s", [-1800.0, 1800.0, 90_000.0, -90_000.0])
def test_no_jump_of_the_wall_clock_lets_more_machines_go_off_than_the_rate_allows(jump_s: float) -> None:
    async def test() -> None:
        world = await World(machines=4, per_hour=2, at_most=9).start()
        await world.step()
        await world.step(600)
        await world.step(times=30)
        world.wall_s += jump_s
        await world.step(600)
        await world.step(times=30)
        assert world.states().count(State.ASLEEP) == 2

    in_a_loop(test)()


@in_a_loop
async def test_any_text_may_stand_for_the_time_of_a_record() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    text = world.api.nodes["n0"]["metadata"]["annotations"]["wattpack.io/sleep"]
    record = world.record("n0")
    assert record is not None
    world.api.annotate("n0", "wattpack.io/sleep", text.replace(record.since, "2199-01-01T00:00:00Z"))
    await world.step(times=5)
    assert world.state("n0") is State.ASLEEP
    world.api.annotate("n0", ASK, "wake")
    await world.until("n0", State.AWAKE, 60)
