"""A machine goes off only after a live look at its node: every scene in which the service's own picture is wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from kube.api_in_memory import in_a_loop, started
from kube.sleep.made import Killed, World
from wattpack.kube.client import ApiError
from wattpack.kube.config import LeaseConfig
from wattpack.kube.sleep import record
from wattpack.kube.sleep.config import SleepConfig
from wattpack.kube.sleep.dry_run import looked_at
from wattpack.kube.sleep.states import State

WORKLOAD = "default/late"


def told(world: World, reason: str = "WattpackNotSwitchedOff") -> list[str]:
    """Messages of events with this reason."""
    events = world.service.events.queue
    return [getattr(event, "message", "") for event in events if getattr(event, "reason", "") == reason]


def bind_late(world: World) -> None:
    """Somebody binds a pod to n0, and no watch shows it."""
    world.api.add_pod("late", node="n0", index="0")


async def marked(**more: Any) -> World:
    world = await World(machines=1, **more).start()
    await world.step()
    await world.step(600)
    assert world.state("n0") is State.MARKED
    return world


@in_a_loop
async def test_a_node_that_only_seems_empty_is_not_even_marked_and_takes_no_part_of_the_rate() -> None:
    world = World(machines=2, per_hour=1)
    await world.start()
    await world.step()
    world.silent = True
    bind_late(world)
    await world.step(600)
    assert (world.api.patches, told(world)[0].partition(":")[0]) == ([], "stays awake")
    await world.until("n1", State.ASLEEP, 30)
    assert world.is_open("n0")


@pytest.mark.parametrize("state", [State.AWAKE, State.MARKED, State.DRAINING])
def test_a_pod_bound_in_silence_is_never_switched_off(state: State) -> None:
    async def test() -> None:
        world = await World(machines=1).start()
        await world.step()
        world.silent = True
        if state is not State.AWAKE:
            await world.step(600)
            await world.until("n0", state)
        bind_late(world)
        await world.step(600)
        await world.step(times=20)
        assert (world.state("n0"), world.machines.orders) == (State.AWAKE, [])
        assert world.is_open("n0")
        (words,) = told(world)
        assert f"pod {WORKLOAD} is on it" in words
        await world.step(times=300)
        assert len(told(world)) == 1  # it rests: it is not marked and opened again without end
        world.check()

    in_a_loop(test)()


def test_a_pod_bound_in_silence_is_not_switched_off_however_long_the_silence_lasts() -> None:
    async def test() -> None:
        world = await World(machines=1, idle="1m").start()
        await world.step()
        world.silent = True
        bind_late(world)
        await world.step(10, times=720)
        assert world.machines.orders == []
        assert 2 <= len(told(world)) <= 2 * 6  # within two hours: it rests ten minutes each time

    in_a_loop(test)()


@in_a_loop
async def test_a_pod_bound_after_the_record_says_off_and_before_the_order_opens_the_node() -> None:
    world = await World(machines=1).start()
    await world.step()
    world.machines.before_off = lambda: bind_late(world)  # while the switch asks the BMC for its system
    await world.step(600)
    await world.step(times=20)
    assert (world.state("n0"), world.machines.orders) == (State.AWAKE, [])
    assert WORKLOAD in told(world)[0]
    world.check()


@in_a_loop
async def test_a_pod_bound_between_two_orders_is_not_ordered_off_again_and_wakes_the_node() -> None:
    """The first order is on its way and cannot be taken back; the machine follows at last."""
    world = await World(machines=1).start_slow()
    world.machines.changing.clear()  # it says that it is on, as if there had been no order
    world.silent = True
    bind_late(world)
    await world.step(times=100)
    assert world.machines.orders == [("off", "n0")]
    remembered = world.record("n0")
    assert remembered is not None
    assert f"pod {WORKLOAD} is on it" in remembered.wake
    world.end_slow()
    await world.until("n0", State.AWAKE)
    assert world.machines.on["n0"]


@in_a_loop
async def test_a_machine_that_does_not_follow_and_has_a_pod_by_now_is_opened_again_and_not_given_up() -> None:
    world = World(machines=1, shutdown_timeout="2m")
    world.machines.stuck.add("n0")
    await world.start()
    await world.step()
    await world.step(600)
    await world.until("n0", State.TURNING_OFF)
    world.silent = True
    bind_late(world)
    await world.until("n0", State.TURNING_ON, 130)
    assert world.machines.orders == [("off", "n0"), ("on", "n0")]
    await world.step(times=5)
    assert world.state("n0") is not State.AWAKE  # that it looks Ready proves nothing while it may still go off
    world.api.nodes["n0"]["status"]["conditions"][0]["lastHeartbeatTime"] = "later"
    world.api.changed("n0")
    await world.until("n0", State.AWAKE, 5)
    assert told(world, "WattpackGivenUp") == []


@pytest.mark.parametrize("fault", [ApiError(0, "no answer"), ApiError(403, "pods is forbidden"), ApiError(410, "gone")])
def test_without_a_live_look_no_machine_goes_off_and_people_are_told(fault: ApiError) -> None:
    async def test() -> None:
        world = await marked(drain_timeout="2m")
        world.api.live_fault = fault
        await world.until("n0", State.DRAINING)
        await world.step(times=60)
        assert (world.state("n0"), world.machines.orders) == (State.DRAINING, [])
        (words,) = told(world)
        assert f"what is on it cannot be read: {fault}" in words
        await world.until("n0", State.AWAKE, 100)
        assert world.machines.orders == []
        await world.step(1200, times=5)
        assert world.is_open("n0")  # nor is it marked again
        world.api.live_fault = None
        await world.until("n0", State.ASLEEP)

    in_a_loop(test)()


@pytest.mark.parametrize(
    "answer",
    [
        b"{}",
        b"",
        b"<html>",
        b'{"kind": "Status", "metadata": {}, "items": []}',
        b'{"kind": "PodList", "metadata": {}, "items": []}',
        b'{"kind": "PodList", "items": []}',
        b'{"kind": "PodList", "metadata": {"resourceVersion": "7"}}',
        b"\xff",
        b"[" * 5000,
    ],
)
def test_an_answer_that_is_no_list_of_pods_is_not_taken_for_an_empty_one(answer: bytes) -> None:
    async def test() -> None:
        world = await marked()
        world.api.live_answer = answer
        await world.step(times=60)
        assert (world.state("n0"), world.machines.orders) == (State.DRAINING, [])

    in_a_loop(test)()


@in_a_loop
async def test_the_answer_fails_right_before_the_order_and_the_order_is_tried_again_later() -> None:
    world = await World(machines=1).start()
    await world.step()

    def fail() -> None:
        world.api.live_fault = ApiError(0, "no answer")

    world.machines.before_off = fail
    await world.step(600)
    await world.until("n0", State.TURNING_OFF)
    await world.step(times=40)
    assert (world.state("n0"), world.machines.orders) == (State.TURNING_OFF, [])
    world.machines.before_off, world.api.live_fault = lambda: None, None
    await world.until("n0", State.ASLEEP, 40)


@in_a_loop
async def test_a_pod_that_cannot_be_read_keeps_its_node_on() -> None:
    world = await marked()
    world.silent = True
    bind_late(world)
    world.api.pods["late"]["metadata"]["labels"] = {"odd": 1}
    await world.step(times=20)
    assert (world.state("n0"), world.machines.orders) == (State.AWAKE, [])
    assert f"pod {WORKLOAD}, which cannot be read, is on it" in told(world)[0]


@in_a_loop
async def test_a_pod_whose_amounts_cannot_be_read_keeps_its_node_awake() -> None:
    """The watch shows it, but nothing can be counted for it."""
    world = await World(machines=1).start()
    await world.step()
    bind_late(world)
    world.api.pods["late"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "lots"
    await world.step(600, times=3)
    assert (world.state("n0"), world.machines.orders) == (State.AWAKE, [])
    assert world.api.patches == []


@in_a_loop
async def test_what_belongs_to_the_node_and_what_has_finished_does_not_keep_it_on() -> None:
    world = await World(machines=1).start()
    for name, change in {
        "daemon": {"ownerReferences": [{"kind": "DaemonSet"}]},
        "static": {"annotations": {"kubernetes.io/config.mirror": "x"}},
        "done": {},
    }.items():
        world.api.add_pod(name, milli=0, count=0, node="n0")
        world.api.pods[name]["metadata"] |= change
    world.api.pods["done"]["status"]["phase"] = "Succeeded"
    world.api.add_claim("monitor", "n0", "uid-daemon")
    await world.step()
    await world.step(600)
    await world.until("n0", State.ASLEEP)


@pytest.mark.parametrize("consumers", [("uid-on-its-way",), (), ("uid-daemon", "uid-on-its-way")])
def test_devices_allocated_to_a_pod_that_is_not_bound_yet_keep_the_machine_on(consumers: tuple[str, ...]) -> None:
    """No pod is on the node, and the service does not watch claims: a scheduler writes the claim before it binds."""

    async def test() -> None:
        world = await marked()
        world.api.add_pod("daemon", milli=0, count=0, node="n0")
        world.api.pods["daemon"]["metadata"]["ownerReferences"] = [{"kind": "DaemonSet"}]
        world.api.add_claim("two-nics", "n0", *consumers)
        await world.step(times=20)
        assert (world.state("n0"), world.machines.orders) == (State.AWAKE, [])
        assert "resource claim default/two-nics holds devices of it" in told(world)[0]

    in_a_loop(test)()


@in_a_loop
async def test_a_claim_that_cannot_be_read_and_names_the_node_keeps_the_machine_on() -> None:
    world = await marked()
    world.api.add_claim("odd", "n0")
    world.api.claims[0]["status"]["reservedFor"] = 7
    await world.step(times=20)
    assert (world.state("n0"), world.machines.orders) == (State.AWAKE, [])
    assert "resource claim default/odd, which cannot be read, names it" in told(world)[0]


@in_a_loop
async def test_claims_of_other_nodes_and_devices_that_many_nodes_reach_keep_no_machine_on() -> None:
    world = await World(machines=1).start()
    world.api.add_claim("elsewhere", "n1", "uid-a")
    world.api.add_claim("n0", "n1", "uid-b")  # its own name is that of the node
    world.api.add_claim("shared", "n1", "uid-c")
    world.api.claims[-1]["status"]["allocation"]["nodeSelector"] = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["n0", "b"]}]}]
    }
    await world.step()
    await world.step(600)
    await world.until("n0", State.ASLEEP)


@pytest.mark.parametrize(("versions", "sleeps"), [([], True), (["v1beta1"], False), (["v1alpha3", "v1beta2"], False)])
def test_claims_are_read_in_the_version_that_is_served_and_may_not_exist(versions: list[str], sleeps: bool) -> None:
    async def test() -> None:
        world = await marked()
        world.api.claim_versions = versions
        world.api.add_claim("one", "n0", "uid-on-its-way")
        await world.step(times=20)
        assert (world.state("n0") is State.ASLEEP) is sleeps

    in_a_loop(test)()


@in_a_loop
async def test_all_pages_of_the_lists_are_read() -> None:
    world = await marked()
    world.silent, world.api.page = True, 1
    for i in range(3):
        world.api.add_pod(f"daemon-{i}", milli=0, count=0, node="n0")
        world.api.pods[f"daemon-{i}"]["metadata"]["ownerReferences"] = [{"kind": "DaemonSet"}]
    bind_late(world)  # on the last page
    await world.step(times=20)
    assert (world.state("n0"), world.machines.orders) == (State.AWAKE, [])


# ---- the time in which a scheduler may still bind


@in_a_loop
async def test_a_machine_stays_on_for_the_time_in_which_a_scheduler_may_still_bind_what_it_had_assumed() -> None:
    """kube-scheduler assumed the pod before the taint, and waits 9 minutes for its volume before it binds it."""
    world = await World(machines=1, binding_timeout=SleepConfig().binding_timeout).start()
    await world.step()
    await world.step(600)
    assert world.state("n0") is State.MARKED
    world.silent = True
    await world.step(times=540)
    assert world.machines.orders == []
    bind_late(world)
    await world.step(times=120)
    assert (world.state("n0"), world.machines.orders) == (State.AWAKE, [])


@in_a_loop
async def test_a_restart_between_the_taint_and_off_waits_for_the_whole_time_again() -> None:
    world = World(machines=1, binding_timeout="5m")
    await world.start()
    await world.step()
    await world.step(600)
    await world.step(times=290)
    await world.start()
    await world.step(times=290)
    assert (world.state("n0"), world.machines.orders) == (State.MARKED, [])
    await world.until("n0", State.ASLEEP, 30)


@pytest.mark.parametrize("jump_s", [-90_000.0, 90_000.0])
def test_a_jump_of_the_wall_clock_does_not_shorten_the_time(jump_s: float) -> None:
    async def test() -> None:
        world = await marked(binding_timeout="5m")
        world.wall_s += jump_s
        await world.step(times=290)
        assert (world.state("n0"), world.machines.orders) == (State.MARKED, [])

    in_a_loop(test)()


@in_a_loop
async def test_nodes_that_only_wait_for_that_time_do_not_keep_others_from_waking() -> None:
    """All slots are taken by marked nodes: one of them goes back, and the node that is needed wakes."""
    world = await World(machines=4, at_most=2, binding_timeout="10m").start()
    await world.step()
    await world.step(600)
    await world.until("n3", State.MARKED)
    assert world.states() == [State.ASLEEP, State.ASLEEP, State.MARKED, State.MARKED]
    world.api.annotate("n0", "wattpack.io/sleep-ask", "wake")
    await world.until("n0", State.AWAKE, 10)
    assert world.states().count(State.MARKED) == 1


@in_a_loop
async def test_nodes_that_cannot_be_looked_at_any_more_do_not_keep_others_from_waking() -> None:
    world = await World(machines=3, at_most=1, drain_timeout="1h").start()
    await world.step()
    await world.step(600)
    await world.until("n0", State.ASLEEP)
    await world.until("n1", State.MARKED)
    world.api.live_fault = ApiError(403, "resourceclaims is forbidden")
    await world.until("n1", State.DRAINING)
    world.api.annotate("n0", "wattpack.io/sleep-ask", "wake")
    await world.until("n0", State.AWAKE, 10)
    assert world.is_open("n1")


@in_a_loop
async def test_without_the_right_to_list_claims_no_node_is_marked_and_it_is_told_once_in_ten_minutes() -> None:
    world = await World(machines=1).start()
    world.api.live_fault = ApiError(403, "resourceclaims is forbidden")
    await world.step()
    await world.step(600)
    await world.step(times=550)
    assert (world.api.patches, world.machines.orders) == ([], [])
    (words,) = told(world)
    assert "resourceclaims is forbidden" in words


# ---- two that act


@in_a_loop
async def test_the_lease_goes_while_the_pods_are_read_and_no_order_leaves() -> None:
    world = World(machines=1)
    await world.start("one", lease=LeaseConfig(duration_s=1))
    await world.step()
    await world.step(600)
    world.api.before_live = lambda: setattr(world.service.lease, "until_s", 0.0)
    lose: Callable[[], Any] = world.api.before_live
    world.api.before_live = lambda: None
    await world.until("n0", State.DRAINING)
    world.machines.before_off = lambda: setattr(world.api, "before_live", lose)
    await world.step(times=3)
    assert (world.state("n0"), world.machines.orders) == (State.TURNING_OFF, [])


@in_a_loop
async def test_a_switch_that_is_slow_sends_nothing_after_the_lease_has_gone_to_another_replica() -> None:
    """The BMC answers when the other replica has opened the node and a pod is on it."""
    world = World(machines=1)
    await world.start("one", lease=LeaseConfig(duration_s=1))
    await world.step()
    await world.step(600)
    await world.until("n0", State.DRAINING)
    world.machines.hangs_s = 30.0
    began_s = time.monotonic()
    await world.step(times=2)  # ends when the lease does, since it is not renewed here
    assert time.monotonic() - began_s < 20.0
    assert (world.state("n0"), world.machines.orders) == (State.TURNING_OFF, [])
    world.machines.hangs_s = 0.0
    await world.start("two")
    bind_late(world)
    await world.step(times=40)
    assert world.machines.orders == []
    world.check()


@in_a_loop
async def test_a_lease_that_is_renewed_meanwhile_lets_a_slow_switch_finish() -> None:
    world = World(machines=1)
    await world.start("one", lease=LeaseConfig(duration_s=1))
    await world.step()
    await world.step(600)
    await world.until("n0", State.DRAINING)
    world.machines.hangs_s = 1.5
    keeping = asyncio.ensure_future(world.service.lease.keep())
    try:
        await world.until("n0", State.ASLEEP, 10)
    finally:
        keeping.cancel()
    assert world.machines.orders == [("off", "n0")]


@in_a_loop
async def test_killed_before_the_order_and_a_pod_bound_meanwhile_the_next_process_sends_no_order() -> None:
    world = await World(machines=1).start()
    world.machines.kill_at = "off"
    with pytest.raises(Killed):
        await world.all_asleep()
    assert world.state("n0") is State.TURNING_OFF
    world.machines.kill_at = ""
    bind_late(world)
    await world.start()
    world.silent = True
    await world.step(times=880)
    assert world.machines.orders == []
    await world.until("n0", State.TURNING_ON, 60)
    world.api.nodes["n0"]["status"]["conditions"][0]["lastHeartbeatTime"] = "later"
    world.api.changed("n0")
    await world.until("n0", State.AWAKE, 5)
    assert ("off", "n0") not in world.machines.orders


@in_a_loop
async def test_a_node_that_another_replica_has_opened_is_not_ordered_off_by_one_that_does_not_know_it() -> None:
    world = await World(machines=1).start()
    await world.step()
    await world.step(600)
    await world.until("n0", State.DRAINING)
    other = await started(world.api, "two", sleep=world.config)
    one = world.service
    world.take(other)
    world.api.annotate("n0", "wattpack.io/sleep-ask", "wake")
    await other.nodes.relist()
    assert other.sleep is not None
    await other.sleep.step(wait=True)
    assert world.is_open("n0")
    assert one.sleep is not None
    for _ in range(20):  # its watches are silent
        world.time_s += 1
        await one.sleep.step(wait=True)
    assert world.machines.orders == []
    assert world.is_open("n0")


@in_a_loop
async def test_a_replica_that_gets_the_lease_back_counts_the_time_from_the_mark_that_is_there_now() -> None:
    """It marked the node itself long ago; another one has opened it, used it, and marked it again just now."""
    world = World(machines=1, binding_timeout="5m")
    await world.start("one", lease=LeaseConfig(duration_s=1))
    await world.step()
    await world.step(600)
    await world.step(times=100)
    assert world.state("n0") is State.MARKED
    one = world.service
    one.lease.until_s = 0.0  # it does not renew it, and does no step
    world.api.lease = None
    await world.start("two")
    world.api.annotate("n0", "wattpack.io/sleep-ask", "wake")
    await world.step(times=2)
    assert world.is_open("n0")
    await world.until("n0", State.MARKED)
    world.service = one
    world.api.lease = None  # the other one has gone
    one.lease.tried_s = float("-inf")  # no matter when it last asked for the lease
    await world.step(times=200)
    assert one.sleep is not None
    assert one.sleep.acting
    assert (world.state("n0"), world.machines.orders) == (State.MARKED, [])


@in_a_loop
async def test_a_node_that_another_one_has_marked_again_while_this_one_stood_still_waits_for_the_whole_time() -> None:
    """As if the process had been stopped: it never saw that the lease was gone."""
    world = await marked(binding_timeout="5m")
    one = world.service
    await world.start("two")
    world.api.annotate("n0", "wattpack.io/sleep-ask", "wake")
    await world.step(times=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "now_text", lambda: "2026-01-05T10:00:00Z")  # later than the first mark
        await world.until("n0", State.MARKED)
    world.service = one
    await world.step(times=200)
    assert (world.state("n0"), world.machines.orders) == (State.MARKED, [])


@in_a_loop
async def test_under_the_label_that_stops_it_no_order_to_switch_off_is_repeated() -> None:
    world = World(machines=1)
    world.machines.stuck.add("n0")
    await world.start()
    await world.step()
    await world.step(600)
    await world.until("n0", State.TURNING_OFF)
    world.api.labels["wattpack.io/sleep"] = "off"
    await world.step(times=100)
    assert world.machines.orders == [("off", "n0")]


# ---- what is written down


def test_each_power_order_is_logged_with_its_reason_and_the_versions_it_is_based_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        world = await (await World(machines=1).start()).all_asleep()
        world.api.annotate("n0", "wattpack.io/sleep-ask", "wake")
        await world.until("n0", State.AWAKE)

    caplog.set_level("INFO", "wattpack")
    in_a_loop(test)()
    lines = [line.getMessage() for line in caplog.records if "power o" in line.getMessage()]
    off, on = lines
    assert off.startswith("sleep: power off n0: empty for 10m; 0 pods of its own; read live: pods at ")
    assert "resource claims at " in off
    assert off.rpartition("Node at ")[2].isdecimal()
    assert on.startswith("sleep: power on n0: asked for by a person; Node at ")


@in_a_loop
async def test_a_dry_run_says_what_a_live_look_finds_on_the_nodes_that_it_would_switch_off() -> None:
    world = await World(machines=2).start()
    bind_late(world)
    lines = await looked_at(world.api, ["n0", "n1"])
    version = str(world.api.version)
    head = "  a live look at these nodes, as before each power order:"
    assert lines == [
        head,
        f"    n0 would stay on: pod {WORKLOAD} is on it; read live: pods at {version}, resource claims at {version}",
        f"    n1: 0 pods of its own; read live: pods at {version}, resource claims at {version}",
    ]
    world.api.live_fault = ApiError(403, "forbidden")
    unread = "    n0 would stay on: what is on it cannot be read: 403: forbidden"
    assert await looked_at(world.api, ["n0"]) == [head, unread]
    assert await looked_at(world.api, []) == []
