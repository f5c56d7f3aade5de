"""kube by hand, and the tables of kube-scheduler's own tests of LeastAllocated and BalancedAllocation (v1.36)."""

import numpy as np
import pytest

from builders import arrive, decide, explained, make_engine, make_node, make_task, place
from reference import Task
from wattpack.engine.core.explain import NOT_LOOKED_AT
from wattpack.engine.core.look import window_size
from wattpack.errors import UserError
from wattpack.policies.expression import parse

ONE_GPU = make_task(gpu=1, cpu=4, memory_mib=4_096)


def vcpu(milli: int, memory_mib: int) -> Task:
    return make_task(cpu=milli / 1000, memory_mib=memory_mib)


def test_of_two_nodes_of_8_gpus_one_with_4_in_use_it_takes_the_emptier() -> None:
    for policy in ("kube", "kubeall", "kube@1.35", "kube@1.34"):
        engine = make_engine([make_node(), make_node()], [ONE_GPU], policy)
        for gpu in range(4):
            place(engine, ONE_GPU, 0, (gpu,))
        assert decide(engine, ONE_GPU)[0] == 1


def test_eight_tasks_alternate_between_two_equal_nodes() -> None:
    """Where packing rules fill the first node: 1 1 1 1 2 2 2 2."""
    engine = make_engine([make_node(gpus=4), make_node(gpus=4)], [ONE_GPU], "kube")
    assert [arrive(engine, ONE_GPU)[0] for _ in range(8)] == [0, 1, 0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("node", "there", "task", "score"),
    [  # upstream: least_allocated_test.go
        ((4_000, 10_000), [], (3_000, 5_000), 37),  # (25 + 50) / 2
        ((6_000, 10_000), [], (3_000, 5_000), 50),  # (50 + 50) / 2
        ((250, 1_000), [(0, 0), (0, 0)], (0, 0), 20),  # 300 of 250 milli is 0, 600 of 1,000 MiB leaves 40
        ((250, 1_000), [], (0, 0), 70),  # (60 + 80) / 2
        ((5_000, 10_000), [], (5_000, 9_000), 5),  # (0 + 10) / 2
    ],
)
def test_least_allocated(
    node: tuple[int, int], there: list[tuple[int, int]], task: tuple[int, int], score: int
) -> None:
    nodes = [make_node(gpus=0, cpu=node[0] / 1000, memory_mib=node[1])]
    tasks = [vcpu(*each) for each in there]
    engine = make_engine(nodes, [*tasks, vcpu(*task)], "kube")
    for each in tasks:
        place(engine, each, 0)
    assert explained(engine, vcpu(*task)).priced[0].tolist() == [score]


def test_balanced_is_100_less_half_the_difference_until_1_35_and_its_change_from_1_36_on() -> None:
    """CPU 0.5, memory 0.25: deviation 0.125, 87 of 100. The empty node has 100: 50 + (50 + 87 - 100) // 2 = 68."""
    node, task = make_node(gpus=0, cpu=8, memory_mib=8_192), vcpu(4_000, 2_048)
    for policy, balanced in (("kube@1.34", 87), ("kube@1.35", 87), ("kube", 68)):
        assert explained(make_engine([node], [task], policy), task).priced[1].tolist() == [balanced]


def test_a_task_that_asks_for_neither_cpu_nor_memory_has_no_balanced_term() -> None:
    task = make_task(gpu=1)
    assert explained(make_engine([make_node()], [task], "kube"), task).priced[1].tolist() == [0]


@pytest.mark.parametrize(
    ("nodes", "looked_at"), [(1, 1), (99, 99), (100, 100), (300, 144), (1_213, 497), (6_000, 300), (20_000, 1_000)]
)
def test_the_window(nodes: int, looked_at: int) -> None:
    """300: 50 - 2 = 48 %. 1,213: 50 - 9 = 41 %. 6,000: 50 - 48 is below 5, so 5 %."""
    assert window_size(nodes) == looked_at


def test_a_walk_goes_on_at_the_node_that_ended_the_last_one() -> None:
    """150 equal nodes: 50 - 1 = 49 %, 73, so 100 are looked at. The third walk meets nodes 50 to 149 and takes 50."""
    task = make_task(cpu=8, memory_mib=32_768)
    engine = make_engine([make_node(gpus=0)] * 150, [task], "kube")
    assert [arrive(engine, task)[0] for _ in range(3)] == [0, 100, 50]


def test_a_question_does_not_move_the_window() -> None:
    task = make_task(cpu=1, memory_mib=1_024)
    engine = make_engine([make_node(gpus=0)] * 150, [task], "kube")
    assert [decide(engine, task)[0] for _ in range(3)] == [0, 0, 0]
    seen = explained(engine, task)
    assert seen.reasons[NOT_LOOKED_AT] == 50
    assert seen.takes_part.sum() == 100
    assert np.isnan(seen.total[100:]).all()


def test_kubeall_looks_at_every_node() -> None:
    task = make_task(cpu=1, memory_mib=1_024)
    engine = make_engine([make_node(gpus=0)] * 149 + [make_node(gpus=0, cpu=128)], [task], "kubeall")
    assert decide(engine, task)[0] == 149


def test_ties_go_to_the_root_of_a_heap() -> None:
    """Totals a b b b over places 0 to 3, b > a. Place 1 has child 3, equal: stays. Of 1 and 2 the left one rises: 1.

    With the best at places 2 and 3 only, 3 rises to 1 first, and of two equal children the left one wins: node 3.
    """
    small, large, task = make_node(gpus=0, cpu=8), make_node(gpus=0, cpu=96), vcpu(4_000, 1_024)
    assert decide(make_engine([small, large, large, large], [task], "kube"), task)[0] == 1
    assert decide(make_engine([small, small, large, large], [task], "kube"), task)[0] == 3


def test_ties_are_drawn_before_1_35() -> None:
    task = vcpu(4_000, 1_024)
    engine = make_engine([make_node(gpus=0)] * 4, [task], "kube@1.34")
    assert [decide(engine, task, (luck, 0.0))[0] for luck in (0.0, 0.3, 0.5, 0.99)] == [0, 1, 2, 3]


def test_a_share_goes_to_the_tightest_gpu_that_holds_it() -> None:
    half, most = make_task(gpu=0.5, cpu=1, memory_mib=512), make_task(gpu=0.4, cpu=1, memory_mib=512)
    engine = make_engine([make_node(gpus=4)], [half, most], "kube")
    place(engine, most, 0, (2,))
    assert decide(engine, half) == (0, (2,))


def test_versions() -> None:
    assert parse("kube@1.36").expression == parse("kube@1.37").expression == "kube"
    assert parse("kube@1.35").expression == "kube@1.35"
    assert parse("kube@1.30").expression == parse("kube@1.34").expression == "kube@1.34"
    with pytest.raises(UserError, match=r"kube@1\.2: no such version .*expected 1\.30 to 1\.37"):
        parse("kube@1.2")
