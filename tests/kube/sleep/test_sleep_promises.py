"""Pods for which a node wakes: which one, what is kept for them, and when they get it."""

from __future__ import annotations

from kube.api_in_memory import asked, gpu_left, in_a_loop
from kube.sleep.made import World
from wattpack.kube.objects import Pod
from wattpack.kube.reservations import State as Held
from wattpack.kube.sleep.states import State

UNSCHEDULABLE = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]


def waiting(world: World, name: str, **more: int) -> Pod:
    """A pod for which kube-scheduler found no node, perhaps without asking us."""
    world.api.add_pod(name, **more)
    world.api.pods[name]["status"]["conditions"] = UNSCHEDULABLE
    return world.api.pod(name)


@in_a_loop
async def test_a_pod_goes_to_a_node_awake_while_one_has_room() -> None:
    world = World(machines=2, reserve=2)
    await (await world.start()).step_until_asleep("n0")
    assert await world.place(world.api.add_pod("p")) == "n1"


@in_a_loop
async def test_a_pod_that_fits_only_on_a_node_asleep_is_promised_it_and_bound_when_it_is_ready() -> None:
    world = await (await World(machines=2).start()).all_asleep()
    world.boot_s = 20.0
    pod = world.api.add_pod("p", milli=1000, count=2)
    answer = await world.ask(pod)
    assert answer.node_names == []
    (promise,) = world.service.view.cluster.reservations.promises()
    assert gpu_left(world.service, promise.node) == [0, 0]
    decision = world.service.explain("default", "p")
    assert decision is not None
    assert (decision.node, decision.promised) == (promise.node, "asleep")
    assert f"promised {promise.node} GPU 0-1, which is asleep" in decision.words()
    await world.until(promise.node, State.WAKING)
    refused = await world.service.filter(asked(pod, "elsewhere"))
    why = f"wattpack: the pod waits for {promise.node}, which is waking"
    assert refused.failed_and_unresolvable_nodes == {"elsewhere": why}
    await world.until(promise.node, State.AWAKE)
    assert await world.place(pod) == promise.node
    decision = world.service.explain("default", "p")
    assert decision is not None
    assert "chosen among" in decision.words()
    assert world.api.bindings == [("p", promise.node)]


@in_a_loop
async def test_a_second_pod_is_placed_on_the_node_that_wakes_before_another_one_wakes() -> None:
    world = await (await World(machines=2).start()).all_asleep()
    world.boot_s = 20.0
    one, two = world.api.add_pod("one"), world.api.add_pod("two")
    assert await world.place(one) == ""
    await world.step(times=2)
    assert await world.place(two) == ""
    nodes = {promise.node for promise in world.service.view.cluster.reservations.promises()}
    assert len(nodes) == 1
    await world.until(nodes.pop(), State.AWAKE)
    assert world.states().count(State.ASLEEP) == 1


@in_a_loop
async def test_a_node_that_is_marked_is_opened_again_for_a_pod_and_its_machine_is_not_touched() -> None:
    world = await World(machines=1).start()
    await world.step()
    await world.step(600)
    assert world.state("n0") is State.MARKED
    pod = world.api.add_pod("p")
    assert await world.place(pod) == ""
    await world.step()
    assert world.is_open("n0")
    assert await world.place(pod) == "n0"
    assert world.machines.orders == []


@in_a_loop
async def test_a_pod_that_comes_while_the_machine_shuts_down_is_promised_it_and_the_node_wakes_again() -> None:
    world = await World(machines=1).start_slow()
    pod = world.api.add_pod("p")
    assert await world.place(pod) == ""
    await world.step()
    record = world.record("n0")
    assert record is not None
    assert "default/p waits for it" in record.wake
    world.end_slow()
    await world.until("n0", State.AWAKE)
    assert await world.place(pod) == "n0"


@in_a_loop
async def test_a_pod_that_others_sent_to_the_node_before_the_mark_was_seen_opens_it_again() -> None:
    world = await World(machines=1).start()
    await world.step()
    await world.step(600)
    world.api.add_pod("late", node="n0", index="0")
    await world.step()
    assert world.is_open("n0")
    assert world.machines.orders == []


@in_a_loop
async def test_a_pod_that_the_scheduler_could_not_place_without_asking_us_wakes_a_node() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    pod = waiting(world, "p")
    await world.step()
    assert [promise.pod.name for promise in world.service.view.cluster.reservations.promises()] == ["p"]
    await world.until("n0", State.AWAKE)
    assert await world.place(pod) == "n0"


@in_a_loop
async def test_a_pod_that_may_not_go_there_wakes_no_node() -> None:
    world = World(machines=1)
    world.api.taint("n0", "other-team")
    await (await world.start()).all_asleep()
    waiting(world, "tolerates nothing")
    waiting(world, "too-big", milli=1000, count=3)
    selects = waiting(world, "selects")
    world.api.pods["selects"]["spec"]["nodeSelector"] = {"zone": "b"}
    del selects
    await world.step(times=3)
    assert world.state("n0") is State.ASLEEP


@in_a_loop
async def test_a_promise_is_broken_if_the_pod_does_not_come_and_it_wakes_no_other_node_for_a_while() -> None:
    world = await (await World(machines=2).start()).all_asleep()
    waiting(world, "p")
    await world.step()
    (promise,) = world.service.view.cluster.reservations.promises()
    await world.until(promise.node, State.AWAKE)
    await world.step(times=65)
    assert world.service.view.cluster.reservations.promises() == []
    await world.step(times=20)
    assert world.states().count(State.ASLEEP) == 1


@in_a_loop
async def test_a_promise_ends_with_its_pod() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    await world.place(world.api.add_pod("p"))
    del world.api.pods["p"]
    await world.step()
    assert len(world.service.view.cluster.reservations) == 0


@in_a_loop
async def test_a_pod_bound_to_its_promised_node_by_others_holds_it() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    await world.place(world.api.add_pod("p"))
    await world.until("n0", State.AWAKE)
    world.api.pods["p"]["spec"]["nodeName"] = "n0"
    await world.step()
    (held,) = world.service.view.cluster.reservations
    assert held.state is Held.SEEN


@in_a_loop
async def test_a_pod_that_waits_for_its_node_draws_nothing_until_it_is_there_and_its_decision_counts_the_wake() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    world.boot_s = 20.0
    cluster = world.service.view.cluster
    assert cluster.power_w() == 10.0
    pod = world.api.add_pod("p", milli=1000, count=2)
    await world.place(pod)
    decision = world.service.explain("default", "p")
    assert decision is not None
    assert cluster.power_w() == 10.0
    await world.until("n0", State.WAKING)
    idle_w = float(cluster.in_step.idle_mw[0]) / 1000
    assert cluster.power_w() == idle_w
    await world.until("n0", State.AWAKE)
    await world.place(pod)
    assert cluster.power_w() == 10.0 + decision.watts  # the node's idle watts and the pod's own
    assert decision.watts > idle_w - 10.0


@in_a_loop
async def test_fit_names_the_node_asleep_that_would_wake_for_a_pod_and_promises_nothing() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    pod = world.api.add_pod("p", milli=1000, count=2)
    decision = world.keeper.promises.would_make(pod)
    assert decision is not None
    assert decision.node == "n0"
    assert decision.note == "no node awake has room; n0, which is asleep, would wake for the pod"
    assert world.service.view.cluster.reservations.promises() == []
    await world.place(pod)
    promised = world.service.explain("default", "p")
    assert promised is not None
    assert decision.watts == promised.watts
    assert world.keeper.promises.would_make(world.api.add_pod("big", milli=1000, count=3)) is None


# ---- whose pods


def of_scheduler(world: World, name: str, scheduler: str) -> Pod:
    waiting(world, name)
    world.api.pods[name]["spec"]["schedulerName"] = scheduler
    return world.api.pod(name)


@in_a_loop
async def test_a_waiting_pod_of_another_scheduler_wakes_no_node_and_keeps_none_on() -> None:
    world = await World(machines=2).start()
    of_scheduler(world, "theirs", "default-scheduler")
    await world.all_asleep()
    await world.step(times=30)
    assert world.states() == [State.ASLEEP, State.ASLEEP]
    assert ("on", "n0") not in world.machines.orders
    assert world.service.view.cluster.reservations.promises() == []


@in_a_loop
async def test_waiting_pods_of_other_schedulers_do_not_hide_one_of_ours() -> None:
    """No more than a hundred pods are looked at in a step: those of others are not among them."""
    world = await (await World(machines=1).start()).all_asleep()
    for i in range(150):
        of_scheduler(world, f"theirs-{i}", "default-scheduler")
    waiting(world, "ours")
    await world.step()
    assert [promise.pod.name for promise in world.service.view.cluster.reservations.promises()] == ["ours"]


@in_a_loop
async def test_a_waiting_pod_of_a_scheduler_that_the_configuration_names_wakes_a_node() -> None:
    world = await (await World(machines=1, schedulers=["wattpack", "batch"]).start()).all_asleep()
    of_scheduler(world, "batch", "batch")
    await world.until("n0", State.AWAKE, 30)


@in_a_loop
async def test_a_waiting_pod_of_a_scheduler_that_has_asked_wakes_a_node() -> None:
    """It asked for another pod while a node was awake; of this one its own filters say that no node is left."""
    world = await World(machines=1).start()
    assert await world.place(of_scheduler(world, "before", "batch")) == "n0"
    await world.step()
    del world.api.pods["before"]
    await world.all_asleep()
    of_scheduler(world, "batch", "batch")
    await world.until("n0", State.AWAKE, 30)


@in_a_loop
async def test_a_promise_on_a_node_to_a_pod_of_another_scheduler_is_not_taken_up_again() -> None:
    """A version that looked at every pod wrote it there: the node does not wake for it after the update."""
    world = await (await World(machines=1, schedulers=["wattpack", "batch"]).start()).all_asleep()
    world.machines.away = True  # so that the promise stays on the Node
    of_scheduler(world, "theirs", "batch")
    await world.step(times=3)
    record = world.record("n0")
    assert record is not None
    assert [promised.pod for promised in record.promised] == ["default/theirs"]
    world.config = World(machines=0).config
    await world.start()
    await world.step(times=3)
    assert world.service.view.cluster.reservations.promises() == []


@in_a_loop
async def test_a_waiting_pod_that_is_being_deleted_wakes_no_node() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    waiting(world, "going")
    world.api.pods["going"]["metadata"]["deletionTimestamp"] = "2026-01-05T10:00:00Z"
    await world.step(times=5)
    assert world.state("n0") is State.ASLEEP


@in_a_loop
async def test_fit_names_no_node_that_would_wake_for_a_pod_of_another_scheduler() -> None:
    world = await (await World(machines=1).start()).all_asleep()
    assert world.keeper.promises.would_make(of_scheduler(world, "theirs", "default-scheduler")) is None
