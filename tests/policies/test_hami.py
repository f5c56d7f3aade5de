"""hami and hamispread by hand."""

import pytest

from builders import decide, explained, make_engine, make_node, make_task, place
from schedulers_reference import kube_total

ONE_GPU, HALF, CPU = make_task(gpu=1, cpu=4), make_task(gpu=0.5, cpu=1), make_task(cpu=4, memory_mib=8_192)


def test_of_two_nodes_of_8_gpus_one_with_4_in_use_hami_takes_the_fuller_and_hamispread_the_emptier() -> None:
    for policy, chosen in (("hami", 1), ("hamispread", 0)):
        engine = make_engine([make_node(), make_node()], [ONE_GPU], policy)
        for gpu in range(4):
            place(engine, ONE_GPU, 1, (gpu,))
        assert decide(engine, ONE_GPU)[0] == chosen


def test_the_score_counts_slots_and_milli_in_use() -> None:
    """2 of 40 slots, 1,500 of 4,000 milli: 10 * (0.05 + 2 * 0.375) = 8."""
    engine = make_engine([make_node(gpus=4)], [ONE_GPU, HALF], "hami")
    place(engine, ONE_GPU, 0, (0,))
    place(engine, HALF, 0, (1,))
    assert explained(engine, HALF).raw[0].tolist() == [pytest.approx(8)]


def test_ties_go_to_the_first_node_in_node_order() -> None:
    nodes = [make_node(name="n2"), make_node(name="n1")]
    assert decide(make_engine(nodes, [ONE_GPU], "hami"), ONE_GPU)[0] == 0


def test_a_share_goes_to_the_emptiest_gpu_and_of_equals_to_the_last() -> None:
    engine = make_engine([make_node(gpus=4)], [ONE_GPU, HALF], "hami")
    place(engine, HALF, 0, (3,))
    assert decide(engine, HALF) == (0, (2,))


def test_a_task_without_gpu_is_scored_as_by_kube() -> None:
    nodes = [make_node(gpus=4), make_node(gpus=0, cpu=8, memory_mib=16_384)]
    seen = explained(make_engine(nodes, [CPU], "hami"), CPU)
    assert seen.raw[0].tolist() == [kube_total(node, CPU) for node in nodes]
