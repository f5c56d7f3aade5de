"""GPUs that a decision must not choose: for the length of one question they count as taken.

A claim's selectors may match some GPUs of a node and not others. The engine chooses GPUs by their free capacity alone,
so what is free of the others is filled with tasks that take no CPU and no memory, and released after the decision. The
scores then compare the node with and without the pod, both times with those GPUs full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from wattpack.engine.live.one_decision import place_one, release_one
from wattpack.kube.cluster_engine import ClusterEngine
from wattpack.kube.gpus import gpu_numbers
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass

# Any free amount is a sum of these: eleven classes of tasks, however many amounts there are.
FILLS = (GPU_MILLI, *(1 << power for power in range(9, -1, -1)))


def fills(milli: int) -> list[int]:
    """The amounts that add up to `milli`."""
    found = []
    for amount in FILLS:
        if milli >= amount:
            found.append(amount)
            milli -= amount
    return found


@contextmanager
def hidden(in_step: ClusterEngine, usable: Mapping[str, int]) -> Iterator[None]:
    """Hide the GPUs of these nodes that are not in their bit sets."""
    covered = {name: ~usable[name] & ((1 << in_step.nodes[name].gpus) - 1) for name in usable if name in in_step.nodes}
    if not any(covered.values()):
        yield
        return
    classes = {amount: in_step.class_of(TaskClass(0, 0, 1, amount)) for amount in FILLS}
    # A class that is new may rebuild the engine with other numbers: ask for them when all are there.
    classes = {amount: in_step.class_of(TaskClass(0, 0, 1, amount)) for amount in FILLS}
    engine = in_step.current()
    assert engine is not None
    memory = engine.state.memory.copy()  # no arrival and departure for the policy
    placed: list[tuple[int, int, int]] = []
    for name, gpus in covered.items():
        n = in_step.index[name]
        left = engine.state.nodes[n].gpu_left
        for gpu in gpu_numbers(gpus):
            for amount in fills(int(left[gpu])):
                placed.append((classes[amount], n, 1 << gpu))
                place_one(engine.state, engine.plan, *placed[-1])
    engine.state.memory[:] = memory
    try:
        yield
    finally:
        for one in reversed(placed):
            release_one(engine.state, engine.plan, *one)
        engine.state.memory[:] = memory
