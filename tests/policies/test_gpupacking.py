"""GpuPacking by hand: GPUs in use first, then free GPUs of nodes in use, then idle nodes."""

import pytest

from builders import decide, explained, make_engine, make_node, make_task, place

HALF, WHOLE, TWO, CPU_ONLY = make_task(gpu=0.5), make_task(gpu=1), make_task(gpu=2), make_task(cpu=1)


@pytest.mark.parametrize(("gpus", "score"), [(1, 32), (2, 31), (8, 25), (16, 17)])
def test_an_idle_node_scores_33_less_its_gpus(gpus: int, score: int) -> None:
    """max(33 - free, free): 33 - 1, 33 - 2, 33 - 8; at 16 GPUs 17 is still more than 16."""
    engine = make_engine([make_node(gpus=gpus)], [HALF, WHOLE], "gpupacking")
    assert explained(engine, HALF).raw.tolist() == explained(engine, WHOLE).raw.tolist() == [[score]]


def test_a_used_gpu_comes_before_a_free_gpu_of_a_used_node_before_an_idle_node() -> None:
    """Node 0 idle, 4 GPUs: 33 - 4 = 29. Node 1: one GPU taken, the task needs a free one: 50 - 1 = 49.

    Node 2: 500 left on GPU 1: 100 - (500 * 100 // 1000) // 10 = 100 - 50 // 10 = 95.
    """
    engine = make_engine([make_node(gpus=4)] * 3, [HALF, WHOLE], "gpupacking")
    place(engine, WHOLE, 1, (0,))
    place(engine, HALF, 2, (1,))
    assert explained(engine, HALF).raw.tolist() == [[29, 49, 95]]
    assert decide(engine, HALF) == (2, (1,))


def test_a_whole_gpu_task_on_a_used_node_scores_50_less_its_gpus() -> None:
    """2 free GPUs: 50 - 2 = 48, though a shared GPU with 500 left stands before them. The idle node: 33 - 8 = 25."""
    engine = make_engine([make_node(), make_node()], [HALF, TWO], "gpupacking")
    place(engine, HALF, 1, (0,))
    assert explained(engine, TWO).raw.tolist() == [[25, 48]]
    assert decide(engine, TWO) == (1, (1, 2))


@pytest.mark.parametrize(("used", "score"), [(0.001, 91), (0.09, 91), (0.1, 91), (0.2, 92), (0.5, 95), (0.75, 98)])
def test_the_tighter_the_gpu_the_higher_the_score(used: float, score: int) -> None:
    """left 999: 99 // 10 = 9; 910: 91 // 10 = 9; 900: 9; 800: 8; 500: 5; 250: 25 // 10 = 2."""
    first, task = make_task(gpu=used), make_task(gpu=0.002)
    engine = make_engine([make_node(gpus=2)], [first, task], "gpupacking")
    place(engine, first, 0, (1,))
    assert explained(engine, task).raw.tolist() == [[score]]
    assert decide(engine, task) == (0, (1,))


def test_a_gpu_too_full_for_the_task_is_passed_over() -> None:
    """300, 600 and 1000 left, the task asks for 500: the GPU with 600 serves it, 100 - 60 // 10 = 94."""
    most, some = make_task(gpu=0.7), make_task(gpu=0.4)
    engine = make_engine([make_node(gpus=3)], [HALF, most, some], "gpupacking")
    place(engine, most, 0, (0,))
    place(engine, some, 0, (1,))
    assert explained(engine, HALF).raw.tolist() == [[94]]
    assert decide(engine, HALF) == (0, (1,))


def test_a_cpu_task_scores_0_everywhere_and_takes_the_first_node() -> None:
    engine = make_engine([make_node(), make_node()], [CPU_ONLY, HALF], "gpupacking")
    place(engine, HALF, 1, (0,))
    assert explained(engine, CPU_ONLY).raw.tolist() == [[0, 0]]
    assert decide(engine, CPU_ONLY) == (0, ())


def test_a_task_of_15_gpus_still_scores_more_on_a_used_node_than_on_any_idle_one() -> None:
    """50 - 15 = 35; an idle node has 33 - 1 = 32 at most, this one 33 - 16 = 17."""
    task = make_task(gpu=15)
    engine = make_engine([make_node(gpus=16)] * 2, [HALF, task], "gpupacking")
    place(engine, HALF, 1, (3,))
    assert explained(engine, task).raw.tolist() == [[17, 35]]
    assert decide(engine, task) == (1, (0, 1, 2, *range(4, 16)))
