"""Random fleets, each with the traces and power profiles it is tried on. A fleet's number is its seed.

Only integers are drawn, so a number gives the same fleet on every machine. The list of models is written out: a model
that the catalog gains later must not change a fleet that was published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wattpack.datasets import alibaba2023
from wattpack.datasets.derive import constrained_gpu, multi_gpu, sharing_gpu
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import Workload

TUNING, HELD_OUT = range(60), range(100, 160)  # choices are made on the first; the second are judged once, at the end

NODES = (200, 240, 280, 330, 400, 480, 570, 680, 820, 1000, 1200, 1500, 2000, 3000)  # equal steps of the logarithm
MOST_TYPES = 6
GPUS = (1, 2, 2, 4, 4, 4, 8, 8, 8, 8, 16)  # of a node
VCPU_PER_GPU = (4, 6, 8, 12, 16, 16, 24, 32, 48, 64)
MOST_VCPU = 512  # of a node
GIB_PER_VCPU = (4, 6, 8)
CPU_ONLY_VCPU = (32, 64, 96, 128)
ONE_IN_CPU_ONLY = 10  # one node type in ten has no GPU
PARTS = 20  # a node type has 1 to 20 parts of the fleet
# Models with watts in the three profiles, by the names of the paper or the catalog.
MODELS = (
    *("T4", "P100", "V100M16", "V100M32", "G2", "G3"),
    *("A10", "A30", "A40", "A100-SXM4-40GB", "A100-SXM4-80GB", "A100-PCIE-40GB", "L4", "L40S"),
    *("H100-80GB-HBM3", "H100-PCIe", "H200", "B200", "RTX-A6000", "MI210", "MI300X", "Gaudi2"),
)
CPUS = (
    *("Xeon E5-2682 v4", "Xeon Platinum 8163", "Xeon Platinum 8269CY", "Xeon Platinum 8369B"),
    *("Xeon Gold 6326", "EPYC 7742", "EPYC 7763"),
)
PROFILES = ("paper", "measured", "linear")
MULTI_PERCENT = (10, 15, 25, 35, 45, 60)
SHARING_PERCENT = (10, 20, 30, 50, 70, 90)
SPEC_PERCENT = (5, 15, 40, 60)


@dataclass(frozen=True)
class Setting:
    """One trace and power profile on a fleet."""

    trace: Workload
    profile: str


@dataclass(frozen=True)
class Fleet:
    number: int
    datacenter: Datacenter
    settings: tuple[Setting, ...]

    @property
    def text(self) -> str:
        """The node types in words: count x GPUs model / vCPU."""
        own = self.datacenter
        keys = list(zip(own.gpus.tolist(), own.model.tolist(), own.cpu_milli.tolist(), strict=True))
        parts = [
            f"{keys.count(key)} x {f'{key[0]} {own.models[key[1]]}' if key[0] else 'no GPU'} / {key[2] // 1000} vCPU"
            for key in dict.fromkeys(keys)
        ]
        return ", ".join(parts)


def random_fleet(number: int) -> Fleet:
    """The fleet of this number: one setting with a published trace, one with a derived trace and another profile."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([14, number])))
    datacenter = _datacenter(number, rng)
    profile = int(rng.integers(len(PROFILES)))
    other = (profile + 1 + int(rng.integers(len(PROFILES) - 1))) % len(PROFILES)
    published = _published(datacenter, rng)
    derived = _derived(datacenter, rng)
    settings = (Setting(published, PROFILES[profile]), Setting(derived, PROFILES[other]))
    return Fleet(number, datacenter, settings)


def _datacenter(number: int, rng: np.random.Generator) -> Datacenter:
    nodes, types = _one_of(NODES, rng), 1 + int(rng.integers(MOST_TYPES))
    parts = 1 + rng.integers(PARTS, size=types)
    counts = [int(nodes * part // parts.sum()) for part in parts]
    counts[0] += nodes - sum(counts)
    columns: dict[str, list[Any]] = {"name": [], "cpu": [], "memory": [], "gpus": [], "model": [], "cpu_model": []}
    for place, count in enumerate(counts):
        cpu_only = place > 0 and int(rng.integers(ONE_IN_CPU_ONLY)) == 0
        gpus, model = (0, "") if cpu_only else (_one_of(GPUS, rng), _one_of(MODELS, rng))
        vcpu = _one_of(CPU_ONLY_VCPU, rng) if cpu_only else min(MOST_VCPU, gpus * _one_of(VCPU_PER_GPU, rng))
        memory_mib, cpu_model = vcpu * _one_of(GIB_PER_VCPU, rng) * 1024, _one_of(CPUS, rng)
        columns["name"] += [f"type{place}-{node:04d}" for node in range(count)]
        for column, value in zip(
            ("cpu", "memory", "gpus", "model", "cpu_model"),
            (vcpu * 1000, memory_mib, gpus, model, cpu_model),
            strict=True,
        ):
            columns[column] += [value] * count
    return Datacenter.of(*columns.values(), name=f"fleet{number}")


def _published(datacenter: Datacenter, rng: np.random.Generator) -> Workload:
    """One of the 13 traces; of one that names models of the paper, the same share names models of this fleet."""
    name = _one_of(alibaba2023.TRACES, rng)
    if not name.startswith("gpuspec"):
        return alibaba2023.trace(name)
    return constrained_gpu(alibaba2023.trace("default"), int(name.removeprefix("gpuspec")), datacenter, rng)


def _derived(datacenter: Datacenter, rng: np.random.Generator) -> Workload:
    """More or fewer multi-GPU or sharing tasks than the published traces have; of one in three, some name models."""
    default, kind = alibaba2023.trace("default"), int(rng.integers(2))
    change, percents = ((multi_gpu, MULTI_PERCENT), (sharing_gpu, SHARING_PERCENT))[kind]
    trace = change(default, _one_of(percents, rng), rng)
    if int(rng.integers(3)) > 0:
        return trace
    return constrained_gpu(trace, _one_of(SPEC_PERCENT, rng), datacenter, rng)


def _one_of(values: tuple[Any, ...], rng: np.random.Generator) -> Any:
    return values[int(rng.integers(len(values)))]


def parse_numbers(text: str) -> tuple[int, ...]:
    """`0-59` or `3,7,100-159`."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or len(text) > 1000:
            raise UserError(f"--fleets {text[:40]!r}, expected numbers like 0-59 or 3,7,100-159")
        numbers = range(int(first), int(last if dash else first) + 1)
        if len(numbers) == 0 or numbers[-1] > 9999:
            raise UserError(f"--fleets {text[:40]!r}, expected ascending numbers up to 9999")
        found += numbers
    return tuple(dict.fromkeys(found))
