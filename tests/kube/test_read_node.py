"""Nodes of a cluster as the engine needs them; what cannot be read is said in a line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kube.made import make_node
from wattpack.errors import UserError
from wattpack.kube.dialects import DIALECTS
from wattpack.kube.dialects.node_devices import GKE_PART, SHARED_BY
from wattpack.kube.facts import NodeFacts
from wattpack.kube.objects import NODE, Unreadable
from wattpack.kube.read_node import gpu_memories, read_node
from wattpack.kube.reading import Reading
from wattpack.model.power import MEASURED

NVIDIA = Reading(dialect=DIALECTS["nvidia"])
GKE_SHARED = SHARED_BY[1]


def test_a_node_is_what_it_can_give_rounded_down() -> None:
    node = make_node("n", gpus=4, model="Tesla-T4", cpu="3920m", memory="16000001Ki")
    assert read_node(node, NVIDIA) == NodeFacts("n", 3920, 15625, 4, "T4", "")


def test_equal_nodes_have_equal_facts_whatever_else_changes() -> None:
    one, other = make_node(gpus=2), make_node(gpus=2, labels={"zone": "b"}, annotations={"heartbeat": "12"})
    assert read_node(one, NVIDIA) == read_node(other, NVIDIA)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gpus": 17}, "17 GPUs, expected at most 16"),
        (
            {"gpus": 1, "model": "NVIDIA-RTX-9999"},
            "label nvidia.com/gpu.product is 'NVIDIA-RTX-9999', a model without a power entry: "
            'map it in the configuration, [models] "NVIDIA-RTX-9999" = "..."',
        ),
        ({"nvidia.com/gpu": "2"}, "has GPUs but no label nvidia.com/gpu.product"),
        ({"gpus": 8, "labels": {"nvidia.com/gpu.replicas": "4"}}, "time-sliced GPUs (nvidia.com/gpu.replicas 4)"),
        ({"gpus": 7, "model": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, "MIG strategy single"),
        ({"gpus": 48, "labels": {GKE_SHARED: "48"}}, f"time-sliced GPUs ({GKE_SHARED} 48)"),
        ({"gpus": 7, "labels": {GKE_PART: "1g.5gb"}}, f"MIG devices ({GKE_PART} 1g.5gb): nvidia.com/gpu is a part"),
        ({"cpu": "many"}, "quantity 'many', expected one like"),
        ({"memory": "-1Gi"}, "quantity '-1Gi', expected 0 or more"),
        ({"cpu": "1e30"}, "expected at most 1000000000000"),
    ],
)
def test_a_node_that_cannot_be_read_is_named_with_the_reason(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Unreadable) as fault:
        read_node(make_node("n", **given), NVIDIA)
    assert str(fault.value).startswith("node n: ")
    assert said in str(fault.value)


def test_a_node_of_amd_is_asked_for_the_label_of_amd() -> None:
    node = make_node("n", **{"amd.com/gpu": "8"})
    with pytest.raises(Unreadable, match=r"has GPUs but no label amd\.com/gpu\.product-name, expected"):
        read_node(node, Reading())
    with pytest.raises(Unreadable, match="has GPUs but no label own, expected"):
        read_node(node, Reading(gpu_model_label="own"))


def test_own_names_of_models_come_before_all_others_and_must_be_known() -> None:
    reading = replace(NVIDIA, models={"NVIDIA-RTX-9999": "T4", "Tesla-T4": "A10"})
    assert read_node(make_node(gpus=1, model="NVIDIA-RTX-9999"), reading).model == "T4"
    assert read_node(make_node(gpus=1, model="Tesla-T4"), reading).model == "A10"
    with pytest.raises(UserError, match=r"\[models\]: 'x' is 'Z9', expected a model with known watts"):
        replace(NVIDIA, models={"x": "Z9"})


def test_the_model_and_the_cpu_come_from_the_configured_labels() -> None:
    reading = replace(NVIDIA, gpu_model_label="pool", cpu_model_label="cpu", profile=MEASURED)
    node = make_node("n", gpus=1, labels={"pool": "nvidia-l4", "cpu": "epyc-7763"})
    assert read_node(node, reading)[4:6] == ("L4", "EPYC 7763")
    with pytest.raises(Unreadable, match="label cpu is 'i386', a CPU without a power entry"):
        read_node(make_node(labels={"cpu": "i386"}), reading)


def test_the_memory_of_a_model_is_the_smallest_of_the_labels_or_that_of_the_catalog() -> None:
    big = make_node("a", gpus=1, model="NVIDIA-A100-SXM4-80GB", labels={"nvidia.com/gpu.memory": "81920"})
    t4 = make_node("b", gpus=1, model="Tesla-T4")  # no label: 15360 MiB in the catalog
    none = make_node("c", labels={"nvidia.com/gpu.memory": "1"})
    less = make_node("d", gpus=1, model="NVIDIA-A100-SXM4-80GB", labels={"nvidia.com/gpu.memory": "80000"})
    assert gpu_memories([big], NVIDIA) == {"A100-SXM4-80GB": 81920}
    assert gpu_memories([big, t4, none, less], NVIDIA) == {"A100-SXM4-80GB": 80000, "T4": 15360}
    assert gpu_memories([none], NVIDIA) == {}


def test_an_empty_node_has_nothing() -> None:
    assert read_node(NODE.decode(b"{}"), NVIDIA) == NodeFacts("", 0, 0, 0, "", "")
