"""One pod with strange words: its node stays open, and what the pod can at most hold counts as held."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube.made import container, make_node, make_pod
from wattpack.kube.config import Config
from wattpack.kube.dialects import find_dialect
from wattpack.kube.objects import Node, Pod
from wattpack.kube.questions import state_of
from wattpack.kube.reading import Reading
from wattpack.kube.snapshot import take_snapshot
from wattpack.kube.view import View

GPU, MEM = "nvidia.com/gpu", "nvidia.com/gpumem"
H100 = "NVIDIA-H100-80GB-HBM3"
ALI = "alibabacloud.com/"
IDS = [f"GPU-{letter}" for letter in "abcd"]
REGISTERED = json.dumps(
    [{"id": name, "index": i, "count": 10, "devmem": 16000, "health": True} for i, name in enumerate(IDS)]
)


def plain(gpus: int = 8) -> Node:
    return make_node("n", gpus=gpus, model=H100)


def hami(registered: str = REGISTERED) -> Node:
    return make_node("n", gpus=40, annotations={"hami.io/node-nvidia-register": registered})


def view_of(node: Node, *pods: Pod, dialect: str = "all", mode: str = "shadow") -> View:
    view = View(Config(policy="fgd", target="default", dialect=dialect, mode=mode))  # type: ignore[arg-type]
    view.replace_nodes([node])
    view.replace_pods(list(pods))
    return view


def left(view: View) -> list[int]:
    """Milli left on each GPU of the node, none if it takes no pod with GPUs."""
    state = state_of(view)
    if "n" in state["closed_nodes"] or "n" in state["unreadable_nodes"]:
        return []
    return state["nodes"][0]["gpu_left_milli"]


def room(view: View) -> int:
    return sum(left(view))


def allocated(*containers: str, node: str = "n") -> dict[str, str]:
    return {"hami.io/vgpu-devices-allocated": "".join(f"{c};" for c in containers), "hami.io/vgpu-node": node}


@pytest.mark.parametrize(
    "annotations",
    [
        {ALI + "gpu-milli": "lots"},
        {ALI + "gpu-milli": "-1"},
        {ALI + "gpu-count": "many", ALI + "gpu-milli": "lots"},
        {"gpu-fraction": "half"},
        {"gpu-memory": "8Gb"},
        {"gpu-fraction-num-devices": "2"},
        {"scheduling.koordinator.sh/device-allocated": "{"},
        {"nvidia.com/use-gputype": "Z9"},
        allocated("GPU-a,NVIDIA,1000,10:"),
        {"volcano.sh/vgpu-ids-new": "GPU-a,NVIDIA,1000,10:;"},
        {"scheduling.koordinator.sh/device-allocated": '{"gpu":[{"minor":0}]}'},
        {"wattpack.dev/gpu-index": "0-1"},
    ],
)
def test_words_on_a_pod_without_gpus_take_no_gpu(annotations: dict[str, str]) -> None:
    odd = make_pod("odd", node="n", annotations=annotations)
    for node in (plain(), hami()):
        empty, view = view_of(node), view_of(node, odd)
        assert left(view) == left(empty) != []
        found = take_snapshot([node], [odd], Reading())
        assert found.access["n"].only == ""
        assert not found.not_understood
        assert sum(task.pod.task.num_gpu for task in found.tasks) == 0


MOST: list[tuple[dict[str, Any], int]] = [
    ({"annotations": {ALI + "gpu-milli": "500", ALI + "gpu-count": "2"}}, 1000),  # half of two GPUs
    ({"annotations": {ALI + "gpu-milli": "1500"}}, 1000),
    ({"annotations": {ALI + "gpu-milli": "lots"}, GPU: "1"}, 1000),  # the device that the kubelet gave
    ({"annotations": {"gpu-fraction": "0.5"}, GPU: "1"}, 1000),
    ({"annotations": {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}}, 1000),
    ({"annotations": {"gpu-fraction": "0.25", "gpu-memory": "1000000"}}, 1000),
    ({"annotations": {ALI + "gpu-milli": "300", "gpu-fraction": "0.5"}}, 500),  # the most of two that differ
    ({"nvidia.com/gpu.shared": "2"}, 2000),
    ({"koordinator.sh/gpu": "150"}, 1500),
    ({"volcano.sh/vgpu-number": "2"}, 2000),
    ({"annotations": {"nvidia.com/use-gputype": "Z9"}, GPU: "1", "nvidia.com/gpucores": "10"}, 1000),
    ({"annotations": {"wattpack.dev/gpu-index": "0-9"}, GPU: "2"}, 2000),
    ({"spec": {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A10"}}, GPU: "3"}, 3000),
]


@pytest.mark.parametrize(("pod", "most"), MOST)
def test_a_pod_that_cannot_be_read_takes_what_it_can_hold_and_the_rest_of_its_node_stays_open(
    pod: dict[str, Any], most: int
) -> None:
    odd = make_pod("odd", node="n", **pod)
    assert room(view_of(plain(), odd)) == 8000 - most
    found = take_snapshot([plain()], [odd], Reading())
    assert found.access["n"].only == ""
    assert sum(task.pod.task.num_gpu * task.pod.task.gpu_milli for task in found.tasks) == most


def test_a_request_that_cannot_be_read_is_still_named() -> None:
    view = view_of(plain(), make_pod("odd", node="n", annotations={ALI + "gpu-milli": "lots"}))
    assert "quantity 'lots'" in state_of(view)["unreadable_pods"]["uid-team-odd"]
    view.change_pod("MODIFIED", make_pod("odd", node="n"))
    assert state_of(view)["unreadable_pods"] == {}


def test_two_vgpus_in_one_pod_take_their_share_of_two_gpus() -> None:
    """4000 of 16000 MiB are a quarter."""
    view = view_of(hami(), make_pod("two", node="n", **{GPU: "2", MEM: "4000"}))
    assert room(view) == 4000 - 500
    two = [container(**{GPU: "1", MEM: "4000"})] * 2
    assert room(view_of(hami(), make_pod("two", node="n", containers=two))) == 4000 - 500


def test_two_mig_devices_in_one_pod_are_counted_and_no_longer_free() -> None:
    node = make_node("n", labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}, **{"nvidia.com/mig-1g.10gb": "3"})
    view = view_of(node, make_pod("two", node="n", **{"nvidia.com/mig-1g.10gb": "2"}))
    assert view.blocking == {}
    asks = make_pod("asks", **{"nvidia.com/mig-1g.10gb": "1"})
    two = make_pod("more", **{"nvidia.com/mig-1g.10gb": "2"})
    assert view.eligible_nodes(asks, view.read(asks)) == ["n"]
    assert not view.has_devices("n", {"nvidia.com/mig-1g.10gb": 2}), two
    assert state_of(view)["nodes"][0]["gpu_left_milli"] == [1000 - 2 * 142]


def test_a_share_on_a_node_with_nothing_free_closes_nothing_and_counts_when_something_is() -> None:
    full = make_pod("full", node="n", **{GPU: "8"})
    view = view_of(plain(), full, make_pod("odd", node="n", annotations={"gpu-fraction": "0.5"}))
    assert left(view) == [0] * 8
    assert "uid-team-odd" in state_of(view)["gpu_conflicts"]
    view.change_pod("DELETED", full)
    assert room(view) == 7500
    assert state_of(view)["gpu_conflicts"] == {}


def test_a_gpu_named_twice_counts_twice_and_the_others_stay_open() -> None:
    index = {"wattpack.dev/gpu-index": "3"}
    pods = [make_pod(name, node="n", annotations=index, **{GPU: "1"}) for name in ("a", "b")]
    view = view_of(plain(), *pods)
    assert left(view)[3] == 0
    assert room(view) == 6000
    for pod in pods:
        view.change_pod("DELETED", pod)
    assert left(view) == [1000] * 8


def test_a_pod_that_names_its_gpu_has_it_though_another_was_counted_there_before() -> None:
    view = view_of(plain(), make_pod("unsaid", node="n", **{GPU: "1"}))
    assert left(view)[0] == 0
    view.change_pod("ADDED", make_pod("said", node="n", annotations={"wattpack.dev/gpu-index": "0"}, **{GPU: "1"}))
    assert room(view) == 6000
    assert state_of(view)["gpu_conflicts"] == {}


# ---- what HAMi, Volcano, KAI and Koordinator say that a pod holds


def test_hamis_annotation_says_which_gpu_is_held_and_how_much_of_it() -> None:
    pod = make_pod("a", node="n", annotations=allocated("GPU-c,NVIDIA,4000,30:"), **{GPU: "1", MEM: "4000"})
    assert left(view_of(hami(), pod)) == [1000, 1000, 700, 1000]


def test_a_whole_gpu_by_hami_is_on_the_gpu_that_it_was_given() -> None:
    pod = make_pod("a", node="n", annotations=allocated("GPU-b,NVIDIA,16000,0:GPU-d,NVIDIA,16000,0:"), **{GPU: "2"})
    view = view_of(hami(), pod)
    assert left(view) == [1000, 0, 1000, 0]
    found = take_snapshot([hami()], [pod], Reading())
    assert [(task.pod.task.num_gpu, task.gpus) for task in found.tasks] == [(2, (1, 3))]
    assert found.index_chosen == []  # nothing is assumed


def test_two_containers_on_one_gpu_add_up_and_containers_without_gpus_say_nothing() -> None:
    said = allocated("", ",,0,0:", "GPU-b,NVIDIA,4000,0:", "GPU-b,NVIDIA,8000,0:")
    pod = make_pod("a", node="n", annotations=said, containers=[container(**{GPU: "1", MEM: "4000"})] * 2)
    assert left(view_of(hami(), pod)) == [1000, 250, 1000, 1000]


def test_devices_that_are_to_be_allocated_count_until_they_are() -> None:
    said = {"hami.io/vgpu-devices-to-allocate": "GPU-d,NVIDIA,4000,0:;", "hami.io/vgpu-devices-allocated": ";"}
    assert left(view_of(hami(), make_pod("a", node="n", annotations=said, **{GPU: "1", MEM: "4000"})))[3] == 750


def test_what_hami_wrote_for_another_node_is_not_believed() -> None:
    said = allocated("GPU-d,NVIDIA,4000,0:", node="other")
    view = view_of(hami(), make_pod("a", node="n", annotations=said, **{GPU: "1", MEM: "8000"}))
    assert room(view) == 3500
    assert left(view)[3] == 1000


@pytest.mark.parametrize("said", ["what", "GPU-a", "GPU-a,NVIDIA,x,y:;", "GPU-z,NVIDIA,4000,0:;", ":::;;;", "[]"])
def test_an_annotation_of_hami_that_says_nothing_leaves_what_was_asked_for(said: str) -> None:
    annotations = {"hami.io/vgpu-devices-allocated": said}
    view = view_of(hami(), make_pod("a", node="n", annotations=annotations, **{GPU: "1", MEM: "4000"}))
    assert sorted(left(view)) == [750, 1000, 1000, 1000]


def test_gpus_that_are_not_healthy_are_no_gpus_and_go_says_so_by_leaving_the_word_out() -> None:
    gpus = json.loads(REGISTERED)
    del gpus[1]["health"]
    view = view_of(
        hami(json.dumps(gpus)), make_pod("a", node="n", annotations=allocated("GPU-c,N,8000,0:"), **{GPU: "1"})
    )
    assert left(view) == [1000, 500, 1000]


def test_a_node_that_tells_its_gpus_later_puts_the_pods_there_right() -> None:
    pod = make_pod("a", node="n", annotations=allocated("GPU-c,NVIDIA,8000,0:"), **{GPU: "1", MEM: "8000"})
    view = view_of(hami("[]"), pod)
    view.update_node(hami())
    assert left(view) == [1000, 1000, 500, 1000]


def test_volcano_says_its_vgpus_the_same_way() -> None:
    text = "".join(f"{name},10,16000,NVIDIA-T4,true,hami-core:" for name in IDS)
    node = make_node(
        "n",
        labels={GPU + ".product": "Tesla-T4"},
        annotations={"volcano.sh/node-vgpu-register": text},
        **{"volcano.sh/vgpu-number": "40"},
    )
    said = {"volcano.sh/vgpu-ids-new": "GPU-b,NVIDIA,4000,50:;", "volcano.sh/vgpu-node": "n"}
    pod = make_pod("a", node="n", annotations=said, **{"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "4000"})
    assert left(view_of(node, pod)) == [1000, 500, 1000, 1000]


def with_labels(pod: Pod, **labels: str) -> Pod:
    pod.metadata.labels = {name.replace("__", "/").replace("_", "-"): value for name, value in labels.items()}
    return pod


def test_sharers_of_one_gpu_of_kai_are_on_one_gpu_and_others_on_another() -> None:
    """By size alone, three shares of 0.3 would be counted on one GPU."""
    pods = [
        with_labels(make_pod(f"p{i}", node="n", annotations={"gpu-fraction": "0.3"}), runai_gpu_group=group)
        for i, group in enumerate(["one", "two", "one"])
    ]
    assert left(view_of(plain(), *pods)) == [400, 700, *[1000] * 6]
    found = take_snapshot([plain()], pods, Reading())
    assert {task.pod.name: task.gpus for task in found.tasks} == {"p0": (0,), "p1": (1,), "p2": (0,)}


def test_a_pod_of_kai_on_two_gpus_has_a_group_for_each() -> None:
    said = {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}
    pod = with_labels(make_pod("p", node="n", annotations=said), runai_gpu_group__a="a", runai_gpu_group__b="b")
    assert left(view_of(plain(), pod)) == [500, 500, *[1000] * 6]


def test_koordinators_minors_and_percents_are_what_a_pod_holds() -> None:
    gpus = [{"minor": minor, "resources": {"koordinator.sh/gpu-core": "50"}} for minor in (2, 5)]
    said = {"scheduling.koordinator.sh/device-allocated": json.dumps({"gpu": gpus})}
    asks = {
        "koordinator.sh/gpu-core": "100",
        "koordinator.sh/gpu-memory-ratio": "100",
        "koordinator.sh/gpu.shared": "2",
    }
    view = view_of(plain(), make_pod("p", node="n", annotations=said, **asks))
    assert left(view) == [1000, 1000, 500, 1000, 1000, 500, 1000, 1000]


# ---- which dialects are read


def test_words_of_dialects_that_are_not_read_are_not_read() -> None:
    odd = make_pod("odd", node="n", annotations={"gpu-fraction": "0.5", ALI + "gpu-milli": "lots"})
    for view in (view_of(plain(), odd, dialect="nvidia"), view_of(plain(), odd, dialect="volcano")):
        assert left(view) == [1000] * 8
    found = take_snapshot([plain()], [odd], Reading(dialect=find_dialect("nvidia")))
    assert found.access["n"].only == ""
    assert found.left_out == {}


def test_devices_of_a_dialect_that_is_not_read_are_held_all_the_same() -> None:
    """The kubelet gave them out, whatever we read."""
    view = view_of(plain(), make_pod("odd", node="n", **{"volcano.sh/vgpu-number": "2"}), dialect="nvidia")
    assert room(view) == 6000


def test_the_reservation_pods_of_kai_hold_their_gpu_where_kai_is_not_read() -> None:
    pod = make_pod("gpu-reservation", node="n", namespace="kai-resource-reservation", **{GPU: "1"})
    assert room(view_of(plain(), pod, dialect="nvidia")) == 7000
