"""FGD by hand: the sigmoid and its truncation, which node and GPU it takes."""

from builders import arrive, decide, explained, make_engine, make_node, make_task, place
from wattpack.policies.fgd import gradient_score

HALF, WHOLE, TWO = make_task(gpu=0.5, cpu=1), make_task(gpu=1, cpu=1), make_task(gpu=2, cpu=1)


def test_the_score_is_100_sigmoid_of_the_fall_in_gpus_truncated() -> None:
    assert gradient_score(0.0, 0.0) == 50
    assert gradient_score(1000.0, 0.0) == 73  # 100 / (1 + e^-1) = 73.1
    assert gradient_score(0.0, 1000.0) == 26  # 26.9
    assert gradient_score(0.0, 8000.0) == 0  # 0.03
    assert gradient_score(8000.0, 0.0) == 99  # 99.97


def test_a_zero_that_rounding_makes_negative_scores_49() -> None:
    """Why sums must be bit-exact: 100 / (1 + e^(1e-15)) is below 50."""
    assert gradient_score(0.0, 1e-12) == 49
    assert gradient_score(1e-12, 0.0) == 50


def test_it_fills_the_hole_rather_than_make_another() -> None:
    """M asks for whole GPUs. Node 0: 2 free GPUs, F = 0. Node 1: 500 and 1000 left, F = 500 (too small for M).

    Node 0: 500 and 1000 left after, F = 500: sigmoid(-0.5) = 0.377, 37.
    Node 1, GPU 0: 0 and 1000 left, F = 0: sigmoid(0.5) = 0.622, 62. GPU 1: 500 and 500, M fits nowhere, F = 1000: 37.
    """
    engine = make_engine([make_node(gpus=2)] * 2, [HALF], "fgd", trace=[WHOLE])
    place(engine, HALF, 1, (0,))
    assert explained(engine, HALF).raw.tolist() == [[37, 62]]
    assert decide(engine, HALF) == (1, (0,))


def test_of_equal_scores_the_first_node_and_the_first_gpu_win() -> None:
    engine = make_engine([make_node(gpus=4)] * 3, [HALF], "fgd", trace=[HALF])
    assert explained(engine, HALF).raw.tolist() == [[50, 50, 50]]
    assert decide(engine, HALF) == (0, (0,))


def test_of_different_gpus_with_equal_scores_the_first_wins() -> None:
    """M asks for a tenth: 1000 and 500 left, and with a quarter less on either, all hold it. F stays 0, 50 on both."""
    quarter = make_task(gpu=0.25)
    engine = make_engine([make_node(gpus=2)], [HALF, quarter], "fgd", trace=[make_task(gpu=0.1)])
    place(engine, HALF, 0, (1,))
    assert decide(engine, quarter) == (0, (0,))


def test_the_hole_is_found_behind_other_gpus() -> None:
    """Free GPUs before and behind it: 1000, 1000, 500, 1000 left; only GPU 2 makes F fall (500 to 0)."""
    engine = make_engine([make_node(gpus=4)], [HALF], "fgd", trace=[WHOLE])
    place(engine, HALF, 0, (2,))
    assert explained(engine, HALF).raw.tolist() == [[62]]
    assert decide(engine, HALF) == (0, (2,))


def test_a_whole_gpu_task_goes_where_it_breaks_no_pair() -> None:
    """M asks for 2 GPUs. Node 0 has 2, node 1 has 3.

    Node 0: 1000 left after, M does not fit: F 0 to 1000, sigmoid(-1) = 0.269, 26.
    Node 1: 2000 left after, M fits: F stays 0, 50.
    """
    engine = make_engine([make_node(gpus=2), make_node(gpus=3)], [WHOLE], "fgd", trace=[TWO])
    assert explained(engine, WHOLE).raw.tolist() == [[26, 50]]
    assert decide(engine, WHOLE) == (1, (0,))


def test_a_cpu_task_goes_where_its_vcpu_are_not_needed() -> None:
    """M asks for 1 GPU with 8 vCPU. After the task node 0 has 6 vCPU: F 0 to 1000, 26. Node 1 has 8: 50."""
    task = make_task(cpu=2)
    engine = make_engine([make_node(gpus=1, cpu=8), make_node(gpus=1, cpu=10)], [task], "fgd", trace=[make_task(1, 8)])
    assert explained(engine, task).raw.tolist() == [[26, 50]]
    assert decide(engine, task) == (1, ())


def test_nodes_that_m_cannot_use_come_first() -> None:
    """M asks for G2. On T4 all 2000 are lost already: F 2000 to 1000, sigmoid(1) = 0.731, 73. On G2: 0 to 0, 50."""
    engine = make_engine(
        [make_node(gpus=2, model="G2"), make_node(gpus=2, model="T4")],
        [WHOLE],
        "fgd",
        trace=[make_task(1, 1, spec="G2")],
    )
    assert explained(engine, WHOLE).raw.tolist() == [[50, 73]]
    assert arrive(engine, WHOLE) == (1, (0,))
