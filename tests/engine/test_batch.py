"""When a window closes: full, or its first task has waited long enough; and how long its tasks have waited."""

import re
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_engine, make_node, make_task, make_workload
from wattpack.engine.moments.moves import Rounds
from wattpack.engine.windows.batch import ALONE, Batch, closings, new_batch, run_windows
from wattpack.engine.windows.steady import simulate_steady_windows
from wattpack.errors import UserError


def test_a_window_closes_when_it_is_full_or_when_its_first_task_has_waited_long_enough() -> None:
    """Three tasks by 20 s close the first; the second has only two by 40 + 30 s, one of them at that very moment."""
    arrival_s = np.array([0.0, 10.0, 20.0, 40.0, 70.0, 71.0])
    assert list(closings(arrival_s, Batch(3, 30.0))) == [(0, 3, 20.0), (3, 5, 70.0), (5, 6, 101.0)]
    assert list(closings(arrival_s, Batch(4))) == [(0, 4, 40.0), (4, 6, 71.0)]  # the last closes with the last arrival
    assert [closing.moment_s for closing in closings(arrival_s, ALONE)] == arrival_s.tolist()
    assert list(closings(np.zeros(0), Batch(3, 30.0))) == []


@given(
    st.lists(st.integers(0, 9), max_size=40),
    st.integers(1, 6),
    st.sampled_from([0.5, 3.0, 10.0, inf]),
)
def test_every_task_is_in_one_window_and_none_waits_longer_than_it_may(
    gaps: list[int], tasks: int, seconds: float
) -> None:
    arrival_s = np.cumsum(gaps).astype(float)
    found = list(closings(arrival_s, Batch(tasks, seconds)))
    assert [i for begin, end, _ in found for i in range(begin, end)] == list(range(len(gaps)))
    for begin, end, moment_s in found:
        assert 1 <= end - begin <= tasks
        waits = moment_s - arrival_s[begin:end]
        assert waits.min() >= 0
        assert waits.max() <= seconds
        if end - begin < tasks and end < len(gaps):  # it was its time that was up
            assert moment_s == arrival_s[begin] + seconds < arrival_s[end]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ((0,), "batch 0, expected 1 (no windows) to 256 tasks"),
        ((257,), "batch 257, expected 1 (no windows) to 256 tasks"),
        ((2, 0.0), "batch seconds 0, expected above 0"),
        ((2, float("nan")), "batch seconds nan, expected above 0"),
        ((2, None, -1.0), "batch MILP seconds -1, expected 0 (without it)"),
        ((2, None, float("nan")), "batch MILP seconds nan, expected 0 (without it)"),
        ((1, 5.0), "without windows, expected a batch of 2"),
        ((1, None, 5.0), "without windows, expected a batch of 2"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused(said: tuple[float, ...], expected: str) -> None:
    with pytest.raises(UserError, match=re.escape(expected)):
        new_batch(*said)  # type: ignore[arg-type]


def test_what_stands_beside_the_policy() -> None:
    assert new_batch(1).label == ""
    assert new_batch(16, 30).label == "batch 16"
    assert new_batch(16, 30, 60).label == "batch 16 milp 60 s"


def test_a_limit_in_seconds_needs_times() -> None:
    workload = make_workload([make_task()] * 2)
    with pytest.raises(UserError, match="expected the times of arrival"):
        run_windows(make_engine([make_node()], [make_task()]), workload, np.zeros((2, 2)), Batch(2, 5.0))


def test_a_run_says_in_which_order_tasks_were_placed_and_how_long_they_were_held() -> None:
    """One node of two GPUs: the task of two GPUs goes first; 5 s later its window is full."""
    small, large = make_task(gpu=1, cpu=1), make_task(gpu=2, cpu=1)
    workload, arrival_s = make_workload([small, large, small]), np.array([3.0, 8.0, 20.0])
    engine = make_engine([make_node(gpus=2)], [small, large])
    run = run_windows(engine, workload, np.zeros((3, 2)), Batch(2, 10.0), arrival_s)
    assert run.node.tolist() == [-1, 0, -1]  # by task
    assert run.order is not None
    assert run.order.tolist() == [1, 0, 2]
    assert run.requested_milli.tolist() == [2000, 3000, 4000]  # by order
    assert run.wait_s is not None
    assert run.wait_s.tolist() == [5.0, 0.0, 10.0]


def test_windows_that_wait_too_long_are_placed_before_they_are_full() -> None:
    """Tasks at 0, 1, 100 s for 5 s each, at most 10 s: the first two run from 10 to 15 s, the third from 110 s on."""
    whole = make_task(gpu=1, cpu=1)
    workload, engine = make_workload([whole] * 3), make_engine([make_node(gpus=2)], [whole])
    times = np.array([0.0, 1.0, 100.0]), np.full(3, 5.0)
    steady, node, _ = simulate_steady_windows(engine, workload, *times, np.zeros((3, 2)), 0, Batch(3, 10.0))
    assert node.tolist() == [0, 0, 0]
    assert steady.measured_s == 110.0
    assert steady.allocated_gpus == pytest.approx(2 * 5 / 110)
    assert steady.mean_wait_s == pytest.approx((10 + 9 + 10) / 3)
    assert steady.largest_wait_s == 10.0


def test_tasks_are_moved_when_the_window_closes_in_which_so_many_have_come() -> None:
    whole = make_task(gpu=1, cpu=1)
    workload, engine = make_workload([whole] * 10), make_engine([make_node(gpus=8)] * 2, [whole])
    seen: list[int] = []

    def mover(present: np.ndarray, node: np.ndarray, gpus: np.ndarray) -> np.ndarray:
        seen.append(len(present))
        return present[:0]

    rounds = Rounds(mover, 4)
    times = np.arange(10.0), np.full(10, 100.0)
    simulate_steady_windows(engine, workload, *times, np.zeros((10, 2)), 0, Batch(3), rounds)
    assert seen == [6, 9]  # 4 and 8 have come when the windows of tasks 3 to 5 and 6 to 8 close
