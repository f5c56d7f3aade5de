"""What `ocs` knows of a target workload: worth of a part of a GPU, multi-GPU sizes, GPUs that can be filled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_datacenter, make_node, make_target, make_task
from reference import Node, Task
from wattpack.policies.ocs import statistics
from wattpack.policies.ocs.fleet import node_shapes
from wattpack.policies.ocs.layout import GRAIN, PARAM

WHOLE, PAIR = make_task(gpu=1, cpu=8), make_task(gpu=2, cpu=16)

milli = st.sampled_from([10, 100, 190, 250, 333, 500, 600, 810]) | st.integers(1, 999)


@given(st.dictionaries(milli, st.integers(1, 50), max_size=8))
def test_the_worth_of_a_part_rises_from_0_to_1_and_two_parts_are_worth_no_more_than_one(
    counts: dict[int, int],
) -> None:
    trace = [make_task(gpu=size / 1000) for size, count in counts.items() for _ in range(count)]
    worth = statistics.gpu_worth(make_target([*trace, WHOLE]).uncut)
    assert (worth[0], worth[1000]) == (0, 1)
    assert (np.diff(worth) >= 0).all()
    parts = np.add.outer(np.arange(1001), np.arange(1001))
    fitting = parts <= 1000
    sums = np.add.outer(worth, worth)
    assert (sums[fitting] <= worth[parts[fitting]] + 2 * GRAIN).all()  # rounded, each
    assert (worth / GRAIN == np.rint(worth / GRAIN)).all()


def test_the_worth_of_two_sizes_that_fill_a_gpu_together() -> None:
    """600 goes with 400, and 400 twice into a GPU: n tasks of 600 and 2n of 400 need n + n/2 GPUs.

    The dual: 600 and 400 are worth 1 together and 400 is worth 1/2, so 600 is worth 1/2.
    """
    duals = statistics.cutting_stock_duals([400, 600], [2.0, 1.0])
    assert duals == pytest.approx([0.5, 0.5])
    worth = statistics.best_fillings([400, 600], duals)
    assert [worth[r] for r in (399, 400, 799, 800, 1000)] == pytest.approx([0, 0.5, 0.5, 1, 1])


def test_without_sharing_tasks_a_part_of_a_gpu_is_worth_nothing() -> None:
    worth = statistics.gpu_worth(make_target([WHOLE, PAIR]).uncut)
    assert (worth[:1000] == 0).all()
    assert worth[1000] == 1


def test_of_more_than_four_multi_gpu_sizes_those_with_most_demand_have_a_price() -> None:
    """3 x 3 = 9 GPUs, 2 x 5 = 10, 6, 7, 8 and 2 GPUs: 2 and 6 have least."""
    trace = [make_task(gpu=size, cpu=size) for size in (2, 3, 3, 3, 5, 5, 6, 7, 8)]
    sizes = statistics.multi_gpu_sizes(make_target(trace).uncut, demand_of(trace))
    assert [size for size, _, _ in sizes] == [3, 5, 7, 8]
    assert [cpu for _, cpu, _ in sizes] == [3000, 5000, 7000, 8000]
    assert sizes[-1][2] == pytest.approx(8 / 42)


def demand_of(trace: list[Task]) -> np.ndarray:
    classes = make_target(trace).uncut
    return statistics.demand_shares(classes, statistics.gpu_worth(classes))


def test_vcpu_limits_how_many_gpus_can_be_filled() -> None:
    """A task takes 1 GPU and 8 vCPU: 32 vCPU are enough for 4 of the 8 GPUs."""
    assert capacity_of([make_node(gpus=8, cpu=32)], [WHOLE]) == 4
    assert capacity_of([make_node(gpus=8, cpu=96)], [WHOLE]) == 8
    assert capacity_of([make_node(gpus=8, cpu=32)], [make_task(cpu=4)]) == 8  # nothing asks for GPUs: no limit
    assert capacity_of([make_node(gpus=8, cpu=32)], [make_task(gpu=1)]) == 8  # nothing asks for vCPU


def capacity_of(nodes: list[Node], trace: list[Task]) -> float:
    shapes, _ = node_shapes(make_datacenter(nodes))
    return float(statistics.statistics(make_target(trace), shapes)[PARAM.capacity])
