"""Types of the records and arrays that kernels read, so that mypy finds a misspelt field.

numpy gives records no types of their own. The fields here are those of NODE (node_record.py), TASK (tasks.py), TARGET
(target.py) and `World` (policy.py), which say what each is; tests/model/test_records.py compares the names.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SmallIntegers = NDArray[np.int32]

Record = TypeVar("Record")


class Records(Protocol[Record]):
    """An array of records, as kernels use it: numpy's recarray."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Record: ...

    def __setitem__(self, index: int, record: Record, /) -> None: ...


class RecordTable(Records[Record], Protocol[Record]):
    """The same where Python also reads columns by name: `nodes.gpu_free.sum()`."""

    def __getattr__(self, column: str, /) -> Any: ...


class NodeRecord(Protocol):
    """One NODE record."""

    gpu_left: SmallIntegers
    cpu_left: int
    memory_left: int
    gpu_total: int
    gpu_free: int
    gpu_most: int
    gpus: int
    model: int
    tasks: int
    no_cpu: int
    no_memory: int
    fragmentation: float
    cpu_power_mw: int
    gpu_power_mw: int
    wake_mw: int
    slowness: float
    closed: int
    type: int
    pool: int
    cpu_milli: int
    memory_mib: int
    cores: int
    sockets: int
    socket_cores: int
    socket_idle_mw: int
    socket_max_mw: int
    base_mw: int
    kinds: NDArray[np.int16]
    cpu_model: int
    changed_at: int
    fragmentation_micro: Integers
    notes: Floats


class TaskRecord(Protocol):
    """One TASK record: a class of tasks."""

    cpu_milli: int
    memory_mib: int
    num_gpu: int
    gpu_milli: int
    gpu_request: int
    kind: int
    gpu_models: int
    cpu_models: int
    pools: int
    batch: int


class TargetRecord(Protocol):
    """One TARGET record: a class of the target workload."""

    cpu_milli: int
    gpu_milli: int
    num_gpu: int
    gpu_models: int
    size_index: int
    share: float


class WorldRecord(Protocol):
    """A `World`: fixed for a run, so its fields cannot be set; only the scratch in `tally` changes."""

    @property
    def target(self) -> Records[TargetRecord]: ...

    @property
    def gpu_draw_mw(self) -> Integers: ...

    @property
    def adds(self) -> SmallIntegers: ...

    @property
    def cpu_most(self) -> int: ...

    @property
    def tally(self) -> SmallIntegers: ...
