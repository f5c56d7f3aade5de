"""Fragmentation by hand: each reason alone, their sum, and what a placement would change."""

import pytest
from hypothesis import given

import reference
from builders import class_of, make_engine, make_node, make_task, place
from cases import Case, cases
from reference import Gpus, Node, Task
from wattpack.engine.core.engine import Engine
from wattpack.model.fragmentation import (
    CPU_ONLY_FITS,
    CPU_ONLY_LACKS_CPU,
    LACKS_BOTH,
    LACKS_CPU,
    LACKS_GPU,
    NO_ACCESS,
    REASONS,
    fragmentation_after,
    node_sums,
    tally,
)


def engine_with(node: Node, trace: list[Task], *placed: tuple[Task, Gpus]) -> Engine:
    """One node with tasks on it, M from `trace`."""
    engine = make_engine([node], [*trace, *(task for task, _ in placed)], "fgd", trace=trace)
    for task, gpus in placed:
        place(engine, task, 0, gpus)
    return engine


def sums(engine: Engine) -> dict[str, float]:
    """By reason, only those that are not 0."""
    found = node_sums(engine.state.nodes[0], engine.state.world)
    return {reason: lost for reason, lost in zip(REASONS, found, strict=True) if lost != 0}


def test_the_six_reasons_are_named_in_the_order_in_which_they_are_added() -> None:
    numbers = (LACKS_BOTH, LACKS_GPU, LACKS_CPU, CPU_ONLY_FITS, CPU_ONLY_LACKS_CPU, NO_ACCESS)
    assert numbers == (0, 1, 2, 3, 4, 5)
    assert REASONS == reference.REASONS


@pytest.mark.parametrize(
    ("wanted", "lost"),
    [
        # node: 2 GPUs of G2 with 500 and 1000 milli left, 4 vCPU left; total 1500
        (make_task(gpu=0.5, cpu=4), {}),  # both GPUs hold it
        (make_task(gpu=0.6, cpu=4), {"lacks_gpu": 500.0}),  # it fits, but not on the first GPU
        (make_task(gpu=1, cpu=4), {"lacks_gpu": 500.0}),
        (make_task(gpu=2, cpu=4), {"lacks_gpu": 1500.0}),  # one GPU holds 1000, two are asked for
        (make_task(gpu=0.5, cpu=5), {"lacks_cpu": 1500.0}),
        (make_task(gpu=1, cpu=5), {"lacks_cpu": 1500.0}),
        (make_task(gpu=2, cpu=5), {"lacks_both": 1500.0}),
        (make_task(cpu=4), {"cpu_only_fits": 1500.0}),  # asks no GPU: all of it is lost to this class
        (make_task(cpu=5), {"cpu_only_lacks_cpu": 1500.0}),
        (make_task(gpu=0.5, cpu=4, spec="T4"), {"no_access": 1500.0}),
        (make_task(gpu=2, cpu=5, spec="T4"), {"no_access": 1500.0}),  # before any other reason
        (make_task(gpu=0.5, cpu=4, spec="T4|G2"), {}),
        (make_task(cpu=4, spec="T4"), {"cpu_only_fits": 1500.0}),  # a class without GPU needs no access
        (make_task(gpu=0.5, cpu=4, memory_mib=10**9), {}),  # memory plays no part
    ],
)
def test_one_class_and_the_reason_why_it_cannot_use_a_node(wanted: Task, lost: dict[str, float]) -> None:
    used = make_task(gpu=0.5, cpu=12)
    assert sums(engine_with(make_node(gpus=2, cpu=16, model="G2"), [wanted], (used, (0,)))) == lost


def test_an_idle_node_is_lost_only_to_what_it_can_never_serve() -> None:
    """4 T4: 3 of 4 classes fit; 8 GPUs do not (1/4 of 4000)."""
    trace = [make_task(gpu=0.5), make_task(gpu=1), make_task(gpu=4), make_task(gpu=8)]
    assert sums(engine_with(make_node(gpus=4, model="T4"), trace)) == {"lacks_gpu": 0.25 * 4000}


def test_a_full_node_has_nothing_to_lose() -> None:
    engine = engine_with(make_node(gpus=2), [make_task(gpu=1), make_task(cpu=1)], (make_task(gpu=2), (0, 1)))
    assert sums(engine) == {}


def test_a_node_without_gpu_has_nothing_to_lose() -> None:
    assert sums(engine_with(make_node(gpus=0), [make_task(gpu=1), make_task(cpu=1)])) == {}


def test_f_is_the_expectation_over_m() -> None:
    """1000 and 250 left, total 1250, 8 vCPU left. M has 8 tasks:

    4 of a half GPU   fit, 250 are too small for them                       4/8 * 250  = 125
    2 of 2 GPUs       do not fit                                            2/8 * 1250 = 312.5
    1 CPU-only, 1     fits, uses no GPU                                     1/8 * 1250 = 156.25
    1 CPU-only, 9     does not                                              1/8 * 1250 = 156.25
    """
    trace = [make_task(gpu=0.5)] * 4 + [make_task(gpu=2)] * 2 + [make_task(cpu=1), make_task(cpu=9)]
    engine = engine_with(make_node(gpus=2, cpu=16), trace, (make_task(gpu=0.75, cpu=8), (1,)))
    assert sums(engine) == {
        "lacks_gpu": 4 / 8 * 250 + 2 / 8 * 1250,
        "cpu_only_fits": 1 / 8 * 1250,
        "cpu_only_lacks_cpu": 1 / 8 * 1250,
    }
    assert engine.state.nodes[0].fragmentation == 125 + 312.5 + 156.25 + 156.25


def after(engine: Engine, task: Task, gpu: int = 0) -> float:
    node, world = engine.state.nodes[0], engine.state.world
    tally(node, world)
    return float(fragmentation_after(node, engine.state.tasks[class_of(engine, task)], gpu, world))


def test_after_a_sharing_task_f_depends_on_its_gpu() -> None:
    """M asks for a half GPU. 1000 and 500 left; a task of 0.125 leaves

    875 and 500 on GPU 0: both hold a half, nothing lost; 1000 and 375 on GPU 1: 375 are too small.
    """
    half, eighth = make_task(gpu=0.5), make_task(gpu=0.125)
    engine = make_engine([make_node(gpus=2)], [half, eighth], trace=[half])
    place(engine, half, 0, (1,))
    assert (after(engine, eighth, gpu=0), after(engine, eighth, gpu=1)) == (0, 375)


def test_after_a_whole_gpu_task_the_first_free_gpus_are_gone() -> None:
    """M asks for 2 GPUs. 4 free ones: none lost; after a task of 3 one is left, too few: 1000 lost."""
    two, three = make_task(gpu=2), make_task(gpu=3)
    engine = make_engine([make_node(gpus=4)], [two, three], trace=[two])
    assert engine.state.nodes[0].fragmentation == 0
    assert after(engine, two) == 0
    assert after(engine, three) == 1000


def test_after_a_cpu_task_only_the_cpu_is_less() -> None:
    """M asks for 1 GPU with 8 vCPU. 16 vCPU: after 8 it still fits, after 9 all 2000 are lost."""
    wanted, eight, nine = make_task(gpu=1, cpu=8), make_task(cpu=8), make_task(cpu=9)
    engine = make_engine([make_node(gpus=2, cpu=16)], [eight, nine], trace=[wanted])
    assert (after(engine, eight), after(engine, nine)) == (0, 2000)


@given(cases())
def test_f_after_a_placement_is_f_once_it_is_made(case: Case) -> None:
    engine = make_engine(case.nodes, case.tasks, case.policy, trace=case.trace)
    target = reference.target_workload(case.trace)
    world = engine.state.world
    for task in case.tasks:
        for n, plain in enumerate(case.nodes):
            if reference.filter_reason(plain, task) is None:
                for gpus in reference.choices(plain, task):
                    node, record = engine.state.nodes[n], engine.state.tasks[class_of(engine, task)]
                    tally(node, world)
                    expected = fragmentation_after(node, record, gpus[0] if gpus else 0, world)
                    reference.place(plain, task, gpus)
                    assert expected == reference.fragmentation(plain, target)  # to the last bit
                    reference.release(plain, task, gpus)
        chosen, gpus = reference.decide(case.nodes, task, case.policy, target)
        if chosen is not None:
            reference.place(case.nodes[chosen], task, gpus)
            place(engine, task, chosen, gpus)
