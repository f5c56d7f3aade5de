"""Tasks: their distinct classes as columns of integers, a workload as a sequence of classes, and the `TASK` record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.frames import new_frame
from wattpack.model.nodes import Datacenter
from wattpack.model.pools import pools_mask
from wattpack.model.power import GPU_MILLI

if TYPE_CHECKING:
    from pandas import DataFrame

    from wattpack.model.timed_tasks import TimedTasks

if TYPE_CHECKING:
    from pandas import DataFrame

MAX_MODELS = 62  # model sets are bits of one integer
ANY_MODEL = -1  # all bits set

TASK = np.dtype(
    [
        ("cpu_milli", np.int64),
        ("memory_mib", np.int64),
        ("num_gpu", np.int64),
        ("gpu_milli", np.int64),  # per GPU; 0 without GPU
        ("gpu_request", np.int64),  # num_gpu * gpu_milli
        ("kind", np.int64),  # 0 sharing, s for s whole GPUs, -1 without GPU
        ("gpu_models", np.int64),  # bit i: model i of the datacenter is allowed
        ("cpu_models", np.int64),
        ("pools", np.int64),  # bit i: may go to pool i of the datacenter
        ("batch", np.int64),  # 1: how long it runs depends on the speed of the GPU (`NODE.slowness`)
    ],
    align=True,
)


class TaskClass(NamedTuple):
    """What a task asks for. Every policy treats the tasks of one class alike."""

    cpu_milli: int
    memory_mib: int
    num_gpu: int
    gpu_milli: int
    gpu_spec: str = ""
    cpu_spec: str = ""
    pool_spec: str = ""

    @property
    def text(self) -> str:
        """What the task asks for, in words."""
        gpu = f"{self.num_gpu} GPU x {self.gpu_milli} milli" if self.num_gpu else "no GPU"
        model = f", model {self.gpu_spec}" if self.gpu_spec else ""
        return f"{self.cpu_milli} milli-vCPU, {self.memory_mib} MiB, {gpu}{model}"


def check_class(task: TaskClass) -> None:
    """A task asks for no GPU, for a part of one GPU, or for whole GPUs; amounts are not negative."""
    no_gpu = task.num_gpu == 0 and task.gpu_milli == 0
    share = task.num_gpu == 1 and 0 < task.gpu_milli < GPU_MILLI
    whole = task.num_gpu >= 1 and task.gpu_milli == GPU_MILLI
    if not (no_gpu or share or whole) or task.cpu_milli < 0 or task.memory_mib < 0:
        raise UserError(
            f"{task}: expected num_gpu 0 with gpu_milli 0, num_gpu 1 with gpu_milli 1 to {GPU_MILLI - 1}, or whole "
            f"GPUs with gpu_milli {GPU_MILLI}, and no negative amount"
        )


def check_types(task: object) -> None:
    """Amounts must be whole numbers: integer records would silently cut 0.5 to 0."""
    if not isinstance(task, TaskClass):
        raise UserError(f"{task!r}: expected a TaskClass")
    if not all(isinstance(amount, int | np.integer) for amount in task[:4]):
        raise UserError(f"{task}: expected whole numbers: milli-vCPU, MiB, GPUs and milli-GPU")


@dataclass(frozen=True, repr=False)
class Workload:
    """Tasks in order of arrival: `sequence[i]` is the class of the i-th task. Read-only."""

    classes: tuple[TaskClass, ...]
    sequence: NDArray[np.int32]
    task_names: tuple[str, ...] | None = None
    name: str = "workload"
    in_order: bool = True  # False: a trace of which only counts are known, listed by class, in no order of arrival
    # The same tasks with their times, where the file or the columns they come from have any, or why these are wrong.
    times: TimedTasks | UserError | None = field(default=None, compare=False)

    @classmethod
    def of(cls, tasks: Iterable[TaskClass], names: Sequence[str] | None = None, name: str = "workload") -> Workload:
        places: dict[TaskClass, int] = {}
        sequence = np.array([places.setdefault(task, len(places)) for task in tasks], dtype=np.int32)
        for task in places:
            check_types(task)
        if names is not None and len(names) != len(sequence):
            raise UserError(f"{name}: {len(names)} names, expected one for each of {len(sequence)} tasks")
        return cls(tuple(places), sequence, tuple(names) if names is not None else None, name)

    @classmethod
    def from_counts(cls, counts: Iterable[tuple[TaskClass, int]], name: str = "workload") -> Workload:
        """A trace given as classes with their counts; tasks arrive in the order of the classes."""
        pairs = list(counts)
        for task, _ in pairs:
            check_types(task)
        sequence = np.repeat(np.arange(len(pairs), dtype=np.int32), [count for _, count in pairs])
        return cls(tuple(task for task, _ in pairs), sequence, None, name)

    def __post_init__(self) -> None:
        for task in self.classes:
            check_class(task)

    def __len__(self) -> int:
        return len(self.sequence)

    def __repr__(self) -> str:
        gpus = self.gpu_request_milli().sum() / GPU_MILLI
        return f"Workload {self.name!r}: {len(self):,} tasks of {len(self.classes):,} classes, {gpus:,.1f} GPUs in all"

    def with_sequence(self, sequence: NDArray[np.int32]) -> Workload:
        """The same classes in another order of arrival (task names are dropped: tasks may repeat)."""
        return Workload(self.classes, sequence, None, self.name)

    def only(self, tasks: NDArray[np.bool_]) -> Workload:
        """Some of the tasks, in the same order."""
        names = None if self.task_names is None else tuple(np.array(self.task_names, dtype=object)[tasks].tolist())
        return Workload(self.classes, self.sequence[tasks], names, self.name, self.in_order)

    def task_name(self, index: int) -> str:
        return self.task_names[index] if self.task_names is not None else f"{self.name}-{index:05d}"

    def gpu_request_milli(self) -> NDArray[np.int64]:
        """Milli-GPU that each task of the sequence asks for."""
        by_class = np.array([task.num_gpu * task.gpu_milli for task in self.classes], dtype=np.int64)
        return by_class[self.sequence] if len(self.classes) else np.zeros(0, dtype=np.int64)

    def to_pandas(self) -> DataFrame:
        """A row a task, with the columns of a file of tasks, times among them if it has any: `load_trace` takes it."""
        columns: dict[str, Any] = {"name": [self.task_name(i) for i in range(len(self))]}
        for name in TaskClass._fields:
            values = [getattr(task, name) for task in self.classes]
            if name != "pool_spec" or any(values):
                columns[name] = [values[k] for k in self.sequence.tolist()]
        if self.times is not None and not isinstance(self.times, UserError):
            columns["creation_time"] = self.times.arrival_s
            columns["duration"] = np.where(np.isinf(self.times.duration_s), np.nan, self.times.duration_s)
            columns["kind"] = ["batch" if batch else "service" for batch in self.times.batch.tolist()]
            columns |= {"qos": list(self.times.service_class), "owner": list(self.times.owner)}
            columns["slack_s"] = self.times.slack_s
        return new_frame(columns)

    def counts(self) -> NDArray[np.int64]:
        """Number of tasks of each class."""
        return np.bincount(self.sequence, minlength=len(self.classes)).astype(np.int64)


def models_mask(spec: str, models: Sequence[str]) -> int:
    """Bits of the `models` that `A|B` allows; an empty spec allows all, including nodes without GPU (`""`)."""
    if spec == "":
        return ANY_MODEL
    allowed = set(spec.split("|"))
    return sum(1 << i for i, model in enumerate(models) if model in allowed and model != "")


def task_kind(num_gpu: int, gpu_milli: int) -> int:
    if num_gpu == 0:
        return -1
    return 0 if gpu_milli < GPU_MILLI else num_gpu


def task_records(classes: Sequence[TaskClass], datacenter: Datacenter, default_cpu: str) -> np.recarray:
    """The classes as `TASK` records for this datacenter's models."""
    cpu_models = [model or default_cpu for model in datacenter.cpu_models]
    rows = [
        (
            task.cpu_milli,
            task.memory_mib,
            task.num_gpu,
            task.gpu_milli,
            task.num_gpu * task.gpu_milli,
            task_kind(task.num_gpu, task.gpu_milli),
            models_mask(task.gpu_spec, datacenter.models),
            models_mask(task.cpu_spec, cpu_models),
            pools_mask(task.pool_spec, task.num_gpu > 0, datacenter.pools),
            0,
        )
        for task in classes
    ]
    return np.array(rows, dtype=TASK).view(np.recarray)
