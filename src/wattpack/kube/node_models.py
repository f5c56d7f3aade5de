"""The GPU and CPU model of a node from its labels, and how they are known.

GPU, the first of these that the node has:
1. the configured label, then the labels of the dialect;
2. labels that tools set from the product itself (NVIDIA's and AMD's, CoreWeave's, Alibaba's): their word is final, a
   value without a power entry makes the node unreadable;
3. labels of clouds; a value that leaves the model open ("a100" of Karpenter without its memory) is passed over;
4. the instance type;
5. the device id of AMD's GPUs.
Names that the user maps (`[models]`) are looked up first, whatever the label.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from wattpack.kube.instance_types import machine_of
from wattpack.kube.objects import Unreadable
from wattpack.kube.reading import Reading
from wattpack.model.gpu_names import catalog_name, entry_name, possible_models
from wattpack.model.power import entry_to_add

AMD_PRODUCT = "amd.com/gpu.product-name"
PRODUCT_LABELS = (
    "nvidia.com/gpu.product",
    AMD_PRODUCT,
    "beta.amd.com/gpu.product-name",
    "gpu.nvidia.com/model",
    "aliyun.accelerator/nvidia_name",
)
GKE = "cloud.google.com/gke-accelerator"
AWS = ("karpenter.k8s.aws/instance-gpu", "eks.amazonaws.com/instance-gpu")  # then -name and -memory
OTHER_CLOUDS = ("k8s.amazonaws.com/accelerator", "doks.digitalocean.com/gpu-model", "gpu.nvidia.com/class")
INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
AMD_IDS = ("amd.com/gpu.device-id", "beta.amd.com/gpu.device-id")
NFD_CPU = "feature.node.kubernetes.io/cpu-model."

GKE_NAMES = {  # the others say which model they are
    "nvidia-tesla-a100": "A100-SXM4-40GB",
    "nvidia-tesla-v100": "V100-SXM2-16GB",
    "nvidia-tesla-p100": "P100-PCIE-16GB",
}
AWS_NAMES = {"h100": "H100-80GB-HBM3", "rtx-pro-server-6000": "RTX-PRO-6000-Blackwell-Server-Edition"}
# AWS sells these in two sizes, and parts of an L4: the MiB of one GPU tell.
AWS_BY_MEMORY = {
    "a100": {"40960": "A100-SXM4-40GB", "81920": "A100-SXM4-80GB"},
    "v100": {"16384": "V100-SXM2-16GB", "32768": "V100-SXM2-32GB"},
    "l4": {"22888": "L4", "24576": "L4"},
}
AMD_NAMES = {"74a1": "MI300X", "74a5": "MI325X", "75a0": "MI350X", "75a3": "MI355X", "740f": "MI210", "738c": "MI100"}
# Vendor, family and model number as NFD tells them -> generation: the product is not told by them.
GENERATIONS = {
    ("Intel", "6", "79"): "Broadwell",
    ("Intel", "6", "85"): "Skylake or Cascade Lake",
    ("Intel", "6", "106"): "Ice Lake",
    ("Intel", "6", "143"): "Sapphire Rapids",
    ("Intel", "6", "207"): "Emerald Rapids",
    ("Intel", "6", "173"): "Granite Rapids",
    ("AMD", "23", "49"): "EPYC 7002 (Rome)",
    ("AMD", "25", "1"): "EPYC 7003 (Milan)",
    ("AMD", "25", "17"): "EPYC 9004 (Genoa)",
    ("AMD", "25", "160"): "EPYC 97X4 (Bergamo)",
    ("AMD", "26", "2"): "EPYC 9005 (Turin)",
}
NO_NAMES = ("intel", "amd", "r", "cpu", "processor")  # words in the name of a CPU that do not tell models apart


class Known(NamedTuple):
    """A model of the power profile, and how it is known. A CPU without one ("") is the profile's default."""

    model: str
    how: str


def gpu_labels(reading: Reading) -> tuple[str, ...]:
    """Labels whose word is final, in order."""
    return tuple(dict.fromkeys((reading.gpu_model_label, *reading.dialect.model_labels, *PRODUCT_LABELS)))


def gpu_model(labels: Mapping[str, str], reading: Reading, expected: str = "") -> Known:
    """Raises Unreadable where no label names a model with a power entry; an empty one says nothing.

    `expected`: the label to ask for, if not the configured one.
    """
    for label in gpu_labels(reading):
        if labels.get(label):
            model = reading.model(labels[label])
            if model == "":
                raise Unreadable(_unknown(label, labels[label]))
            return Known(model, f"label {label}")
    offered = _offered(labels)
    for label, value, name in offered:
        if model := reading.models.get(value) or (reading.model(name) if name else ""):
            return Known(model, f"label {label}={value}")
    for label, value, name in offered:
        if name or label not in INSTANCE_TYPES:  # most instance types tell nothing of GPUs
            raise Unreadable(_unknown(label, value, name))
    hint = _hint(labels, reading)
    raise Unreadable(f"has GPUs but no label {expected or reading.gpu_model_label}, expected their model there{hint}")


def _hint(labels: Mapping[str, str], reading: Reading) -> str:
    """A label of the user's own whose value is the name of a model: nobody said that it means the node's GPUs."""
    own = next((key for key in sorted(labels) if reading.model(labels[key])), None)
    if own is None:
        return ""
    return f'; label {own} is {labels[own]!r}: if that is the model, set gpu_model_label = "{own}" in the configuration'


def _offered(labels: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(label, value, name of a GPU or "") of all labels of clouds that the node has, in order of precedence."""
    found = []
    if GKE in labels:
        found.append((GKE, labels[GKE], GKE_NAMES.get(labels[GKE], labels[GKE])))
    for prefix in AWS:
        if (value := labels.get(f"{prefix}-name", "")) != "":
            by_memory = AWS_BY_MEMORY.get(value)
            memory = labels.get(f"{prefix}-memory", "")
            name = AWS_NAMES.get(value, value) if by_memory is None else by_memory.get(memory, "")
            found.append((f"{prefix}-name", value, name))
    found += [(label, labels[label], labels[label]) for label in OTHER_CLOUDS if label in labels]
    for label in INSTANCE_TYPES:
        if label in labels:
            machine = machine_of(labels[label])
            found.append((label, labels[label], machine.gpu if machine else ""))
    for label in AMD_IDS:
        if label in labels:
            found.append((label, labels[label], AMD_NAMES.get(labels[label].lower().removeprefix("0x"), "")))
    return found


def _unknown(label: str, value: str, name: str | None = None) -> str:
    said = name or value
    by_memory = AWS_BY_MEMORY.get(value, {}) if label.startswith(AWS) else {}
    several = possible_models(said)
    text = f"label {label} is {value!r}, "
    if by_memory:
        memory = f"{label.removesuffix('-name')}-memory"
        text += f"of which label {memory} must tell the memory of a GPU ({' or '.join(by_memory)})"
    elif several:
        text += f"which may be {' or '.join(several)}"
    elif known := catalog_name(said):
        text += f"{known}, a model without a power entry (the catalog has its limit only)"
    else:
        text += "a model without a power entry"
    entry = entry_to_add("gpu", entry_name(said))
    return (
        f'{text}: map it in the configuration, [models] "{value}" = "...", or put {entry} into a power file (--power)'
    )


def cpu_model(labels: Mapping[str, str], reading: Reading) -> Known:
    """The configured label is final; else the instance type. What is assumed, and why, is in `how`."""
    label = reading.cpu_model_label
    assumed = f"{reading.profile.default_cpu} is assumed"
    if label and label in labels:
        found = _of_profile(labels[label], reading)
        if found == "":
            known = ", ".join(sorted(reading.profile.cpus))
            raise Unreadable(f"label {label} is {labels[label]!r}, a CPU without a power entry; known: {known}")
        return Known(found, f"label {label}")
    for key in INSTANCE_TYPES:
        machine = machine_of(labels.get(key, ""))
        if machine is not None and machine.cpu:
            if found := _of_profile(machine.cpu, reading):
                return Known(found, f"instance type {labels[key]}")
            return Known("", f"{assumed}: {machine.cpu} of {labels[key]} has no power entry")
    numbers = tuple(labels.get(f"{NFD_CPU}{part}", "") for part in ("vendor_id", "family", "id"))
    if generation := GENERATIONS.get((numbers[0], numbers[1], numbers[2])):
        return Known("", f"{assumed}: labels tell {generation}, not the product")
    return Known("", f"{assumed}: no label names the CPU")


def _of_profile(name: str, reading: Reading) -> str:
    plain = _plain(name)
    return next((known for known in reading.profile.cpus if _plain(known) == plain), "")


def _plain(name: str) -> str:
    """`Intel(R) Xeon(R) Platinum 8163 CPU @ 2.50GHz` in a label is like `Intel-R-Xeon-R-Platinum-8163-CPU-2.50GHz`."""
    words = re.sub(r"\d+[-_ ]core|\(r\)|[-_@]", " ", name.lower()).split()
    return " ".join(word for word in words if word not in NO_NAMES and not word.endswith("ghz"))
