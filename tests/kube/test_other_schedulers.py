"""Pods whose GPUs only another scheduler can give out: wattpack counts them, and does not place them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kube.api_in_memory import InMemory, asked, deliver, in_a_loop, started, to_bind
from kube.made import Json, make_node, make_pod, node_json, pod_json
from wattpack.kube.config import Config
from wattpack.kube.questions import fit, state_of
from wattpack.kube.view import View

GPU, MEM = "nvidia.com/gpu", "nvidia.com/gpumem"
REGISTERED = json.dumps([{"id": f"GPU-{i}", "index": i, "devmem": 16000, "health": True} for i in range(2)])
HAMI_NODE = {"gpus": 20, "annotations": {"hami.io/node-nvidia-register": REGISTERED}}
VOLCANO_NODE = {
    "labels": {GPU + ".product": "Tesla-T4"},
    "annotations": {"volcano.sh/node-vgpu-register": REGISTERED},
    "volcano.sh/vgpu-number": "20",
}
# The pod, the node it could be on, and who must place it.
THEIRS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({GPU: "1", MEM: "4000"}, HAMI_NODE, "HAMi's scheduler"),
    ({GPU: "1", "nvidia.com/gpucores": "30"}, HAMI_NODE, "HAMi's scheduler"),
    ({"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "4000"}, VOLCANO_NODE, "Volcano's scheduler"),
    ({"annotations": {"gpu-fraction": "0.5"}}, {"gpus": 2}, "KAI's scheduler"),
    ({"annotations": {"gpu-memory": "4000"}}, {"gpus": 2}, "KAI's scheduler"),
]
OURS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({GPU: "1"}, {"gpus": 2}),
    ({}, HAMI_NODE),  # no GPU
    ({GPU: "1", "annotations": {"nvidia.com/use-gputype": "T4"}}, {"gpus": 2}),
    ({"annotations": {"alibabacloud.com/gpu-milli": "500"}}, {"gpus": 2}),
    ({"koordinator.sh/gpu": "50"}, {"gpus": 2, "koordinator.sh/gpu": "200"}),
    ({"aliyun.com/gpu-mem": "4"}, {"gpus": 2, "aliyun.com/gpu-count": "2", "aliyun.com/gpu-mem": "30"}),
]


def cluster_of(node: Json, pod: Json) -> InMemory:
    client = InMemory()
    client.nodes["n"] = node_json("n", **node)
    made = pod_json("p", namespace="default", **pod)
    made["metadata"]["uid"] = "uid-p"
    client.pods["p"] = made
    return client


@pytest.mark.parametrize(("pod", "node", "who"), THEIRS)
def test_mode_choose_refuses_a_pod_that_only_its_own_scheduler_can_give_a_gpu(pod: Json, node: Json, who: str) -> None:
    async def test() -> None:
        client = cluster_of(node, pod)
        service = await started(client)
        answer = await service.filter(asked(client.pod("p"), "n"))
        assert answer.node_names == []
        assert answer.failed_and_unresolvable_nodes is not None
        assert who in answer.failed_and_unresolvable_nodes["n"]
        decision = service.explain("default", "p")
        assert decision is not None
        assert who in decision.words()
        assert (await service.bind(to_bind("p", "n"))).error != ""
        assert client.bindings == []

    asyncio.run(test())


@pytest.mark.parametrize(("pod", "node"), OURS)
def test_mode_choose_places_the_others(pod: Json, node: Json) -> None:
    async def test() -> None:
        client = cluster_of(node, pod)
        service = await started(client)
        assert (await service.filter(asked(client.pod("p"), "n"))).node_names == ["n"]
        assert (await service.bind(to_bind("p", "n"))).error == ""

    asyncio.run(test())


@in_a_loop
async def test_no_pod_with_gpus_is_sent_to_a_node_whose_gpus_another_scheduler_gives_out() -> None:
    """HAMi's device plugin finds no annotation of its scheduler and fails the pod."""
    client = cluster_of(HAMI_NODE, {GPU: "1"})
    service = await started(client)
    answer = await service.filter(asked(client.pod("p"), "n"))
    assert answer.failed_and_unresolvable_nodes == {"n": "wattpack: its GPUs are given out by HAMi's scheduler alone"}
    assert state_of(service.view)["closed_nodes"] == {"n": "its GPUs are given out by HAMi's scheduler alone"}


@in_a_loop
async def test_in_mode_score_others_choose_and_we_bind_no_such_pod() -> None:
    client = cluster_of(HAMI_NODE, {GPU: "1", MEM: "4000"})
    service = await started(client, mode="score")
    assert (await service.filter(asked(client.pod("p"), "n"))).node_names == ["n"]
    assert "HAMi's scheduler" in (await service.bind(to_bind("p", "n"))).error
    assert client.bindings == []


@pytest.mark.parametrize(("pod", "node", "who"), THEIRS)
def test_fit_tells_where_there_is_room_and_that_we_would_not_place_it(pod: Json, node: Json, who: str) -> None:
    view = View(Config(policy="fgd", target="default", mode="shadow"))
    view.replace_nodes([make_node("n", **node)])
    view.replace_pods([])
    decision = fit(view, make_pod("p", **pod))
    assert decision is not None
    assert decision.node == "n"
    assert f"only {who}" in decision.note


@in_a_loop
async def test_shadow_counts_the_pods_that_we_would_not_place_apart() -> None:
    client = cluster_of(HAMI_NODE, {GPU: "1", MEM: "4000"})
    service = await started(client, mode="shadow")
    assert service.shadow is not None
    client.pods["p"]["spec"]["nodeName"] = "n"
    deliver(client, service.pods)
    table = service.shadow.table()
    assert (table["pods_placed_since_start"], table["not_ours"], table["same_node"]) == (1, 1, 0)
    (row,) = table["pods"]
    assert (row["agreement"], row["policy_node"]) == ("not_ours", "")
    assert table["cluster_under_policy_w"] == table["cluster_w"]
    assert "1 that only their own scheduler may place" in service.shadow.words()
