"""kubepack and kuberatio by hand, and the tables of kube-scheduler's own tests of MostAllocated (v1.36)."""

import pytest

from builders import arrive, decide, explained, make_engine, make_node, make_task, place

ONE_GPU = make_task(gpu=1, cpu=4, memory_mib=4_096)


@pytest.mark.parametrize("policy", ["kubepack", "kuberatio"])
def test_of_two_nodes_of_8_gpus_one_with_4_in_use_it_takes_the_fuller(policy: str) -> None:
    engine = make_engine([make_node(), make_node()], [ONE_GPU], policy)
    for gpu in range(4):
        place(engine, ONE_GPU, 1, (gpu,))
    assert decide(engine, ONE_GPU)[0] == 1


@pytest.mark.parametrize("policy", ["kubepack", "kuberatio"])
def test_eight_tasks_fill_one_node_and_then_the_other(policy: str) -> None:
    engine = make_engine([make_node(gpus=4), make_node(gpus=4)], [ONE_GPU], policy)
    assert [arrive(engine, ONE_GPU)[0] for _ in range(8)] == [0] * 4 + [1] * 4


@pytest.mark.parametrize(
    ("node", "there", "task", "score"),
    [  # upstream: most_allocated_test.go, CPU and memory with weight 1 each
        ((4_000, 10_000), 0, (3_000, 5_000), 62),  # (75 + 50) / 2
        ((6_000, 10_000), 0, (3_000, 5_000), 50),
        ((5_000, 10_000), 0, (5_000, 9_000), 95),  # (100 + 90) / 2
        ((10_000, 9_000), 0, (5_000, 9_000), 75),
        ((250, 1_000), 2, (0, 0), 80),  # 300 of 250 milli count as all, 600 of 1,000 MiB: (100 + 60) / 2
        ((250, 1_000), 0, (0, 0), 30),  # (40 + 20) / 2
    ],
)
def test_most_allocated_of_tasks_without_gpu(
    node: tuple[int, int], there: int, task: tuple[int, int], score: int
) -> None:
    asks = make_task(cpu=task[0] / 1000, memory_mib=task[1])
    engine = make_engine([make_node(gpus=0, cpu=node[0] / 1000, memory_mib=node[1])], [asks], "kubepack")
    for _ in range(there):
        place(engine, asks, 0)
    assert explained(engine, asks).priced[0].tolist() == [score]


def test_gpu_has_weight_5_for_tasks_that_ask_for_it() -> None:
    """GPU 1.5 of 4: 37; CPU 10 of 96: 10; memory 8,192 of 393,216: 2. (5 * 37 + 10 + 2) // 7 = 28."""
    half, whole = make_task(gpu=0.5, cpu=5, memory_mib=4_096), make_task(gpu=1, cpu=5, memory_mib=4_096)
    engine = make_engine([make_node(gpus=4)], [half, whole], "kubepack")
    place(engine, half, 0, (0,))
    assert explained(engine, whole).priced[0].tolist() == [28]


def test_kuberatio_scores_the_share_of_gpu_requested() -> None:
    """1,500 of 4,000 milli: 37. A task without GPU has no such term."""
    half, whole, cpu = make_task(gpu=0.5, cpu=5), make_task(gpu=1, cpu=5), make_task(cpu=5)
    engine = make_engine([make_node(gpus=4)], [half, whole, cpu], "kuberatio")
    place(engine, half, 0, (0,))
    assert explained(engine, whole).priced[0].tolist() == [37]
    assert explained(engine, cpu).priced[0].tolist() == [0]
