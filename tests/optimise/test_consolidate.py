"""Which nodes consolidation empties: those that pay, onto nodes in use, never onto slower GPUs unless allowed.

Every test begins with one task on each node: tasks name the model of their node, or other tasks are in the way at the
start.
"""

from __future__ import annotations

import numpy as np
import pytest

from builders import make_datacenter, make_mix, make_node, make_target, make_task, make_workload
from reference import Node, Task
from wattpack.engine.moments.moves import MovesInTime
from wattpack.engine.moments.options import BACKFILL, Sleep, TimeOptions
from wattpack.engine.moments.record import TimeRecord
from wattpack.engine.moments.simulate import new_simulation
from wattpack.errors import UserError
from wattpack.model.timed_tasks import TimedTasks
from wattpack.optimise.consolidate import Consolidation, Consolidator

HOUR_S = 3600.0
LONG_S = 24 * HOUR_S
ROUNDS = 4  # an hour each


def run(
    nodes: list[Node], tasks: list[tuple[Task, float]], told: Consolidation, sleep: Sleep, exact_speeds: bool = False
) -> TimeRecord:
    """Tasks with their durations, all at the start."""
    datacenter, plain = make_datacenter(nodes), [task for task, _ in tasks]
    timed = TimedTasks(make_workload(plain), np.zeros(len(tasks)), np.array([duration_s for _, duration_s in tasks]))
    options = TimeOptions(
        BACKFILL, horizon_s=(ROUNDS + 0.5) * HOUR_S, sample_s=600.0, sleep=sleep, move_every_s=told.every_s
    )
    moves = MovesInTime(Consolidator(told, tuple(datacenter.models), exact_speeds), told.pause_s)
    mix, target = make_mix("fgd"), make_target(plain)
    return new_simulation(datacenter, timed, mix, target, None, options=options, moves=moves).record()


def one_on_each(nodes: int, gpus: int = 4, gpu: float = 1.0) -> tuple[list[Node], list[tuple[Task, float]]]:
    """Nodes of one model. Tasks of a minute fill all but one GPU of each node, so that each gets one that stays."""
    filler, stays = make_task(gpu=gpus - 1, cpu=1), make_task(gpu=gpu, cpu=1)
    found = [make_node(gpus=gpus, model="T4") for _ in range(nodes)]
    return found, [*([(filler, 60.0)] * nodes), *([(stays, LONG_S)] * nodes)]


WAKES_FAST = Sleep(idle_s=60.0, shutdown_s=60.0, wake_s=60.0, reserve_gpus=0)


def test_tasks_of_nodes_in_little_use_are_brought_together_and_the_nodes_sleep() -> None:
    nodes, tasks = one_on_each(4)
    told = Consolidation(every_s=HOUR_S, pause_s=0.0)
    record = run(nodes, tasks, told, WAKES_FAST)
    assert len(set(record.node[4:].tolist())) == 1
    assert (record.moves, record.wakes) == (3, 0)
    assert record.asleep_nodes[-1] == 3
    assert len(set(run(nodes, tasks, Consolidation(every_s=LONG_S), WAKES_FAST).node[4:].tolist())) == 4  # never


def test_there_are_never_more_moves_an_hour_than_allowed() -> None:
    nodes, tasks = one_on_each(8, gpus=8)
    told = Consolidation(moves_an_hour=2, every_s=HOUR_S / 4)
    record = run(nodes, tasks, told, WAKES_FAST)
    assert record.moves == 7
    assert [int(count) for count in record.asleep_nodes[[7, 13, 19, 26]]] == [2, 4, 6, 7]


@pytest.mark.parametrize(("pays_back_s", "moves"), [(1.0, 0), (HOUR_S, 1)])
def test_a_node_is_emptied_only_if_that_pays_for_a_shutdown_and_a_wake(pays_back_s: float, moves: int) -> None:
    nodes, tasks = one_on_each(2)
    record = run(nodes, tasks, Consolidation(every_s=HOUR_S, pays_back_s=pays_back_s), WAKES_FAST)
    assert record.moves == moves


@pytest.mark.parametrize(("allow_slower", "exact", "to"), [(False, False, ""), (True, False, "T4"), (True, True, "")])
def test_a_task_never_goes_to_a_slower_gpu_unless_allowed(allow_slower: bool, exact: bool, to: str) -> None:
    """One task on a T4, one on a G3 (taken for an A100). A T4 draws less, and is slower; the other way does not pay."""
    nodes = [make_node(gpus=2, model="T4"), make_node(gpus=2, model="G3")]
    pairs = [(make_task(gpu=1, cpu=1, spec=model), 60.0) for model in ("T4", "G3")]
    tasks = [*pairs, (make_task(gpu=1, cpu=1), LONG_S), (make_task(gpu=1, cpu=1), LONG_S)]
    record = run(nodes, tasks, Consolidation(every_s=HOUR_S, allow_slower=allow_slower), WAKES_FAST, exact)
    models = {nodes[n].model for n in record.node[2:].tolist()}
    assert models == ({to} if to else {"T4", "G3"})
    assert record.moves == (1 if to else 0)


def test_a_task_does_not_go_to_a_node_that_is_empty_or_asleep() -> None:
    nodes, tasks = one_on_each(2)
    nodes.append(make_node(gpus=8, model="T4"))  # in use for the first minute
    tasks = [(make_task(gpu=8, cpu=1), 60.0), *tasks]
    for idle_s in (60.0, LONG_S):
        record = run(nodes, tasks, Consolidation(every_s=HOUR_S), Sleep(idle_s=idle_s, reserve_gpus=0))
        assert record.node[0] == 2
        assert 2 not in record.node[1:].tolist()
        assert record.moves == 1


def test_where_nothing_runs_nothing_is_moved() -> None:
    tasks = [(make_task(gpu=1, cpu=1), 60.0)]
    assert run([make_node(gpus=1, model="T4")], tasks, Consolidation(every_s=HOUR_S), WAKES_FAST).moves == 0


@pytest.mark.parametrize(
    "told", [{"moves_an_hour": 0}, {"every_s": 0.0}, {"pause_s": -1.0}, {"pays_back_s": float("inf")}]
)
def test_knobs_that_make_no_sense_are_refused(told: dict[str, float]) -> None:
    with pytest.raises(UserError, match=r"consolidate: .*expected"):
        Consolidation(**told)  # type: ignore[arg-type]
