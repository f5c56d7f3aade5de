"""Every placement of a few tasks on a few nodes, by plain recursion over the reference."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reference import GPU_MODELS, Node, Task, choices, filter_reason, node_power_w, place, release


class Outcome(NamedTuple):
    """Ordered as the bound orders: most GPU, then most vCPU of tasks without GPU, then least power."""

    gpu_milli: int
    cpu_only_milli: int
    negative_power_w: float
    placed: tuple[int, ...]  # the tasks that were placed

    @property
    def power_w(self) -> float:
        return -self.negative_power_w


def every_placement(nodes: Sequence[Node], tasks: Sequence[Task], linear: bool = False) -> Iterator[Outcome]:
    """Each task refused, or on each node and each GPU that fits; `linear`: GPU watts grow with the share in use."""
    yield from _from(nodes, tasks, 0, (), linear)


def _from(
    nodes: Sequence[Node], tasks: Sequence[Task], at: int, placed: tuple[int, ...], linear: bool
) -> Iterator[Outcome]:
    if at == len(tasks):
        served = [tasks[i] for i in placed]
        gpu = sum(task.num_gpu * task.gpu_milli for task in served)
        cpu_only = sum(task.cpu_milli for task in served if task.num_gpu == 0)
        yield Outcome(gpu, cpu_only, -sum(_watts(node, linear) for node in nodes), placed)
        return
    yield from _from(nodes, tasks, at + 1, placed, linear)
    for node in nodes:
        if filter_reason(node, tasks[at]) is not None:
            continue
        for gpus in choices(node, tasks[at]):
            place(node, tasks[at], gpus)
            yield from _from(nodes, tasks, at + 1, (*placed, at), linear)
            release(node, tasks[at], gpus)


def _watts(node: Node, linear: bool) -> float:
    cpu_w, gpu_w = node_power_w(node)
    if linear and node.gpu > 0:
        idle_w, most_w = GPU_MODELS[node.model]
        gpu_w = sum(idle_w + (most_w - idle_w) * (1000 - left) / 1000 for left in node.gpu_left)
    return cpu_w + gpu_w
