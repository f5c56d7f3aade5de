"""kai and kaispread by hand."""

from builders import arrive, decide, explained, make_engine, make_node, make_task, place

ONE_GPU, HALF, CPU = make_task(gpu=1, cpu=4), make_task(gpu=0.5, cpu=1), make_task(cpu=4)


def test_of_two_nodes_of_8_gpus_one_with_4_in_use_kai_takes_the_fuller_and_kaispread_the_emptier() -> None:
    for policy, chosen in (("kai", 1), ("kaispread", 0)):
        engine = make_engine([make_node(), make_node()], [ONE_GPU], policy)
        for gpu in range(4):
            place(engine, ONE_GPU, 1, (gpu,))
        assert decide(engine, ONE_GPU)[0] == chosen


def test_eight_tasks_fill_one_node_and_then_the_other() -> None:
    engine = make_engine([make_node(gpus=4), make_node(gpus=4)], [ONE_GPU], "kai")
    assert [arrive(engine, ONE_GPU)[0] for _ in range(8)] == [0] * 4 + [1] * 4


def test_ties_go_by_node_name() -> None:
    for policy in ("kai", "kaispread"):
        nodes = [make_node(name="n2"), make_node(name="n10"), make_node(name="n1")]
        assert decide(make_engine(nodes, [ONE_GPU], policy), ONE_GPU)[0] == 2


def test_a_share_goes_where_a_shared_gpu_has_room_though_another_node_is_fuller() -> None:
    """Node 0: one GPU shared, 3.5 free. Node 1: 3 of 4 GPUs taken whole, 1 free."""
    engine = make_engine([make_node(gpus=4), make_node(gpus=4)], [ONE_GPU, HALF], "kai")
    place(engine, HALF, 0, (2,))
    for gpu in range(3):
        place(engine, ONE_GPU, 1, (gpu,))
    assert decide(engine, HALF) == (0, (2,))
    assert explained(engine, HALF).priced[1].tolist() == [10_000, 0]


def test_place_falls_from_9_with_what_is_free() -> None:
    """Of 4 GPUs on the largest node, 4, 2 and 1 free: 0, 9 * (1 - 2 / 4), 9 * (1 - 1 / 4)."""
    engine = make_engine([make_node(gpus=4), make_node(gpus=2), make_node(gpus=1)], [ONE_GPU], "kai")
    assert explained(engine, ONE_GPU).priced[0].tolist() == [0, 4.5, 6.75]


def test_a_task_without_gpu_keeps_nodes_with_gpus_free() -> None:
    engine = make_engine([make_node(gpus=4, cpu=8), make_node(gpus=0, cpu=96)], [CPU], "kai")
    assert decide(engine, CPU)[0] == 1
    assert explained(engine, CPU).priced[2].tolist() == [0, 10]


def test_kaispread_gives_a_share_the_emptiest_gpu() -> None:
    engine = make_engine([make_node(gpus=3)], [HALF], "kaispread")
    place(engine, HALF, 0, (0,))
    assert decide(engine, HALF) == (0, (1,))
