"""A datacenter as columns of integers; its nodes as kernels and policies see them are records (node_record.py)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wattpack.errors import UserError
from wattpack.frames import new_frame
from wattpack.model.counted import counted
from wattpack.model.node_record import KINDS as KINDS
from wattpack.model.node_record import MAX_GPUS as MAX_GPUS
from wattpack.model.node_record import NODE as NODE
from wattpack.model.node_record import NOTES as NOTES
from wattpack.model.node_record import empty_records
from wattpack.model.pools import MAX_POOLS, OPEN, Pool
from wattpack.model.power import GPU_MILLI, PAPER, VCPU_MILLI_PER_CORE, PowerProfile

if TYPE_CHECKING:
    from pandas import DataFrame

MAX_BASE_W = 1e6  # of one node


@dataclass(frozen=True, repr=False)
class Datacenter:
    """Nodes as read-only columns. The order of the nodes is the node order of a run: ties go to the first."""

    names: tuple[str, ...]
    cpu_milli: NDArray[np.int64]
    memory_mib: NDArray[np.int64]
    gpus: NDArray[np.int64]
    model: NDArray[np.int64]
    models: tuple[str, ...]
    cpu_model: NDArray[np.int64]
    cpu_models: tuple[str, ...]
    name: str = "datacenter"
    pool: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # empty: one pool, open to all
    pools: tuple[Pool, ...] = (OPEN,)
    own_base_mw: NDArray[np.int64] | None = None  # base power by node, -1: the profile's; None: all the profile's
    file_place: NDArray[np.int64] | None = None  # place of each node in its file; None: they stand as in the file
    # vCPU of the machine itself, -1: unknown; None: of no node known. Beyond `cpu_milli` they are its system's.
    own_capacity_milli: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        cpu_milli: ArrayLike,
        memory_mib: ArrayLike,
        gpus: ArrayLike,
        model: Sequence[str],
        cpu_model: Sequence[str] | None = None,
        name: str = "datacenter",
        base_w: Sequence[float | None] | None = None,
        capacity_milli: Sequence[int | None] | None = None,
    ) -> Datacenter:
        """Build from plain sequences; `model` and `cpu_model` are texts, `""` for no GPU and for the default CPU.

        `base_w`: what each node draws beside sockets and GPUs; None is the power profile's, which is 0 without a file.
        `capacity_milli`: vCPU of the machine, where its system keeps some for itself; `cpu_milli` are those of tasks.
        """
        if len(names) == 0:
            raise UserError(f"{name}: no nodes, expected at least one")
        given = {"cpu_milli": cpu_milli, "memory_mib": memory_mib, "gpus": gpus}
        cpu, memory, counts = (_amounts(f"{name}: {column}", values, len(names)) for column, values in given.items())
        for column, texts in (("model", model), ("cpu_model", model if cpu_model is None else cpu_model)):
            if len(texts) != len(names):
                raise UserError(
                    f"{name}: {column} has {len(texts)} values, expected one for each of {len(names)} nodes"
                )
        if counts.max() > MAX_GPUS:
            raise UserError(f"{name}: a node has {counts.max()} GPUs, expected at most {MAX_GPUS}")
        # A node without GPUs has no model, whatever its file says.
        texts = ["" if count == 0 else text for text, count in zip(model, counts.tolist(), strict=True)]
        models, model_index = _indexed(texts)
        cpu_models, cpu_index = _indexed(list(cpu_model) if cpu_model is not None else [""] * len(names))
        base = _base_mw(f"{name}: base_w", base_w, len(names))
        whole = _capacity_milli(f"{name}: capacity_milli", capacity_milli, cpu)
        capacity = (cpu, memory, counts, model_index, models, cpu_index, cpu_models)
        return cls(tuple(names), *capacity, name, own_base_mw=base, own_capacity_milli=whole)

    def __post_init__(self) -> None:
        if len(self.pool) == 0:
            object.__setattr__(self, "pool", np.zeros(len(self.names), dtype=np.int64))
        for column in (self.cpu_milli, self.memory_mib, self.gpus, self.model, self.cpu_model, self.pool):
            column.flags.writeable = False
        for own in (self.own_base_mw, self.own_capacity_milli):
            if own is not None:
                own.flags.writeable = False

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        by_model = np.bincount(self.model, weights=self.gpus, minlength=len(self.models))
        counts = [f"{count:,.0f} {model}" for model, count in zip(self.models, by_model, strict=True) if count > 0]
        models = f" ({', '.join(counts)})" if counts else ""
        nodes, gpus = counted(len(self), "node", ","), counted(int(self.gpus.sum()), "GPU", ",")
        return f"Datacenter {self.name!r}: {nodes}, {gpus}{models}"

    @property
    def gpu_milli(self) -> int:
        """GPU capacity in milli-GPU."""
        return int(self.gpus.sum()) * GPU_MILLI

    def to_pandas(self) -> DataFrame:
        """A row a node, with the columns of a file of nodes: `load_datacenter` takes it again.

        `base_w` and `capacity_milli` are there where a node has its own, `pool` and `only` where there are pools.
        """
        columns: dict[str, Any] = {
            "sn": list(self.names),
            "cpu_milli": self.cpu_milli,
            "memory_mib": self.memory_mib,
            "gpu": self.gpus,
            "model": [self.models[m] for m in self.model.tolist()],
            "cpu_model": [self.cpu_models[m] for m in self.cpu_model.tolist()],
        }
        if self.pools != (OPEN,):
            pools = [self.pools[p] for p in self.pool.tolist()]
            columns |= {"pool": [pool.name for pool in pools], "only": [pool.only for pool in pools]}
        if self.own_base_mw is not None:
            columns["base_w"] = np.where(self.own_base_mw < 0, np.nan, self.own_base_mw / 1000)
        if self.own_capacity_milli is not None:
            columns["capacity_milli"] = np.where(self.own_capacity_milli < 0, np.nan, self.own_capacity_milli)
        return new_frame(columns)

    def ordered(self, order: NDArray[np.int64]) -> Datacenter:
        """The same nodes in another node order."""
        picked = [self.names[i] for i in order.tolist()]
        return Datacenter(
            tuple(picked),
            self.cpu_milli[order],
            self.memory_mib[order],
            self.gpus[order],
            self.model[order],
            self.models,
            self.cpu_model[order],
            self.cpu_models,
            self.name,
            self.pool[order],
            self.pools,
            None if self.own_base_mw is None else self.own_base_mw[order],
            order if self.file_place is None else self.file_place[order],
            None if self.own_capacity_milli is None else self.own_capacity_milli[order],
        )

    def repeated(self, times: int) -> Datacenter:
        """A datacenter `times` as large: `times` copies of every node, with numbered names."""
        if times < 1:
            raise UserError(f"{self.name}: repeated {times} times, expected 1 or more")
        names = [f"{name}-{copy:04d}" for copy in range(times) for name in self.names]
        own = (self.cpu_milli, self.memory_mib, self.gpus, self.model, self.cpu_model, self.pool)
        cpu, memory, gpus, model, cpu_model, pool = (np.tile(column, times) for column in own)
        name = f"{self.name}-x{times}"
        base = None if self.own_base_mw is None else np.tile(self.own_base_mw, times)
        whole = None if self.own_capacity_milli is None else np.tile(self.own_capacity_milli, times)
        capacity = (cpu, memory, gpus, model, self.models, cpu_model, self.cpu_models)
        return Datacenter(tuple(names), *capacity, name, pool, self.pools, base, own_capacity_milli=whole)

    def in_pools(self, pools: Sequence[Pool]) -> Datacenter:
        """The same nodes, the i-th in the pool `pools[i]`."""
        places: dict[Pool, int] = {}
        index = np.array([places.setdefault(pool, len(places)) for pool in pools], dtype=np.int64)
        if len(places) > MAX_POOLS:
            raise UserError(f"{self.name}: {len(places)} different pools of nodes, expected at most {MAX_POOLS}")
        return replace(self, pool=index, pools=tuple(places))

    def without_pools(self) -> Datacenter:
        """The same nodes, open to all tasks."""
        return self.in_pools([OPEN] * len(self))

    def closed_to_gpu_tasks(self, names: Collection[str]) -> Datacenter:
        """The same nodes; those named take no more tasks with GPUs."""
        own = [self.pools[p] for p in self.pool.tolist()]
        return self.in_pools(
            [pool.without_gpu() if n in names else pool for n, pool in zip(self.names, own, strict=True)]
        )

    @cached_property
    def types(self) -> NDArray[np.int64]:
        """Type number of every node: equal nodes, equal number. Cached: it takes 2 ms, and runs share a datacenter.

        Base power of their own has a part in it: where nodes sleep, what a placement adds depends on it.
        """
        own = [self.cpu_milli, self.memory_mib, self.gpus, self.model, self.cpu_model, self.pool]
        own += [column for column in (self.own_base_mw, self.own_capacity_milli) if column is not None]
        columns = np.stack(own, axis=1)
        _, inverse = np.unique(columns, axis=0, return_inverse=True)
        return inverse.reshape(-1).astype(np.int64)

    def base_mw(self, profile: PowerProfile = PAPER) -> NDArray[np.int64]:
        """Base power of every node: its own, or the profile's."""
        of_gpus_w = np.array([profile.gpu_base_w.get(model, 0.0) for model in self.models])[self.model]
        found = np.rint((profile.base_w + self.gpus * of_gpus_w) * 1000).astype(np.int64)
        return found if self.own_base_mw is None else np.where(self.own_base_mw >= 0, self.own_base_mw, found)

    def records(self, profile: PowerProfile = PAPER) -> Any:
        """The nodes as a recarray of empty `NODE` records; the engine, which knows the target, fills fragmentation.

        `Any`, because numpy's types do not say that an item of a recarray is a record.
        """
        nodes = empty_records(len(self))
        nodes["cpu_milli"] = nodes["cpu_left"] = self.cpu_milli
        nodes["memory_mib"] = nodes["memory_left"] = self.memory_mib
        nodes["gpus"] = nodes["gpu_free"] = self.gpus
        nodes["model"], nodes["cpu_model"], nodes["type"] = self.model, self.cpu_model, self.types
        nodes["pool"] = self.pool
        nodes["gpu_left"] = np.where(np.arange(MAX_GPUS)[None, :] < self.gpus[:, None], GPU_MILLI, 0)
        nodes["gpu_total"] = self.gpus * GPU_MILLI
        nodes["gpu_most"] = np.where(self.gpus > 0, GPU_MILLI, 0)
        cpus = [profile.cpu(model) for model in self.cpu_models]
        nodes["socket_cores"] = np.array([cpu.cores for cpu in cpus])[self.cpu_model]
        whole = self.cpu_milli if self.own_capacity_milli is None else self.own_capacity_milli
        nodes["cores"] = -(-np.maximum(whole, self.cpu_milli) // VCPU_MILLI_PER_CORE)
        nodes["sockets"] = -(-nodes["cores"] // nodes["socket_cores"])
        nodes["socket_idle_mw"] = np.array([round(cpu.idle_w * 1000) for cpu in cpus])[self.cpu_model]
        nodes["socket_max_mw"] = np.array([round(cpu.max_w * 1000) for cpu in cpus])[self.cpu_model]
        nodes["slowness"] = 1.0
        nodes["base_mw"] = self.base_mw(profile)
        return nodes.view(np.recarray)


def _amounts(where: str, values: ArrayLike, count: int) -> NDArray[np.int64]:
    """A copy of a column: whole numbers from 0, one for each of `count` nodes."""
    found = np.asarray(values)
    if found.shape != (count,):
        raise UserError(f"{where} has {found.size} values, expected one for each of {count} nodes")
    with np.errstate(invalid="ignore"):  # NaN is refused below
        whole = found.astype(np.int64) if found.dtype.kind in "iuf" else np.full(count, -1)
    if not ((whole == found) & (whole >= 0)).all():
        raise UserError(f"{where}: expected whole numbers from 0")
    return whole


def _base_mw(where: str, values: Sequence[float | None] | None, count: int) -> NDArray[np.int64] | None:
    """Milliwatts, -1 for None; None where no node has a base power of its own."""
    if values is None or all(value is None for value in values):
        return None
    if len(values) != count:
        raise UserError(f"{where} has {len(values)} values, expected one for each of {count} nodes")
    for value in values:
        if value is not None and not 0 <= value <= MAX_BASE_W:
            raise UserError(f"{where}: {value!r}, expected watts from 0 to {MAX_BASE_W:,.0f}, or None")
    return np.array([-1 if value is None else round(value * 1000) for value in values], dtype=np.int64)


def _capacity_milli(
    where: str, values: Sequence[int | None] | None, cpu_milli: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """-1 for None; None where it is known of no node."""
    if values is None or all(value is None for value in values):
        return None
    if len(values) != len(cpu_milli):
        raise UserError(f"{where} has {len(values)} values, expected one for each of {len(cpu_milli)} nodes")
    pairs = zip(values, cpu_milli.tolist(), strict=True)
    found = _amounts(where, [left if own is None else own for own, left in pairs], len(values))
    if (found < cpu_milli).any():
        raise UserError(f"{where}: expected at least the node's cpu_milli, or None")
    return np.where([value is None for value in values], -1, found).astype(np.int64)


def _indexed(texts: list[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Distinct texts in order of first appearance, and the index of each text among them."""
    places: dict[str, int] = {}
    index = np.array([places.setdefault(text, len(places)) for text in texts], dtype=np.int64)
    return tuple(places), index
