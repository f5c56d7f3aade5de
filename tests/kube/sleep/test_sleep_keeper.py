"""Nodes sleep and wake, one transition after the other, within the limits that were set."""

from __future__ import annotations

from kube.api_in_memory import in_a_loop
from kube.sleep.made import World
from wattpack.kube.sleep.dry_run import dry_run
from wattpack.kube.sleep.record import ASK
from wattpack.kube.sleep.states import State
from wattpack.kube.sleep.status import status_of


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


@in_a_loop
async def test_a_node_with_a_pod_stays_awake_and_one_with_a_daemon_alone_sleeps() -> None:
    world = World(machines=2)
    world.api.add_pod("work", node="n0", index="0")
    world.api.add_pod("daemon", milli=0, count=0, node="n1")
    world.api.pods["daemon"]["metadata"]["ownerReferences"] = [{"kind": "DaemonSet"}]
    await world.start()
    await world.step()
    await world.step(600, times=2)
    await world.until("n1", State.TURNING_OFF)
    assert world.state("n0") is State.AWAKE


@in_a_loop
async def test_a_pod_that_came_and_went_between_two_steps_starts_the_time_anew() -> None:
    world = await World(machines=1).start()
    await world.step()
    await world.step(599)
    pod = world.api.add_pod("short", node="n0", index="0")
    world.service.change_pod("ADDED", pod)
    world.service.change_pod("DELETED", pod)
    del world.api.pods["short"]
    await world.step(1)
    assert world.state("n0") is State.AWAKE
    await world.step(600)
    assert world.state("n0") is State.MARKED


@in_a_loop
async def test_the_reserve_stays_awake_and_the_hungriest_nodes_sleep_first() -> None:
    world = World(machines=0, reserve=2)
    world.add("frugal", gpus=2, model="T4")
    world.add("hungry", gpus=2, model="A100")
    await world.start()
    await world.step()
    await world.step(600)
    assert [world.state(name) for name in ("frugal", "hungry")] == [State.AWAKE, State.MARKED]


@in_a_loop
async def test_a_node_wakes_when_the_reserve_is_short() -> None:
    world = await (await World(machines=2, reserve=2).start()).step_until_asleep("n0")
    world.api.add_pod("work", milli=1000, node="n1", index="0")
    await world.until("n0", State.AWAKE)
    assert ("on", "n0") in world.machines.orders
    quiet = await (await World(machines=2, reserve=2, wake_for_reserve=False).start()).step_until_asleep("n0")
    quiet.api.add_pod("work", milli=1000, node="n1", index="0")
    await quiet.step(times=10)
    assert quiet.state("n0") is State.ASLEEP


@in_a_loop
async def test_no_more_nodes_than_at_most_are_in_transition_at_once() -> None:
    world = World(machines=6, at_most=2)
    world.machines.slow = True
    await world.start()
    await world.step()
    await world.step(600, times=2)
    await world.step(times=20)
    assert sorted(state.value for state in world.states()).count("awake") == 4


@in_a_loop
async def test_the_floor_of_nodes_never_sleeps() -> None:
    world = await World(machines=4, floor=3, at_most=9).start()
    await world.step()
    await world.step(600)
    await world.step(times=60)
    assert world.states().count(State.ASLEEP) == 1


@in_a_loop
async def test_no_more_machines_than_the_rate_allows_are_switched_off_within_an_hour() -> None:
    world = await World(machines=4, per_hour=2, at_most=9).start()
    await world.step()
    await world.step(600)
    await world.step(times=60)
    assert world.states().count(State.ASLEEP) == 2
    await world.step(3600)
    await world.step(times=60)
    assert world.states().count(State.ASLEEP) == 4


@in_a_loop
async def test_other_nodes_are_never_touched_and_a_node_that_is_no_longer_selected_wakes() -> None:
    world = World(machines=1)
    world.add("other", pool="cpu")
    await world.start()
    await world.step()
    await world.step(600)
    await world.until("n0", State.ASLEEP)
    assert world.is_open("other")
    world.api.nodes["n0"]["metadata"]["labels"]["pool"] = "cpu"
    world.api.changed("n0")
    await world.until("n0", State.AWAKE)
    assert world.is_open("n0")


@in_a_loop
async def test_the_label_on_the_namespace_stops_it_and_takes_back_what_is_not_off_yet() -> None:
    world = await World(machines=2).start()
    await world.step()
    await world.step(600)
    assert world.states() == [State.MARKED, State.MARKED]
    world.api.labels["wattpack.io/sleep"] = "off"
    await world.step(6)
    assert world.states() == [State.AWAKE, State.AWAKE]
    assert world.is_open("n0")
    assert "wattpack.io/sleep=off" in world.keeper.stopped
    await world.step(6000)
    assert world.states() == [State.AWAKE, State.AWAKE]
    del world.api.labels["wattpack.io/sleep"]
    await world.step(600)
    assert State.MARKED in world.states()


@in_a_loop
async def test_under_the_label_nodes_asleep_still_wake_for_pods() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    world.api.labels["wattpack.io/sleep"] = "off"
    await world.step(6)
    assert await world.place(world.api.add_pod("p")) == ""
    await world.until("n0", State.AWAKE)


@in_a_loop
async def test_a_person_wakes_a_node_and_holds_it_awake() -> None:
    world = await (await World(machines=2).start()).all_asleep()
    world.api.annotate("n0", ASK, "wake")
    await world.until("n0", State.AWAKE)
    assert ASK not in world.api.node("n0").metadata.annotations  # the wish is fulfilled
    world.api.annotate("n1", ASK, "hold")
    await world.until("n1", State.AWAKE)
    await world.step(600, times=3)
    assert world.state("n1") is State.AWAKE
    assert world.state("n0") is not State.AWAKE  # only one of them is held


@in_a_loop
async def test_a_node_that_someone_else_has_cordoned_is_not_taken() -> None:
    world = World(machines=1)
    world.api.nodes["n0"]["spec"]["unschedulable"] = True
    await world.start()
    await world.step()
    await world.step(600, times=2)
    assert world.api.patches == []


@in_a_loop
async def test_without_act_nothing_is_changed_and_what_would_be_is_told() -> None:
    world = await World(machines=2, mode="advise", reserve=2).start()
    await world.step()
    await world.step(600, times=3)
    assert (world.api.patches, world.machines.orders) == ([], [])
    assert world.keeper.sight.would_sleep == ["n0"]
    events = [event for event in world.service.events.queue if getattr(event, "reason", "") == "WattpackWouldSleep"]
    assert len(events) == 1  # not one in every step


@in_a_loop
async def test_nodes_asleep_stay_so_in_mode_advise_and_it_is_told_how_to_wake_them() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    advise = World(machines=0, mode="advise").config
    world.config = advise
    await world.start()
    world.api.annotate("n0", ASK, "wake")
    await world.step(times=3)
    assert world.state("n0") is State.ASLEEP  # `advise` has no right to change a Node
    assert world.service.view.cluster.power_w() == 10.0  # the machine is off all the same
    told = "mode advise wakes no node: 1 with a record stay as they are; to wake them run `wattpack sleep wake --all "
    assert world.keeper.stopped.startswith(told)
    assert dry_run(world.service.view, advise)[-1].strip() == world.keeper.stopped


@in_a_loop
async def test_a_node_whose_gpus_are_given_out_by_claims_never_sleeps_since_pods_with_claims_cannot_wake_it() -> None:
    world = World(machines=2)
    world.api.offer_by_claims("n0")
    await world.start(allocate_claims=True)
    await world.step()
    await world.step(600)
    await world.until("n1", State.ASLEEP)
    assert world.is_open("n0")
    rows = {row["node"]: row for row in status_of(world.keeper)["nodes"]}
    assert "resource claims" in rows["n0"]["why"]
    assert any("1 node stays awake" in line for line in dry_run(world.service.view, world.config))


@in_a_loop
async def test_a_node_asleep_whose_gpus_are_now_given_out_by_claims_wakes() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    world.api.offer_by_claims("n0")
    world.api.changed("n0")
    await world.start(allocate_claims=True)
    await world.until("n0", State.AWAKE)
    assert world.is_open("n0")
