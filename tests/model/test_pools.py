"""Pools of nodes: which tasks may go to which, in the filter, in files, and beside tasks that stay where they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wattpack.datasets.csv_files import read_datacenter, read_workload
from wattpack.engine.runs.arrivals import simulate
from wattpack.engine.windows.staying import simulate_beside, staying_tasks
from wattpack.errors import UserError
from wattpack.model.fit import FITS, NO_POOL, fits
from wattpack.model.nodes import Datacenter
from wattpack.model.pools import HELD, MAX_POOLS, OPEN, Pool
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload, task_records
from wattpack.policies.expression import parse

CPU_TASK, GPU_TASK = TaskClass(1000, 1024, 0, 0), TaskClass(1000, 1024, 1, 1000)


def nodes(*pools: Pool) -> Datacenter:
    count = len(pools)
    names = [f"n{i}" for i in range(count)]
    made = Datacenter.of(names, [32000] * count, [65536] * count, [2] * count, ["T4"] * count)
    return made.in_pools(list(pools))


def takers(datacenter: Datacenter, task: TaskClass) -> str:
    """The nodes that take the task, by the filter of one class."""
    record = task_records([task], datacenter, "")[0]
    verdicts = [int(fits(node, record)) for node in datacenter.records()]
    assert set(verdicts) <= {FITS, NO_POOL}
    return "".join(str(i) for i, verdict in enumerate(verdicts) if verdict == FITS)


@pytest.mark.parametrize(
    ("spec", "gpu_task", "expected"),
    [
        ("", False, "0134"),  # wherever no taint keeps it out: not 2 (named), not 5 (none)
        ("", True, "01"),  # not where only tasks without GPU may go
        ("a", True, "0"),
        ("a|b", True, "01"),
        ("taint", True, "2"),
        ("a|taint", True, "02"),
        ("x|y", False, "34"),
        ("x|y", True, ""),
        ("none", False, ""),
        ("nosuch", False, ""),
        (HELD, False, ""),
    ],
)
def test_a_pool_takes_the_tasks_that_name_it_and_others_unless_it_is_closed_to_them(
    spec: str, gpu_task: bool, expected: str
) -> None:
    pools = (Pool("a"), Pool("b"), Pool("taint", "named"), Pool("x", "cpu"), Pool("y", "cpu"), Pool("none", "none"))
    task = (GPU_TASK if gpu_task else CPU_TASK)._replace(pool_spec=spec)
    assert takers(nodes(*pools), task) == expected


def test_a_tainted_pool_can_be_closed_to_tasks_with_gpus_too() -> None:
    datacenter = nodes(Pool("a"), Pool("t", "cpu|named"))
    assert takers(datacenter, CPU_TASK) == "0"
    assert takers(datacenter, CPU_TASK._replace(pool_spec="t")) == "1"
    assert takers(datacenter, GPU_TASK._replace(pool_spec="t")) == ""


def test_where_no_node_has_a_pool_the_pools_of_tasks_say_nothing() -> None:
    """The tasks of a cluster on a datacenter of another origin."""
    assert takers(nodes(OPEN, OPEN), GPU_TASK._replace(pool_spec="a")) == "01"
    assert takers(nodes(OPEN, Pool("", "cpu")), GPU_TASK._replace(pool_spec="a")) == "0"


def test_nodes_of_two_pools_are_of_two_types_and_stay_so_in_another_order() -> None:
    datacenter = nodes(Pool("a"), Pool("b"), Pool("a"))
    assert datacenter.types[0] == datacenter.types[2] != datacenter.types[1]
    assert datacenter.ordered(np.array([1, 0, 2])).pool.tolist() == [1, 0, 0]
    assert datacenter.repeated(2).pool.tolist() == [0, 1, 0, 0, 1, 0]
    assert takers(datacenter.without_pools(), GPU_TASK._replace(pool_spec="b")) == "012"


def test_a_run_places_no_task_on_a_node_that_does_not_take_it() -> None:
    datacenter = nodes(Pool("a"), Pool("b"), Pool("c", "none"), Pool("d", "cpu"))
    only_b = GPU_TASK._replace(pool_spec="b")
    workload = Workload.of([only_b] * 3 + [GPU_TASK] * 3 + [CPU_TASK])
    for policy in ("fgd", "pwr:0.1+fgd:0.9", "ocs", "bestfit"):
        run = simulate(datacenter, workload, parse(policy), Target.of(workload))
        assert run.node[:3].tolist() == [1, 1, -1]
        assert run.node[3:6].tolist() == [0, 0, -1]
        assert run.node[6] in (0, 1, 3)
        assert run.failures_by_reason() == {"gpu": 2}


def test_a_task_that_no_pool_takes_fails_for_want_of_a_pool() -> None:
    datacenter, workload = nodes(Pool("a"), Pool("c", "none")), Workload.of([GPU_TASK._replace(pool_spec="nosuch")])
    run = simulate(datacenter, workload, parse("fgd"), Target.of(workload))
    assert run.failures_by_reason() == {"pool": 1}


def test_tasks_on_nodes_that_take_no_new_ones_stay_there_and_the_policy_places_the_others() -> None:
    datacenter = nodes(Pool("a"), Pool("c", "none"))
    held = GPU_TASK._replace(pool_spec=HELD)
    workload = Workload.of([GPU_TASK, CPU_TASK, held, GPU_TASK], ["on-c", "free", "held", "late"])
    node, gpus = np.array([1, 0, 0, -1], dtype=np.int32), np.array([2, 0, 2, 0], dtype=np.int32)
    stay = staying_tasks(datacenter, workload, node, gpus)
    assert stay.task.tolist() == [0, 2]
    run = simulate_beside(stay, datacenter, workload, parse("fgd"), Target.of(workload))
    assert run.node.tolist() == [1, 0, 0, 0]
    assert run.gpus.tolist() == [2, 0, 2, 1]
    assert run.order is not None
    assert run.order.tolist() == [0, 2, 1, 3]
    assert run.allocated_milli.tolist() == [1000, 2000, 2000, 3000]
    assert run.requested_milli.tolist() == [1000, 2000, 2000, 3000]


def test_files_say_the_pools_of_nodes_and_of_tasks(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model,pool,only,why\na,1,1,0,,p1,,\nb,1,1,0,,p2,named,tainted\nc,1,1,0,,,cpu|named,\n"
    )
    (tmp_path / "t.csv").write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli,pool_spec\nt,1,1,0,0,p1|p2\n")
    datacenter = read_datacenter(tmp_path / "n.csv")
    assert [datacenter.pools[p] for p in datacenter.pool] == [Pool("p1"), Pool("p2", "named"), Pool("", "cpu|named")]
    assert read_workload(tmp_path / "t.csv").classes[0].pool_spec == "p1|p2"


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("p,shut", "line 2, column only: 'shut', expected words of cpu, named, none"),
        ("a|b,", "line 2, column pool: 'a|b', expected a name without '|', other than held"),
        ("held,", "line 2, column pool: 'held', expected a name without '|', other than held"),
    ],
)
def test_a_pool_that_means_nothing_is_one_line(tmp_path: Path, cells: str, said: str) -> None:
    (tmp_path / "n.csv").write_text(f"sn,cpu_milli,memory_mib,gpu,model,pool,only\na,1,1,0,,{cells}\n")
    with pytest.raises(UserError) as fault:
        read_datacenter(tmp_path / "n.csv")
    assert said in str(fault.value)


def test_more_pools_than_bits_are_refused() -> None:
    with pytest.raises(UserError, match=f"{MAX_POOLS + 1} different pools of nodes, expected at most {MAX_POOLS}"):
        nodes(*(Pool(f"p{i}") for i in range(MAX_POOLS + 1)))
