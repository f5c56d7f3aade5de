"""DotProd by hand: the smallest product of what is left and what is asked."""

from builders import decide, explained, make_engine, make_node, make_task, place

TASK = make_task(gpu=2, cpu=32)


def test_the_score_falls_with_what_is_left_of_what_the_task_asks() -> None:
    """The task is 0.25 of 128 vCPU and 0.25 of 8 GPUs.

    Node 0, 128 vCPU, 8 GPUs: (1 * 0.25 + 1 * 0.25) / 2 = 0.25, 75.
    Node 1, 64 vCPU, 2 GPUs: (0.5 * 0.25 + 0.25 * 0.25) / 2 = 0.09375, 90 (90.625 truncated).
    Node 2, 32 vCPU, 8 GPUs: (0.25 * 0.25 + 1 * 0.25) / 2 = 0.15625, 84 (84.375).
    """
    nodes = [make_node(gpus=8, cpu=128), make_node(gpus=2, cpu=64), make_node(gpus=8, cpu=32)]
    engine = make_engine(nodes, [TASK], "dotprod")
    seen = explained(engine, TASK)
    assert seen.raw.tolist() == [[75, 90, 84]]
    assert seen.normalised.tolist() == seen.raw.tolist()  # no normaliser
    assert decide(engine, TASK) == (1, (0, 1))


def test_what_the_task_does_not_ask_for_does_not_count() -> None:
    """CPU-only, 64 of 128 vCPU. Node 0, 128 vCPU, no GPU: 1 * 0.5 / 2 = 0.25, 75. Node 1, 96 vCPU, 8 GPUs: 81.25."""
    task = make_task(cpu=64)
    engine = make_engine([make_node(gpus=0, cpu=128), make_node(gpus=8, cpu=96)], [task], "dotprod")
    assert explained(engine, task).raw.tolist() == [[75, 81]]
    assert decide(engine, task) == (1, ())


def test_it_takes_the_tightest_gpu_that_fits() -> None:
    small = make_task(gpu=0.25)
    engine = make_engine([make_node(gpus=3)], [small], "dotprod")
    place(engine, small, 0, (2,))
    assert decide(engine, small) == (0, (2,))
