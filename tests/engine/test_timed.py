"""Tasks that come and go: order of events, means over time, and the same decisions as the plain reference."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from builders import make_datacenter, make_node, make_task, make_workload
from cases import Case, cases
from wattpack.datasets import alibaba2023
from wattpack.engine.core.engine import Engine
from wattpack.engine.moments.moves import Rounds, move_one
from wattpack.engine.moments.steady import simulate_steady
from wattpack.engine.runs.arrivals import draw_luck
from wattpack.engine.runs.record import gpu_index_text
from wattpack.errors import UserError
from wattpack.experiments.steady import offered, run_steady
from wattpack.model.target import Target
from wattpack.policies.expression import parse


def engine_of(
    nodes: list[reference.Node], tasks: list[reference.Task], policy: str, trace: list[reference.Task]
) -> Engine:
    workload = make_workload(tasks)
    return Engine(make_datacenter(nodes), workload.classes, parse(policy), Target.of(make_workload(trace)))


@given(case=cases(), seed=st.integers(0, 1000))
def test_decisions_with_departures_are_those_of_the_plain_reference(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # whole seconds: departures and arrivals at the same moment are likely
    arrival_s = np.cumsum(rng.integers(0, 3, size=len(case.tasks))).astype(float)
    duration_s = rng.integers(1, 6, size=len(case.tasks)).astype(float)
    policy = "+".join(f"{name}:{weight / 1000}" for name, weight in case.policy)
    workload = make_workload(case.tasks)
    engine = engine_of(case.nodes, case.tasks, policy, case.trace)
    _, node, gpus = simulate_steady(engine, workload, arrival_s, duration_s, draw_luck(workload, None), 0)

    target = reference.target_workload(case.trace)
    weights = [(name, weight) for name, weight in case.policy] if len(case.policy) > 1 else [(case.policy[0][0], 1000)]
    leaving: list[tuple[float, int]] = []
    placed: dict[int, tuple[int, tuple[int, ...]]] = {}
    for i, task in enumerate(case.tasks):
        while leaving and leaving[0][0] <= arrival_s[i]:
            gone = heapq.heappop(leaving)[1]
            n, held = placed.pop(gone)
            reference.release(case.nodes[n], case.tasks[gone], held)
        n, held = reference.decide(case.nodes, task, weights, target)
        assert node[i] == (-1 if n is None else n)
        if n is not None:
            assert gpu_index_text(int(gpus[i])) == "-".join(map(str, sorted(held)))
            reference.place(case.nodes[n], task, held)
            placed[i] = (n, held)
            heapq.heappush(leaving, (arrival_s[i] + duration_s[i], i))


def test_a_task_that_leaves_when_another_comes_has_made_room_for_it() -> None:
    nodes = [reference.Node("a", 8000, 8192, 1, "T4")]
    tasks = [reference.Task(f"t{i}", 1000, 1024, 1, 1000) for i in range(3)]
    workload = make_workload(tasks)
    times = (
        np.array([0.0, 5.0, 7.0]),
        np.array([5.0, 5.0, 5.0]),
    )  # the second comes as the first leaves; the third too soon
    _, node, _ = simulate_steady(engine_of(nodes, tasks, "fgd", tasks), workload, *times, draw_luck(workload, None), 0)
    assert node.tolist() == [0, 0, -1]


def test_means_are_over_time() -> None:
    """One T4 (10 W idle, 70 busy) and one socket (15 W, 120 W): busy from 0 to 4, empty to 8, busy to 10.

    Measured from the arrival at 0 to that at 10: 6 of 10 s busy. GPU 0.6 * 70 + 0.4 * 10 = 46 W, CPU
    0.6 * 120 + 0.4 * 15 = 78 W, 0.6 GPUs allocated.
    """
    nodes = [reference.Node("a", 8000, 8192, 1, "T4")]
    tasks = [reference.Task(f"t{i}", 1000, 1024, 1, 1000) for i in range(3)]
    workload = make_workload(tasks)
    times = np.array([0.0, 8.0, 10.0]), np.array([4.0, 100.0, 1.0])
    steady, node, _ = simulate_steady(
        engine_of(nodes, tasks, "fgd", tasks), workload, *times, draw_luck(workload, None), 0
    )
    assert node.tolist() == [0, 0, -1]
    assert steady.gpu_w == pytest.approx(46)
    assert steady.cpu_w == pytest.approx(78)
    assert steady.allocated_gpus == pytest.approx(0.6)
    assert steady.grar == pytest.approx(2 / 3)
    assert steady.w_per_gpu == pytest.approx(124 / 0.6)


def test_the_offered_load_is_asked_for() -> None:
    trace = alibaba2023.trace("default")
    capacity = alibaba2023.datacenter().gpu_milli
    workload, arrival_s, duration_s = offered(trace, capacity, 0.8, 60_000, np.random.default_rng(1))
    # GPU milli-seconds asked for over time and capacity
    load = (workload.gpu_request_milli() * duration_s).sum() / (arrival_s[-1] * capacity)
    assert load == pytest.approx(0.8, rel=0.03)


@pytest.mark.compiled
def test_in_steady_state_the_mix_saves_power_against_fgd_and_serves_all_at_half_load() -> None:
    datacenter, trace = alibaba2023.datacenter(), alibaba2023.trace("default")
    fgd, mix = (run_steady(datacenter, trace, parse(p), 0.5, 1, arrivals=20_000) for p in ("fgd", "pwr:0.1+fgd:0.9"))
    assert (fgd.grar, mix.grar) == (1.0, 1.0)
    assert 0.09 < 1 - mix.eopc_w / fgd.eopc_w < 0.17


def test_a_trace_without_gpu_demand_has_no_steady_load() -> None:
    trace = make_workload([reference.Task("t", 1000, 1024, 0, 0)])
    with pytest.raises(UserError, match="no GPU is asked for"):
        offered(trace, 1000, 0.5, 10, np.random.default_rng(1))


@pytest.mark.parametrize(("pause_s", "placed", "lost_gpu_s"), [(0.0, [0, 0, 0, 1], 0.0), (4.0, [0, 0, 0, -1], 4.0)])
def test_a_moved_task_is_paused_and_leaves_so_much_later(pause_s: float, placed: list[int], lost_gpu_s: float) -> None:
    """Two nodes of one GPU. The first task, for 10 s, is moved to the other node at 5 s: with a pause of 4 s it is
    there until 14 s, so that of two tasks that come at 12 s only one finds a GPU.
    """
    whole, without = make_task(gpu=1, cpu=1), make_task(cpu=1)
    tasks, nodes = [whole, without, whole, whole], [make_node(gpus=1), make_node(gpus=1)]
    workload, engine = make_workload(tasks), engine_of(nodes, tasks, "fgd", tasks)
    arrival_s, duration_s = np.array([0.0, 5.0, 12.0, 12.0]), np.array([10.0, 1.0, 5.0, 5.0])

    def mover(present: np.ndarray, node: np.ndarray, gpus: np.ndarray) -> np.ndarray:
        assert sorted(present.tolist()) == [0, 1]
        move_one(engine.state, engine.plan, int(workload.sequence[0]), int(node[0]), 1, 1, 1)
        node[0] = 1
        return np.array([0])

    rounds = Rounds(mover, 2, pause_s)
    steady, node, _ = simulate_steady(engine, workload, arrival_s, duration_s, np.zeros((4, 2)), 0, rounds)
    assert sorted(node[2:].tolist()) == sorted(placed[2:])
    assert (steady.moves, steady.lost_gpu_s, steady.measured_s) == (1, lost_gpu_s, 12.0)
    assert steady.paused_gpus == pytest.approx(lost_gpu_s / 12.0)
