"""GpuClustering by hand: nodes that hold the same kind of GPU task."""

from builders import decide, explained, make_engine, make_node, make_task, place, release

SHARE, ONE, TWO, CPU_ONLY = make_task(gpu=0.5), make_task(gpu=1), make_task(gpu=2), make_task(cpu=1)
TASKS = [SHARE, ONE, TWO, CPU_ONLY]


def test_only_this_kind_this_and_others_none_only_others() -> None:
    """4 nodes of 8 GPUs; the task shares a GPU. 25 * (8000 - total) // 8000 is added:

    node 0, a whole GPU taken:  0 + 25 * 1000 // 8000 = 3
    node 1, nothing:           25 + 0
    node 2, half and whole:    50 + 25 * 1500 // 8000 = 50 + 4 (4.69)
    node 3, half:              75 + 25 * 500 // 8000 = 75 + 1 (1.56)
    """
    engine = make_engine([make_node()] * 4, TASKS, "gpuclustering")
    place(engine, ONE, 0, (0,))
    place(engine, SHARE, 2, (0,))
    place(engine, ONE, 2, (1,))
    place(engine, SHARE, 3, (5,))
    seen = explained(engine, SHARE)
    assert seen.raw.tolist() == [[3, 25, 54, 76]]
    assert seen.normalised.tolist() == seen.raw.tolist()  # no normaliser
    assert decide(engine, SHARE) == (3, (5,))


def test_one_gpu_and_two_gpus_are_two_kinds() -> None:
    """Node 0 holds a task of 1 GPU, node 1 one of 2: 0 + 25 * 1000 // 8000 = 3; 75 + 25 * 2000 // 8000 = 75 + 6."""
    engine = make_engine([make_node()] * 2, TASKS, "gpuclustering")
    place(engine, ONE, 0, (0,))
    place(engine, TWO, 1, (0, 1))
    assert explained(engine, TWO).raw.tolist() == [[3, 81]]
    assert decide(engine, TWO) == (1, (2, 3))


def test_a_small_node_counts_as_partly_used() -> None:
    """2 GPUs: 25 + 25 * (8000 - 2000) // 8000 = 25 + 18 (18.75); more than 8 GPUs: 25 + 25 * -8000 // 8000 = 0."""
    engine = make_engine([make_node(gpus=8), make_node(gpus=2), make_node(gpus=16)], TASKS, "gpuclustering")
    assert explained(engine, ONE).raw.tolist() == [[25, 43, 0]]
    assert decide(engine, ONE) == (1, (0,))


def test_cpu_tasks_are_no_kind_and_score_0() -> None:
    engine = make_engine([make_node()] * 2, TASKS, "gpuclustering")
    place(engine, CPU_ONLY, 1)
    assert explained(engine, ONE).raw.tolist() == [[25, 25]]
    assert explained(engine, CPU_ONLY).raw.tolist() == [[0, 0]]
    assert decide(engine, CPU_ONLY) == (0, ())


def test_a_task_that_has_left_no_longer_counts() -> None:
    engine = make_engine([make_node()] * 2, TASKS, "gpuclustering")
    place(engine, ONE, 1, (0,))
    release(engine, ONE, 1, (0,))
    assert explained(engine, SHARE).raw.tolist() == [[25, 25]]


def test_it_takes_the_tightest_gpu_that_fits() -> None:
    quarter = make_task(gpu=0.25)
    engine = make_engine([make_node(gpus=4)], [SHARE, quarter], "gpuclustering")
    place(engine, SHARE, 0, (1,))
    place(engine, quarter, 0, (2,))
    assert decide(engine, SHARE) == (0, (1,))
