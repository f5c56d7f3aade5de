"""yunikorn and yunikornpack by hand."""

from builders import arrive, decide, explained, make_engine, make_node, make_task, place

TASK = make_task(gpu=1, cpu=4, memory_mib=4_096)


def test_usage_is_the_mean_of_cpu_and_memory_in_use_before_the_task() -> None:
    """24 of 96 vCPU and 49,152 of 393,216 MiB: (0.25 + 0.125) / 2."""
    there = make_task(cpu=24, memory_mib=49_152)
    for policy, sign, chosen in (("yunikorn", -1, 1), ("yunikornpack", 1, 0)):
        engine = make_engine([make_node(), make_node()], [there, TASK], policy)
        place(engine, there, 0)
        assert explained(engine, TASK).raw[0].tolist() == [sign * 0.1875, 0]
        assert decide(engine, TASK)[0] == chosen


def test_ties_go_by_node_name() -> None:
    nodes = [make_node(name="n2"), make_node(name="n10"), make_node(name="n1")]
    for policy in ("yunikorn", "yunikornpack"):
        assert decide(make_engine(nodes, [TASK], policy), TASK)[0] == 2


def test_eight_tasks_on_two_equal_nodes() -> None:
    for policy, nodes in (("yunikorn", [0, 1] * 4), ("yunikornpack", [0] * 4 + [1] * 4)):
        engine = make_engine([make_node(gpus=4), make_node(gpus=4)], [TASK], policy)
        assert [arrive(engine, TASK)[0] for _ in range(8)] == nodes
