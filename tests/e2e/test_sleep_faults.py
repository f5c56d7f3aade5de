"""Nodes that sleep, on real parts, with one fault each. After each, nothing is tainted or off without a record on the
Node that says why and how to undo it (`SleepScene.settle`).

One control plane for the whole file. Faults that need a clock or a moment that real parts do not give:
tests/kube/sleep/.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.api import wait_until
from e2e.chaos import Rule
from e2e.cluster import Cluster
from e2e.nodes_and_pods import pod_object
from e2e.pod_watch import PODS
from e2e.sleep_scene import HALF, WHOLE, SleepScene, unexplained

pytestmark = pytest.mark.e2e
JUMPING_CLOCK = Path(__file__).parent / "jumping_clock.py"
NODE_PATCH = r"^/api/v1/nodes/[^/]+$"


@pytest.fixture(scope="module")
def cluster(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(binaries, tmp_path_factory.mktemp("sleep")) as started:
        yield started


def events_on(scene: SleepScene, name: str) -> list[str]:
    events = scene.api.list("/api/v1/namespaces/default/events")
    return [f"{event['reason']}: {event['message']}" for event in events if event["involvedObject"]["name"] == name]


def told_of(scene: SleepScene, pod: str) -> str:
    """What `wattpack explain --live` prints."""
    command = [sys.executable, "-m", "wattpack", "explain", "--live", f"default/{pod}", "--server", scene.service.url]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout


def test_a_waiting_pod_is_promised_a_node_that_wakes_for_it(cluster: Cluster) -> None:
    with SleepScene(cluster, "wake") as scene:
        scene.service.start()
        scene.start_scheduler()
        scene.all_asleep()
        assert scene.service.get("/sleep")["saved_w"] > 0
        scene.kubelets.boot_s = 20.0  # time to look while the pod waits: two commands, on a busy machine
        scene.create_pod("one")
        wait_until(lambda: "promised" in told_of(scene, "one"), 20, "explain --live names the node promised")
        told = told_of(scene, "one")
        assert "one" not in scene.watch.bound_at
        scene.wait_bound("one")
        node = scene.api.get(f"{PODS}/one")["spec"]["nodeName"]
        promised = f"promised {node} GPU 0-1-2-3"
        assert promised in told
        wait_until(
            lambda: any(promised in words for words in events_on(scene, "one")), 20, "the pod's event names its node"
        )
        assert scene.emulator.power(node) == "On"
        assert sorted(scene.states().values()) == ["asleep", "asleep", "awake"]
        assert not scene.node(node)["spec"].get("unschedulable")
        scene.settle()


def test_advice_changes_nothing(cluster: Cluster) -> None:
    with SleepScene(cluster, "advise", mode="advise") as scene:
        scene.service.start()
        wait_until(
            lambda: [row["would_sleep"] for row in scene.service.get("/sleep")["nodes"]] == [True] * 3, 30, "advice"
        )
        assert scene.service.get("/sleep")["would_save_w"] > 0
        assert scene.service.metrics()["wattpack_sleep_would_nodes"] == 3
        wait_until(lambda: events_on(scene, scene.nodes[0]), 20, "an event tells of the node that would sleep")
        assert "WattpackWouldSleep" in events_on(scene, scene.nodes[0])[0]
        assert scene.states() == dict.fromkeys(scene.nodes, "awake")
        assert not [path for method, path in scene.behind.requests if method == "PATCH" and "/nodes/" in path]
        scene.settle()


def test_a_service_killed_after_every_step_and_restarted_goes_on_from_the_node(cluster: Cluster) -> None:
    """It dies when the Node is written and before the switch is asked: marked, draining, off, asleep, on, waking."""
    with SleepScene(cluster, "killed", nodes=1) as scene:
        scene.start_scheduler()
        (node,) = scene.nodes
        seen: list[str] = []

        def kill_in_a_new_state(path: str) -> None:
            record = scene.record(node)
            state = record["state"] if record else "awake"
            if state not in seen and scene.service.alive:
                scene.service.kill()
                seen.append(state)

        scene.behind.add(Rule("PATCH", NODE_PATCH, after=kill_in_a_new_state))
        while "awake" not in seen:
            count = len(seen)
            scene.service.start(wait=False)
            if seen[-1:] == ["asleep"]:
                scene.create_pod("one")
            wait_until(lambda count=count: len(seen) > count, 90, f"the next step after {seen}\n{scene.service.log}")
            assert unexplained(scene.api, scene.emulator) == []
        assert seen[:5] == ["marked", "draining", "turning off", "asleep", "turning on"]
        scene.service.start()
        scene.wait_bound("one")
        assert scene.emulator.power(node) == "On"
        scene.settle()


def test_when_the_replica_that_acts_dies_the_other_goes_on(cluster: Cluster) -> None:
    with SleepScene(cluster, "replicas") as scene:
        _, other = scene.second_replica()
        scene.service.start()
        other.start()
        scene.all_asleep()
        scene.service.kill()
        scene.cluster.start_scheduler("replicas-b", extender_url=other.url)
        try:
            scene.create_pod("one")
            scene.wait_bound("one")
            assert other.get("/sleep")["acting"] is True
            scene.settle()
        finally:
            scene.processes.end("replicas-b")


def test_after_a_restart_of_the_api_server_the_service_goes_on_and_a_node_wakes(cluster: Cluster) -> None:
    with SleepScene(cluster, "no-api") as scene:
        scene.service.start()
        scene.start_scheduler()
        scene.all_asleep()
        cluster.restart_apiserver()
        assert scene.service.alive, scene.service.log
        scene.create_pod("one")
        scene.wait_bound("one")
        scene.settle()


def test_while_the_bmcs_are_away_the_record_stays_and_then_the_node_wakes(cluster: Cluster) -> None:
    with SleepScene(cluster, "no-bmc", nodes=1) as scene:
        scene.service.start()
        scene.start_scheduler()
        scene.all_asleep()
        scene.emulator.kill()
        scene.create_pod("one")
        scene.wait_states({"turning on": 1})
        assert unexplained(scene.api) == []
        wait_until(lambda: "no answer" in scene.service.log, 20, "the log says that the BMC is away")
        scene.emulator.start()
        scene.wait_bound("one")
        scene.settle()


def test_a_node_that_never_wakes_is_given_up_and_another_one_wakes(cluster: Cluster) -> None:
    with SleepScene(cluster, "broken", nodes=2, wake_timeout="8s") as scene:
        scene.service.start()
        scene.start_scheduler()
        scene.all_asleep()
        scene.kubelets.broken.add(scene.nodes[0])
        scene.create_pod("one")
        scene.wait_bound("one")
        assert scene.api.get(f"{PODS}/one")["spec"]["nodeName"] == scene.nodes[1]
        record = scene.record(scene.nodes[0])
        assert record is not None
        assert record["state"] == "given up"
        wait_until(
            lambda: any("given up" in words for words in events_on(scene, scene.nodes[0])), 20, "people are told"
        )
        scene.settle()


def test_a_pod_that_comes_while_the_machine_shuts_down_is_bound_after_the_wake(cluster: Cluster) -> None:
    with SleepScene(cluster, "late-pod", nodes=1, delay_s=4.0) as scene:
        scene.service.start()
        scene.start_scheduler()
        scene.wait_states({"turning off": 1})
        scene.create_pod("one")
        scene.wait_bound("one")
        assert scene.emulator.power(scene.nodes[0]) == "On"
        scene.settle()


def bind_directly(scene: SleepScene, pod: str, node: str) -> None:
    """As somebody does who asks no scheduler: taint and cordon do not keep it off."""
    scene.create_pod(pod, HALF)
    binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": node}}
    binding["metadata"] = {"name": pod, "annotations": {"alibabacloud.com/gpu-index": "0"}}
    scene.api.create(f"{PODS}/{pod}/binding", binding)


def kept_on(scene: SleepScene, node: str) -> str:
    """What the node's event says that keeps its machine on."""
    reason = "WattpackNotSwitchedOff: "
    wait_until(
        lambda: any(words.startswith(reason) for words in events_on(scene, node)), 60, f"told\n{scene.service.log}"
    )
    return next(words for words in events_on(scene, node) if words.startswith(reason))


def test_a_pod_that_the_watch_does_not_show_keeps_its_machine_on(cluster: Cluster) -> None:
    with SleepScene(cluster, "silent", nodes=1) as scene:
        hidden = Rule("GET", r"^/api/v1/pods\?.*watch", lines=lambda line: () if b'"hidden"' in line else (line,))
        scene.behind.add(hidden)
        scene.service.start()
        scene.wait_states({"marked": 1})
        (node,) = scene.nodes
        bind_directly(scene, "hidden", node)
        assert "pod default/hidden is on it; read live: pods at " in kept_on(scene, node)
        scene.wait_states({"awake": 1})
        assert "power off" not in scene.service.log
        assert scene.emulator.power(node) == "On"
        assert not scene.node(node)["spec"].get("unschedulable")
        scene.settle()


def test_a_pod_bound_between_the_record_and_the_order_keeps_its_machine_on(cluster: Cluster) -> None:
    with SleepScene(cluster, "last-moment", nodes=1) as scene:
        (node,) = scene.nodes

        def bind_in_the_last_moment(path: str) -> None:
            record = scene.record(node)
            if record is not None and record["state"] == "turning off" and not scene.api.list(PODS):
                bind_directly(scene, "late", node)

        scene.behind.add(Rule("PATCH", NODE_PATCH, after=bind_in_the_last_moment))
        scene.service.start()
        assert "pod default/late is on it" in kept_on(scene, node)
        scene.wait_states({"awake": 1})
        assert scene.emulator.power(node) == "On"
        assert "power off" not in scene.service.log
        scene.settle()


def test_devices_allocated_on_a_node_for_a_pod_on_its_way_keep_its_machine_on(cluster: Cluster) -> None:
    with SleepScene(cluster, "claim", nodes=1) as scene:
        (node,) = scene.nodes
        path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
        claim: dict[str, object] = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
        request = {"name": "nic", "exactly": {"deviceClassName": "nic.example"}}
        claim |= {"metadata": {"name": "nic"}, "spec": {"devices": {"requests": [request]}}}
        scene.api.create(path, claim)
        try:
            wish = {"key": "metadata.name", "operator": "In", "values": [node]}
            result = {"request": "nic", "driver": "nic.example", "pool": "rack", "device": "nic-0"}
            allocation = {
                "devices": {"results": [result]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [wish]}]},
            }
            scene.api.patch(f"{path}/nic/status", {"status": {"allocation": allocation}})
            scene.service.start()
            assert "resource claim default/nic holds devices of it" in kept_on(scene, node)
            scene.wait_states({"awake": 1})
            assert scene.emulator.power(node) == "On"
            scene.settle()
        finally:
            scene.api.patch(f"{path}/nic/status", {"status": {"allocation": None}})
            scene.api.delete(f"{path}/nic")


def test_a_waiting_pod_of_another_scheduler_wakes_no_machine(cluster: Cluster) -> None:
    with SleepScene(cluster, "theirs", nodes=1) as scene:
        scene.service.start()
        scene.all_asleep()
        pod = pod_object("theirs", WHOLE, "default-scheduler")
        scene.api.create(PODS, pod)
        waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        scene.api.patch(f"{PODS}/theirs/status", {"status": {"conditions": [waits]}}, "strategic")
        time.sleep(8)  # several looks
        scene.wait_states({"asleep": 1}, 0)
        assert "power on" not in scene.service.log
        scene.settle()


def test_a_budget_that_refuses_evictions_keeps_the_pods_and_the_node(cluster: Cluster) -> None:
    """Without a controller of budgets none allows anything, which is what a strict one says."""
    with SleepScene(cluster, "budget", nodes=2, consolidate=True, drain_timeout="6s") as scene:
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "strict"}}
        budget["spec"] = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "kept"}}}
        path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
        scene.api.create(path, budget)
        try:
            for node in scene.nodes:  # one half pod on each: together they fit on one node
                pod = f"{node}-pod"
                scene.create_pod(pod, HALF, **{"wattpack.io/may-move": "true"})
                scene.api.patch(f"{PODS}/{pod}", {"metadata": {"labels": {"app": "kept"}}})
                binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": node}}
                binding["metadata"] = {"name": pod, "annotations": {"alibabacloud.com/gpu-index": "0"}}
                scene.api.create(f"{PODS}/{pod}/binding", binding)
                # Budgets protect pods that run, not those that wait.
                running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
                scene.api.patch(f"{PODS}/{pod}/status", {"status": running}, "strategic")
            scene.service.start()
            asked = lambda: [path for method, path in scene.behind.requests if path.endswith("/eviction")]  # noqa: E731
            wait_until(asked, 40, f"an eviction is asked for\n{scene.service.log}")
            scene.wait_states({"awake": 2})
            assert len(scene.api.list(PODS)) == 2
            scene.settle()
        finally:
            scene.api.delete(f"{path}/strict")


def test_a_wall_clock_that_jumps_by_days_changes_nothing(cluster: Cluster) -> None:
    """Every 3 s it is a day ahead, then a day behind: two nodes sleep, one wakes for a pod, the rate is kept."""
    with SleepScene(cluster, "clock", nodes=3, per_hour=2) as scene:
        scene.service.program = ["-P", JUMPING_CLOCK]
        scene.service.start()
        scene.start_scheduler()
        scene.wait_states({"asleep": 2, "awake": 1})
        for pod in ("one", "two"):
            scene.create_pod(pod)
        scene.wait_bound("one", "two")
        for pod in ("one", "two"):
            scene.api.delete(f"{PODS}/{pod}")
        time.sleep(8)  # longer than idle and the way to the mark
        scene.wait_states({"asleep": 1, "awake": 2}, 0)
        assert scene.service.log.count("the wall clock jumps") >= 2, scene.service.log
        scene.settle()


def test_a_node_that_a_person_uncordons_is_left_alone_until_told(cluster: Cluster) -> None:
    with SleepScene(cluster, "person", nodes=2) as scene:
        scene.service.start()
        scene.all_asleep()
        node = scene.nodes[0]
        scene.api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": False}})
        scene.wait_states({"left alone": 1})
        record = scene.record(node)
        assert record is not None
        assert "by hand" in record["why"]
        assert node in record["undo"]
        assert scene.emulator.power(node) == "Off"
        scene.settle()


def test_the_kill_switch_stops_new_sleep_and_pods_still_wake_nodes(cluster: Cluster) -> None:
    with SleepScene(cluster, "kill", nodes=2) as scene:
        namespace = "/api/v1/namespaces/kube-system"
        scene.service.start()
        scene.start_scheduler()
        scene.all_asleep()
        scene.api.patch(namespace, {"metadata": {"labels": {"wattpack.io/sleep": "off"}}})
        try:
            wait_until(lambda: scene.service.get("/sleep")["stopped"], 20, "the label is seen")
            scene.create_pod("one", WHOLE)
            scene.wait_bound("one")
            scene.api.delete(f"{PODS}/one")
            time.sleep(5)  # longer than idle and a few looks
            scene.wait_states({"awake": 1, "asleep": 1}, 0)
            scene.settle()
        finally:
            scene.api.patch(namespace, {"metadata": {"labels": {"wattpack.io/sleep": None}}})
