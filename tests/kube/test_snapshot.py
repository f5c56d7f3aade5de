"""A cluster at one moment: its tasks in order of arrival, where they are, and what was left out and why."""

from __future__ import annotations

import json
from typing import Any

from kube.cluster import nodes, pods
from kube.made import make_node, make_pod
from wattpack.kube.dialects import DIALECTS
from wattpack.kube.hidden_names import hidden_names
from wattpack.kube.objects import NODE, POD, Condition
from wattpack.kube.reading import Reading
from wattpack.kube.snapshot import Access, Snapshot, take_snapshot

GPU = "nvidia.com/gpu"


def of_cluster() -> Snapshot:
    return take_snapshot(
        [NODE.decode(json.dumps(node)) for node in nodes()], [POD.decode(json.dumps(pod)) for pod in pods()], Reading()
    )


def gpus_by_name(*pods: Any, gpus: int = 4, reading: Reading | None = None) -> dict[str, tuple[int, ...]]:
    found = take_snapshot([make_node("n", gpus=gpus)], pods, reading or Reading())
    return {task.pod.name: task.gpus for task in found.tasks}


def test_nodes_come_by_name_those_with_taints_take_only_tasks_that_tolerate_them() -> None:
    found = of_cluster()
    assert [node.name for node in found.nodes] == ["cpu-1", "gpu-a", "gpu-b", "gpu-t4", "master"]
    assert found.access["master"] == Access(only="named", why="tainted")
    assert found.access["gpu-a"] == Access()
    assert ["node odd"] in found.left_out.values()


def test_what_daemons_take_is_taken_off_their_nodes() -> None:
    """64 vCPU less half of one; 256 GiB less one."""
    found = of_cluster()
    assert (found.nodes[1].cpu_milli, found.nodes[1].memory_mib) == (63_500, 255 * 1024)
    assert found.of_nodes == 5
    assert not any(task.pod.namespace == "kube-system" for task in found.tasks)


def test_tasks_come_in_order_of_arrival_with_seconds_since_the_first() -> None:
    found = of_cluster()
    assert [(task.pod.name, task.created_s) for task in found.tasks] == [
        ("train-1", 0),
        ("train-2", 60),
        ("serve-1", 120),
        ("serve-2", 180),
        ("serve-3", 240),
        ("web-1", 360),
        ("waits", 420),
    ]


def test_everything_left_out_has_a_reason() -> None:
    found = of_cluster()
    left_out = {what: reason for reason, names in found.left_out.items() for what in names}
    assert "pod team/bad" in left_out
    assert "shares of 2 GPUs at once" in left_out["pod team/two-halves"]
    assert left_out["pod team/on-odd"] == "its node is left out or not in the files"
    assert "GPU 0 of its node: not there" in left_out["pod team/serve-4"]
    assert found.finished == 1
    told = (
        sum(map(len, found.left_out.values())) + len(found.tasks) + found.finished + found.of_nodes + len(found.nodes)
    )
    assert told == len(nodes()) + len(pods())


def test_gpus_that_pods_name_are_kept_and_the_others_get_what_is_left_the_largest_first() -> None:
    half = {"alibabacloud.com/gpu-milli": "500"}
    placed = gpus_by_name(
        make_pod("unsaid", node="n", annotations=half),
        make_pod("said", node="n", annotations=half | {"alibabacloud.com/gpu-index": "1"}),
        make_pod("two", node="n", **{GPU: "2"}),
    )
    assert placed == {"said": (1,), "two": (0, 2), "unsaid": (1,)}  # unsaid: the fullest GPU that has room


def test_a_pod_for_which_there_is_no_room_on_its_node_is_left_out() -> None:
    found = take_snapshot(
        [make_node("n", gpus=2, cpu="8")],
        [
            make_pod("a", node="n", **{GPU: "2"}),
            make_pod("b", node="n", **{GPU: "1"}),
            make_pod("c", node="n", cpu="8"),
        ],
        Reading(),
    )
    assert [task.pod.name for task in found.tasks] == ["a"]
    assert found.left_out == {
        "1 GPU x 1000 milli are not free on its node": ["pod team/b"],
        "CPU or memory that its node does not have left": ["pod team/c"],
    }


def test_a_pod_on_a_model_that_it_does_not_allow_is_left_out() -> None:
    pod = make_pod("a", node="n", spec={"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A10"}}, **{GPU: "1"})
    found = take_snapshot([make_node("n", gpus=2)], [pod], Reading())
    assert found.left_out == {"asks for A10 and is on a node with T4": ["pod team/a"]}


def test_memory_of_gpus_is_taken_from_the_cluster_when_the_configuration_does_not_say() -> None:
    """4 GiB of the 15360 MiB of a T4: ceil(4096000 / 15360) = 267 milli."""
    node = make_node("n", gpus=1, labels={"nvidia.com/gpu.memory": "15360"})
    reading = Reading(dialect=DIALECTS["aliyun"])
    found = take_snapshot([node], [make_pod("a", node="n", **{"aliyun.com/gpu-mem": "4"})], reading)
    assert found.tasks[0].pod.task.gpu_milli == 267


def test_hidden_names_are_new_at_every_import_and_never_two_the_same() -> None:
    one, other = hidden_names(), hidden_names()
    names = [f"n{i}" for i in range(2000)]
    hidden = {one("node", name) for name in names}
    assert len(hidden) == len(names)
    assert all(name.startswith("node-") and len(name) == 13 for name in hidden)
    assert one("node", "n0") == one("node", "n0")
    assert one("task", "n0")[5:] != one("node", "n0")[5:]
    assert one("node", "n0") != other("node", "n0")


ALIYUN = {"aliyun.com/gpu-mem": "4"}


def test_pods_on_a_node_that_ask_for_accelerators_we_cannot_count_are_written_down() -> None:
    found = take_snapshot(
        [make_node("n", gpus=4), make_node("bare")],
        [
            make_pod("foreign", node="n", **ALIYUN),
            make_pod("unknown", node="bare", **{"gpu.intel.com/i915": "1"}),
            make_pod("claims", node="n", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}),
            make_pod("twice", node="n", annotations={"alibabacloud.com/gpu-index": "0-7"}, **{GPU: "2"}),
            make_pod("counted", node="n", **{GPU: "1"}),
        ],
        Reading(dialect=DIALECTS["alibaba"]),
    )
    assert sorted(found.not_understood) == [
        ("team/claims", "n", "resource claim gpu"),
        ("team/unknown", "bare", "gpu.intel.com/i915"),
    ]
    held = {task.pod.name: task.gpus for task in found.tasks}
    assert held.pop("counted") == (2,)
    assert held.pop("foreign") == ()  # the kubelet gave out a part of a GPU, in words that are not read
    assert held == {"foreign+gpu0": (3,), "twice+gpu0": (0,), "twice+gpu1": (1,)}
    assert list(found.at_most.values()) == [["team/foreign"]]
    assert found.left_out["GPU 7 of its node: not there, or taken by others already"] == ["pod team/twice"]


def test_pods_that_hold_no_accelerator_of_a_node_in_the_files_are_none_of_those() -> None:
    """Pending, finished, on a node that is left out, an unreadable amount of memory, devices that compute nothing."""
    found = take_snapshot(
        [make_node("n", gpus=4), make_node("odd", gpus=4, model="NVIDIA-GeForce-GTX-1080")],
        [
            make_pod("waits", **ALIYUN),
            make_pod("done", node="n", phase="Succeeded", **ALIYUN),
            make_pod("elsewhere", node="odd", **ALIYUN),
            make_pod("unsaid", node="n", memory="lots"),
            make_pod("network", node="n", **{"rdma/hca": "1", "smarter-devices/input": "1", "nvidia.com/hostdev": "1"}),
            make_pod("none", node="n", **{"gpu.intel.com/i915": "0"}),
        ],
        Reading(dialect=DIALECTS["alibaba"]),
    )
    assert found.not_understood == []
    assert {task.pod.name for task in found.tasks} == {"network", "none"}


def test_nodes_that_take_no_new_pods_stay_with_the_pods_on_them() -> None:
    cordoned, silent, ready = make_node("cordoned", gpus=4), make_node("silent", gpus=4), make_node("ready", gpus=4)
    cordoned.spec.unschedulable = True
    silent.status.conditions = [Condition("Ready", "Unknown")]
    ready.status.conditions = [Condition("Ready", "True"), Condition("MemoryPressure", "False")]
    pods = [make_pod(f"on-{node}", node=node, **{GPU: "1"}) for node in ("cordoned", "silent", "ready")]
    found = take_snapshot([cordoned, silent, ready], pods, Reading())
    assert [(node.name, node.gpus) for node in found.nodes] == [("cordoned", 4), ("ready", 4), ("silent", 4)]
    assert found.access["cordoned"] == Access(only="none", why="cordoned")
    assert found.access["silent"] == Access(only="none", why="not ready")
    assert found.access["ready"] == Access()
    assert {task.pod.name: task.gpus for task in found.tasks} == dict.fromkeys(
        ("on-cordoned", "on-silent", "on-ready"), (0,)
    )
    assert found.left_out == {}
