"""The filter: each condition alone, the order in which they are tested, and the limits to the last unit."""

import pytest
from hypothesis import given

import reference
from builders import explained, make_datacenter, make_engine, make_node, make_task, place, task_class
from churn import Churn, churns, engine_for, play
from reference import Node, Task
from wattpack.model.fit import (
    FITS,
    MAX_TASKS,
    NO_CPU,
    NO_CPU_MODEL,
    NO_GPU,
    NO_MEMORY,
    NO_MODEL,
    NO_POOL,
    NO_SLOT,
    VERDICT_WORDS,
    VERDICTS,
    allows,
    fits,
)
from wattpack.model.pools import Pool
from wattpack.model.power import PAPER
from wattpack.model.tasks import task_records

CPU_MODEL = PAPER.default_cpu


def verdict(node: Node, task: Task, left: dict[str, int] | None = None) -> int:
    """Of an empty node, but for the fields in `left`."""
    datacenter = make_datacenter([node])
    record = datacenter.records()[0]
    for field, value in (left or {}).items():
        setattr(record, field, value)
    return int(fits(record, task_records([task_class(task)], datacenter, CPU_MODEL)[0]))


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (make_task(cpu=16), FITS),
        (make_task(cpu=16.001), NO_CPU),
        (make_task(memory_mib=1000), FITS),
        (make_task(memory_mib=1001), NO_MEMORY),
        (make_task(gpu=2), FITS),
        (make_task(gpu=3), NO_GPU),
        (make_task(gpu=0.999), FITS),
        (make_task(), FITS),
        (make_task(gpu=1, spec="G2"), FITS),
        (make_task(gpu=1, spec="T4|G2"), FITS),
        (make_task(gpu=1, spec="T4"), NO_MODEL),
        (make_task(gpu=1, spec="A100"), NO_MODEL),  # no node has it
        (make_task(spec="T4"), NO_MODEL),  # a CPU-only task is no exception
        (make_task(cpu_spec=CPU_MODEL), FITS),
        (make_task(cpu_spec=f"EPYC 7763|{CPU_MODEL}"), FITS),
        (make_task(cpu_spec="EPYC 7763"), NO_CPU_MODEL),
    ],
)
def test_an_empty_node_with_16_vcpu_1000_mib_2_g2(task: Task, expected: int) -> None:
    assert verdict(make_node(gpus=2, cpu=16, memory_mib=1000, model="G2"), task) == expected


def test_a_node_without_gpu_takes_cpu_tasks_without_a_wish_for_a_model() -> None:
    node = make_node(gpus=0, cpu=16)
    assert verdict(node, make_task(cpu=1)) == FITS
    assert verdict(node, make_task(cpu=1, spec="G2")) == NO_MODEL
    assert verdict(node, make_task(gpu=0.001)) == NO_GPU
    assert verdict(node, make_task(gpu=1)) == NO_GPU


def test_conditions_are_tested_in_this_order_model_cpu_model_gpu_cpu_memory_slot() -> None:
    """A task for which every condition fails, put right one condition after another."""
    node, full = make_node(gpus=1, cpu=1, memory_mib=1), {"tasks": MAX_TASKS}
    wish = {"gpu": 2, "cpu": 2, "memory_mib": 2, "spec": "T4", "cpu_spec": "EPYC 7763"}
    seen = []
    for field, enough in (("spec", ""), ("cpu_spec", ""), ("gpu", 1), ("cpu", 1), ("memory_mib", 1)):
        seen.append(verdict(node, make_task(**wish), full))
        wish[field] = enough
    seen.append(verdict(node, make_task(**wish), full))
    assert seen == [NO_MODEL, NO_CPU_MODEL, NO_GPU, NO_CPU, NO_MEMORY, NO_SLOT]
    assert seen == sorted(seen)
    assert verdict(node, make_task(**wish), {"tasks": MAX_TASKS - 1}) == FITS


def test_the_pool_is_tested_after_the_models_and_before_the_gpu() -> None:
    datacenter = make_datacenter([make_node(gpus=1)]).in_pools([Pool("a", "none")])
    for task, expected in (
        (make_task(gpu=2, spec="T4"), NO_MODEL),
        (make_task(gpu=2, cpu_spec="EPYC 7763"), NO_CPU_MODEL),
        (make_task(gpu=2), NO_POOL),
    ):
        record = task_records([task_class(task)], datacenter, CPU_MODEL)[0]
        assert fits(datacenter.records()[0], record) == expected
    assert NO_CPU_MODEL < NO_POOL < NO_GPU


def test_a_shared_gpu_holds_what_is_left_on_it_and_no_sum_over_gpus() -> None:
    """After 0.6 on both GPUs 400 milli are left on each: 0.4 fits, 0.401 does not, though 800 are free."""
    used, small, large, whole = make_task(gpu=0.6), make_task(gpu=0.4), make_task(gpu=0.401), make_task(gpu=1)
    engine = make_engine([make_node(gpus=2)], [used, small, large, whole])
    place(engine, used, 0, (0,))
    assert [explained(engine, task).verdict[0] for task in (small, large, whole)] == [FITS, FITS, FITS]
    place(engine, used, 0, (1,))
    assert [explained(engine, task).verdict[0] for task in (small, large, whole)] == [FITS, NO_GPU, NO_GPU]


def test_model_sets_are_bits() -> None:
    assert [allows(0b101, model) for model in range(4)] == [True, False, True, False]
    assert all(allows(-1, model) for model in range(63))


def test_every_verdict_has_a_name_and_words() -> None:
    assert len(VERDICTS) == len(VERDICT_WORDS) == NO_SLOT + 1
    assert VERDICTS[FITS] == "fits"


@given(churns())
def test_verdicts_are_the_references(churn: Churn) -> None:
    engine = engine_for(churn)
    for _ in play(churn, engine):
        pass
    tasks = {task_class(task): task for task in churn.case.tasks}
    for k, task in enumerate(engine.classes):
        got = [VERDICTS[fits(node, engine.state.tasks[k])] for node in engine.state.nodes]
        assert got == [reference.filter_reason(node, tasks[task]) or "fits" for node in churn.case.nodes]
