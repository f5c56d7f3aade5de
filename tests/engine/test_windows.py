"""Batch windows: of one task they are the usual run to the last bit; trying ways leaves no trace; the best is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from builders import make_engine, make_node, make_task, make_workload
from cases import Case, cases
from wattpack.datasets import alibaba2023
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import COLUMNS
from wattpack.engine.moments.steady import simulate_steady
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.engine.windows.batch import ALONE, Batch, run_windows
from wattpack.engine.windows.place import assign, place_window, rank, take_back
from wattpack.engine.windows.steady import simulate_steady_windows
from wattpack.experiments.steady import offered
from wattpack.model.target import Target
from wattpack.policies.expression import parse

POLICIES = st.sampled_from(["fgd", "pwr:0.1+fgd:0.9", "ocs", "random", "epsilon", "pwrload"])


def engine_of(case: Case, policy: str) -> Engine:
    return make_engine(case.nodes, case.tasks, policy, trace=case.trace)


def state_of(engine: Engine) -> list[bytes]:
    """All of the state that decisions depend on, but for the count of changes."""
    state = engine.state
    kept = [name for name in state.nodes.dtype.names if name != "changed_at"]
    columns = [np.ascontiguousarray(state.nodes[name]).tobytes() for name in kept]
    return [*columns, state.totals[:COLUMNS].tobytes(), state.memory.tobytes()]


@given(cases(), POLICIES)
def test_windows_of_one_task_are_the_usual_run(case: Case, policy: str) -> None:
    workload = make_workload(case.tasks)
    luck = draw_luck(workload, np.random.default_rng(1))
    usual, ours = (
        run_arrivals(engine_of(case, policy), workload, luck),
        run_windows(engine_of(case, policy), workload, luck, ALONE),
    )
    for column in ("node", "gpus", "reason", "series"):
        assert np.array_equal(getattr(usual, column), getattr(ours, column))


@given(cases(), POLICIES, st.integers(2, 6))
def test_every_task_is_accounted_for_and_no_window_does_worse_than_in_order(
    case: Case, policy: str, batch: int
) -> None:
    workload = make_workload(case.tasks)
    luck = draw_luck(workload, np.random.default_rng(1))
    engine = engine_of(case, policy)
    for at in range(0, len(workload), batch):
        window, drawn = workload.sequence[at : at + batch], luck[at : at + batch]
        start, before, memory = engine.state.totals[:COLUMNS].copy(), state_of(engine), engine.state.memory.copy()
        tasks = workload.with_sequence(window)
        usual = run_arrivals(engine, tasks, drawn)
        in_order = rank(engine.state.totals[:COLUMNS] - start)
        order = np.arange(len(window))
        take_back(engine.state, engine.plan, window, order, usual.node, usual.gpus, start, memory)
        assert state_of(engine) == before  # what was tried has left no trace
        placed = place_window(engine, workload, window, drawn)
        assert sorted(placed.order.tolist()) == list(range(len(window)))
        assert rank(engine.state.totals[:COLUMNS] - start) <= in_order
        assert np.array_equal(placed.series[-1], engine.state.totals[:COLUMNS])
        for i, n, gpus in zip(placed.order.tolist(), placed.node.tolist(), placed.gpus.tolist(), strict=True):
            assert gpus.bit_count() == (workload.classes[window[i]].num_gpu if n >= 0 else 0)
    assert engine.state.nodes.gpu_left.min() >= 0
    assert engine.state.nodes.cpu_left.min() >= 0


def test_a_large_task_of_the_window_goes_first_where_it_would_not_fit_otherwise() -> None:
    """One node of two GPUs: a whole-GPU task before one of two GPUs leaves no room for that; 2 GPUs are more than 1."""
    small, large = make_task(gpu=1, cpu=1), make_task(gpu=2, cpu=1)
    workload = make_workload([small, large])
    luck = np.zeros((2, 2))
    assert run_arrivals(make_engine([make_node(gpus=2)], [small, large]), workload, luck).node.tolist() == [0, -1]
    run = run_windows(make_engine([make_node(gpus=2)], [small, large]), workload, luck, Batch(2))
    assert run.node.tolist() == [-1, 0]
    assert run.gpus.tolist() == [0, 0b11]
    assert run.requested_milli.tolist() == [2000, 3000]  # in the order in which they were placed
    assert run.failures_by_reason() == {"gpu": 1}


@given(st.integers(1, 5), st.integers(1, 12), st.integers(0, 10**6))
def test_an_assignment_over_the_best_nodes_is_as_good_as_over_all(tasks: int, nodes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 10, size=(tasks, nodes)).astype(float)
    table[rng.random((tasks, nodes)) < 0.4] = -np.inf
    found = assign(table)
    taken = found[found >= 0]
    assert len(set(taken.tolist())) == len(taken)
    rows, columns = linear_sum_assignment(np.where(np.isfinite(table), -table, 1000))
    served = np.isfinite(table[rows, columns])
    assert (found >= 0).sum() == served.sum()
    ours = sum(table[i, n] for i, n in enumerate(found.tolist()) if n >= 0)
    assert ours == table[rows, columns][served].sum()


def test_of_equal_assignments_that_with_the_first_nodes_is_taken() -> None:
    assert sorted(assign(np.full((2, 5), 7.0)).tolist()) == [0, 1]


# ---- with departures -------------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_timed_windows_of_one_task_are_the_usual_timed_run() -> None:
    trace, datacenter = alibaba2023.trace("default"), alibaba2023.datacenter()
    rng = np.random.default_rng(5)
    workload, arrival_s, duration_s = offered(trace, datacenter.gpu_milli // 10, 0.9, 1500, rng)
    luck = draw_luck(workload, None)
    results = []
    for windows in (False, True):
        engine = Engine(datacenter, workload.classes, parse("ocs"), Target.of(trace))
        run = (engine, workload, arrival_s, duration_s, luck, 700)
        results.append(simulate_steady_windows(*run, ALONE) if windows else simulate_steady(*run))
    assert results[0][0] == results[1][0]
    assert np.array_equal(results[0][1], results[1][1])
    assert np.array_equal(results[0][2], results[1][2])


def test_a_held_task_starts_when_its_window_is_full() -> None:
    """Tasks at 0, 10 and 20 s for 5 s each, windows of two: the first two run from 10 to 15 s, the third from 20 s on.

    At 20 s everything has left, so from the second task on (10 to 20 s) two GPUs are held for 5 of 10 s.
    """
    whole = make_task(gpu=1, cpu=1)
    workload = make_workload([whole] * 3)
    engine = make_engine([make_node(gpus=2)], [whole])
    times = np.array([0.0, 10.0, 20.0]), np.full(3, 5.0)
    steady, node, _ = simulate_steady_windows(engine, workload, *times, np.zeros((3, 2)), 1, Batch(2))
    assert node.tolist() == [0, 0, 0]
    assert steady.allocated_gpus == 1.0
    assert steady.grar == 1.0
    assert (steady.mean_wait_s, steady.largest_wait_s) == (
        0.0,
        0.0,
    )  # of the second and the third: both closed a window


def test_a_window_reads_the_state_that_departures_have_left() -> None:
    """A node of one GPU, held by a task that leaves at 5 s: tasks at 1 and 6 s, placed together at 6 s, one of them."""
    whole = make_task(gpu=1, cpu=1)
    workload = make_workload([whole] * 4)
    engine = make_engine([make_node(gpus=1)], [whole])
    arrival_s, duration_s = np.array([0.0, 0.0, 1.0, 6.0]), np.array([5.0, 5.0, 5.0, 5.0])
    _, node, _ = simulate_steady_windows(engine, workload, arrival_s, duration_s, np.zeros((4, 2)), 0, Batch(2))
    assert sorted(node[:2].tolist()) == sorted(node[2:].tolist()) == [-1, 0]
