"""The workload of a run: what is in it, where it ends, and that a seed means the same everywhere."""

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import node_order, run_workload, seeded
from wattpack.model.tasks import TaskClass, Workload

GPU = TaskClass(1000, 100, 1, 1000)
HALF = TaskClass(500, 100, 1, 500)
CPU_ONLY = TaskClass(2000, 100, 0, 0)


def digest(sequence: np.ndarray) -> str:
    return hashlib.sha256(sequence.astype("<i4").tobytes()).hexdigest()


# Frozen: a change here means that every published result of a seed has changed.
FROZEN = {
    "default": "78d270bffd45443052f46104ffe9fc28627b76a81c24c94b4613c695b3a6fee7",
    "gpushare60": "a110b1a54bf8817f2103b4396918aaac982e469acd07ca0b4b15794406a2011f",
}
FROZEN_NODE_ORDER = "2eca50cfbc80ce789c6470a8c37e4e939a6936e723e5cb30e8b8d32b093e483f"


@pytest.mark.parametrize("name", FROZEN)
def test_seed_42_gives_the_frozen_workload(name: str) -> None:
    capacity_milli = alibaba2023.datacenter().gpu_milli
    workload = run_workload(alibaba2023.trace(name), capacity_milli, seeded(42).workload)
    assert digest(workload.sequence) == FROZEN[name]


def test_seed_42_gives_the_frozen_node_order() -> None:
    order = node_order(alibaba2023.datacenter(), seeded(42).node_order)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(1213))
    assert digest(order) == FROZEN_NODE_ORDER


def test_a_seed_gives_three_different_generators_and_another_seed_three_others() -> None:
    draws = [int(rng.integers(2**62)) for seed in (1, 2) for rng in seeded(seed)]
    assert len(set(draws)) == 6
    assert [int(rng.integers(2**62)) for rng in seeded(1)] == draws[:3]


def test_drawing_from_one_generator_does_not_change_another() -> None:
    used, fresh = seeded(5), seeded(5)
    used.policy.integers(10, size=1000)
    assert used.workload.integers(2**62) == fresh.workload.integers(2**62)


def test_the_trace_comes_first_as_a_whole_then_tasks_drawn_from_it() -> None:
    trace = alibaba2023.trace("default")
    workload = run_workload(trace, alibaba2023.datacenter().gpu_milli, seeded(0).workload)
    first, drawn = workload.sequence[: len(trace)], workload.sequence[len(trace) :]
    assert Counter(first.tolist()) == Counter(trace.sequence.tolist())
    assert first.tolist() != trace.sequence.tolist()
    # 1.3 * 6212 GPUs less the trace's 6086.8 is 1988.8, at 6086.8 / 8152 = 0.747 GPU a task: some 2,660 tasks
    assert 2500 < len(drawn) < 2830
    assert workload.classes == trace.classes


def test_drawn_tasks_follow_the_trace() -> None:
    trace = alibaba2023.trace("default")
    workload = run_workload(trace, 10 * alibaba2023.datacenter().gpu_milli, seeded(0).workload)
    drawn = np.bincount(workload.sequence[len(trace) :], minlength=len(trace.classes))
    expected = trace.counts() / len(trace)
    # some 100,000 draws: the largest of 151 shares of at most 0.13 has a spread of 0.001
    assert np.abs(drawn / drawn.sum() - expected).max() < 0.005


@st.composite
def traces(draw: st.DrawFn) -> Workload:
    shapes = st.sampled_from([GPU, HALF, CPU_ONLY, TaskClass(1, 1, 8, 1000), TaskClass(1, 1, 1, 1)])
    return Workload.of(draw(st.lists(shapes, max_size=30)))


@given(traces(), st.integers(0, 200_000), st.sampled_from([0.0, 0.5, 1.0, 1.3, 2.7]), st.integers(0, 2**32))
def test_it_ends_before_the_first_task_above_the_limit(
    trace: Workload, capacity_milli: int, up_to: float, seed: int
) -> None:
    workload = run_workload(trace, capacity_milli, np.random.default_rng(seed), up_to)
    assert workload.sequence.dtype == np.int32
    if capacity_milli == 0 or trace.gpu_request_milli().sum() == 0:
        assert sorted(workload.sequence.tolist()) == sorted(trace.sequence.tolist())
        return
    requested = int(workload.gpu_request_milli().sum())
    assert requested <= up_to * capacity_milli + 1e-6
    # The same seed with a higher limit goes on where this one ended: with the task that was too much.
    longer = run_workload(trace, capacity_milli, np.random.default_rng(seed), up_to + 8000 / capacity_milli + 1)
    assert longer.sequence[: len(workload)].tolist() == workload.sequence.tolist()
    next_milli = int(longer.gpu_request_milli()[len(workload)])
    assert requested + next_milli > up_to * capacity_milli


def test_a_total_of_exactly_the_limit_is_not_above_it() -> None:
    # 1.1 * 10000 is 11000.000000000002 and 1.15 * 100000 is 114999.99999999999 in floats
    assert len(run_workload(Workload.of([GPU]), 10_000, seeded(0).workload, up_to=1.1)) == 11
    assert len(run_workload(Workload.of([GPU]), 100_000, seeded(0).workload, up_to=1.15)) == 115


def test_a_trace_larger_than_the_limit_is_cut_by_the_same_rule() -> None:
    assert len(run_workload(Workload.of([HALF] * 100), 10_000, seeded(0).workload)) == 26  # 13 GPUs in halves


@pytest.mark.parametrize("capacity_milli", [0, 1000])
def test_without_gpu_demand_or_capacity_the_trace_comes_once(capacity_milli: int) -> None:
    cpu_only = run_workload(Workload.of([CPU_ONLY] * 7), capacity_milli, seeded(0).workload)
    assert len(cpu_only) == 7
    assert len(run_workload(Workload.of([]), capacity_milli, seeded(0).workload)) == 0
    assert len(run_workload(Workload.of([GPU] * 7), 0, seeded(0).workload)) == 7
