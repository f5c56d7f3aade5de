"""Several dialects at once, and devices that others give out: what is counted, what is closed, and what is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube import mixed
from kube.made import Json, make_node, make_pod, node_json, pod_json
from kube.mixed import A100, GPU, claim_json, claiming, slice_json
from wattpack.kube.dialects import DIALECTS, find_dialect
from wattpack.kube.dra.claims import Claims
from wattpack.kube.dra.objects import CLAIM
from wattpack.kube.dra.slice_objects import SLICE
from wattpack.kube.objects import NODE, POD, Unreadable
from wattpack.kube.read_node import read_node
from wattpack.kube.read_pod import binding_annotations, read_pod, read_task
from wattpack.kube.reading import Reading
from wattpack.kube.snapshot import Snapshot, take_snapshot
from wattpack.model.pools import HELD
from wattpack.model.tasks import TaskClass

KOORDINATOR, AMD_GPU = "koordinator.sh/gpu", "amd.com/gpu"
MI300X = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}


def of(*items: Json, reading: Reading | None = None) -> Snapshot:
    """The snapshot of these objects."""
    kinds: dict[str, list[Any]] = {"Node": [], "Pod": [], "ResourceSlice": [], "ResourceClaim": []}
    decoders = {"Node": NODE, "Pod": POD, "ResourceSlice": SLICE, "ResourceClaim": CLAIM}
    for item in items:
        kinds[item["kind"]].append(decoders[item["kind"]].decode(json.dumps(item)))
    claims = Claims(kinds["ResourceSlice"], kinds["ResourceClaim"])
    return take_snapshot(kinds["Node"], kinds["Pod"], reading or Reading(), claims)


def tasks(found: Snapshot) -> dict[str, tuple[int, int, tuple[int, ...]]]:
    return {task.pod.name: (task.pod.task.num_gpu, task.pod.task.gpu_milli, task.gpus) for task in found.tasks}


# ---- several dialects at once


@pytest.mark.parametrize(
    ("asked", "dialect", "request_milli"),
    [
        ({GPU: "2"}, "", 2000),
        ({"annotations": {"alibabacloud.com/gpu-milli": "300"}}, "alibaba", 300),
        ({AMD_GPU: "8"}, "amd", 8000),
        ({"annotations": {"gpu-fraction": "0.25"}}, "kai", 250),
        ({GPU: "1", "nvidia.com/gpumem-percentage": "40"}, "hami", 400),
        ({"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory-percentage": "30"}, "volcano", 300),
        ({KOORDINATOR: "50"}, "koordinator", 500),
        ({"nvidia.com/mig-3g.40gb": "1"}, "mig", 428),
        ({}, "", 0),
    ],
)
def test_every_dialect_is_read_without_being_named(asked: dict[str, Any], dialect: str, request_milli: int) -> None:
    facts = read_pod(make_pod(**asked), Reading())
    assert (facts.dialect, facts.task.num_gpu * facts.task.gpu_milli) == (dialect, request_milli)


def test_a_pod_that_two_dialects_understand_alike_is_understood() -> None:
    both = {"annotations": {"alibabacloud.com/gpu-milli": "500", "gpu-fraction": "0.5"}}
    assert read_task(make_pod(**both), Reading()).gpu_milli == 500


def test_a_pod_that_two_dialects_understand_differently_is_not_understood() -> None:
    both = {"annotations": {"alibabacloud.com/gpu-milli": "300", "gpu-fraction": "0.5"}}
    said = "1 GPU x 300 milli in dialect alibaba, 1 GPU x 500 milli in dialect kai: expected the same in both dialects"
    with pytest.raises(Unreadable, match=said):
        read_task(make_pod(**both), Reading())


def test_words_that_two_dialects_share_are_no_contradiction() -> None:
    """`nvidia.com/use-gputype` belongs to HAMi and to Volcano; only one of them finds a request."""
    pod = make_pod(annotations={"nvidia.com/use-gputype": "T4"}, **{"volcano.sh/vgpu-number": "1"})
    facts = read_pod(pod, Reading())
    assert (facts.dialect, facts.task.gpu_spec) == ("volcano", "T4|T4G")  # a part of the name is enough


def test_the_reservation_pods_of_kai_hold_no_gpu_of_their_own() -> None:
    pod = make_pod(namespace="kai-resource-reservation", node="n", **{GPU: "1"})
    assert read_task(pod, Reading()).num_gpu == 0


def test_dialects_can_be_narrowed_to_one_or_to_a_list() -> None:
    reading = Reading(dialect=find_dialect(["kai", "alibaba"]))
    assert read_task(make_pod(annotations={"gpu-fraction": "0.5"}), reading).gpu_milli == 500
    with pytest.raises(Unreadable, match=r"asks in koordinator\.sh/gpu, which is dialect koordinator"):
        read_task(make_pod(**{KOORDINATOR: "50"}), reading)
    assert find_dialect("kai") is find_dialect(["kai"]) is DIALECTS["kai"]
    assert find_dialect("all") is find_dialect(["all"]) is find_dialect(["kai", "all"])  # as --dialect gives them


def test_the_index_is_written_in_the_words_of_the_pods_own_dialect() -> None:
    half, reading = TaskClass(1, 1, 1, 500), Reading()
    for dialect, written in (("alibaba", "alibabacloud.com/gpu-index"), ("", "wattpack.dev/gpu-index")):
        assert binding_annotations((2,), half, reading, dialect) == {written: "2"}
        assert reading.dialect.read_index({written: "2"}) == "2"
    with pytest.raises(Unreadable, match="GPU indices 2 and 3 in annotations of two dialects"):
        reading.dialect.read_index({"alibabacloud.com/gpu-index": "2", "volcano.sh/gpu-index": "3"})


def test_a_node_that_two_dialects_count_differently_cannot_be_read() -> None:
    offered = {"alibabacloud.com/gpu-count": "4", KOORDINATOR: "800"}
    node = make_node("n", labels={"nvidia.com/gpu.product": "Tesla-T4"}, **offered)
    with pytest.raises(Unreadable, match="offers 4 GPUs in dialect alibaba and 8 GPUs in dialect koordinator"):
        read_node(node, Reading())


def test_pods_go_to_the_nodes_of_the_maker_whose_gpus_they_ask_for() -> None:
    nodes = [node_json("amd", labels=MI300X, **{AMD_GPU: "8"}), node_json("nvidia", gpus=8)]
    share = pod_json("share", annotations={"gpu-fraction": "0.5"})
    found = of(*nodes, pod_json("rocm", node="amd", **{AMD_GPU: "2"}), pod_json("cuda", **{GPU: "2"}), share)
    assert tasks(found) == {"rocm": (2, 1000, (0, 1)), "cuda": (2, 1000, ()), "share": (1, 500, ())}
    assert (found.left_out, found.not_understood) == ({}, [])
    specs = {task.pod.name: task.pod.task.pool_spec for task in found.tasks}
    assert specs["rocm"] == found.access["amd"].pool
    assert specs["cuda"] == specs["share"] == found.access["nvidia"].pool


# ---- devices that nobody reads


@pytest.mark.parametrize(
    ("node", "dialects", "unread"),
    [
        (node_json("n", **{"habana.ai/gaudi": "8"}), "all", "habana.ai/gaudi"),
        (node_json("n", gpus=4, **{"nvidia.com/gpu.shared": "16"}), "all", "nvidia.com/gpu.shared"),
        (node_json("n", **{"amd.com/cpx_nps4": "64"}), "all", "amd.com/cpx_nps4"),
        (node_json("n", labels=MI300X, **{AMD_GPU: "8"}), "nvidia", AMD_GPU),
        (node_json("n", gpus=4, **{"rdma/hca": "1", "smarter-devices/input": "2", "habana.ai/gaudi": "0"}), "all", ""),
        (node_json("n", gpus=4, **{"alibabacloud.com/gpu-count": "4"}), "kai", ""),  # counted in plain words
    ],
)
def test_devices_of_a_node_that_no_dialect_in_use_counts_are_named(node: Json, dialects: str, unread: str) -> None:
    found = of(node, reading=Reading(dialect=find_dialect(dialects)))
    expected = {f"counted without {unread}, which no dialect in use reads": ["node n"]} if unread else {}
    assert found.left_out == expected
    assert [facts.name for facts in found.nodes] == ["n"]


@pytest.mark.parametrize(
    ("device", "held"),
    [
        ("nvidia.com/TU104GL_Tesla_T4", True),  # KubeVirt: a GPU of a virtual machine
        ("nvidia.com/GA102GL_A10", True),
        ("nvidia.com/GRID_T4-2Q", True),
        ("nvidia.com/NVIDIA_A10-4Q", True),
        ("nvidia.com/A100", True),  # a device plugin with names of its own
        ("nvidia.com/H100.shared", True),
        ("nvidia.com/hostdev", False),  # network cards
        ("nvidia.com/resibp24s0", False),
        ("rdma/hca_shared", False),
    ],
)
def test_a_pod_with_a_gpu_under_the_name_of_its_chip_or_model_closes_its_node(device: str, held: bool) -> None:
    found = of(node_json("n", gpus=2, **{device: "2"}), pod_json("vm", node="n", **{device: "1"}))
    assert found.access["n"].only == ("cpu" if held else "")
    assert [one.resource for one in found.not_understood] == ([device] if held else [])


@pytest.mark.parametrize(
    ("device", "held"),
    [
        ("qualcomm.com/qaic", True),
        ("enflame.com/gcu", True),
        ("enflame.com/shared-gcu", True),
        ("enflame.com/dtu", True),
        ("furiosa.ai/npu", True),
        ("furiosa.ai/rngd", True),
        ("rebellions.ai/ATOM", True),
        ("tenstorrent.com/n150", True),
        ("habana.ai/gaudi", True),
        ("aws.amazon.com/neuroncore", True),
        ("google.com/tpu", True),
        ("cambricon.com/mlu", True),
        ("cambricon.com/vmlu", True),
        ("cambricon.com/mim-2m.8gb", True),
        ("huawei.com/Ascend910", True),
        ("iluvatar.ai/vcuda-core", True),
        ("metax-tech.com/gpu", True),
        ("mthreads.com/sgpu", True),
        ("kunlunxin.com/vxpu", True),
        ("example.com/output", False),  # ends in "tpu" after a letter
        ("qualcomm.com/qmi", False),  # a modem
        ("vpc.amazonaws.com/efa", False),  # a network card, as are all below
        ("google.com/netdevice", False),
        ("huawei.com/roce", False),
    ],
)
def test_a_pod_with_an_accelerator_of_any_maker_closes_its_node_and_is_named(device: str, held: bool) -> None:
    found = of(node_json("n", gpus=2, **{device: "2"}), pod_json("p", node="n", **{device: "1"}))
    assert found.access["n"].only == ("cpu" if held else "")
    assert found.not_understood == ([("team/p", "n", device)] if held else [])
    unread = f"counted without {device}, which no dialect in use reads"
    assert found.left_out.get(unread, []) == (["node n"] if held else [])


# ---- GPU memory


def nodes_of_16_and_80_gib() -> list[Json]:
    return [node_json("t4", gpus=1), node_json("a100", gpus=1, model=A100)]


@pytest.mark.parametrize(
    ("gib", "milli", "spec"),
    [
        (12, 800, ""),  # 12 of the 15 GiB of a T4: enough on every GPU
        (40, 500, "A100-SXM4-80GB"),  # 40 of 80 GiB: a T4 cannot hold it
    ],
)
def test_a_request_for_gpu_memory_is_a_share_of_the_smallest_gpu_that_holds_it(gib: int, milli: int, spec: str) -> None:
    found = of(*nodes_of_16_and_80_gib(), pod_json("waits", **{"aliyun.com/gpu-mem": str(gib)}))
    (task,) = found.tasks
    assert (task.pod.task.gpu_milli, task.pod.task.gpu_spec) == (milli, spec)


def test_a_running_pod_that_asked_for_gpu_memory_is_a_share_of_its_own_gpu_and_may_not_go_to_a_smaller_one() -> None:
    """Six pods of 12 GiB are on one A100 of 80 GiB: 150 milli each, not 800."""
    held = [pod_json(f"p{i}", node="a100", **{"aliyun.com/gpu-mem": "12"}) for i in range(6)]
    found = of(*nodes_of_16_and_80_gib(), *held)
    assert tasks(found) == {f"p{i}": (1, 150, (0,)) for i in range(6)}
    assert {task.pod.task.gpu_spec for task in found.tasks} == {"A100-SXM4-80GB"}
    assert found.memory_assumed == [f"team/p{i}" for i in range(6)]


# ---- pods that are not understood, MIG, claims


def test_a_pod_that_asks_for_an_unknown_accelerator_closes_its_node_to_tasks_with_gpus_and_is_named() -> None:
    found = of(
        node_json("n", gpus=2, cpu="64"),
        pod_json("habana", node="n", cpu="16", **{"habana.ai/gaudi": "1"}),
        pod_json("beside", node="n", **{GPU: "1"}),
    )
    assert found.access["n"][1:] == ("cpu", "pods not understood")
    assert [(one.pod, one.node, one.resource) for one in found.not_understood] == [
        ("team/habana", "n", "habana.ai/gaudi")
    ]
    assert tasks(found) == {"beside": (1, 1000, (0,))}
    assert found.nodes[0].cpu_milli == 48_000  # what the pod takes of CPU is known


def test_a_pod_of_which_not_even_the_cpu_can_be_read_closes_its_node_to_all_tasks() -> None:
    found = of(node_json("n", gpus=2), pod_json("odd", node="n", cpu="lots", **{GPU: "1"}))
    assert found.access["n"][1:] == ("none", "pods not understood")


def test_mig_devices_are_counted_and_their_node_takes_no_other_tasks_with_gpus() -> None:
    node = node_json("n", labels={"nvidia.com/gpu.product": A100}, **{"nvidia.com/mig-1g.10gb": "14"})
    found = of(node, *(pod_json(f"p{i}", node="n", **{"nvidia.com/mig-1g.10gb": "1"}) for i in range(8)))
    assert (found.nodes[0].gpus, found.access["n"][1:]) == (2, ("cpu", "MIG devices"))
    assert sorted(tasks(found).values()) == [(1, 142, (0,))] * 7 + [(1, 142, (1,))]
    assert {task.pod.task.pool_spec for task in found.tasks} == {HELD}


def test_a_cluster_read_in_the_mig_dialect_alone_is_open_to_mig_tasks() -> None:
    node = node_json("n", labels={"nvidia.com/gpu.product": A100}, **{"nvidia.com/mig-1g.10gb": "14"})
    pod = pod_json("p", node="n", **{"nvidia.com/mig-1g.10gb": "1"})
    found = of(node, pod, reading=Reading(dialect=DIALECTS["mig"]))
    assert (found.access["n"].only, found.tasks[0].pod.task.pool_spec) == ("", "")


def test_gpus_that_claims_hold_are_counted_and_their_pods_stay() -> None:
    found = of(node_json("claims"), slice_json("claims", 4), claim_json("c", "p", "gpu-1", "gpu-3"), claiming("p", "c"))
    assert (found.nodes[0].gpus, found.nodes[0].model) == (4, "A100-SXM4-80GB")
    assert found.access["claims"][1:] == ("cpu", "resource claims")
    assert tasks(found) == {"p": (2, 1000, (1, 3))}
    assert found.tasks[0].pod.task.pool_spec == HELD
    assert found.not_understood == []


def test_a_claim_made_from_a_template_is_found_by_the_pods_status() -> None:
    pod = pod_json("p", node="claims", spec={"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]})
    pod["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": "p-gpu-x"}]
    found = of(node_json("claims"), slice_json("claims", 4), claim_json("p-gpu-x", "p", "gpu-0"), pod)
    assert tasks(found) == {"p": (1, 1000, (0,))}


def test_a_claim_that_two_pods_share_is_counted_once() -> None:
    claim = claim_json("c", "p", "gpu-0")
    claim["status"]["reservedFor"].append({"resource": "pods", "name": "q", "uid": "u"})
    found = of(node_json("claims"), slice_json("claims", 4), claim, claiming("p", "c"), claiming("q", "c"))
    assert sorted(tasks(found).values()) == [(0, 0, ()), (1, 1000, (0,))]


def test_a_share_of_a_device_is_what_the_claim_consumes_of_its_capacity() -> None:
    offered = slice_json("claims", 1)
    offered["spec"]["devices"][0]["capacity"] = {"milli": {"value": "1000"}}
    claim = claim_json("c", "p", "gpu-0", shareID="s", consumedCapacity={"milli": "460"})
    found = of(node_json("claims"), offered, claim, claiming("p", "c"))
    assert tasks(found) == {"p": (1, 460, (0,))}


def test_a_device_that_is_cut_from_a_gpu_through_claims_counts_as_its_slices() -> None:
    offered = slice_json("claims", 1)
    cut = {"type": {"string": "mig"}, "profile": {"string": "3g.40gb"}}
    offered["spec"]["devices"].append({"name": "gpu-0-mig-3g40gb-0", "attributes": cut})
    found = of(node_json("claims"), offered, claim_json("c", "p", "gpu-0-mig-3g40gb-0"), claiming("p", "c"))
    assert tasks(found) == {"p": (1, 428, (0,))}


def test_a_claim_for_something_else_than_gpus_changes_nothing() -> None:
    claim = claim_json("c", "p", "nic-0", node="n", driver="dra.net")
    found = of(node_json("n", gpus=2), claim, claiming("p", "c", node="n", **{GPU: "1"}))
    assert tasks(found) == {"p": (1, 1000, (0,))}
    assert found.access["n"].only == ""
    assert found.tasks[0].pod.task.pool_spec == ""


@pytest.mark.parametrize("claims", [[], [claim_json("c", "p")]], ids=["not in the files", "not allocated"])
def test_a_pod_whose_claim_is_not_known_closes_its_node(claims: list[Json]) -> None:
    found = of(node_json("n", gpus=2), *claims, claiming("p", "c", node="n"))
    assert found.access["n"][1:] == ("cpu", "pods not understood")
    assert [one.resource for one in found.not_understood] == ["resource claim gpu"]


def test_a_daemons_gpus_are_counted_and_the_daemon_stays() -> None:
    found = of(node_json("n", gpus=2), pod_json("d", node="n", owner="DaemonSet", **{GPU: "1"}))
    assert tasks(found) == {"d": (1, 1000, (0,))}
    assert found.tasks[0].pod.task.pool_spec == HELD


def test_the_mixed_cluster_is_understood_but_for_three_pods() -> None:
    found = of(*mixed.nodes(), *mixed.pods(), *mixed.others())
    assert sorted(one.pod for one in found.not_understood) == ["team/habana", "team/oneapi", "team/tpus"]
    assert {name for name, access in found.access.items() if access.only not in ("", "named")} == mixed.TAKEN
    assert tasks(found) == {
        "whole": (1, 1000, (0,)),
        "lone": (1, 1000, (0,)),
        "ali": (1, 300, (1,)),
        "kai": (1, 500, (1,)),
        "hami": (1, 500, (0,)),
        "old": (2, 1000, (0, 1)),
        "slice": (1, 142, (0,)),
        "claimed": (2, 1000, (1, 2)),
        "waits": (2, 1000, ()),
        "waits-too": (1, 500, ()),
    }
    assert dict(found.dialects) == {"nvidia": 4, "alibaba": 2, "kai": 1, "hami": 1, "mig": 1, "dra": 1}
