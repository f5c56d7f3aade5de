"""The workload of a run, drawn from a trace, and the generators of a seed. The same seed gives the same run everywhere.

Only `Generator.permutation` and `Generator.integers` over PCG64 are used: both work on integers alone, so no rounding
of a platform's floating point can change a draw. A test compares digests.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import Workload

FIRST_SEED = 42  # of the seeds of an experiment, and the seed where something is drawn or ordered and none is given
UP_TO = 1.3  # load (requested GPU / GPU of the datacenter) at which the paper's runs end
MIN_BLOCK = 1024  # tasks drawn at once: a tiny trace should not mean thousands of small draws

MAX_TASKS = 10_000_000  # of a run: 100 bytes each, and a hundred times the paper's datacenter asks for a tenth


class Seeds(NamedTuple):
    """Independent generators of one run, so that (say) a policy that draws does not change the workload."""

    workload: np.random.Generator
    node_order: np.random.Generator
    policy: np.random.Generator


def seeded(seed: int) -> Seeds:
    children = np.random.SeedSequence(seed).spawn(len(Seeds._fields))
    return Seeds(*(np.random.Generator(np.random.PCG64(child)) for child in children))


def node_order(datacenter: Datacenter, rng: np.random.Generator) -> NDArray[np.int64]:
    """A random permutation of the nodes: ties between nodes go to the one that comes first in it."""
    return rng.permutation(len(datacenter)).astype(np.int64)


def in_order_of_arrival(trace: Workload, rng: np.random.Generator) -> Workload:
    """The trace; one that is listed by class, like the built-in ones, in random order.

    With the `workload` generator of a seed it is the order in which `run_workload` begins.
    """
    return trace if trace.in_order else trace.with_sequence(rng.permutation(trace.sequence))


def check_drawn(trace: Workload, capacity_gpu_milli: int, up_to: float = UP_TO) -> None:
    """Refuse a run that would draw too many tasks, before any is drawn: a trace that asks for almost no GPU does."""
    mean_milli = float(trace.gpu_request_milli().mean()) if len(trace) else 0.0
    if mean_milli > 0 and (tasks := up_to * capacity_gpu_milli / mean_milli) > MAX_TASKS:
        raise UserError(
            f"trace {trace.name}: asks for {mean_milli / 1000:.2g} GPUs a task, which makes {tasks:,.0f} tasks up to "
            f"load {up_to:g}, expected at most {MAX_TASKS:,}"
        )


def run_workload(trace: Workload, capacity_gpu_milli: int, rng: np.random.Generator, up_to: float = UP_TO) -> Workload:
    """All tasks of the trace in random order, then tasks drawn from it with replacement.

    It ends before the first task that would push the requested GPU total above `up_to` times the capacity, be it among
    the trace's own tasks or the drawn ones. Where no task ever would (no capacity, or no task that asks for GPU), the
    workload is the trace once.
    """
    check_drawn(trace, capacity_gpu_milli, up_to)
    sequence: NDArray[np.int32] = rng.permutation(trace.sequence)
    request_milli = np.array([task.num_gpu * task.gpu_milli for task in trace.classes], dtype=np.int64)
    requested = int(request_milli[sequence].sum()) if len(sequence) else 0
    if capacity_gpu_milli <= 0 or requested == 0:
        return trace.with_sequence(sequence)
    # 1.3 has no exact float: without the rounding, a total of exactly 1.3 times the capacity could count as above
    limit_milli = math.floor(round(up_to * capacity_gpu_milli, 6))
    blocks, tasks = [sequence], len(sequence)
    while requested <= limit_milli:
        drawn = trace.sequence[rng.integers(len(trace), size=max(tasks, MIN_BLOCK))]
        requested += int(request_milli[drawn].sum())
        blocks.append(drawn)
        tasks += len(drawn)
    sequence = np.concatenate(blocks)
    kept = np.searchsorted(np.cumsum(request_milli[sequence]), limit_milli, side="right")
    return trace.with_sequence(sequence[:kept].copy())
