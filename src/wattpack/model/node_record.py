"""`NODE`: one node's record as kernels and policies see it.

What a score reads stands in the first four lines of the processor's cache, and the records begin at such a line: of
12,130 nodes most are in no fast cache when they are scored (measured: 4 % of a run in time).
"""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_GPUS = 16  # GPUs a node may have: a fixed width keeps one compiled engine for all datacenters
KINDS = MAX_GPUS + 1  # kinds of GPU tasks on a node: 0 = sharing, s = s whole GPUs
NOTES = 8
CACHE_LINE = 64  # bytes


def whole_lines(fields: Any) -> Any:
    """The dtype of the same record with room up to a whole number of cache lines."""
    return np.dtype(
        {
            "names": list(fields.names),
            "formats": [fields[name] for name in fields.names],
            "offsets": [fields.fields[name][1] for name in fields.names],
            "itemsize": -(-fields.itemsize // CACHE_LINE) * CACHE_LINE,
        },
        align=True,
    )


NODE = whole_lines(
    np.dtype(
        [
            ("gpu_left", np.int32, (MAX_GPUS,)),  # milli per GPU; 0 beyond `gpus`
            # the next line: free capacity, in short
            ("cpu_left", np.int64),
            ("memory_left", np.int64),
            ("gpu_total", np.int64),  # sum of gpu_left
            ("gpu_free", np.int64),  # GPUs with all 1000 milli left
            ("gpu_most", np.int64),  # largest of gpu_left
            ("gpus", np.int64),  # count
            ("model", np.int64),  # index into Datacenter.models
            ("tasks", np.int32),  # placed; of these:
            ("no_cpu", np.int16),  # tasks that ask for no CPU
            ("no_memory", np.int16),  # tasks that ask for no memory
            # the next line: what is computed from the tasks that are placed; asleep or awake (engine/moments/sleep.py)
            ("fragmentation", np.float64),  # F_n(M), milli-GPU, bit-exact
            ("cpu_power_mw", np.int64),
            ("gpu_power_mw", np.int64),
            ("wake_mw", np.int64),  # extra power charged for keeping this node awake
            ("slowness", np.float64),  # how many times longer batch tasks run here than at the reference speed
            ("closed", np.int64),  # above 0: it takes no task as it is, but is asleep, waking or shutting down
            ("type", np.int64),  # nodes of equal type are equal when empty
            ("pool", np.int64),  # index into Datacenter.pools
            # the next line: capacity and CPUs
            ("cpu_milli", np.int64),
            ("memory_mib", np.int64),
            ("cores", np.int64),  # physical
            ("sockets", np.int64),
            ("socket_cores", np.int64),
            ("socket_idle_mw", np.int64),
            ("socket_max_mw", np.int64),
            ("base_mw", np.int64),  # drawn beside sockets and GPUs, whatever is placed
            # what few policies read, or only a change of the node
            ("kinds", np.int16, (KINDS,)),  # GPU tasks by kind
            ("cpu_model", np.int64),  # index into Datacenter.cpu_models
            ("changed_at", np.int64),  # number of the latest change of this node, 0 for none
            ("fragmentation_micro", np.int64, (6,)),  # by reason, in millionths of a milli-GPU: exact running sums
            ("notes", np.float64, (NOTES,)),  # written by a policy with a memory: see model/policy.py
        ],
        align=True,
    )
)


def empty_records(count: int) -> Any:
    """NODE records, all 0, that begin at a cache line; numpy itself begins anywhere."""
    size = count * NODE.itemsize
    memory = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].view(NODE)
