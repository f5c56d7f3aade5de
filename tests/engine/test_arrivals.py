"""A run by hand: what is recorded of it, one row a task."""

import numpy as np

from builders import (
    arrive,
    decisions,
    explained,
    make_datacenter,
    make_engine,
    make_mix,
    make_node,
    make_target,
    make_task,
    make_workload,
)
from reference import Node, Task
from wattpack.engine.runs.arrivals import simulate
from wattpack.engine.runs.record import Run
from wattpack.model.fit import FITS, NO_GPU

CPU_ONLY, HALF, WHOLE = make_task(cpu=2), make_task(gpu=0.5, cpu=2), make_task(gpu=1, cpu=2)


def run_of(nodes: list[Node], tasks: list[Task], policy: str = "fgd") -> Run:
    return simulate(make_datacenter(nodes), make_workload(tasks), make_mix(policy), make_target(tasks))


def test_every_task_has_a_row_with_the_state_after_it() -> None:
    """One node with 2 GPUs of T4 (10 W idle, 70 W in use) and 4 sockets of 15 or 120 W; the third GPU task fails.

    CPU 120 + 3 * 15 = 165 W from the first task on. GPU 20 W, then 70 + 10, then 2 * 70.
    """
    run = run_of([make_node(gpus=2, cpu=104, model="T4")], [CPU_ONLY, WHOLE, WHOLE, WHOLE])
    assert decisions(run) == [("n0", ()), ("n0", (0,)), ("n0", (1,)), (None, ())]
    assert run.requested_milli.tolist() == [0, 1000, 2000, 3000]
    assert run.allocated_milli.tolist() == [0, 1000, 2000, 2000]
    assert run.failed.tolist() == [0, 0, 0, 1]
    assert run.cpu_power_w.tolist() == [165, 165, 165, 165]
    assert run.gpu_power_w.tolist() == [20, 80, 140, 140]
    assert run.power_w.tolist() == [185, 245, 305, 305]
    assert run.load.tolist() == [0, 0.5, 1, 1.5]
    assert run.failures_by_reason() == {"gpu": 1}
    assert len(run) == 4


def test_grar_is_1_until_gpu_is_asked_for_and_then_allocated_over_requested() -> None:
    run = run_of([make_node(gpus=1)], [CPU_ONLY, HALF, WHOLE, HALF])
    # 0 / 0; 500 / 500; the whole GPU fails: 500 / 1500; 1000 / 2000
    assert run.grar.tolist() == [1, 1, 500 / 1500, 1000 / 2000]


def test_fragmentation_is_recorded_by_reason() -> None:
    """M: half of the tasks ask for a half GPU, half for a whole one. After a half: 500 left, lost to the whole one."""
    run = run_of([make_node(gpus=1)], [HALF, WHOLE])
    assert run.fragmentation_milli.tolist() == [250, 250]
    assert {reason: lost.tolist() for reason, lost in run.fragmentation_by_reason().items() if lost.any()} == {
        "lacks_gpu": [250, 250]
    }


def test_gpus_are_written_like_0_3_4() -> None:
    run = run_of([make_node(gpus=8)], [WHOLE, make_task(gpu=3), CPU_ONLY])
    assert [run.gpu_index(i) for i in range(3)] == ["0", "1-2-3", ""]
    assert [run.node_name(i) for i in range(3)] == ["n0", "n0", "n0"]


def test_a_run_starts_from_the_empty_datacenter() -> None:
    """Nothing requested, allocated or failed; 1 socket and 1 GPU of G2 idle: 15 and 30 W."""
    run = run_of([make_node(gpus=1, cpu=32)], [WHOLE])
    assert run.start[:5].tolist() == [0, 0, 0, 15_000, 30_000]


def test_no_tasks_give_an_empty_run() -> None:
    run = run_of([make_node()], [])
    assert len(run) == 0
    assert run.failures_by_reason() == {}
    assert run.grar.tolist() == run.load.tolist() == run.power_w.tolist() == []


def test_a_run_leaves_its_inputs_as_they_were() -> None:
    datacenter, workload = make_datacenter([make_node(gpus=1)]), make_workload([HALF, HALF])
    first, again = (simulate(datacenter, workload, make_mix("fgd"), make_target([HALF])) for _ in range(2))
    assert decisions(first) == decisions(again) == [("n0", (0,)), ("n0", (0,))]
    assert first.start.tolist() == again.start.tolist()
    assert workload.sequence.tolist() == [0, 0]


def test_without_a_generator_the_draws_are_those_of_seed_0() -> None:
    inputs = make_datacenter([make_node()] * 5), make_workload([HALF] * 20), make_mix("random"), make_target([HALF])
    assert decisions(simulate(*inputs)) == decisions(simulate(*inputs, rng=np.random.default_rng(0)))


def test_a_lone_feasible_node_is_taken_by_any_policy() -> None:
    nodes = [make_node(gpus=0), make_node(gpus=2, model="G3"), make_node(gpus=1)]
    for policy in ("fgd", "pwr", "bestfit", "dotprod", "gpupacking", "gpuclustering", "random"):
        assert decisions(run_of(nodes, [make_task(gpu=2)], policy)) == [("n1", (0, 1))]


def test_explaining_a_decision_changes_nothing_and_ranks_the_nodes() -> None:
    """pwr: node 1 (T4) adds least, then 0 (G2), then 3 (G3); node 2 has no GPU."""
    nodes = [make_node(model="G2"), make_node(model="T4"), make_node(gpus=0), make_node(model="G3")]
    engine = make_engine(nodes, [HALF], "pwr")
    first, second = explained(engine, HALF), explained(engine, HALF)
    assert first.order.tolist() == second.order.tolist() == [1, 0, 3, 2]
    assert first.verdict.tolist() == [FITS, FITS, NO_GPU, FITS]
    assert arrive(engine, HALF) == (1, (0,))
