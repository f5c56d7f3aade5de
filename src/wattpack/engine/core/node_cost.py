"""What a task would add to a node in watts and priced fragmentation, on which GPUs, and whether it has room there.

    cost of a node = its watts + worth_w * the free GPUs on it that the target workload cannot use (F)

Batch windows and defragmentation price placements by it; policies have prices of their own.
"""

from __future__ import annotations

from math import inf
from typing import Any

from wattpack.engine.core.pick import free_gpus
from wattpack.jit import inner, step
from wattpack.model.fit import FITS, fits
from wattpack.model.fragmentation import fragmentation_after, tally
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import added_cpu_power_mw, added_power_with_cpu_mw, placed_power_mw

# Of equal costs the fuller node and the tighter GPU: what is nearly empty may be empty soon. Watts per milli-GPU left.
FULLER_W = 1e-6


@inner
def node_cost_w(node: Any, worth_w: float) -> float:
    """Of a node that is settled, without its base power, which is the same wherever tasks are."""
    return (placed_power_mw(node) + worth_w * node.fragmentation) / 1000


@step
def best_gpus(node: Any, task: Any, world: Any, worth_w: float, banned: int) -> Any:
    """(cost in watts that the task adds, its GPUs); infinite where it does not fit, or only on GPUs in `banned` (bits).

    Reads and writes the scratch of `world`.
    """
    if fits(node, task) != FITS:
        return inf, 0
    if worth_w != 0.0:
        tally(node, world)
    cpu_mw = added_cpu_power_mw(node, task)
    if task.kind != 0:
        added = float(added_power_with_cpu_mw(cpu_mw, node, task, 0, world.gpu_draw_mw))
        if worth_w != 0.0:
            added += worth_w * (fragmentation_after(node, task, 0, world) - node.fragmentation)
        return added / 1000 + FULLER_W * node.gpu_total, free_gpus(node, task.num_gpu)
    least, chosen = inf, 0
    for g in range(node.gpus):
        left = node.gpu_left[g]
        if left < task.gpu_milli or (banned >> g) & 1:
            continue
        seen = False  # an equal GPU before this one costs the same
        for earlier in range(g):
            if node.gpu_left[earlier] == left and not (banned >> earlier) & 1:
                seen = True
                break
        if seen:
            continue
        added = float(added_power_with_cpu_mw(cpu_mw, node, task, g, world.gpu_draw_mw))
        if worth_w != 0.0:
            added += worth_w * (fragmentation_after(node, task, g, world) - node.fragmentation)
        added = added / 1000 + FULLER_W * (node.gpu_total + left)
        if added < least:
            least, chosen = added, 1 << g
    return least, chosen


@step
def has_room(node: Any, task: Any, gpus: int) -> bool:
    """Whether the node can take the task on just these GPUs (bit set)."""
    wanted = task.num_gpu
    for g in range(MAX_GPUS):
        if (gpus >> g) & 1:
            wanted -= 1
            if g >= node.gpus or node.gpu_left[g] < task.gpu_milli:
                return False
    return wanted == 0 and fits(node, task) == FITS
