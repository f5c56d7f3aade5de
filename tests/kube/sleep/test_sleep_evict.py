"""`consolidate = true`: pods that may move are evicted, so that nodes become empty; budgets are obeyed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

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


# ---- only to places that the pod's own constraints allow

UNSCHEDULABLE = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]


def with_spec(change: dict[str, Any], **more: Any) -> World:
    world = two_half_full("true", consolidate=True, **more)
    world.api.pods["p0"]["spec"] |= change
    return world


async def steps_with_a_controller(world: World, steps: int, seconds: float = 1.0) -> list[float]:
    """When pods were evicted: a controller makes each again, and a scheduler puts it on the emptiest node allowed."""
    evicted_at: list[float] = []
    made = {name: dict(pod) for name, pod in world.api.pods.items()}
    for _ in range(steps):
        await world.step(seconds)
        for name in world.api.evicted[len(evicted_at) :]:
            evicted_at.append(world.time_s)
            again = f"{name.partition('-again')[0]}-again{len(evicted_at)}"
            made[again] = world.api.pods[again] = {
                **made[name],
                "metadata": {**made[name]["metadata"], "name": again, "uid": f"uid-{again}"},
                "spec": {**made[name]["spec"], "nodeName": ""},
                "status": {"phase": "Pending", "conditions": UNSCHEDULABLE},
            }
        for pod in world.api.pods.values():
            wish = pod["spec"].get("nodeSelector", {}).get("kubernetes.io/hostname")
            nodes = [wish] if wish else sorted(world.api.nodes, key=lambda node: pods_there(world, node))
            allowed = [node for node in nodes if world.is_open(node) and world.is_ready(node)]
            if not pod["spec"]["nodeName"] and allowed:
                pod["spec"]["nodeName"], pod["status"] = allowed[0], {"phase": "Running"}
    return evicted_at


def pods_there(world: World, node: str) -> int:
    return sum(pod["spec"]["nodeName"] == node for pod in world.api.pods.values())


def name_hosts(world: World) -> World:
    for name, node in world.api.nodes.items():
        node["metadata"]["labels"]["kubernetes.io/hostname"] = name
    return world


@in_a_loop
async def test_a_pod_that_fits_one_node_by_its_selector_is_never_evicted_from_it() -> None:
    world = name_hosts(with_spec({"nodeSelector": {"kubernetes.io/hostname": "n0"}}))
    await world.start()
    assert await steps_with_a_controller(world, 900) == []
    assert world.states() == [State.AWAKE, State.AWAKE]


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONE_A = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}


@pytest.mark.parametrize(
    "change",
    [
        {"nodeSelector": {"zone": "a"}},
        {"affinity": {"nodeAffinity": {REQUIRED: ZONE_A}}},
        {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "kubernetes.io/hostname"}]}}},
        {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}},
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]},
        {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "on-n0"}}]},
        {"volumes": [{"name": "data", "ephemeral": {"volumeClaimTemplate": {}}}]},
        {"containers": [{"ports": [{"containerPort": 80, "hostPort": 80}], "resources": {"requests": {"cpu": "1"}}}]},
        {"containers": [{"resources": {"requests": {"cpu": "1", "rdma/hca": "1"}}}]},
        {"resourceClaims": [{"name": "nic", "resourceClaimName": "one"}]},
    ],
)
def test_a_pod_is_not_evicted_where_its_own_constraints_may_allow_no_other_node(change: dict[str, Any]) -> None:
    async def test() -> None:
        world = with_spec(change)
        world.api.nodes["n0"]["metadata"]["labels"]["zone"] = "a"
        world.api.nodes["n1"]["metadata"]["labels"]["zone"] = "b"
        for node in world.api.nodes.values():
            node["status"]["allocatable"]["rdma/hca"] = "1"
        await world.start()
        await world.step(times=60)
        assert (world.api.evicted, world.states()) == ([], [State.AWAKE, State.AWAKE])

    in_a_loop(test)()


@pytest.mark.parametrize(
    "change",
    [
        {"nodeSelector": {"pool": "gpu"}},
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]},
        {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}},
        {"volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "settings", "configMap": {"name": "x"}}]},
        {"containers": [{"ports": [{"containerPort": 80}], "resources": {"requests": {"cpu": "1"}}}]},
    ],
)
def test_wishes_that_keep_no_pod_off_a_node_do_not_keep_it_from_being_moved(change: dict[str, Any]) -> None:
    async def test() -> None:
        world = await with_spec(change).start()
        await world.until("n0", State.ASLEEP, 30)
        assert world.api.evicted == ["p0"]

    in_a_loop(test)()


@in_a_loop
async def test_no_pod_is_evicted_for_room_on_a_node_with_a_taint_that_it_does_not_tolerate() -> None:
    for tolerations, evicted in (([], []), ([{"key": "batch", "operator": "Exists"}], ["p0"])):
        world = with_spec({"tolerations": tolerations})
        world.api.taint("n1", "batch")
        await world.start()
        await world.step(times=30)
        assert world.api.evicted == evicted


@in_a_loop
async def test_no_pod_is_evicted_for_room_on_a_node_of_another_architecture() -> None:
    """It names none, but its image is for the one on which it runs."""
    world = two_half_full("true", consolidate=True)
    for name, arch in (("n0", "amd64"), ("n1", "arm64")):
        world.api.nodes[name]["metadata"]["labels"]["kubernetes.io/arch"] = arch
    await world.start()
    await world.step(times=30)
    assert world.api.evicted == []


@in_a_loop
async def test_room_that_others_take_before_the_eviction_opens_the_node_and_no_pod_is_evicted() -> None:
    world = await two_half_full("true", consolidate=True).start()
    await world.until("n0", State.MARKED, 10)
    for i in range(2):
        world.api.add_pod(f"big-{i}", milli=1000 - 500 * (i == 0), node="n1", index=str(i))
    await world.step(times=30)
    assert (world.api.evicted, world.state("n0")) == ([], State.AWAKE)


@in_a_loop
async def test_room_that_others_take_while_a_budget_refuses_opens_the_node_and_no_pod_is_evicted() -> None:
    world = two_half_full("true", consolidate=True)
    world.api.budget_refuses = True
    await world.start()
    await world.until("n0", State.DRAINING)
    await world.step(times=5)
    for i in range(2):
        world.api.add_pod(f"big-{i}", milli=1000 - 500 * (i == 0), node="n1", index=str(i))
    world.api.budget_refuses = False
    await world.step(times=40)
    assert (world.api.evicted, world.state("n0")) == ([], State.AWAKE)


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"uid": "uid-another"}},
        {"metadata": {"deletionTimestamp": "2026-01-05T10:00:00Z"}},
        {"metadata": {"annotations": {}}},
        {"spec": {"nodeName": "n1"}},
        {"status": {"phase": "Succeeded"}},
    ],
)
def test_a_pod_that_has_changed_in_silence_is_not_evicted(change: dict[str, dict[str, Any]]) -> None:
    async def test() -> None:
        world = two_half_full("true", consolidate=True)
        await world.start()
        await world.until("n0", State.MARKED, 10)
        world.silent = True
        for part, changed in change.items():
            world.api.pods["p0"][part] |= changed
        await world.step(times=30)
        assert (world.api.evicted, world.machines.orders) == ([], [])

    in_a_loop(test)()


@in_a_loop
async def test_a_pod_of_another_scheduler_is_not_evicted_since_no_node_would_wake_for_it() -> None:
    for named, evicted in ((["wattpack"], []), (["wattpack", "batch"], ["p0"])):
        world = await with_spec({"schedulerName": "batch"}, schedulers=named).start()
        await world.step(times=30)
        assert world.api.evicted == evicted


# ---- at most once an hour


def of_set(world: World, uid: str = "uid-of-the-set") -> World:
    owner = {"kind": "ReplicaSet", "uid": uid, "controller": True}
    world.api.pods["p0"]["metadata"]["ownerReferences"] = [owner]
    return world


@in_a_loop
async def test_pods_of_one_controller_are_evicted_once_an_hour_and_not_in_a_loop() -> None:
    """The scheduler puts the new pod on an empty node each time."""
    world = of_set(two_half_full("true", consolidate=True, idle="1d"))
    world.add("n2")
    world.add("n3")
    await world.start()
    evicted_at = await steps_with_a_controller(world, 260, seconds=30.0)
    assert 1 <= len(evicted_at) <= 3
    assert all(later - before >= 3600 for before, later in pairwise(evicted_at)), evicted_at


@in_a_loop
async def test_a_restart_does_not_forget_whose_pods_were_evicted_within_the_hour() -> None:
    world = await of_set(two_half_full("true", consolidate=True, reserve=0)).start()
    await world.until("n0", State.ASLEEP, 30)
    assert world.api.evicted == ["p0"]
    for _ in range(3):
        world.api.annotate("n0", "wattpack.io/sleep-ask", "hold")
        await world.until("n0", State.AWAKE)
        world.api.annotate("n0", "wattpack.io/sleep-ask", "")
        world.api.add_pod("p0", node="n0", index="0")
        world.api.pods["p0"]["metadata"]["annotations"][MAY_MOVE] = "true"
        world.api.pods["p0"]["metadata"]["uid"] = f"uid-of-{world.time_s}"
        of_set(world)
        await world.start()
        await world.step(times=700)  # longer than a node rests
        assert world.api.evicted == ["p0"]
    await world.step(3600)
    await world.until("n0", State.ASLEEP, 60)
    assert world.api.evicted == ["p0", "p0"]


@in_a_loop
async def test_two_pods_of_one_controller_on_one_node_are_moved_together() -> None:
    world = of_set(two_half_full("true", consolidate=True))
    world.api.add_pod("p2", milli=0, count=0, node="n0")
    world.api.pods["p2"]["metadata"]["annotations"][MAY_MOVE] = "true"
    world.api.pods["p2"]["metadata"]["ownerReferences"] = world.api.pods["p0"]["metadata"]["ownerReferences"]
    await world.start()
    await world.until("n0", State.ASLEEP, 30)
    assert sorted(world.api.evicted) == ["p0", "p2"]


@in_a_loop
async def test_a_pod_that_takes_long_to_end_is_asked_once() -> None:
    world = await two_half_full("true", consolidate=True).start()
    asked: list[str] = []
    call = world.api.call

    async def slow_end(method: str, path: str, body: Any = None, timeout_s: float | None = None) -> bytes:
        if path.endswith("/eviction"):  # accepted; the pod has an hour to end, and no watch shows that it is going
            asked.append(path)
            return b"{}"
        return await call(method, path, body, timeout_s)

    world.api.call = slow_end  # type: ignore[method-assign]
    await world.until("n0", State.DRAINING, 30)
    await world.step(times=300)
    assert len(asked) == 1


@in_a_loop
async def test_a_pod_that_is_reserved_the_node_and_not_bound_yet_keeps_it_from_being_emptied() -> None:
    world = await two_half_full("true", consolidate=True).start()
    pod = world.api.add_pod("coming")
    world.api.pods["coming"]["metadata"]["annotations"][MAY_MOVE] = "true"
    answer = await world.ask(pod)
    assert answer.node_names == ["n0"]  # the choice of fgd
    await world.step(times=30)
    assert world.api.evicted == []
