"""Nodes and pods of a cluster as the engine needs them; what cannot be read is said in a line."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.made import container, make_node, make_pod, pod_json
from wattpack.errors import UserError
from wattpack.kube.dialects import DIALECTS
from wattpack.kube.objects import NODE, POD, Pod
from wattpack.kube.translate import (
    NodeFacts,
    Reading,
    Unreadable,
    binding_annotations,
    pod_requests,
    read_node,
    read_pod,
    read_task,
    smallest_gpu_memory_mib,
)
from wattpack.model.power import MEASURED
from wattpack.model.tasks import TaskClass, check_class

NVIDIA = Reading(dialect=DIALECTS["nvidia"])
GI = 2**30 * 10**9


def asks(pod: Pod) -> tuple[int, int]:
    """milli-vCPU and MiB of the pod as a whole."""
    task = read_task(pod, NVIDIA)
    return task.cpu_milli, task.memory_mib


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
        ({"cpu": "many"}, "quantity 'many', expected one like"),
        ({"memory": "-1Gi"}, "quantity '-1Gi', expected none below 0"),
        ({"cpu": "1e30"}, "expected at most 1000000000000"),
    ],
)
def test_a_node_that_cannot_be_read_is_named_with_the_reason(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Unreadable) as fault:
        read_node(make_node("n", **given), NVIDIA)
    assert str(fault.value).startswith("node n: ")
    assert said in str(fault.value)


def test_own_names_of_models_come_before_all_others_and_must_be_known() -> None:
    reading = replace(NVIDIA, models={"NVIDIA-RTX-9999": "T4", "Tesla-T4": "A10"})
    assert read_node(make_node(gpus=1, model="NVIDIA-RTX-9999"), reading).model == "T4"
    assert read_node(make_node(gpus=1, model="Tesla-T4"), reading).model == "A10"
    with pytest.raises(UserError, match=r"\[models\]: 'x' is 'Z9', expected a model with known watts"):
        replace(NVIDIA, models={"x": "Z9"})


def test_the_model_and_the_cpu_come_from_the_configured_labels() -> None:
    reading = replace(NVIDIA, gpu_model_label="pool", cpu_model_label="cpu", profile=MEASURED)
    node = make_node("n", gpus=1, labels={"pool": "nvidia-l4", "cpu": "epyc-7763"})
    assert read_node(node, reading)[4:] == ("L4", "EPYC 7763")
    with pytest.raises(Unreadable, match="label cpu is 'i386', a CPU without a power entry"):
        read_node(make_node(labels={"cpu": "i386"}), reading)


def test_containers_add_up_and_limits_stand_in_for_requests() -> None:
    pod = make_pod(containers=[container("500m", "1Gi"), {"resources": {"limits": {"cpu": "1", "memory": "1"}}}])
    assert asks(pod) == (1500, 1025)


def test_a_request_comes_before_a_limit() -> None:
    assert asks(make_pod(containers=[container("1", "1Gi", limits={"cpu": "8", "memory": "8Gi"})])) == (1000, 1024)


def test_the_largest_init_container_counts_if_it_is_more_than_the_containers() -> None:
    init = [container("4", "1Gi"), container("2", "8Gi")]
    pod = make_pod(containers=[container("1", "2Gi"), container("1", "2Gi")], spec={"initContainers": init})
    assert asks(pod) == (4000, 8192)  # cpu max(1 + 1, 4, 2), memory max(2 + 2, 1, 8)


def test_sidecars_run_beside_the_containers_and_beside_the_init_containers_after_them() -> None:
    init = [container("3", "1Gi"), container("1", "1Gi", always=True), container("3", "1Gi")]
    pod = make_pod(containers=[container("1", "1Gi")], spec={"initContainers": init})
    # together: 1 + 1 = 2; first init 3 alone; second 3 + 1 = 4, the largest. Memory: 2 together, 1 alone, 2 with it.
    assert asks(pod) == (4000, 2048)


def test_requests_of_the_pod_replace_the_sum_and_overhead_comes_on_top() -> None:
    spec = {"resources": {"requests": {"cpu": "6"}}, "overhead": {"cpu": "250m", "memory": "120Mi"}}
    assert asks(make_pod(containers=[container("1", "1Gi")], spec=spec)) == (6250, 1144)


def test_gpus_of_init_containers_are_not_added_to_those_of_containers() -> None:
    gpu = {"nvidia.com/gpu": "2"}
    pod = make_pod(containers=[container(**gpu), container(**gpu)], spec={"initContainers": [container(**gpu)]})
    assert read_task(pod, NVIDIA)[2:4] == (4, 1000)


@pytest.mark.parametrize(
    ("given", "spec"),
    [
        ({}, ""),
        ({"spec": {"nodeSelector": {"nvidia.com/gpu.product": "Tesla-T4"}}}, "T4"),
        ({"spec": {"nodeSelector": {"zone": "a"}}}, ""),
        ({"annotations": {"alibabacloud.com/gpu-card-model": "T4|A10"}}, "A10|T4"),
        (
            {
                "annotations": {"alibabacloud.com/gpu-card-model": "T4|A10"},
                "spec": {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A10"}},
            },
            "A10",
        ),
        ({"annotations": {"alibabacloud.com/gpu-card-model": "Z9"}}, "Z9"),  # fits nowhere, which is told later
        ({"affinity": [["Tesla-T4", "NVIDIA-A10"]]}, "A10|T4"),
        ({"affinity": [["Tesla-T4"], ["NVIDIA-L4"]]}, "L4|T4"),  # terms: any of them
        ({"affinity": [["Tesla-T4"], []]}, ""),  # one term allows everything
    ],
)
def test_the_models_a_pod_allows_come_from_dialect_selector_and_affinity(given: dict[str, Any], spec: str) -> None:
    terms = [
        {"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": values}] if values else []}
        for values in given.pop("affinity", [])
    ]
    if terms:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        given["spec"] = {"affinity": {"nodeAffinity": required}}
    assert read_task(make_pod(**given, **{"nvidia.com/gpu": "1"}), Reading()).gpu_spec == spec


def test_models_that_exclude_each_other_are_unreadable() -> None:
    pod = make_pod(
        annotations={"alibabacloud.com/gpu-card-model": "T4"},
        spec={"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A10"}},
        **{"nvidia.com/gpu": "1"},
    )
    with pytest.raises(Unreadable, match="pod team/pod-a: no GPU model is left by T4 and A10"):
        read_pod(pod, Reading())


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", "Running"])
def test_a_pod_is_finished_when_its_phase_says_so(phase: str) -> None:
    assert read_pod(make_pod(node="n", phase=phase), NVIDIA).finished == (phase != "Running")


def test_the_index_of_a_bound_pod_is_read_and_that_of_a_pending_one_is_not() -> None:
    said = {
        "alibabacloud.com/gpu-milli": "1000",
        "alibabacloud.com/gpu-count": "3",
        "alibabacloud.com/gpu-index": "4-0-2",
    }
    assert read_pod(make_pod(node="n", annotations=said), Reading()).gpus == (4, 0, 2)
    assert read_pod(make_pod(annotations=said), Reading()).gpus is None
    assert read_pod(make_pod(node="n", **{"nvidia.com/gpu": "2"}), Reading()).gpus is None


@pytest.mark.parametrize("index", ["0-1", "0-0-1", "a-b-c", "0-1-16", "0-1--2", "0,1,2", "0-1-002"])
def test_an_index_that_contradicts_the_pod_is_unreadable(index: str) -> None:
    said = {"alibabacloud.com/gpu-count": "3", "alibabacloud.com/gpu-index": index}
    with pytest.raises(Unreadable, match="pod team/pod-a: GPU index"):
        read_pod(make_pod(node="n", annotations=said), Reading())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nvidia.com/gpu": "1500m"}, "nvidia.com/gpu is 1.5, expected a whole number"),
        ({"nvidia.com/gpu": "-1"}, "quantity '-1', expected none below 0"),
        ({"nvidia.com/gpu": "1e9"}, "1000000000 GPUs, expected at most"),
        ({"cpu": "1e20"}, "expected at most 1000000000000"),
        ({"nvidia.com/gpu.shared": "1"}, "the share of a time-sliced GPU is not known"),
        (
            {"aliyun.com/gpu-mem": "4"},
            "asks in aliyun.com/gpu-mem, which is dialect aliyun; the configured one is nvidia",
        ),
        ({"nvidia.com/mig-1g.5gb": "1"}, "asks in nvidia.com/mig-1g.5gb, which is dialect mig"),
        ({"annotations": {"gpu-fraction": "0.5"}}, "asks in gpu-fraction, which is dialect kai"),
    ],
)
def test_a_pod_that_cannot_be_read_is_named_with_the_reason(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Unreadable) as fault:
        read_pod(make_pod(**given), NVIDIA)
    assert str(fault.value).startswith("pod team/pod-a: ")
    assert said in str(fault.value)


def test_a_task_without_gpu_gets_no_annotation() -> None:
    assert binding_annotations((), TaskClass(1, 1, 0, 0), Reading()) == {}


def test_the_memory_of_a_gpu_is_the_smallest_of_the_labels_or_of_the_catalog() -> None:
    big = make_node("a", gpus=1, model="NVIDIA-A100-SXM4-80GB", labels={"nvidia.com/gpu.memory": "81920"})
    t4 = make_node("b", gpus=1, model="Tesla-T4")  # no label: 15360 MiB in the catalog
    none = make_node("c", labels={"nvidia.com/gpu.memory": "1"})
    assert smallest_gpu_memory_mib([big], NVIDIA) == 81920
    assert smallest_gpu_memory_mib([big, t4, none], NVIDIA) == 15360
    assert smallest_gpu_memory_mib([none], NVIDIA) == 0


def test_go_writes_null_for_a_time_that_is_not_set() -> None:
    text = json.dumps(pod_json() | {"metadata": {"name": "p", "creationTimestamp": None}})
    assert read_pod(POD.decode(text), NVIDIA).created == ""


@given(
    st.sampled_from(sorted(DIALECTS)),
    st.dictionaries(
        st.sampled_from(
            [
                *("cpu", "memory", "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"),
                *("aliyun.com/gpu-mem", "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "koordinator.sh/gpu"),
                *("koordinator.sh/gpu-core", "koordinator.sh/gpu.shared", "koordinator.sh/gpu-memory"),
                *("nvidia.com/mig-1g.5gb", "nvidia.com/mig-x", "alibabacloud.com/gpu-milli"),
            ]
        ),
        st.sampled_from(["0", "1", "2", "50", "100", "200", "1500m", "-1", "x", "1e30", "8Gi", 3, 0.5]),
        max_size=4,
    ),
    st.dictionaries(
        st.sampled_from(
            [
                *("alibabacloud.com/gpu-milli", "alibabacloud.com/gpu-count", "alibabacloud.com/gpu-index"),
                *("gpu-fraction", "gpu-memory", "gpu-fraction-num-devices", "nvidia.com/use-gputype"),
                *("ALIYUN_COM_GPU_MEM_IDX", "volcano.sh/gpu-index", "wattpack.dev/gpu-index"),
                "scheduling.koordinator.sh/device-allocated",
            ]
        ),
        st.one_of(st.sampled_from(["0", "1", "0.5", "500", "0-1", "T4", '{"gpu":[{"minor":0}]}']), st.text(max_size=8)),
        max_size=3,
    ),
)
def test_whatever_a_pod_says_it_is_a_task_the_engine_takes_or_unreadable(
    dialect: str, resources: dict[str, Any], annotations: dict[str, str]
) -> None:
    pod = make_pod(node="n", containers=[{"resources": {"requests": resources}}], annotations=annotations)
    try:
        facts = read_pod(pod, Reading(dialect=DIALECTS[dialect], gpu_memory_mib=16384))
    except Unreadable:
        return
    check_class(facts.task)
    assert facts.gpus is None or len(facts.gpus) == facts.task.num_gpu


def test_a_pod_without_containers_asks_for_nothing() -> None:
    assert pod_requests(POD.decode(b"{}")) == ({}, [])
    assert read_node(NODE.decode(b"{}"), NVIDIA) == NodeFacts("", 0, 0, 0, "", "")
