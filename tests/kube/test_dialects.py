"""Each dialect: what a pod asks for, what a node has, and that the index written is the index read.

A new dialect gets its lines in `PODS`, `NODES` and `WRITTEN`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube.made import container, make_node, make_pod
from wattpack.errors import UserError
from wattpack.kube.dialects import DIALECTS, find_dialect
from wattpack.kube.dialects.mig import slices_of
from wattpack.kube.facts import Held
from wattpack.kube.objects import Unreadable
from wattpack.kube.read_node import read_node
from wattpack.kube.read_pod import binding_annotations, read_pod, read_task
from wattpack.kube.reading import Reading
from wattpack.model.tasks import TaskClass

ALI, KOO, VOL, HAMI = "alibabacloud.com/", "koordinator.sh/", "volcano.sh/", "nvidia.com/"
GPU, AMD_GPU, AMD_CUT = "nvidia.com/gpu", "amd.com/gpu", "amd.com/compute-memory-partition"
MEMORY_MIB = 16000  # of one GPU in these tests: 4000 MiB are a quarter

# dialect, the pod, GPUs and milli of each; or the reason why it cannot be read
PODS: list[tuple[str, dict[str, Any], tuple[int, int] | str]] = [
    ("alibaba", {"annotations": {ALI + "gpu-milli": "500", ALI + "gpu-count": "1"}}, (1, 500)),
    ("alibaba", {"annotations": {ALI + "gpu-milli": "1000", ALI + "gpu-count": "8"}}, (8, 1000)),
    ("alibaba", {"annotations": {ALI + "gpu-milli": "300"}}, (1, 300)),
    ("alibaba", {"annotations": {ALI + "gpu-count": "2"}}, (2, 1000)),
    ("alibaba", {"annotations": {ALI + "gpu-milli": "0", ALI + "gpu-count": "0"}}, (0, 0)),
    ("alibaba", {ALI + "gpu-milli": "500", ALI + "gpu-count": "1"}, (1, 500)),  # as resources
    ("alibaba", {"annotations": {ALI + "gpu-count": "2", ALI + "gpu-milli": "1000"}, GPU: "2"}, (2, 1000)),
    ("alibaba", {"annotations": {ALI + "gpu-milli": "500"}, GPU: "1"}, "asks for 1 nvidia.com/gpu and for 1 GPU x 500"),
    ("alibaba", {"annotations": {ALI + "gpu-milli": "500", ALI + "gpu-count": "2"}}, "shares of 2 GPUs at once"),
    ("alibaba", {"annotations": {ALI + "gpu-milli": "1500"}}, "more than one GPU"),
    ("alibaba", {"annotations": {ALI + "gpu-milli": "half"}}, "annotation alibabacloud.com/gpu-milli: quantity 'half'"),
    ("alibaba", {"annotations": {ALI + "gpu-milli": "500", ALI + "gpu-count": "0"}}, "expected more than 0"),
    ("alibaba", {"annotations": {ALI + "gpu-milli": "500"}, ALI + "gpu-milli": "400"}, "500 as an annotation and 400"),
    ("nvidia", {GPU: "4"}, (4, 1000)),
    ("nvidia", {GPU: 1}, (1, 1000)),
    ("nvidia", {}, (0, 0)),
    ("amd", {AMD_GPU: "8"}, (8, 1000)),
    ("amd", {AMD_GPU: "0", GPU: "2"}, (2, 1000)),
    ("amd", {AMD_GPU: "1", GPU: "1"}, "asks for 1 nvidia.com/gpu and for 1 amd.com/gpu, expected one of them"),
    ("kai", {"annotations": {"gpu-fraction": "0.5"}}, (1, 500)),
    ("kai", {"annotations": {"gpu-fraction": "0.3333"}}, (1, 334)),  # up: what is asked for is never rounded away
    ("kai", {"annotations": {"gpu-fraction": "1"}}, (1, 1000)),
    ("kai", {"annotations": {"gpu-memory": "4000"}}, (1, 250)),
    ("kai", {GPU: "2"}, (2, 1000)),
    ("kai", {"namespace": "kai-resource-reservation", GPU: "1"}, (0, 0)),  # its sharers count the GPU
    ("kai", {"annotations": {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}}, "shares of 2 GPUs at once"),
    ("kai", {"annotations": {"gpu-fraction": "0.5", "gpu-memory": "4000"}}, "gpu-fraction and gpu-memory at once"),
    ("kai", {"annotations": {"gpu-fraction": "0.5"}, GPU: "1"}, "asks for 1 nvidia.com/gpu and for a GPU fraction"),
    ("kai", {"annotations": {"gpu-fraction-num-devices": "2"}}, "without gpu-fraction or gpu-memory"),
    ("kai", {"annotations": {"gpu-memory": "17000"}}, "17000 MiB of GPU memory (gpu-memory), one GPU has 16000 MiB"),
    ("hami", {GPU: "1", HAMI + "gpumem": "4000"}, (1, 250)),
    ("hami", {GPU: "1", HAMI + "gpumem": "4000", HAMI + "gpucores": "30"}, (1, 300)),  # the larger share
    ("hami", {GPU: "1", HAMI + "gpumem-percentage": "40"}, (1, 400)),
    ("hami", {HAMI + "gpumem": "4000"}, (1, 250)),  # one vGPU is meant
    ("hami", {GPU: "2"}, (2, 1000)),  # no amount of memory: all of it
    ("hami", {GPU: "1", HAMI + "gpucores": "50"}, (1, 1000)),
    ("hami", {GPU: "2", HAMI + "gpumem": "4000"}, "shares of 2 GPUs at once"),
    ("hami", {GPU: "1", HAMI + "gpumem": "1", HAMI + "gpumem-percentage": "1"}, "at once, expected one of them"),
    (
        "hami",
        {"containers": [container(**{GPU: "1", HAMI + "gpumem": "9"})] * 2},
        "2 containers ask for nvidia.com/gpu",
    ),
    ("hami", {"containers": [container(**{GPU: "1"})] * 2}, (2, 1000)),
    ("aliyun", {"aliyun.com/gpu-mem": "4"}, (1, 256)),  # GiB: 4096 / 16000
    ("aliyun", {GPU: "1"}, (1, 1000)),
    ("aliyun", {"aliyun.com/gpu-mem": "4", GPU: "1"}, "asks for 1 nvidia.com/gpu and for 4 GiB"),
    ("aliyun", {"aliyun.com/gpu-mem": "16"}, "16384 MiB of GPU memory (aliyun.com/gpu-mem), one GPU has 16000 MiB"),
    ("volcano", {VOL + "vgpu-number": "1", VOL + "vgpu-memory": "4000"}, (1, 250)),
    ("volcano", {VOL + "vgpu-number": "1", VOL + "vgpu-memory-percentage": "50", VOL + "vgpu-cores": "20"}, (1, 500)),
    ("volcano", {VOL + "vgpu-number": "3"}, (3, 1000)),
    ("volcano", {VOL + "vgpu-number": "2", VOL + "vgpu-memory": "4000"}, "shares of 2 GPUs at once"),
    ("volcano", {VOL + "vgpu-number": "1", VOL + "vgpu-memory": "4000", GPU: "1"}, "asks for 1 nvidia.com/gpu"),
    ("koordinator", {KOO + "gpu": "50"}, (1, 500)),
    ("koordinator", {KOO + "gpu": "200"}, (2, 1000)),
    ("koordinator", {KOO + "gpu-core": "30", KOO + "gpu-memory-ratio": "60"}, (1, 600)),
    ("koordinator", {KOO + "gpu-core": "50", KOO + "gpu-memory": "4000Mi", KOO + "gpu.shared": "1"}, (1, 500)),
    ("koordinator", {KOO + "gpu-core": "200", KOO + "gpu-memory-ratio": "200", KOO + "gpu.shared": "2"}, (2, 1000)),
    ("koordinator", {KOO + "gpu-core": "100", KOO + "gpu-memory-ratio": "100", KOO + "gpu.shared": "2"}, "shares of 2"),
    ("koordinator", {KOO + "gpu": "150"}, "150 percent of 1 GPUs, expected a share of one GPU or whole GPUs"),
    ("koordinator", {KOO + "gpu": "50", KOO + "gpu-core": "50"}, "at once, expected one of them"),
    ("mig", {"nvidia.com/mig-1g.5gb": "1"}, (1, 142)),
    ("mig", {"nvidia.com/mig-3g.20gb": "1"}, (1, 428)),
    ("mig", {"nvidia.com/mig-7g.80gb": "1"}, (1, 1000)),
    ("mig", {"nvidia.com/mig-1g.10gb.me": "1"}, (1, 142)),
    ("mig", {GPU: "2"}, (2, 1000)),
    ("mig", {"nvidia.com/mig-1g.5gb": "2"}, "2 MIG devices (nvidia.com/mig-1g.5gb) in one pod"),
    ("dra", {GPU: "2"}, (2, 1000)),  # what claims ask for is in the claims: tests/kube/dra
    ("mig", {"nvidia.com/mig-all": "1"}, "nvidia.com/mig-all: not a MIG profile we know"),
]

TWO = '[{"id":"GPU-a","count":10,"devmem":15360,"health":true},{"id":"GPU-b","count":10,"devmem":15360,"health":%s}]'
T4 = {"nvidia.com/gpu.product": "Tesla-T4"}
MI300X = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}

# dialect, the node, its GPUs; or the reason why it cannot be read
NODES: list[tuple[str, dict[str, Any], int | str]] = [
    ("alibaba", {ALI + "gpu-count": "8", "labels": {ALI + "gpu-card-model": "G2"}}, 8),
    ("alibaba", {"gpus": 4}, 4),
    ("alibaba", {"gpus": 4, ALI + "gpu-count": "8"}, "alibabacloud.com/gpu-count is 8 and nvidia.com/gpu is 4"),
    ("nvidia", {"gpus": 4}, 4),
    ("nvidia", {}, 0),
    ("amd", {AMD_GPU: "8", "labels": MI300X}, 8),
    ("amd", {AMD_GPU: "8", "labels": MI300X | {AMD_CUT: "spx_nps1"}}, 8),
    ("amd", {AMD_GPU: "64", "labels": MI300X | {AMD_CUT: "cpx_nps4"}}, "partitioned GPUs"),
    ("amd", {AMD_GPU: "8", "gpus": 4}, "amd.com/gpu is 8 and nvidia.com/gpu is 4, expected GPUs of one maker"),
    ("amd", {"gpus": 4}, 4),
    ("kai", {"gpus": 2}, 2),
    ("hami", {"gpus": 20, "annotations": {"hami.io/node-nvidia-register": TWO % "true"}}, 2),
    ("hami", {"gpus": 20, "annotations": {"hami.io/node-nvidia-register": TWO % "false"}}, 1),  # one is not healthy
    ("hami", {"gpus": 10, "annotations": {"hami.io/node-nvidia-register": "GPU-a,10,15360,100,T4,0,true:"}}, 1),
    ("hami", {"gpus": 10, "annotations": {"hami.io/node-nvidia-register": "what"}}, "cannot be read"),
    ("aliyun", {"aliyun.com/gpu-count": "2", "aliyun.com/gpu-mem": "30", "labels": T4}, 2),
    (
        "volcano",
        {VOL + "vgpu-number": "20", "labels": T4, "annotations": {"volcano.sh/node-vgpu-register": TWO % "true"}},
        2,
    ),
    ("volcano", {VOL + "vgpu-number": "20", "labels": T4}, "annotation volcano.sh/node-vgpu-register is missing"),
    ("koordinator", {KOO + "gpu": "400", "labels": {"node.koordinator.sh/gpu-model": "Tesla-T4"}}, 4),
    ("koordinator", {KOO + "gpu-core": "150", "labels": T4}, "expected 100 for each GPU"),
    ("mig", {"nvidia.com/mig-1g.5gb": "14", "labels": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}}, 2),
    (
        "mig",
        {"nvidia.com/mig-3g.20gb": "4", "labels": {**T4, "nvidia.com/gpu.count": "2"}},
        2,  # 12 slices
    ),
    ("dra", {}, 0),  # GPUs are in ResourceSlices
    ("mig", {"gpus": 1, "nvidia.com/mig-1g.5gb": "7"}, 2),  # one GPU with MIG, one without
]

# dialect, what is written for GPU 3 and half of it
WRITTEN: dict[str, dict[str, str]] = {
    "alibaba": {"alibabacloud.com/gpu-index": "3"},
    "nvidia": {"wattpack.dev/gpu-index": "3"},
    "amd": {"wattpack.dev/gpu-index": "3"},
    "kai": {"wattpack.dev/gpu-index": "3"},
    "hami": {"wattpack.dev/gpu-index": "3"},
    "aliyun": {"wattpack.dev/gpu-index": "3", "ALIYUN_COM_GPU_MEM_IDX": "3", "ALIYUN_COM_GPU_MEM_ASSIGNED": "false"},
    "volcano": {"wattpack.dev/gpu-index": "3", "volcano.sh/gpu-index": "3"},
    "koordinator": {"wattpack.dev/gpu-index": "3"},
    "mig": {"wattpack.dev/gpu-index": "3"},
    "dra": {"wattpack.dev/gpu-index": "3"},
}


def reading(dialect: str) -> Reading:
    return Reading(dialect=DIALECTS[dialect], gpu_memory_mib=MEMORY_MIB)


@pytest.mark.parametrize(("dialect", "pod", "expected"), PODS)
def test_a_pod_asks_for_gpus(dialect: str, pod: dict[str, Any], expected: tuple[int, int] | str) -> None:
    if isinstance(expected, str):
        with pytest.raises(Unreadable) as fault:
            read_task(make_pod(**pod), reading(dialect))
        assert expected in str(fault.value)
    else:
        assert read_task(make_pod(**pod), reading(dialect))[2:4] == expected


@pytest.mark.parametrize(("dialect", "node", "expected"), NODES)
def test_a_node_has_gpus(dialect: str, node: dict[str, Any], expected: int | str) -> None:
    if isinstance(expected, str):
        with pytest.raises(Unreadable) as fault:
            read_node(make_node(**node), reading(dialect))
        assert expected in str(fault.value)
    else:
        assert read_node(make_node(**node), reading(dialect)).gpus == expected


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_index_is_written_in_the_dialects_annotation_and_read_again(dialect: str) -> None:
    half, whole = TaskClass(1000, 1024, 1, 500), TaskClass(1000, 1024, 3, 1000)
    written = binding_annotations((3,), half, reading(dialect))
    assert written.items() >= WRITTEN[dialect].items()
    assert all(isinstance(value, str) for value in written.values())
    for task, gpus in ((half, (3,)), (whole, (0, 2, 5))):
        text = DIALECTS[dialect].read_index(binding_annotations(gpus, task, reading(dialect)))
        assert text == "-".join(map(str, gpus))


def test_every_dialect_has_its_lines_here_and_its_name_once() -> None:
    assert {line[0] for line in PODS} == {line[0] for line in NODES} == set(WRITTEN) == set(DIALECTS)
    assert all(dialect.name == name for name, dialect in DIALECTS.items())
    with pytest.raises(UserError, match="unknown dialect 'runai', expected one of alibaba, nvidia"):
        find_dialect("runai")


def test_no_two_dialects_own_a_name_that_means_something_else() -> None:
    for one in DIALECTS.values():
        for other in DIALECTS.values():
            if one is not other:
                assert not one.resources & other.resources


def test_memory_of_a_gpu_must_be_known_to_be_shared() -> None:
    with pytest.raises(Unreadable, match="set gpu_memory_mib in the configuration"):
        read_task(make_pod(**{"aliyun.com/gpu-mem": "4"}), Reading(dialect=DIALECTS["aliyun"]))


def test_hami_and_volcano_choose_models_by_a_part_of_the_name() -> None:
    said = {"nvidia.com/use-gputype": "A100, t4", "nvidia.com/nouse-gputype": "80GB,PCIE"}
    spec = read_task(make_pod(annotations=said, **{GPU: "1"}), reading("hami")).gpu_spec
    assert spec == "A100|A100-SXM4-40GB|T4|T4G"
    assert read_task(make_pod(annotations=said, **{VOL + "vgpu-number": "1"}), reading("volcano")).gpu_spec == spec
    with pytest.raises(Unreadable, match="leave no GPU model that we know"):
        read_task(make_pod(annotations={"nvidia.com/use-gputype": "Z9"}, **{GPU: "1"}), reading("hami"))


def test_koordinators_allocation_is_read_as_its_own_scheduler_writes_it() -> None:
    gpu = {"minor": 1, "resources": {"koordinator.sh/gpu-core": "50", "koordinator.sh/gpu-memory": "8Gi"}}
    said = {"scheduling.koordinator.sh/device-allocated": json.dumps({"gpu": [gpu], "rdma": [{"minor": 0}]})}
    assert read_pod(make_pod(node="n", annotations=said, **{KOO + "gpu": "50"}), reading("koordinator")).gpus == (1,)
    said = {"scheduling.koordinator.sh/device-allocated": "{"}
    facts = read_pod(make_pod(node="n", annotations=said, **{KOO + "gpu": "50"}), reading("koordinator"))
    assert "expected JSON with the minors of GPUs" in facts.doubt
    assert facts.holds == (Held("", 500),)


def test_seven_slices_of_a_gpu_fit_and_eight_do_not() -> None:
    """All ways to fill 7 slices with profiles of 1, 2, 3, 4 and 7 fit into 1000; any with 8 or more does not."""

    def milli(slices: int) -> int:
        return read_task(make_pod(**{f"nvidia.com/mig-{slices}g.5gb": "1"}), reading("mig")).gpu_milli

    size = {slices: milli(slices) for slices in (1, 2, 3, 4, 7)}

    def ways(left: int, most: int) -> list[list[int]]:
        if left == 0:
            return [[]]
        return [[s, *rest] for s in size if s <= min(left, most) for rest in ways(left - s, s)]

    assert all(sum(size[s] for s in way) <= 1000 for way in ways(7, 7))
    assert all(sum(size[s] for s in way) > 1000 for total in (8, 9, 14) for way in ways(total, 7))
    assert slices_of("nvidia.com/mig-4g.40gb") == 4
