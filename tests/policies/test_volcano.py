"""volcano and volcanopack by hand."""

import pytest

from builders import arrive, decide, explained, make_engine, make_node, make_task, place

ONE_GPU = make_task(gpu=1, cpu=4, memory_mib=4_096)


def test_the_terms_of_volcano() -> None:
    """A node of 96 vCPU, 393,216 MiB and 4 GPUs, half full of CPU; the task asks for 24 vCPU, 98,304 MiB, 2 GPUs.

    LeastAllocated: CPU 25; memory, where the task that is there counts 200 MiB, 74; (25 + 74) // 2 = 49.
    Shares after 0.75, 0.25, 0.5: deviation 0.2041, 79; before 0.5, 0, 0: 0.2357, 76; 50 + (50 + 79 - 76) // 2 = 76.
    Binpack: 100 * (0.75 + 0.25) / 2 = 50.
    """
    half, task = make_task(cpu=48), make_task(gpu=2, cpu=24, memory_mib=98_304)
    engine = make_engine([make_node(gpus=4)], [half, task], "volcano")
    place(engine, half, 0)
    assert explained(engine, task).priced[:, 0].tolist() == [49, 76, 50]


def test_gpu_is_no_share_for_a_task_without_gpu() -> None:
    """Shares after 0.25 and 0.25: 100, before 0 and 0: 100. 50 + 50 // 2 = 75."""
    task, gpus = make_task(cpu=24, memory_mib=98_304), make_task(gpu=4)
    engine = make_engine([make_node(gpus=4)], [task, gpus], "volcano")
    place(engine, gpus, 0, (0, 1, 2, 3))
    assert explained(engine, task).priced[1].tolist() == [75]


def test_volcanopack_weighs_gpu_five_times_and_by_ten() -> None:
    """1,000 * (0.25 + 0.25 + 5 * 0.5) / 7"""
    task = make_task(gpu=2, cpu=24, memory_mib=98_304)
    engine = make_engine([make_node(gpus=4)], [task], "volcanopack")
    assert explained(engine, task).priced[2].tolist() == [pytest.approx(3000 / 7)]


def test_volcanopack_fills_one_node_and_then_the_other() -> None:
    engine = make_engine([make_node(gpus=4), make_node(gpus=4)], [ONE_GPU], "volcanopack")
    assert [arrive(engine, ONE_GPU)[0] for _ in range(8)] == [0] * 4 + [1] * 4


@pytest.mark.parametrize("policy", ["volcano", "volcanopack"])
def test_ties_are_drawn(policy: str) -> None:
    engine = make_engine([make_node()] * 4, [ONE_GPU], policy)
    assert [decide(engine, ONE_GPU, (luck, 0.0))[0] for luck in (0.0, 0.3, 0.5, 0.99)] == [0, 1, 2, 3]
