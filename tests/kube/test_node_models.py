"""Models of nodes from the labels that real nodes have, in the stated order, and what is said where none tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wattpack.kube.instance_types import _TYPES, machine_of
from wattpack.kube.node_models import (
    AMD_NAMES,
    AWS_BY_MEMORY,
    AWS_NAMES,
    GKE,
    GKE_NAMES,
    Known,
    cpu_model,
    gpu_model,
)
from wattpack.kube.objects import Unreadable
from wattpack.kube.reading import Reading
from wattpack.model.catalog import GPUS
from wattpack.model.power import MEASURED, GpuPower

WITH_ALL = replace(MEASURED, further_gpus={**{name: GpuPower(10, 100, 20) for name in GPUS}, **MEASURED.further_gpus})
READING = Reading(profile=WITH_ALL)
TYPE = "node.kubernetes.io/instance-type"
KARPENTER, EKS = "karpenter.k8s.aws/instance-gpu", "eks.amazonaws.com/instance-gpu"


@pytest.mark.parametrize(
    ("labels", "model"),
    [
        # tools that read the product
        ({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}, "H100-80GB-HBM3"),
        ({"nvidia.com/gpu.product": "NVIDIA-H100-NVL"}, "H100-NVL"),
        ({"nvidia.com/gpu.product": "NVIDIA-A100-80GB-PCIe"}, "A100-80GB-PCIe"),
        ({"nvidia.com/gpu.product": "NVIDIA-RTX-6000-Ada-Generation"}, "RTX-6000-Ada-Generation"),
        ({"nvidia.com/gpu.product": "NVIDIA-GeForce-RTX-4090"}, "GeForce-RTX-4090"),
        ({"nvidia.com/gpu.product": "NVIDIA-B300-SXM6-AC"}, "B300"),
        ({"amd.com/gpu.product-name": "AMD_Instinct_MI325X_OAM"}, "MI325X"),
        ({"beta.amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}, "MI300X"),
        ({"amd.com/gpu.device-id": "74a1"}, "MI300X"),
        ({"amd.com/gpu.device-id": "0x740F"}, "MI210"),
        ({"gpu.nvidia.com/model": "H100_NVLINK_80GB"}, "H100-80GB-HBM3"),
        ({"gpu.nvidia.com/model": "A100_PCIE_40GB"}, "A100-PCIE-40GB"),
        ({"aliyun.accelerator/nvidia_name": "Tesla-V100-SXM2-32GB"}, "V100-SXM2-32GB"),
        # by hand
        ({"nvidia.com/gpu.product": "h100_sxm"}, "H100-80GB-HBM3"),
        ({"nvidia.com/gpu.product": "H100 SXM5"}, "H100-80GB-HBM3"),
        ({"nvidia.com/gpu.product": "a100-80g"}, "A100-SXM4-80GB"),
        ({"nvidia.com/gpu.product": "80GB-A100-SXM"}, "A100-SXM4-80GB"),
        ({"nvidia.com/gpu.product": "rtx4090"}, "GeForce-RTX-4090"),
        # Google
        ({GKE: "nvidia-tesla-t4"}, "T4"),
        ({GKE: "nvidia-tesla-a100"}, "A100-SXM4-40GB"),
        ({GKE: "nvidia-a100-80gb"}, "A100-SXM4-80GB"),
        ({GKE: "nvidia-h100-80gb"}, "H100-80GB-HBM3"),
        ({GKE: "nvidia-h100-mega-80gb"}, "H100-80GB-HBM3"),
        ({GKE: "nvidia-h200-141gb"}, "H200"),
        ({GKE: "nvidia-l4"}, "L4"),
        ({GKE: "nvidia-b200"}, "B200"),
        ({GKE: "nvidia-gb200"}, "GB200"),
        ({GKE: "nvidia-rtx-pro-6000"}, "RTX-PRO-6000-Blackwell-Server-Edition"),
        ({TYPE: "a3-highgpu-8g"}, "H100-80GB-HBM3"),
        ({TYPE: "a2-ultragpu-1g"}, "A100-SXM4-80GB"),
        # AWS
        ({f"{KARPENTER}-name": "t4"}, "T4"),
        ({f"{KARPENTER}-name": "a10g"}, "A10G"),
        ({f"{KARPENTER}-name": "h100"}, "H100-80GB-HBM3"),
        ({f"{KARPENTER}-name": "l4", f"{KARPENTER}-memory": "22888"}, "L4"),
        ({f"{KARPENTER}-name": "a100", f"{KARPENTER}-memory": "81920"}, "A100-SXM4-80GB"),
        ({f"{EKS}-name": "v100", f"{EKS}-memory": "32768"}, "V100-SXM2-32GB"),
        ({f"{EKS}-name": "l40s"}, "L40S"),
        ({TYPE: "p5.48xlarge"}, "H100-80GB-HBM3"),
        ({TYPE: "g6.12xlarge"}, "L4"),
        ({TYPE: "p5en.48xlarge"}, "H200"),
        # Azure tells the maker only; the instance type tells the model
        ({"kubernetes.azure.com/accelerator": "nvidia", TYPE: "Standard_ND96isr_H100_v5"}, "H100-80GB-HBM3"),
        ({TYPE: "Standard_NC24ads_A100_v4"}, "A100-80GB-PCIe"),
        ({TYPE: "Standard_NC40ads_H100_v5"}, "H100-NVL"),
        ({TYPE: "Standard_ND96asr_v4"}, "A100-SXM4-40GB"),
        ({TYPE: "Standard_NC6s_v3"}, "V100-PCIE-16GB"),
        ({TYPE: "Standard_NV36ads_A10_v5"}, "A10"),
        ({TYPE: "BM.GPU.H100.8"}, "H100-80GB-HBM3"),
        ({TYPE: "ecs.gn7i-c16g1.4xlarge"}, "A10"),
    ],
    ids=str,
)
def test_a_label_of_real_nodes_names_a_model(labels: dict[str, str], model: str) -> None:
    assert gpu_model(labels, READING).model == model


ALL = {
    "own": "T4",
    "nvidia.com/gpu.product": "NVIDIA-L4",
    GKE: "nvidia-b200",
    f"{KARPENTER}-name": "h200",
    TYPE: "p4d.24xlarge",
    "amd.com/gpu.device-id": "74a1",
}


@pytest.mark.parametrize(
    ("without", "known"),
    [
        ([], Known("T4", "label own")),
        (["own"], Known("L4", "label nvidia.com/gpu.product")),
        (["own", "nvidia.com/gpu.product"], Known("B200", f"label {GKE}=nvidia-b200")),
        (["own", "nvidia.com/gpu.product", GKE], Known("H200", f"label {KARPENTER}-name=h200")),
    ],
)
def test_the_first_label_in_the_stated_order_decides(without: list[str], known: Known) -> None:
    labels = {label: value for label, value in ALL.items() if label not in without}
    assert gpu_model(labels, replace(READING, gpu_model_label="own")) == known


def test_a_cloud_label_that_leaves_the_model_open_is_passed_over_for_the_instance_type() -> None:
    """Karpenter's "a100" without the memory: 40 GB in p4d, 80 GB in p4de."""
    for kind, model in (("p4d.24xlarge", "A100-SXM4-40GB"), ("p4de.24xlarge", "A100-SXM4-80GB")):
        assert gpu_model({f"{KARPENTER}-name": "a100", TYPE: kind}, READING).model == model
    with pytest.raises(
        Unreadable, match=r"of which label karpenter.*-memory must tell the memory of a GPU .40960 or 81920.: map"
    ):
        gpu_model({f"{KARPENTER}-name": "a100"}, READING)


def test_an_empty_label_says_nothing() -> None:
    empty = {"nvidia.com/gpu.product": "", GKE: "nvidia-l4"}
    assert gpu_model(empty, READING) == Known("L4", f"label {GKE}=nvidia-l4")


def test_a_label_of_the_users_own_that_holds_a_model_is_pointed_at_and_counts_only_if_configured() -> None:
    labels = {"rack": "r7", "team.example/gpu": "h100_sxm"}
    said = "label team.example/gpu is 'h100_sxm': if that is the model, set gpu_model_label = \"team.example/gpu\" in"
    with pytest.raises(Unreadable, match=said):
        gpu_model(labels, READING)
    assert gpu_model(labels, replace(READING, gpu_model_label="team.example/gpu")).model == "H100-80GB-HBM3"


@pytest.mark.parametrize("kind", ["g6f.xlarge", "Standard_NV6ads_A10_v5", "g4ad.xlarge", "m5.large", "k3s", "x" * 5000])
def test_an_instance_type_without_whole_gpus_of_a_known_model_tells_nothing(kind: str) -> None:
    assert machine_of(kind) is None
    with pytest.raises(Unreadable, match=r"has GPUs but no label nvidia.com/gpu.product"):
        gpu_model({TYPE: kind}, READING)


def test_a_part_of_an_l4_is_not_taken_for_an_l4() -> None:
    with pytest.raises(Unreadable, match="'l4'"):
        gpu_model({f"{KARPENTER}-name": "l4", f"{KARPENTER}-memory": "2861", TYPE: "g6f.large"}, READING)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("h100", "which may be H100-80GB-HBM3 or H100-PCIe or H100-NVL: map it"),
        ("A800", "which may be A800-SXM4-80GB or A800-80GB-PCIe: map it"),
        ("v100-16gb", "which may be V100-SXM2-16GB or V100-PCIE-16GB: map it"),
        ("NVIDIA-GeForce-GTX-1080", 'a model without a power entry: map it in the configuration, \\[models\\] "NVIDIA'),
    ],
)
def test_a_value_that_is_ambiguous_or_unknown_is_reported_and_never_guessed(value: str, line: str) -> None:
    """Also where the instance type would tell: the product's label is final."""
    with pytest.raises(Unreadable, match=f"label nvidia.com/gpu.product is '{value}', {line}"):
        gpu_model({"nvidia.com/gpu.product": value, TYPE: "p5.48xlarge"}, READING)


def test_a_model_of_which_the_catalog_has_the_limit_only_is_told_as_such() -> None:
    with pytest.raises(Unreadable, match=r"'NVIDIA-GB300', GB300, a model without a power entry \(the catalog has its"):
        gpu_model({"nvidia.com/gpu.product": "NVIDIA-GB300"}, Reading())


@pytest.mark.parametrize("labels", [{"nvidia.com/gpu.product": "h100"}, {GKE: "h100"}, {TYPE: "h100"}])
def test_names_that_the_user_maps_come_first_at_every_label(labels: dict[str, str]) -> None:
    assert gpu_model(labels, replace(READING, models={"h100": "H100-NVL"})).model == "H100-NVL"


def test_every_name_in_the_tables_is_in_the_catalog() -> None:
    named = {machine.gpu for _, machine in _TYPES} | {*AMD_NAMES.values(), *AWS_NAMES.values(), *GKE_NAMES.values()}
    named |= {model for sizes in AWS_BY_MEMORY.values() for model in sizes.values()}
    assert named <= set(GPUS)


CPU = replace(READING, cpu_model_label="cpu")
ASSUMED = "Xeon E5-2682 v4 is assumed"


@pytest.mark.parametrize(
    ("labels", "known"),
    [
        ({"cpu": "EPYC-7742"}, Known("EPYC 7742", "label cpu")),
        ({"cpu": "AMD-EPYC-7742-64-Core-Processor"}, Known("EPYC 7742", "label cpu")),
        ({"cpu": "EPYC-7743"}, None),
        ({"cpu": "Intel-R-Xeon-R-Platinum-8163-CPU-2.50GHz"}, Known("Xeon Platinum 8163", "label cpu")),
        ({TYPE: "p5.48xlarge"}, Known("", f"{ASSUMED}: EPYC 7R13 of p5.48xlarge has no power entry")),
        ({TYPE: "g2-standard-4"}, Known("", f"{ASSUMED}: no label names the CPU")),
        ({}, Known("", f"{ASSUMED}: no label names the CPU")),
        (
            {f"feature.node.kubernetes.io/cpu-model.{part}": value for part, value in
             (("vendor_id", "Intel"), ("family", "6"), ("id", "143"))},
            Known("", f"{ASSUMED}: labels tell Sapphire Rapids, not the product"),
        ),
    ],
)  # fmt: skip
def test_the_cpu_is_told_by_labels_or_it_is_said_which_is_assumed(labels: dict[str, str], known: Known | None) -> None:
    if known is None:
        with pytest.raises(Unreadable, match="a CPU without a power entry"):
            cpu_model(labels, CPU)
    else:
        assert cpu_model(labels, CPU) == known


def test_the_cpu_of_an_instance_type_is_taken_where_it_has_watts() -> None:
    own = replace(WITH_ALL, cpus={**WITH_ALL.cpus, "EPYC 7R13": WITH_ALL.cpus["EPYC 7763"]})
    found = cpu_model({TYPE: "p5.48xlarge"}, replace(READING, profile=own))
    assert found == Known("EPYC 7R13", "instance type p5.48xlarge")
