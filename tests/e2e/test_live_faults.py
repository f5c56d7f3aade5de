"""Faults, each with pods flowing, each ending with all pods bound, none twice, and no GPU over 1000 milli.

One control plane for the whole file. Where a moment matters, a proxy makes it exact; see chaos.py. What is asserted at
the end of each (`Scene.settle`) is read from the apiserver alone, and then compared with what the service counts.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.api import wait_until
from e2e.audit import gpus_allocated, placements
from e2e.chaos import Rule
from e2e.cluster import Cluster
from e2e.nodes_and_pods import GPU_INDEX, node_object
from e2e.pod_watch import PODS
from e2e.scene import LEASE_S, PODS_IN_ALL, Scene

pytestmark = pytest.mark.e2e

BINDING = r"/pods/[^/]+/binding\?"
WATCH_PODS = r"^/api/v1/pods\?.*watch=(1|true)"
GONE = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}


@pytest.fixture(scope="module")
def cluster(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(binaries, tmp_path_factory.mktemp("faults")) as started:
        yield started


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_service_killed_between_filter_and_bind_loses_and_doubles_nothing(cluster: Cluster, moment: str) -> None:
    """`before`: it never hears of the bind. `after`: the Binding is made, and kube-scheduler never hears of it."""
    with Scene(cluster, f"bind-{moment}") as scene:
        scene.start_scheduler()
        flow = scene.flow()
        scene.kill_service(scene.before, "POST", "/bind$", moment, times=3)
        scene.settle(flow)


def test_a_service_killed_between_binding_and_its_answer_loses_and_doubles_nothing(cluster: Cluster) -> None:
    with Scene(cluster, "binding") as scene:
        scene.start_scheduler()
        flow = scene.flow()
        scene.kill_service(scene.behind, "POST", BINDING, "after", times=3)
        scene.settle(flow)


def test_answers_to_bindings_that_get_lost_give_no_gpu_away_twice(cluster: Cluster) -> None:
    """The Binding is made, the service is told of a broken connection and lives on."""
    with Scene(cluster, "lost-answer") as scene:
        scene.behind.add(Rule("POST", BINDING, times=10, skip=5, lose_answer=True))
        scene.start_scheduler()
        scene.settle(scene.flow())


def test_a_service_told_to_end_finishes_what_it_began_and_the_next_goes_on(cluster: Cluster) -> None:
    with Scene(cluster, "term") as scene:
        scene.start_scheduler()
        flow = scene.flow()
        for bound in (30, 70, 110):
            scene.wait_bound(bound)
            assert scene.service.end() == 0, scene.service.log
            scene.service.start()
        scene.settle(flow)


def test_the_apiserver_may_be_killed_and_come_back(cluster: Cluster) -> None:
    with Scene(cluster, "apiserver") as scene:
        scene.survive_apiserver()


def test_watches_that_break_off_are_taken_up_again(cluster: Cluster) -> None:
    with Scene(cluster, "watch-drop") as scene:
        scene.start_scheduler()
        flow = scene.flow()
        dropped = 0
        for bound in range(20, 140, 20):
            scene.wait_bound(bound)
            dropped += scene.behind.drop_streams()
        assert dropped >= 6
        scene.settle(flow)
        restarts = [value for name, value in scene.service.metrics().items() if "wattpack_watch_restarts_total" in name]
        assert sum(restarts) > 0


@pytest.mark.parametrize("form", ["status", "event"])
def test_a_watch_that_is_too_old_is_listed_afresh(cluster: Cluster, form: str) -> None:
    """410 comes in two forms: as the answer to the watch, and as an ERROR event inside of it."""
    with Scene(cluster, f"gone-{form}") as scene:
        scene.start_scheduler()
        flow = scene.flow()
        scene.wait_bound(30)
        lists_before = len(
            [path for method, path in scene.behind.requests if "watch=" not in path and "/pods?" in path]
        )
        if form == "status":
            rule = Rule("GET", r"watch=(1|true)", times=4, answer=(410, json.dumps(GONE).encode()))
        else:
            line = json.dumps({"type": "ERROR", "object": GONE}).encode() + b"\n"
            rule = Rule("GET", r"watch=(1|true)", times=4, answer=(200, line))
        scene.behind.add(rule)
        scene.behind.drop_streams()
        assert rule.spent.wait(60)
        scene.settle(flow)
        lists = [
            path for method, path in scene.behind.requests if "watch=" not in path and path.startswith("/api/v1/pods")
        ]
        assert len(lists) > lists_before


def test_when_the_leader_dies_the_other_replica_takes_over(cluster: Cluster) -> None:
    with Scene(cluster, "leader") as scene:
        first, other = scene.two_replicas()
        flow = scene.flow()
        scene.wait_bound(40)
        scene.processes.kill(first)
        scene.service.kill()
        scene.settle(flow, service=other)
        assert other.metrics()["wattpack_leader"] == 1


def test_a_leader_cut_off_from_the_apiserver_decides_no_more(cluster: Cluster) -> None:
    """Its kube-scheduler still asks it. Two deciding at once would give GPUs out twice."""
    with Scene(cluster, "cut") as scene:
        _, other, other_before = scene.second_replica()
        other.start()
        first = scene.start_scheduler("a")
        flow = scene.flow()
        scene.wait_bound(40)
        scene.behind.cut = True
        scene.behind.drop_streams()
        time.sleep(LEASE_S + 1)
        pod = {"metadata": {"name": "p", "namespace": "default", "uid": "u"}, "spec": {"containers": []}}
        assert scene.service.filter(pod, ["n000"])["Error"] != ""
        second = scene.start_scheduler("b", url=other_before.url)
        scene.wait_bound(80)
        scene.behind.cut = False  # back again: the first must see that it is no leader any more
        scene.settle(flow, service=other)
        assert scene.processes.alive(first)
        assert scene.processes.alive(second)


def test_a_pod_that_somebody_else_binds_first_is_left_where_it_is(cluster: Cluster) -> None:
    """The Binding is answered with a real 409. The rival's node is one that kube-scheduler never offers."""
    with Scene(cluster, "conflict") as scene:
        rival = node_object("rival", 640000, 2621440, 16, "T4")
        rival["spec"] = {"unschedulable": True}
        cluster.admin.create("/api/v1/nodes", rival)
        taken: list[str] = []

        def bind_first(path: str) -> None:
            name = path.split("/")[-2]
            pod = cluster.admin.get(f"{PODS}/{name}")
            asked = pod["metadata"].get("annotations") or {}
            count = int(asked.get("alibabacloud.com/gpu-count", 0))
            if asked.get("alibabacloud.com/gpu-card-model") == "V100M16" or len(taken) + count > 16:
                return
            index = [str(gpu) for gpu in range(len(taken), len(taken) + count)]
            taken.extend(index)
            metadata = {"name": name, **({"annotations": {GPU_INDEX: "-".join(index)}} if index else {})}
            target = {"apiVersion": "v1", "kind": "Node", "name": "rival"}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
            cluster.admin.create(f"{PODS}/{name}/binding", binding)

        rule = scene.behind.add(Rule("POST", BINDING, times=10, skip=10, before=bind_first))
        scene.start_scheduler()
        flow = scene.flow()
        assert rule.spent.wait(60)
        scene.settle(flow)
        assert [there.node for there in placements(cluster.admin).values()].count("rival") >= 5


def test_a_node_deleted_with_pods_on_it_takes_no_more_and_comes_back_empty(cluster: Cluster) -> None:
    with Scene(cluster, "node") as scene:
        scene.start_scheduler()
        flow = scene.flow()
        scene.wait_bound(60)
        there = placements(cluster.admin)
        full = max({place.node for place in there.values()}, key=[p.node for p in there.values()].count)
        cluster.admin.delete(f"/api/v1/nodes/{full}")
        scene.wait_bound(100)
        # What the garbage collector of pods would do: pods of a node that has gone are deleted.
        lost = [name for name, place in placements(cluster.admin).items() if place.node == full]
        scene.deleted |= set(lost)
        cluster.admin.delete_many(f"{PODS}/{name}" for name in lost)
        cluster.admin.create("/api/v1/nodes", node_object(full, 64000, 262144, 4, "T4"))
        assert len(lost) > 0
        scene.settle(flow)


def test_pods_deleted_while_pending_leave_nothing_behind(cluster: Cluster) -> None:
    """Every third pod is deleted a moment after it came: before filter, between filter and bind, or just after."""
    with Scene(cluster, "deleted") as scene:
        scene.behind.add(Rule("POST", BINDING, delay_s=0.05))
        scene.start_scheduler()
        flow = scene.flow()

        def delete() -> None:
            for i, name in enumerate(scene.created):
                if i % 3 == 0:
                    path = f"{PODS}/{name}"
                    wait_until(lambda: cluster.admin.request("GET", path)[0] == 200, 60, "it is there", 0.01)  # noqa: B023
                    time.sleep(i % 7 / 100)
                    cluster.admin.delete(path)

        scene.deleted |= {name for i, name in enumerate(scene.created) if i % 3 == 0}
        deleter = threading.Thread(target=delete, daemon=True)
        deleter.start()
        deleter.join(120)
        scene.settle(flow)


def test_events_that_come_late_twice_and_in_the_wrong_order_change_nothing(cluster: Cluster) -> None:
    """Pods are seen half a second after nodes, and after each event of a pod all its older ones come once more."""
    older: dict[str, list[bytes]] = {}

    def stale(line: bytes) -> list[bytes]:
        event = json.loads(line)
        if event["type"] == "BOOKMARK" or "uid" not in event["object"]["metadata"]:
            return [line]
        before = older.setdefault(event["object"]["metadata"]["uid"], [])
        made = [line, *before]
        if event["type"] != "DELETED":
            before.append(line.replace(b'"type":"ADDED"', b'"type":"MODIFIED"', 1))
        return made

    with Scene(cluster, "order") as scene:
        scene.behind.add(Rule("GET", WATCH_PODS, lines=stale, line_delay_s=0.01))
        scene.behind.drop_streams()
        scene.start_scheduler()
        flow = scene.flow()
        scene.wait_bound(80)
        gone = [name for i, name in enumerate(sorted(placements(cluster.admin))) if i % 4 == 0]
        scene.deleted |= set(gone)
        cluster.admin.delete_many(f"{PODS}/{name}" for name in gone)
        scene.settle(flow)
        assert any(len(lines) > 1 for lines in older.values())


def test_a_slow_apiserver_only_makes_it_slow(cluster: Cluster) -> None:
    with Scene(cluster, "slow") as scene:
        scene.behind.add(Rule("*", "", delay_s=0.3))
        scene.start_scheduler()
        scene.settle(scene.flow())


@pytest.mark.parametrize("late_s", [1.5, 3.0])
def test_a_binding_that_is_made_after_the_service_gave_up_waiting_takes_no_gpu_of_another(
    cluster: Cluster, late_s: float
) -> None:
    """The worst of a slow apiserver: what was given up as failed happens after all, before kube-scheduler tries the
    pod again (1.5 s) or after that (3 s). In between other pods come, and would like its room.
    """
    with Scene(cluster, f"late-{round(late_s)}", server={"timeout_s": 1.0}) as scene:
        late = scene.behind.add(Rule("POST", BINDING, times=8, skip=10, delay_s=late_s))
        scene.start_scheduler()
        flow = scene.flow()
        assert late.spent.wait(60)
        time.sleep(4)
        scene.settle(flow)


def test_a_full_cluster_is_filled_to_the_last_gpu_and_no_further(cluster: Cluster) -> None:
    """More is asked for than there is; what fits is placed, the rest waits, and a pod that goes makes room."""
    with Scene(cluster, "full") as scene:
        scene.start_scheduler()
        flow = scene.flow(2 * PODS_IN_ALL)
        flow.join(60)
        wait_until(lambda: gpus_allocated(cluster.admin) > 150, 60, "the cluster is nearly full")
        gone = [name for i, name in enumerate(sorted(placements(cluster.admin))) if i % 2 == 0]
        scene.deleted |= set(gone)
        cluster.admin.delete_many(f"{PODS}/{name}" for name in gone)
        scene.settle(flow)
