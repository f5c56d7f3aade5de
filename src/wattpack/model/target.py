"""The target workload M: the classes of a trace with their probabilities, in the order that makes sums bit-exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wattpack.model.tasks import Workload, models_mask

COVERED = 0.95  # M is the shortest prefix of the classes that holds at least this share of the tasks

TARGET = np.dtype(
    [
        ("cpu_milli", np.int64),
        ("gpu_milli", np.int64),
        ("num_gpu", np.int64),
        ("gpu_models", np.int64),
        (
            "size_index",
            np.int64,
        ),  # of gpu_milli in `Target.sizes`; 0 without GPU. Not `size`: numpy records have that name
        ("share", np.float64),
    ],
    align=True,
)


class TargetClass(NamedTuple):
    cpu_milli: int
    gpu_milli: int
    num_gpu: int
    gpu_spec: str
    share: float


@dataclass(frozen=True)
class Target:
    """M as a tuple of classes, most frequent first; fixed for a run."""

    classes: tuple[TargetClass, ...]
    uncut: tuple[TargetClass, ...] = ()  # all classes: multi-GPU and constrained tasks are rare but ask for many GPUs
    memory_mib: tuple[int, ...] = ()  # of each class in `uncut`, mean over its tasks: no part of a class

    @classmethod
    def of(cls, trace: Workload) -> Target:
        """The classes of `trace` by falling count, ties by falling tuple, cut at 95 % of the tasks."""
        counts: Counter[tuple[int, int, int, bytes]] = Counter()
        memory_mib: Counter[tuple[int, int, int, bytes]] = Counter()
        for task, count in zip(trace.classes, trace.counts().tolist(), strict=True):
            # Memory and CPU model are not part of a class of M; the spec is compared as text.
            key = (task.cpu_milli, task.gpu_milli, task.num_gpu, task.gpu_spec.encode())
            counts[key] += count
            memory_mib[key] += count * task.memory_mib
        ranked = sorted(((count, key) for key, count in counts.items() if count > 0), reverse=True)
        total = sum(count for count, _ in ranked)
        kept, covered = 0, 0
        # covered / total >= 0.95 in integers, so that rounding does not decide the cut
        while kept < len(ranked) and covered * 100 < total * round(COVERED * 100):
            covered += ranked[kept][0]
            kept += 1
        classes = []
        for count, (cpu, milli, num, spec) in ranked[:kept]:
            share = count / total if kept == len(ranked) else (count / total) / (covered / total)
            classes.append(TargetClass(cpu, milli, num, spec.decode(), share))
        uncut = tuple(TargetClass(*key[:3], key[3].decode(), count / total) for count, key in ranked)
        return cls(tuple(classes), uncut, tuple(memory_mib[key] // count for count, key in ranked))

    def sizes(self) -> list[int]:
        """The distinct gpu_milli that classes of M ask for, ascending; never empty."""
        return sorted({task.gpu_milli for task in self.classes if task.num_gpu > 0}) or [1]

    def records(self, models: Sequence[str]) -> np.recarray:
        """M as `TARGET` records for the models of a datacenter."""
        place = {milli: index for index, milli in enumerate(self.sizes())}
        rows = [
            (
                task.cpu_milli,
                task.gpu_milli,
                task.num_gpu,
                models_mask(task.gpu_spec, models),
                place[task.gpu_milli] if task.num_gpu > 0 else 0,
                task.share,
            )
            for task in self.classes
        ]
        return np.array(rows, dtype=TARGET).view(np.recarray)
