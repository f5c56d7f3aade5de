"""Running tasks that are moved in a run in time: pause, energy, nodes that sleep after it, and books that stay right.

A node of 32 vCPU and one T4 draws 25 W idle and 190 W in use, asleep here 5 W.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

import numpy as np
import pytest

from builders import make_datacenter, make_mix, make_node, make_target, make_task, make_workload
from time_cases import timed_case
from time_engine import time_options, timed_tasks
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.node_cost import best_gpus
from wattpack.engine.core.state import ALLOCATED, BASE_POWER, COLUMNS, CPU_POWER, FAILED, GPU_POWER, REQUESTED
from wattpack.engine.core.take import place_many
from wattpack.engine.moments.moves import MovesInTime, Place
from wattpack.engine.moments.options import BACKFILL, Sleep, TimeOptions
from wattpack.engine.moments.record import OUTCOMES, RUNNING, WAITING, TimeRecord
from wattpack.engine.moments.run import MomentRun
from wattpack.engine.moments.simulate import Simulation, new_simulation
from wattpack.jit import kernel
from wattpack.model.sleeping import AWAKE
from wattpack.model.target import Target
from wattpack.model.timed_tasks import TimedTasks

HALF = make_task(gpu=0.5, cpu=1)
TIMES = Sleep(idle_s=10.0, shutdown_s=2.0, wake_s=5.0, sleep_w=5.0, reserve_gpus=0)


def run_by_hand(places: dict[float, list[Place]], pause_s: float, **told: object) -> TimeRecord:
    """Two nodes of one T4. Two halves of a GPU, each for 100 s from 0 on: both on n0."""
    nodes, tasks = [make_node(gpus=1, cpu=32, model="T4") for _ in range(2)], [HALF, HALF]
    timed = TimedTasks(make_workload(tasks), np.zeros(2), np.full(2, 100.0))
    options = TimeOptions(BACKFILL, horizon_s=200.0, sample_s=10.0, move_every_s=20.0, **told)  # type: ignore[arg-type]
    moves = MovesInTime(lambda _, run: places.get(float(run.now[0].clock_s), []), pause_s)
    target = make_target(tasks)
    return new_simulation(
        make_datacenter(nodes), timed, make_mix("fgd"), target, None, options=options, moves=moves
    ).record()


def test_a_moved_task_is_paused_and_leaves_that_much_later() -> None:
    record = run_by_hand({20.0: [Place(1, 1, 1)]}, pause_s=7.0)
    assert record.node.tolist() == [0, 1]
    assert record.end_s.tolist() == [100.0, 107.0]
    assert (record.moves, record.paused_gpu_s) == (1, 3.5)
    assert [OUTCOMES[code] for code in record.outcome] == ["done", "done"]
    # n0 is in use until 100, n1 from 20 to 107
    assert record.energy_j[-1].sum() == pytest.approx(190 * (100 + 87) + 25 * (100 + 113))


def test_a_node_that_is_emptied_by_moves_sleeps_after_its_idle_time() -> None:
    record = run_by_hand({20.0: [Place(1, 1, 1)], 40.0: [Place(1, 0, 1)]}, pause_s=0.0, sleep=TIMES)
    # n1 sleeps from 12 s on: a move cannot wake it, so it is asleep all the time in which nobody moved there
    assert record.wakes == 0
    moved = run_by_hand({20.0: [Place(1, 1, 1)], 40.0: [Place(1, 0, 1)]}, 0.0, sleep=replace(TIMES, idle_s=25.0))
    # n1: empty to 20, in use to 40, empty to 65, shuts down to 67, asleep to the end; n0 the same from 100 on
    asleep_s = (200 - 67) + (200 - 127)
    assert moved.energy_j[-1, 3] == pytest.approx(5 * asleep_s)
    assert moved.asleep_node_s == pytest.approx(asleep_s)


def test_a_task_that_waits_starts_at_the_moment_at_which_moves_make_room() -> None:
    """Two nodes of two GPUs. Of three tasks the second leaves at 10 s: one GPU is free on each node, none has two."""
    nodes = [make_node(gpus=2, cpu=32, model="T4") for _ in range(2)]
    one, two = make_task(gpu=1, cpu=1), make_task(gpu=2, cpu=1)
    tasks = [one, one, one, two]
    timed = TimedTasks(make_workload(tasks), np.array([0.0, 0.0, 0.0, 20.0]), np.array([100.0, 10.0, 100.0, 10.0]))

    def third_beside_first(_: Engine, run: MomentRun) -> list[Place]:
        first = run.tasks[0]
        return [Place(2, int(first.node), 3 - int(first.gpus))] if run.now[0].clock_s == 40.0 else []

    options, moves = TimeOptions(BACKFILL, horizon_s=200.0, move_every_s=40.0), MovesInTime(third_beside_first)
    mix, target = make_mix("fgd"), make_target(tasks)
    record = new_simulation(make_datacenter(nodes), timed, mix, target, None, options=options, moves=moves).record()
    assert record.node[2] == record.node[0] != record.node[3]
    assert (record.start_s[3], record.end_s[3]) == (40.0, 50.0)


@kernel
def cheapest_gpus(engine_state, k, n):  # type: ignore[no-untyped-def]
    return best_gpus(engine_state.nodes[n], engine_state.tasks[k], engine_state.world, 0.0, 0)


class RandomMoves:
    """Running tasks go to random awake nodes with room; remembers how often each was moved."""

    def __init__(self, seed: int, tasks: int) -> None:
        self.random, self.moved = Random(seed), [0] * tasks

    def __call__(self, engine: Engine, run: MomentRun) -> list[Place]:
        running = np.flatnonzero(run.tasks.outcome == RUNNING).tolist()
        if not running:
            return []
        i = self.random.choice(running)
        k = int(run.tasks.task_class[i])
        for n in self.random.sample(range(len(engine.state.nodes)), len(engine.state.nodes)):
            if engine.state.nodes[n].closed == AWAKE and n != run.tasks.node[i]:
                cost_w, gpus = cheapest_gpus(engine.state, k, n)
                if cost_w < inf:
                    self.moved[i] += 1
                    return [Place(i, n, int(gpus))]
        return []


@pytest.mark.parametrize("seed", range(40))
def test_after_random_moves_all_books_are_those_of_a_datacenter_with_the_same_tasks(seed: int) -> None:
    case = timed_case(seed, sleep=True)
    tasks, datacenter = timed_tasks(case), make_datacenter(case.nodes)
    options = replace(time_options(case, case.options, datacenter), move_every_s=1.5, speeds=None)
    planner = RandomMoves(seed, len(tasks))
    mix, target = make_mix(case.policy), make_target(case.trace)
    moves = MovesInTime(planner, pause_s=0.5)
    simulation = new_simulation(datacenter, tasks, mix, target, None, options=options, moves=moves)
    record = simulation.record()
    assert record.moves == sum(planner.moved)
    started = np.flatnonzero(~np.isnan(record.start_s))
    lengths = (record.end_s - record.start_s)[started]
    assert lengths == pytest.approx(tasks.duration_s[started] + 0.5 * np.array(planner.moved)[started], abs=1e-9)
    check_books(simulation, record, target)


def check_books(simulation: Simulation, record: TimeRecord, target: Target) -> None:
    """Nodes, totals and free GPUs are those that follow from the tasks there are."""
    run, state = simulation.run, simulation.engine.state
    there = np.flatnonzero((record.outcome == RUNNING) | ((record.outcome == WAITING) & (record.node >= 0)))
    datacenter, workload = simulation.engine.datacenter, simulation.tasks.workload
    fresh = Engine(datacenter, workload.classes, simulation.engine.mix, target, simulation.engine.profile)
    columns = [np.asarray(c)[there].astype(np.int64) for c in (workload.sequence, record.node, record.gpus)]
    place_many(fresh.state, fresh.plan, *columns)
    for name in ("cpu_left", "memory_left", "gpu_left", "gpu_free", "tasks", "cpu_power_mw", "gpu_power_mw"):
        assert np.array_equal(state.nodes[name], fresh.state.nodes[name]), name
    for column in set(range(COLUMNS)) - {REQUESTED, FAILED}:
        assert state.totals[column] == fresh.state.totals[column], column
    if run.sleep.on:
        nodes = state.nodes
        closed = nodes.closed != AWAKE
        assert run.sleep.now[0].free_gpus == nodes.gpu_free[nodes.closed <= 1].sum()
        assert run.hidden[CPU_POWER] == nodes.cpu_power_mw[closed].sum()
        assert run.hidden[GPU_POWER] == nodes.gpu_power_mw[closed].sum()
        assert run.hidden[BASE_POWER] == nodes.base_mw[closed].sum()
        waiting = there[record.outcome[there] == WAITING]
        assert run.hidden[ALLOCATED] == workload.gpu_request_milli()[waiting].sum()
