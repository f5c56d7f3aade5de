"""Power of a node, in integer milliwatts so that running sums are exact. Power models are data.

The paper's profile is a step: a GPU or a socket draws its maximum as soon as any part of it is taken. Sockets are steps
in every profile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wattpack.errors import UserError
from wattpack.jit import inner_kernel, kernel
from wattpack.model.catalog import CPUS, GPUS, PAPER_NAMES
from wattpack.model.gpu_names import models_meant
from wattpack.model.records import Integers, NodeRecord, TaskRecord

GPU_MILLI = 1000
VCPU_MILLI_PER_CORE = 2000  # two hardware threads a physical core


@dataclass(frozen=True)
class GpuPower:
    """Watts of one GPU: `idle_w` with nothing on it; with a share u in use, context + (max - context) * u ** exponent.

    The paper's step model is context_w = max_w: any use costs the maximum. A measured curve has `points` instead, from
    (0, context_w) to (1, max_w), with straight lines between them.
    """

    idle_w: float
    max_w: float
    context_w: float
    exponent: float = 1.0
    points: tuple[tuple[float, float], ...] = field(default=(), repr=False)  # (share in use, W)

    def draw_mw(self) -> np.ndarray:
        """Milliwatts by milli-GPU in use, int64[1001]."""
        share = np.arange(GPU_MILLI + 1) / GPU_MILLI
        watts = self.context_w + (self.max_w - self.context_w) * share**self.exponent
        if self.points:
            shares, at_shares = np.array(self.points).T
            watts = np.interp(share, shares, at_shares)
        table = np.rint(watts * 1000).astype(np.int64)
        table[0] = round(self.idle_w * 1000)
        return table


@dataclass(frozen=True)
class CpuPower:
    """Physical cores and watts of one socket."""

    cores: int
    idle_w: float
    max_w: float


@dataclass(frozen=True)
class PowerProfile:
    """Which watts belong to which model. A model that is not here is an error, never a guess."""

    name: str
    gpus: Mapping[str, GpuPower]  # the models of the paper
    cpus: Mapping[str, CpuPower]
    default_cpu: str
    source: str
    further_gpus: Mapping[str, GpuPower] = field(default_factory=dict)  # models of the catalog
    # What a node draws beside sockets and GPUs, and for each GPU by model. Not in the repr: earlier ids are made of it.
    base_w: float = field(default=0.0, repr=False)
    gpu_base_w: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def known_gpus(self) -> list[str]:
        return sorted({*self.gpus, *self.further_gpus})

    def gpu(self, model: str) -> GpuPower:
        found = self.gpus.get(model) or self.further_gpus.get(model)
        if found is None:
            raise UserError(f"unknown GPU model {model!r} {_add('gpu', model)}; known: {', '.join(self.known_gpus)}")
        return found

    def cpu(self, model: str) -> CpuPower:
        found = self.cpus.get(model or self.default_cpu)
        if found is None:
            raise UserError(f"unknown CPU model {model!r} {_add('cpu', model)}; known: {', '.join(sorted(self.cpus))}")
        return found


def profile_text(profile: PowerProfile) -> str:
    """All watts of a profile. One without base power and curves has the text that it had before there were any."""
    curves = {name: gpu.points for name, gpu in {**profile.further_gpus, **profile.gpus}.items() if gpu.points}
    more = (profile.base_w, sorted(profile.gpu_base_w.items()), sorted(curves.items()))
    return repr(profile) + (repr(more) if any(more) else "")


ENTRY_KEYS = {"gpu": "idle_w = .. context_w = .. max_w = ..", "cpu": "cores = .. idle_w = .. max_w = .."}


PASS_IT = "a line each, into FILE.toml and pass --power FILE.toml, in Python and experiment files power = 'FILE.toml'"


def entry_to_add(table: str, model: str) -> str:
    """The four lines that a power file needs for a model, in one line."""
    return f"[{table}.{json.dumps(model, ensure_ascii=False)}] {ENTRY_KEYS[table]}"


def _add(table: str, model: str) -> str:
    """What to do about a model without watts; a name that cannot be one is only unknown."""
    if not 0 < len(model) <= 200 or not model.isprintable():
        return "(no power entry)"
    if (table == "gpu" and model in GPUS) or (table == "cpu" and model in CPUS):  # listed, but not all of it is known
        has = f"its limit, {GPUS[model].limit_w:g} W" if table == "gpu" else "its cores and its maximum"
        lines = f"[{table}.{json.dumps(model)}] idle_w = .."
        return f"(the catalog has only {has}: put {lines}, {PASS_IT})"
    meant = models_meant(model) if table == "gpu" else ()
    first = f"perhaps {' or '.join(meant)}; for another GPU put" if meant else "no power entry: put"
    return f"({first} {entry_to_add(table, model)}, {PASS_IT})"


PAPER_WATTS = {  # idle, maximum
    "T4": (10, 70),
    "A10": (30, 150),
    "G2": (30, 150),
    "P100": (25, 250),
    "V100M16": (30, 300),
    "V100M32": (30, 300),
    "G3": (50, 400),
    "A100": (50, 400),
}
_CATALOG_WATTS = {name: (gpu.idle_w, gpu.limit_w) for name, gpu in GPUS.items() if gpu.idle_w is not None}
_XEON = "Xeon E5-2682 v4"
_CPUS = {_XEON: CpuPower(16, 15, 120)} | {
    name: CpuPower(cpu.cores, cpu.idle_w, cpu.max_w) for name, cpu in CPUS.items() if cpu.idle_w is not None
}
_PAPER_SOURCE = "CCGrid 2025 paper, table II; G2 is taken for A10, G3 for A100; other models from the catalog"
# Training runs in public sweeps draw a median of 48 to 74 % of the power limit.
TYPICAL_SHARE_OF_LIMIT = 0.7


def _from_end_points(name: str, curve: Callable[[float, float], GpuPower]) -> PowerProfile:
    """One curve between idle and maximum for all models; the paper's models have the paper's watts."""
    own = {model: curve(idle, most) for model, (idle, most) in PAPER_WATTS.items()}
    further = {model: curve(idle, most) for model, (idle, most) in _CATALOG_WATTS.items() if model not in own}
    return PowerProfile(name, own, _CPUS, _XEON, _PAPER_SOURCE, further)


def _from_readings() -> PowerProfile:
    """Idle, idle context and a typical maximum from readings, linear in between.

    Where no context was read, a context costs nothing here, which underestimates.
    """
    read = {}
    for model, gpu in GPUS.items():
        if gpu.idle_w is not None:
            context_w = gpu.idle_w if gpu.context_w is None else gpu.context_w
            read[model] = GpuPower(gpu.idle_w, TYPICAL_SHARE_OF_LIMIT * gpu.limit_w, context_w)
    own = {model: read[entry] for model, entry in PAPER_NAMES.items()}
    further = {model: gpu for model, gpu in read.items() if model not in own}
    return PowerProfile("measured", own, _CPUS, _XEON, "the catalog's readings, 70 % of the limit at full use", further)


PAPER = _from_end_points("paper", lambda idle, most: GpuPower(idle, most, context_w=most))
# The same end points with a draw that grows with the share in use. Measured on one H200: linear in the share of the
# GPU's blocks in use and for memory copies, concave for matrix products by time share.
LINEAR = _from_end_points("linear", lambda idle, most: GpuPower(idle, most, context_w=idle))
CONCAVE = _from_end_points("concave", lambda idle, most: GpuPower(idle, most, context_w=idle, exponent=0.7))
MEASURED = _from_readings()
PROFILES = {profile.name: profile for profile in (PAPER, LINEAR, CONCAVE, MEASURED)}


@kernel
def cpu_power_mw(node: NodeRecord, cpu_left: int) -> int:
    """CPU milliwatts of `node` with `cpu_left` milli-vCPU free: sockets with a core in use at maximum, others idle.

    What the node's system keeps for itself (its cores less `cpu_milli`) keeps no core busy: an empty node is idle.
    """
    busy_cores = (node.cpu_milli - cpu_left + VCPU_MILLI_PER_CORE - 1) // VCPU_MILLI_PER_CORE
    active = (busy_cores + node.socket_cores - 1) // node.socket_cores
    return active * node.socket_max_mw + (node.sockets - active) * node.socket_idle_mw


@kernel
def gpu_power_mw(node: NodeRecord, gpu_draw_mw: Integers) -> int:
    """GPU milliwatts of `node` in its current state. `gpu_draw_mw`: int64[models, 1001], by milli-GPU in use."""
    power = 0
    for g in range(node.gpus):
        power += gpu_draw_mw[node.model, GPU_MILLI - node.gpu_left[g]]
    return power


@kernel
def added_cpu_power_mw(node: NodeRecord, task: TaskRecord) -> int:
    """CPU milliwatts that placing `task` on `node` adds."""
    return cpu_power_mw(node, node.cpu_left - task.cpu_milli) - node.cpu_power_mw


@kernel
def added_share_power_mw(model: int, used_milli: int, gpu_milli: int, gpu_draw_mw: Integers) -> int:
    """Milliwatts that `gpu_milli` more add on a GPU of `model` with `used_milli` in use."""
    return gpu_draw_mw[model, used_milli + gpu_milli] - gpu_draw_mw[model, used_milli]


@kernel
def added_gpu_power_mw(node: NodeRecord, task: TaskRecord, gpu: int, gpu_draw_mw: Integers) -> int:
    """GPU milliwatts that placing `task` on `node` adds; a sharing task goes to GPU `gpu`."""
    if task.num_gpu == 0:
        return 0
    if task.kind == 0:
        return added_share_power_mw(node.model, GPU_MILLI - node.gpu_left[gpu], task.gpu_milli, gpu_draw_mw)
    return task.num_gpu * added_share_power_mw(node.model, 0, GPU_MILLI, gpu_draw_mw)


# The sums of CPU, GPU and base power. Nothing outside this file adds them (tests/model/test_power_sum.py): a node that
# sleeps would be a change here. No placement changes the base power, so it is in totals and never in what a task adds.


def cpu_and_gpu_power(cpu: Any, gpu: Any) -> Any:
    """What CPUs and GPUs draw together: the part of the power that placements change."""
    return cpu + gpu


def total_power(cpu: Any, gpu: Any, base: Any) -> Any:
    """All that is drawn, in the unit of the three; for Python, numbers or arrays."""
    return cpu + gpu + base


kernel_cpu_and_gpu_power = inner_kernel(cpu_and_gpu_power)  # for kernels, numbers only
kernel_total_power = inner_kernel(total_power)


@kernel
def node_power_mw(node: NodeRecord) -> int:
    """Milliwatts that a settled `node` draws."""
    return kernel_total_power(node.cpu_power_mw, node.gpu_power_mw, node.base_mw)


@kernel
def placed_power_mw(node: NodeRecord) -> int:
    """Milliwatts of a settled `node` that placements change: without its base power."""
    return kernel_cpu_and_gpu_power(node.cpu_power_mw, node.gpu_power_mw)


@kernel
def unsettled_power_mw(node: NodeRecord, gpu_draw_mw: Integers) -> int:
    """Milliwatts that `node` draws, worked out from what is left on it."""
    return kernel_total_power(cpu_power_mw(node, node.cpu_left), gpu_power_mw(node, gpu_draw_mw), node.base_mw)


@kernel
def added_power_mw(node: NodeRecord, task: TaskRecord, gpu: int, gpu_draw_mw: Integers) -> int:
    """Milliwatts that placing `task` on `node` adds; a sharing task goes to GPU `gpu`.

    Where nodes sleep, a placement on an empty node also adds what the node would save asleep (`wake_mw`).
    """
    return added_power_with_cpu_mw(added_cpu_power_mw(node, task), node, task, gpu, gpu_draw_mw)


@kernel
def added_power_with_cpu_mw(
    added_cpu_mw: int, node: NodeRecord, task: TaskRecord, gpu: int, gpu_draw_mw: Integers
) -> int:
    """`added_power_mw` for loops over GPUs, with the CPU part (`added_cpu_power_mw`) worked out once before."""
    return node.wake_mw + kernel_cpu_and_gpu_power(added_cpu_mw, added_gpu_power_mw(node, task, gpu, gpu_draw_mw))


@kernel
def paid_power_mw(added_mw: int, node: NodeRecord, task: TaskRecord) -> int:
    """What a task pays for the milliwatts that it adds, at the reference speed: energy by work, where speeds count."""
    return added_mw if task.batch == 0 else int(added_mw * node.slowness)


def nodes_power_mw(nodes: Any) -> Any:
    """The milliwatts that each of `nodes` draws: settled NODE records (or one record), for Python."""
    return total_power(nodes.cpu_power_mw, nodes.gpu_power_mw, nodes.base_mw)


def draw_table_mw(models: tuple[str, ...], profile: PowerProfile) -> np.ndarray:
    """int64[len(models), 1001]: milliwatts of one GPU of each model by milli-GPU in use; `""` means no GPU."""
    rows = [
        np.zeros(GPU_MILLI + 1, dtype=np.int64) if model == "" else profile.gpu(model).draw_mw() for model in models
    ]
    return np.stack(rows) if rows else np.zeros((0, GPU_MILLI + 1), dtype=np.int64)
