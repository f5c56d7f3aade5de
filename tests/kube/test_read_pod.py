"""Pods of a cluster as the engine needs them; what cannot be read is said in a line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.made import make_pod, pod_json
from wattpack.kube.dialects import DIALECTS
from wattpack.kube.facts import Held
from wattpack.kube.objects import POD, Unreadable
from wattpack.kube.read_pod import binding_annotations, read_pod, read_task
from wattpack.kube.reading import Reading
from wattpack.model.tasks import TaskClass, check_class

NVIDIA = Reading(dialect=DIALECTS["nvidia"])


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
    with pytest.raises(Unreadable, match="pod team/pod-a: no GPU model is allowed by each of T4 and A10"):
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
def test_an_index_that_contradicts_the_pod_says_nothing_of_where_its_gpus_are(index: str) -> None:
    said = {"alibabacloud.com/gpu-count": "3", "alibabacloud.com/gpu-index": index}
    facts = read_pod(make_pod(node="n", annotations=said), Reading())
    assert facts.doubt.startswith("GPU index")
    assert (facts.gpus, facts.holds) == (None, (Held("", 1000),) * 3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nvidia.com/gpu": "1500m"}, "nvidia.com/gpu is 1.5, expected a whole number"),
        ({"nvidia.com/gpu": "-1"}, "quantity '-1', expected 0 or more"),
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
