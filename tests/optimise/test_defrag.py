"""Defragmentation: every step has room, the state after is the state before with the moves made, nothing gets worse."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from builders import make_datacenter, make_node, make_target, make_task, make_workload
from cases import clusters, task_lists
from optimise.placed import Placed, defrag_of, fragmentation_gpus, make_move, place, watts
from reference import Gpus
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import CPU_POWER, GPU_POWER
from wattpack.engine.moments.moves import Rounds
from wattpack.engine.moments.steady import simulate_steady
from wattpack.engine.runs.arrivals import draw_luck
from wattpack.experiments.options import Moving
from wattpack.experiments.steady import new_mover, offered, run_steady
from wattpack.optimise.bound.offline import place_all
from wattpack.policies.expression import parse

ROUNDING_W = 0.05  # the tie-break towards fuller nodes, a millionth of a watt per milli-GPU


@st.composite
def placements(draw: st.DrawFn) -> Placed:
    """Tasks at random where they fit: a mess."""
    nodes, tasks = draw(clusters()), draw(task_lists())
    at: list[tuple[int, Gpus] | None] = []
    for task in tasks:
        fitting = [n for n, node in enumerate(nodes) if reference.filter_reason(node, task) is None]
        if not fitting:
            at.append(None)
            continue
        n = draw(st.sampled_from(fitting))
        gpus = draw(st.sampled_from(reference.choices(nodes[n], task)))
        reference.place(nodes[n], task, gpus)
        at.append((n, gpus))
    return Placed(nodes, tasks, at)


@given(placed=placements(), most=st.integers(1, 12), worth_w=st.sampled_from([0.0, 20.0, 100.0]))
def test_each_step_has_room_in_its_turn_and_brings_what_it_says_and_chains_pay(
    placed: Placed, most: int, worth_w: float
) -> None:
    search = defrag_of(placed, worth_w)
    moves = search.moves(most, least_w=1.0)
    assert len(moves) <= most
    gains: dict[int, list[float]] = {}
    for move in moves:
        before = watts(placed.nodes), fragmentation_gpus(placed)
        make_move(placed, move)
        assert move.saved_w == pytest.approx(before[0] - watts(placed.nodes))
        assert move.usable_gpus == pytest.approx(before[1] - fragmentation_gpus(placed), abs=1e-9)
        gains.setdefault(move.chain, []).append(move.saved_w + worth_w * move.usable_gpus)
    assert list(gains) == sorted(gains)  # a chain is made before the next begins
    assert all(sum(chain) >= 1.0 * len(chain) - 1e-6 for chain in gains.values())
    for n, node in enumerate(placed.nodes):
        after = search.board.nodes[n]
        left = after.gpu_left[: node.gpu].tolist()
        assert (int(after.cpu_left), int(after.memory_left), left) == (node.cpu_left, node.memory_left, node.gpu_left)


def single_moves(placed: Placed) -> Iterator[float]:
    """What every single move that has room would save."""
    before = watts(placed.nodes)
    for task, where in zip(placed.tasks, placed.at, strict=True):
        if where is None:
            continue
        for n, node in enumerate(placed.nodes):
            if reference.filter_reason(node, task) is not None:
                continue
            for new in reference.choices(node, task):
                if (n, new) == where or (n == where[0] and task.num_gpu != 1):
                    continue
                reference.place(node, task, new)
                reference.release(placed.nodes[where[0]], task, where[1])
                yield before - watts(placed.nodes)
                reference.release(node, task, new)
                reference.place(placed.nodes[where[0]], task, where[1])


@settings(max_examples=60)
@given(placed=placements())
def test_the_one_move_it_is_allowed_is_the_best_there_is(placed: Placed) -> None:
    """Brute force over all tasks, nodes and GPUs."""
    best = max(single_moves(placed), default=0.0)
    found = defrag_of(placed, 0.0).moves(1, least_w=1.0)
    if best < 1.0 - ROUNDING_W:
        assert found == []
    else:
        assert found[0].saved_w == pytest.approx(best, abs=ROUNDING_W)


@settings(max_examples=25)
@given(placed=placements())
def test_with_two_moves_it_saves_at_least_what_the_best_one_does(placed: Placed) -> None:
    best = max(single_moves(placed), default=0.0)
    saved = sum(move.saved_w for move in defrag_of(placed, 0.0).moves(2, least_w=1.0))
    assert saved >= (best if best >= 2.0 else 0.0) - ROUNDING_W


def test_moves_that_pay_only_together_are_found_together() -> None:
    """Two tasks of 0.3 keep a GPU of 150 W busy; each of the other two GPUs has room for one: 120 W, at the second."""
    nodes = [make_node(gpus=1, cpu=32), make_node(gpus=2, cpu=32)]
    tasks = [
        make_task(gpu=0.3, cpu=1),
        make_task(gpu=0.3, cpu=1),
        make_task(gpu=0.6, cpu=1),
        make_task(gpu=0.65, cpu=1),
    ]
    placed = place(nodes, tasks, [(0, (0,)), (0, (0,)), (1, (0,)), (1, (1,))])
    moves = defrag_of(placed, 0.0).moves(10)
    # the GPU's 120 W, and the socket's 105 W with the last task of the node
    assert [(move.chain, move.saved_w) for move in moves] == [(0, 0.0), (0, 225.0)]
    assert sum(move.free_gpus for move in moves) == 1
    assert defrag_of(placed, 0.0).moves(1) == []  # the first half is worth nothing, so it is not begun


def test_others_make_room_for_a_task_on_a_hungry_model() -> None:
    """2 GPUs of G3 draw 700 W above idle, of G2 240: the task in the way goes to the T4 first."""
    nodes = [make_node(gpus=2, model="G3"), make_node(gpus=2, model="G2"), make_node(gpus=1, model="T4")]
    tasks = [make_task(gpu=2, cpu=4), make_task(gpu=0.5, cpu=4), make_task(cpu=1), make_task(gpu=0.2, cpu=1)]
    placed = place(nodes, tasks, [(0, (0, 1)), (1, (1,)), (0, ()), (2, (0,))])
    moves = defrag_of(placed, 0.0).moves(2)
    assert [(move.task, move.from_node, move.to_node) for move in moves] == [(1, 1, 2), (0, 0, 1)]
    # G2's 120 W are given up and taken again; G3's 700 W less G2's 240
    assert sum(move.saved_w for move in moves) == 120 + 700 - 240


def test_a_task_that_cannot_be_in_two_places_at_once_stays() -> None:
    """Both GPUs are on one node; its vCPU is enough for the tasks once, not for one of them twice."""
    tasks = [make_task(gpu=0.4, cpu=16), make_task(gpu=0.4, cpu=16)]
    for cpu, moves in ((32, 0), (48, 1)):
        placed = place([make_node(gpus=2, cpu=cpu)], tasks, [(0, (0,)), (0, (1,))])
        assert len(defrag_of(placed, 0.0).moves(5)) == moves


def test_gpus_that_the_target_can_use_are_worth_a_move_at_a_price() -> None:
    """A task without GPU holds 30 of the 32 vCPU beside a GPU. Elsewhere it draws as much, and 9 of 10 tasks of M could
    use the GPU: 0.9 GPUs."""
    nodes = [make_node(gpus=1, cpu=32), make_node(gpus=0, cpu=32)]
    tasks = [make_task(cpu=30)] + [make_task(gpu=1, cpu=8)] * 9
    placed = place(nodes, tasks, [(0, ()), *[None] * 9])
    assert defrag_of(placed, 0.0).moves(5) == []
    (move,) = defrag_of(placed, 100.0).moves(5)
    assert (move.to_node, move.saved_w) == (1, 0.0)
    assert move.usable_gpus == pytest.approx(0.9)


NODES = [make_node(gpus=4, cpu=64), make_node(gpus=4, cpu=64, model="G3"), make_node(gpus=4, cpu=64, model="T4")]
TASKS = [make_task(gpu=0.3, cpu=2), make_task(gpu=0.6, cpu=4), make_task(gpu=1, cpu=4), make_task(cpu=6)]


@pytest.mark.parametrize("policy", ["fgd", "ocs"])
def test_a_timed_run_with_moves_ends_with_every_task_where_it_says(policy: str) -> None:
    """Place what is left at the end on an empty datacenter: the same nodes, the same watts."""
    datacenter, trace = make_datacenter(NODES), make_workload(TASKS)
    workload, arrival_s, duration_s = offered(trace, datacenter.gpu_milli, 0.6, 600, np.random.default_rng(3))
    engine = Engine(datacenter, workload.classes, parse(policy), make_target(TASKS))
    luck, rounds = draw_luck(workload, None), Rounds(new_mover(engine, workload, 5), 20)
    steady, node, gpus = simulate_steady(engine, workload, arrival_s, duration_s, luck, 100, rounds)
    assert steady.moves > 0
    gone = arrival_s + duration_s <= arrival_s[-1]
    node[gone] = -1
    again = Engine(datacenter, workload.classes, parse(policy), make_target(TASKS))
    assert place_all(again.state, again.plan, workload.sequence, node, gpus) == -1
    for column in (CPU_POWER, GPU_POWER):
        assert engine.state.totals[column] == again.state.totals[column]
    assert (engine.state.nodes.gpu_left == again.state.nodes.gpu_left).all()


def test_in_steady_state_moves_save_power_and_the_same_seed_gives_the_same() -> None:
    datacenter, trace = make_datacenter(NODES * 3), make_workload(TASKS)
    plain = run_steady(datacenter, trace, parse("fgd"), 0.5, 1, arrivals=2000)
    moved, again = (
        run_steady(datacenter, trace, parse("fgd"), 0.5, 1, arrivals=2000, moving=Moving(50, 20)) for _ in range(2)
    )
    assert moved == again
    assert moved.eopc_w < 0.97 * plain.eopc_w
    assert 0 < moved.moves <= 1000 / 50 * 20
    assert plain.moves == 0


def test_without_tasks_there_is_nothing_to_move() -> None:
    placed = place([make_node(gpus=1)], [make_task(gpu=2)], [None])
    assert defrag_of(placed, 100.0).moves(5) == []
