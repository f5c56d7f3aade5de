"""What a pod requests as a whole is what Kubernetes counts."""

from __future__ import annotations

from kube.made import container, make_pod
from wattpack.kube.dialects import DIALECTS
from wattpack.kube.objects import POD, Pod
from wattpack.kube.pod_requests import pod_requests
from wattpack.kube.read_pod import read_task
from wattpack.kube.reading import Reading

NVIDIA = Reading(dialect=DIALECTS["nvidia"])


def asks(pod: Pod) -> tuple[int, int]:
    """milli-vCPU and MiB of the pod as a whole."""
    task = read_task(pod, NVIDIA)
    return task.cpu_milli, task.memory_mib


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


def test_a_pod_without_containers_asks_for_nothing() -> None:
    assert pod_requests(POD.decode(b"{}")) == ({}, [])
