"""Defragmentation against brute force on tiny clusters: no list brings more, and none as much with fewer moves."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import reference
from builders import make_node, make_task
from optimise.brute import Content, Moves, Shared
from optimise.placed import Placed, defrag_of, fragmentation_gpus, make_move, place, state_of, tiny_cluster, watts
from reference import Node, Task
from wattpack.datasets.running_tasks import NO_SLOWER
from wattpack.optimise.defrag import beam, carry_out, listing
from wattpack.optimise.defrag.carry_out import Step

MOST = 4
LEAST_W = 0.001
# The search was made on seeds 5000 to 5260 of another generator and on 10000 to 10199 of this one.
BLOCKS = [range(first, first + 20) for first in range(0, 200, 20)]


def gain_w(placed: Placed, moves: list[carry_out.Move], gpu_worth_w: float) -> float:
    """By the reference: each move is made there, where it must have room."""
    before_w = watts(placed.nodes) + gpu_worth_w * fragmentation_gpus(placed)
    for move in moves:
        make_move(placed, move)
    return before_w - watts(placed.nodes) - gpu_worth_w * fragmentation_gpus(placed)


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_no_list_of_at_most_so_many_moves_brings_more_and_none_as_much_with_fewer(seeds: range) -> None:
    """200 clusters in all, 1 to 4 moves: the gain is the best one, for watts alone and with GPUs at 100 W."""
    for seed in seeds:
        placed, worth_w = tiny_cluster(seed), (0.0, 100.0)[seed % 2]
        target = reference.target_workload(placed.tasks)
        best = Moves(placed.nodes, target, worth_w).best_gains_w(state_of(placed), MOST)
        for most in range(1, MOST + 1):
            moves = defrag_of(placed, worth_w).moves(most, LEAST_W)
            gain = gain_w(tiny_cluster(seed), moves, worth_w)
            assert gain == pytest.approx(best[most - 1], abs=MOST * LEAST_W), (seed, most)
            fewest = next(count for count, found in enumerate([0.0, *best]) if found >= gain - 1e-6)
            assert len(moves) == fewest, (seed, most)


def thrifty_and_hungry() -> Placed:
    """Two tasks of 0.1 and one of 0.6 on the two GPUs of a T4 node; one of 0.1 on a P100."""
    nodes = [make_node(gpus=2, cpu=48, model="T4"), make_node(gpus=2, cpu=16, model="P100")]
    small, large = make_task(gpu=0.1, cpu=8, name="small"), make_task(gpu=0.6, cpu=12, name="large")
    return place(nodes, [small, small, large, small], [(0, (0,)), (0, (0,)), (0, (1,)), (1, (0,))])


def test_two_moves_are_not_made_by_three() -> None:
    """The P100 saves 225 W and its socket as much as the T4's second one costs; a free T4 saves 60 W.

    Best first, the task on the P100 joins the 0.6, and two moves are needed to free the other T4. With the 0.6 moved to
    the two small ones, and the last one too, two moves do all.
    """
    moves = defrag_of(thrifty_and_hungry(), 0.0).moves(10)
    assert len(moves) == 2
    assert sum(move.saved_w for move in moves) == 225 + 60
    assert gain_w(thrifty_and_hungry(), moves, 0.0) == 285


def test_chains_come_best_first_and_moves_of_other_nodes_do_not_belong_together() -> None:
    for seed in range(10_000, 10_040):
        moves = defrag_of(tiny_cluster(seed), 0.0).moves(8, LEAST_W)
        joined = listing.in_chains(moves, 0.0)
        chains = [[m for m in joined if m.chain == number] for number in sorted({m.chain for m in joined})]
        rates = [sum(move.saved_w for move in chain) / len(chain) for chain in chains]
        assert all(before >= after - 1e-6 for before, after in pairwise(rates))
        assert gain_w(tiny_cluster(seed), joined, 0.0) == pytest.approx(sum(move.saved_w for move in moves))


def test_a_task_that_moved_twice_moves_once_and_one_that_came_back_stays() -> None:
    nodes = [make_node(gpus=1, cpu=32, model=model) for model in ("G3", "P100", "T4")]
    tasks = [make_task(gpu=0.3, cpu=1), make_task(gpu=0.2, cpu=1)]
    search = defrag_of(place(nodes, tasks, [(0, (0,)), (1, (0,))]), 0.0)
    start = search.board.nodes.copy()
    there = [(0, 1), (1, 2), (0, 2), (1, 1)]  # task, node
    moves = search.table.make([Step(0, task, to, 1) for task, to in there])
    steps = listing.needed(search.board, start, moves, 1.0)
    assert [(step.task, step.to) for step in steps] == [(0, 2)]
    search.table.undo(moves)
    assert (search.board.nodes == start).all()


def test_kernels_return_after_a_slice_and_the_slices_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is seen between two calls of a kernel, so none may be long: here a slice is one chain, node or state."""
    whole = [defrag_of(tiny_cluster(seed), 100.0).moves(6) for seed in range(10_000, 10_010)]
    scanned: list[int] = []
    try_chains, expand = carry_out.try_chains, beam.expand

    def watched_chains(board, starts, *rest) -> None:  # type: ignore[no-untyped-def]
        scanned.append(len(starts) - 1)
        try_chains(board, starts, *rest)

    def watched_states(board, steps, begin, end, level) -> None:  # type: ignore[no-untyped-def]
        scanned.append(end - begin)
        expand(board, steps, begin, end, level)

    monkeypatch.setattr(carry_out, "try_chains", watched_chains)
    monkeypatch.setattr(beam, "expand", watched_states)
    monkeypatch.setattr(carry_out, "MOST_SCANNED", 1)
    monkeypatch.setattr(carry_out, "MOST_PRICED", 1)
    monkeypatch.setattr(listing, "PAIRS_A_SLICE", 1)
    monkeypatch.setattr(beam, "SLICE", 1)
    assert [defrag_of(tiny_cluster(seed), 100.0).moves(6) for seed in range(10_000, 10_010)] == whole
    assert set(scanned) == {1}


def test_the_state_that_it_is_given_and_the_order_of_equal_runs_do_not_change() -> None:
    placed = tiny_cluster(10_007)
    first, again = defrag_of(placed, 100.0), defrag_of(placed, 100.0)
    before = first.board.nodes.copy()
    assert first.moves(5) == again.moves(5)
    assert np.array_equal(before, defrag_of(placed, 100.0).board.nodes)


SPEED = {"T4": 1, "P100": 1, "G2": 2, "V100M16": 3, "G3": 4}  # T4 and P100: nobody knows which is faster
MEMORY_GB = {"T4": 16, "P100": 16, "G2": 24, "V100M16": 16, "G3": 40}


def is_allowed(model: str, running_on: str) -> bool:
    holds = MEMORY_GB[model] >= MEMORY_GB[running_on]
    return model == running_on or (SPEED[model] > SPEED[running_on] and holds)


class MovesToNoSlower(Moves):
    """The brute force with tasks named after the model they started on: `k0@G2`."""

    def ways(self, n: int, content: Content, task: Task) -> list[tuple[Shared | None, Content]]:
        slower = task.num_gpu > 0 and not is_allowed(self.nodes[n].model, task.name.partition("@")[2])
        return [] if slower else super().ways(n, content, task)


def tiny_running_cluster(seed: int) -> Placed:
    """`tiny_cluster`, with tasks named after their model."""
    placed = tiny_cluster(seed)
    models = [placed.nodes[where[0]].model for where in placed.at if where is not None]
    tasks = [replace(task, name=f"{task.name}@{model}") for task, model in zip(placed.tasks, models, strict=True)]
    empty = [Node(n.name, n.cpu_milli, n.memory_mib, n.gpu, n.model, n.cpu_model) for n in placed.nodes]
    return place(empty, tasks, placed.at)


@pytest.mark.parametrize("seeds", [range(first, first + 20) for first in range(0, 80, 20)], ids=str)
def test_of_the_lists_that_slow_no_task_down_none_brings_more(seeds: range) -> None:
    """80 clusters: the search knows the rule, so that it finds the best list under it, also in chains."""
    gained = 0
    for seed in seeds:
        placed, worth_w = tiny_running_cluster(seed), (0.0, 100.0)[seed % 2]
        target = reference.target_workload(placed.tasks)
        best = MovesToNoSlower(placed.nodes, target, worth_w).best_gains_w(state_of(placed), MOST)
        for most in range(1, MOST + 1):
            moves = defrag_of(placed, worth_w, NO_SLOWER).moves(most, LEAST_W)
            gain = gain_w(tiny_running_cluster(seed), moves, worth_w)
            assert gain == pytest.approx(best[most - 1], abs=MOST * LEAST_W), (seed, most)
        for move in moves:
            from_, to = placed.nodes[placed.at[move.task][0]].model, placed.nodes[move.to_node].model
            assert placed.tasks[move.task].num_gpu == 0 or is_allowed(to, from_)
        gained += gain > LEAST_W
    assert gained >= 3
