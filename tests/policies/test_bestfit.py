"""BestFit by hand: least CPU and GPU left after the placement."""

from builders import decide, explained, make_engine, make_node, make_task, place

TASK = make_task(gpu=0.5, cpu=16)


def test_the_score_is_100_less_what_is_left_of_128_vcpu_and_8_gpus() -> None:
    """Node 0, 96 vCPU, 8 GPUs: 0.5 * 80 / 128 = 0.3125, 0.5 * 7.5 / 8 = 0.46875; 1 - 0.78125 = 0.21875, 21.

    Node 1, 32 vCPU, 2 GPUs: 0.5 * 16 / 128 = 0.0625, 0.5 * 1.5 / 8 = 0.09375; 1 - 0.15625 = 0.84375, 84.
    Node 2, 64 vCPU, 4 GPUs: 0.5 * 48 / 128 = 0.1875, 0.5 * 3.5 / 8 = 0.21875; 1 - 0.40625 = 0.59375, 59.
    Over 63: 0, 100, (38 * 100) // 63 = 60.
    """
    nodes = [make_node(gpus=8, cpu=96), make_node(gpus=2, cpu=32), make_node(gpus=4, cpu=64)]
    engine = make_engine(nodes, [TASK], "bestfit")
    seen = explained(engine, TASK)
    assert seen.raw.tolist() == [[21, 84, 59]]
    assert seen.normalised.tolist() == [[0, 100, 60]]
    assert decide(engine, TASK) == (1, (0,))


def test_a_node_larger_than_the_scale_has_a_score_truncated_towards_zero() -> None:
    """256 vCPU and 8 GPUs: 1 - (0.5 * 256 / 128 + 0.5) = -0.5, -50. 129.28 and 16: 1 - (0.505 + 1) = -0.505, -50."""
    task = make_task()
    engine = make_engine([make_node(gpus=8, cpu=256), make_node(gpus=16, cpu=129.28)], [task], "bestfit")
    assert explained(engine, task).raw.tolist() == [[-50, -50]]


def test_where_all_are_equal_all_have_0_and_the_first_wins() -> None:
    engine = make_engine([make_node()] * 3, [TASK], "bestfit")
    assert explained(engine, TASK).normalised.tolist() == [[0, 0, 0]]
    assert decide(engine, TASK) == (0, (0,))


def test_it_takes_the_tightest_gpu_that_fits_the_first_of_equals() -> None:
    """500, 1000, 300 and 500 left: 300 is too small, of the two with 500 the first."""
    half, more = make_task(gpu=0.5), make_task(gpu=0.7)
    engine = make_engine([make_node(gpus=4)], [half, more], "bestfit")
    for task, gpu in ((half, 0), (more, 2), (half, 3)):
        place(engine, task, 0, (gpu,))
    assert decide(engine, half) == (0, (0,))
    place(engine, half, 0, (0,))
    assert decide(engine, half) == (0, (3,))
    place(engine, half, 0, (3,))
    assert decide(engine, half) == (0, (1,))
