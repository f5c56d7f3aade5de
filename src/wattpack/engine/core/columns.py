"""Which classes of tasks fit a node, as bits, and which classes share one column of scores.

After a node has changed, many classes look at it, and most of them do not fit. So the filter is computed for all
classes at once when a node changes: each condition depends on one number of the node and is a table of bits by that
number; the classes that fit are in all of these tables (`fits` in model/fit.py gives the same answer for one class;
tested).

Classes that differ only in what no policy of the plan reads (memory, models) have equal scores on every node. They
share a column; the bits say which of them fit a node. The Default trace has 151 classes in 91 columns, one with
constraints on models 457 in 91.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.records import ClassPlace, ColumnClasses, Records
from wattpack.jit import inner
from wattpack.model.fit import MAX_TASKS
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import GPU_MILLI

if TYPE_CHECKING:  # state.py imports this module
    from wattpack.engine.core.state import State

BITS = 63  # classes a word: no word is negative

CLASS = np.dtype([("column", np.int64), ("word", np.int64), ("bit", np.int64)], align=True)

# The classes of a column are bits of one word.
COLUMN = np.dtype([("like", np.int64), ("word", np.int64), ("mask", np.int64), ("classes", np.int64)], align=True)


class Columns(NamedTuple):
    """Fixed for a run."""

    of: Records[ClassPlace]  # [classes]
    all: Records[ColumnClasses]  # [columns]
    # Bits of the classes that pass one condition, by the number of the node that it depends on.
    by_type: NDArray[np.int64]  # [types, words]
    by_gpu_most: NDArray[np.int64]  # [1001, words]
    by_gpu_free: NDArray[np.int64]  # [MAX_GPUS + 1, words]
    by_cpu: NDArray[np.int64]  # [steps + 1, words]
    by_memory: NDArray[np.int64]  # [steps + 1, words]
    cpu_steps: NDArray[np.int64]  # distinct amounts that classes ask for, ascending
    memory_steps: NDArray[np.int64]


def new_columns(tasks: Any, nodes: Any, sharing: int) -> Columns:
    """Columns for these TASK and NODE records; the first `sharing` classes may share columns.

    The places of the other classes do not depend on what they request, so that they can be replaced later.
    """
    alike: dict[Any, list[int]] = {}
    names = ["cpu_milli", "num_gpu", "gpu_milli", "batch"]
    for k, amounts in enumerate(tasks[names].tolist()):
        alike.setdefault(amounts if k < sharing else k, []).append(k)
    # Plain numbers first, arrays at the end: this saves 1.7 ms at the start of each run (Default trace).
    places = [(0, 0, 0)] * len(tasks)
    columns: list[tuple[int, int, int, int]] = []
    used = 0  # bits given away
    for classes in alike.values():
        for start in range(0, len(classes), BITS):
            together = classes[start : start + BITS]
            if used % BITS + len(together) > BITS:
                used += BITS - used % BITS  # all of them must be in one word
            word, at = divmod(used, BITS)
            for i, k in enumerate(together):
                places[k] = (len(columns), word, 1 << (at + i))
            columns.append((together[0], word, sum(places[k][2] for k in together), len(together)))
            used += len(together)
    of = np.array(places, dtype=CLASS).view(np.recarray)
    bits = np.zeros((len(tasks), -(-used // BITS)), dtype=np.int64)
    bits[np.arange(len(tasks)), of.word] = of.bit

    def words(holds: NDArray[np.bool_]) -> NDArray[np.int64]:
        """holds[i, k]: whether case i lets class k pass. A sum of distinct bits is their union."""
        return holds.astype(np.int64) @ bits

    def at_least(steps: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.int64]:
        return words(np.concatenate([np.zeros((1, len(asked)), dtype=bool), asked <= steps[:, None]]))

    partial = tasks.kind == 0
    milli_steps, cpu_steps, memory_steps = (np.unique(tasks[name]) for name in ("gpu_milli", "cpu_milli", "memory_mib"))
    by_milli = at_least(milli_steps, np.where(partial, tasks.gpu_milli, 0)) | words(~partial[None, :])
    _, first = np.unique(nodes.type, return_index=True)
    models, cpu_models, pools = (nodes[name][first][:, None] for name in ("model", "cpu_model", "pool"))
    allowed = (tasks.gpu_models >> models) & (tasks.cpu_models >> cpu_models) & (tasks.pools >> pools) & 1
    return Columns(
        of=of,
        all=np.array(columns, dtype=COLUMN).view(np.recarray),
        by_type=words(allowed == 1),
        by_gpu_most=by_milli[np.searchsorted(milli_steps, np.arange(GPU_MILLI + 1), side="right")],
        by_gpu_free=words(partial | (tasks.num_gpu <= np.arange(MAX_GPUS + 1)[:, None])),
        by_cpu=at_least(cpu_steps, tasks.cpu_milli),
        by_memory=at_least(memory_steps, tasks.memory_mib),
        cpu_steps=cpu_steps,
        memory_steps=memory_steps,
    )


@inner
def steps_reached(steps: Any, amount: int) -> int:
    """How many of the ascending `steps` are at most `amount`."""
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2
        if steps[middle] <= amount:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def fitting_classes(columns: Columns, node: Any, word: int, cpu: int, memory: int) -> int:
    """One word of the classes that fit `node`; `cpu` and `memory`: steps reached."""
    if node.tasks >= MAX_TASKS or node.closed != 0:
        return 0
    return (
        columns.by_type[node.type, word]
        & columns.by_gpu_most[node.gpu_most, word]
        & columns.by_gpu_free[node.gpu_free, word]
        & columns.by_cpu[cpu, word]
        & columns.by_memory[memory, word]
    )


@inner
def fits_class(state: State, k: int, n: int) -> bool:
    """Whether node `n` fits class `k` now."""
    return bool(state.fit[n, state.columns.of[k].word] & state.columns.of[k].bit != 0)
