"""The target workload M: which classes are in it, in which order, with which share."""

from hypothesis import given

import reference
from builders import make_target, make_task, make_workload
from cases import task_lists
from reference import Task
from wattpack.datasets import alibaba2023
from wattpack.model.target import Target
from wattpack.model.tasks import ANY_MODEL, TaskClass, Workload


def test_classes_come_by_falling_count() -> None:
    one, two, three = make_task(gpu=1), make_task(gpu=2), make_task(gpu=0.5)
    target = make_target([one, two, two, three, three, three])
    assert [(task.num_gpu, task.gpu_milli) for task in target.classes] == [(1, 500), (2, 1000), (1, 1000)]
    assert [task.share for task in target.classes] == [3 / 6, 2 / 6, 1 / 6]


def test_equal_counts_come_by_falling_cpu_gpu_milli_count_and_spec() -> None:
    tasks = [
        make_task(cpu=1, gpu=1, spec="T4"),
        make_task(cpu=1, gpu=1),
        make_task(cpu=1, gpu=2),
        make_task(cpu=1, gpu=0.9),
        make_task(cpu=2),
        make_task(cpu=1, gpu=1, spec="G2"),
    ]
    classes = [(task.cpu_milli, task.gpu_milli, task.num_gpu, task.gpu_spec) for task in make_target(tasks).classes]
    assert classes == [
        (2000, 0, 0, ""),
        (1000, 1000, 2, ""),
        (1000, 1000, 1, "T4"),
        (1000, 1000, 1, "G2"),
        (1000, 1000, 1, ""),
        (1000, 900, 1, ""),
    ]


def test_specs_are_ordered_by_their_bytes() -> None:
    """UTF-8: 'é' (c3 a9) comes after 'z' (7a)."""
    target = make_target([make_task(gpu=1, spec="z"), make_task(gpu=1, spec="é")])
    assert [task.gpu_spec for task in target.classes] == ["é", "z"]


def test_specs_are_compared_as_text() -> None:
    """The same models, but two classes."""
    target = make_target([make_task(gpu=1, spec="V100M16|V100M32"), make_task(gpu=1, spec="V100M16|V100M32|V100M32")])
    assert len(target.classes) == 2


def test_memory_and_cpu_model_are_not_part_of_a_class() -> None:
    tasks = [make_task(cpu=1, memory_mib=1), make_task(cpu=1, memory_mib=2), make_task(cpu=1, cpu_spec="any")]
    assert [tuple(task) for task in make_target(tasks).classes] == [(1000, 0, 0, "", 1.0)]


def test_each_class_has_the_mean_memory_of_its_tasks_beside_it() -> None:
    tasks = [make_task(gpu=1, cpu=4, memory_mib=memory) for memory in (100, 200, 600)] + [
        make_task(cpu=8, memory_mib=50)
    ]
    target = make_target(tasks)
    assert [(one.num_gpu, memory) for one, memory in zip(target.uncut, target.memory_mib, strict=True)] == [
        (1, 300),
        (0, 50),
    ]


def test_m_is_cut_at_exactly_95_percent() -> None:
    """95 of 100 tasks are enough: the class with the other five is left out, and p = (95 / 100) / (95 / 100)."""
    target = make_target([make_task(gpu=1)] * 95 + [make_task(gpu=2)] * 5)
    assert [(task.num_gpu, task.share) for task in target.classes] == [(1, 1.0)]


def test_m_is_not_cut_below_95_percent() -> None:
    target = make_target([make_task(gpu=1)] * 94 + [make_task(gpu=2)] * 6)
    assert [(task.num_gpu, task.share) for task in target.classes] == [(1, 94 / 100), (2, 6 / 100)]


def test_shares_are_two_divisions_in_this_order() -> None:
    """(11 / 100) / (96 / 100) is 0.11458333333333334, 11 / 96 is 0.11458333333333333: another last bit."""
    target = make_target([make_task(gpu=1)] * 85 + [make_task(gpu=2)] * 11 + [make_task(gpu=4)] * 4)
    assert [task.share for task in target.classes] == [(85 / 100) / (96 / 100), (11 / 100) / (96 / 100)]
    assert target.classes[1].share != 11 / 96


def test_classes_without_tasks_are_left_out() -> None:
    trace = Workload.from_counts([(TaskClass(1000, 0, 1, 1000), 3), (TaskClass(2000, 0, 1, 1000), 0)])
    assert [task.cpu_milli for task in Target.of(trace).classes] == [1000]


def test_an_empty_trace_has_an_empty_target() -> None:
    target = make_target([])
    assert target.classes == ()
    assert target.sizes() == [1]  # never empty: kernels look at one size at least
    assert len(target.records(("G2",))) == 0


def test_sizes_are_the_distinct_gpu_requests_and_records_point_at_them() -> None:
    tasks = [make_task(gpu=0.5), make_task(gpu=2), make_task(gpu=1), make_task(gpu=0.25), make_task(cpu=1)]
    target = make_target(tasks)
    assert target.sizes() == [250, 500, 1000]
    for record in target.records(("G2",)):
        assert record.size_index == ([250, 500, 1000].index(record.gpu_milli) if record.num_gpu > 0 else 0)


def test_records_hold_the_allowed_models_as_bits() -> None:
    target = make_target([make_task(gpu=1, spec="T4|A100"), make_task(gpu=1)])
    records = target.records(("G2", "", "T4"))  # "": nodes without GPU
    assert records.gpu_models.tolist() == [0b100, ANY_MODEL]


def test_the_default_trace_has_35_classes_in_m() -> None:
    """It has 91 classes, not counting memory, of which the 35 most frequent hold 95 % of its 8,152 tasks."""
    assert len(Target.of(alibaba2023.trace("default")).classes) == 35


@given(task_lists())
def test_m_is_the_references(trace: list[Task]) -> None:
    expected = [tuple(task) for task in reference.target_workload(trace)]
    assert [tuple(task) for task in Target.of(make_workload(trace)).classes] == expected
