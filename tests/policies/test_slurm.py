"""slurm and slurmlln by hand."""

from builders import arrive, decide, make_engine, make_node, make_task, place

TASK, BIG = make_task(gpu=1, cpu=4), make_task(cpu=94)


def test_the_stretch_with_the_fewest_free_cpus_then_the_node_with_the_fewest() -> None:
    """Free: 10 60 | full | 40 20 | full | 70. Stretches: 70, 60, 70. The second has 20, though 10 is less."""
    nodes = [make_node(cpu=cpu) for cpu in (10, 60, 96, 40, 20, 96, 70)]
    engine = make_engine(nodes, [TASK, BIG], "slurm")
    place(engine, BIG, 2)
    place(engine, BIG, 5)
    assert decide(engine, TASK)[0] == 4


def test_of_equal_stretches_and_nodes_the_first() -> None:
    nodes = [make_node(cpu=cpu) for cpu in (30, 30, 96, 20, 40)]
    engine = make_engine(nodes, [TASK, BIG], "slurm")
    place(engine, BIG, 2)
    assert decide(engine, TASK)[0] == 0


def test_slurmlln_takes_the_largest_share_of_free_cpus() -> None:
    """Free 92 of 96 and 32 of 32: the second, though it has fewer."""
    engine = make_engine([make_node(cpu=96), make_node(cpu=32)], [TASK], "slurmlln")
    place(engine, TASK, 0, (0,))
    assert decide(engine, TASK)[0] == 1


def test_eight_tasks_fill_one_node_and_then_the_other() -> None:
    engine = make_engine([make_node(gpus=4), make_node(gpus=4)], [TASK], "slurm")
    assert [arrive(engine, TASK)[0] for _ in range(8)] == [0] * 4 + [1] * 4


def test_a_share_goes_to_the_first_gpu_with_room() -> None:
    most, half = make_task(gpu=0.7, cpu=1), make_task(gpu=0.5, cpu=1)
    engine = make_engine([make_node(gpus=4)], [most, half], "slurm")
    place(engine, most, 0, (0,))
    place(engine, half, 0, (2,))
    assert decide(engine, half) == (0, (1,))
