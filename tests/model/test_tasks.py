"""Classes of tasks, a workload as a sequence of them, and the records that kernels read."""

import pytest

from builders import make_datacenter, make_node, make_task, make_workload, task_class
from wattpack.errors import UserError
from wattpack.model.power import PAPER
from wattpack.model.tasks import ANY_MODEL, TaskClass, Workload, models_mask, task_kind, task_records

HALF, WHOLE, CPU_ONLY = make_task(gpu=0.5, cpu=1), make_task(gpu=2, cpu=1), make_task(cpu=1)


def test_a_workload_is_a_sequence_of_distinct_classes() -> None:
    workload = make_workload([HALF, WHOLE, HALF, CPU_ONLY])
    assert workload.classes == (task_class(HALF), task_class(WHOLE), task_class(CPU_ONLY))
    assert workload.sequence.tolist() == [0, 1, 0, 2]
    assert workload.counts().tolist() == [2, 1, 1]
    assert workload.gpu_request_milli().tolist() == [500, 2000, 500, 0]
    assert len(workload) == 4


def test_an_empty_workload_asks_for_nothing() -> None:
    workload = make_workload([])
    assert len(workload) == 0
    assert workload.gpu_request_milli().tolist() == []


def test_a_workload_from_counts_is_in_the_order_of_its_classes() -> None:
    workload = Workload.from_counts([(task_class(HALF), 2), (task_class(WHOLE), 0), (task_class(CPU_ONLY), 1)], "x")
    assert workload.sequence.tolist() == [0, 0, 2]
    assert workload.counts().tolist() == [2, 0, 1]


def test_tasks_have_the_names_they_were_given_or_numbers() -> None:
    named = Workload.of([task_class(HALF)], ["a"], "x")
    assert named.task_name(0) == "a"
    assert named.with_sequence(named.sequence).task_name(0) == "x-00000"


def test_a_kind_is_sharing_or_the_number_of_whole_gpus() -> None:
    assert [task_kind(0, 0), task_kind(1, 1), task_kind(1, 999), task_kind(1, 1000), task_kind(8, 1000)] == [
        -1,
        0,
        0,
        1,
        8,
    ]


def test_a_spec_is_the_set_of_the_models_it_names() -> None:
    models = ("G2", "", "T4", "G3")
    assert models_mask("", models) == ANY_MODEL
    assert models_mask("T4", models) == 0b0100
    assert models_mask("G3|G2|G3", models) == 0b1001
    assert models_mask("H100", models) == 0


def test_records_hold_what_a_task_asks_for() -> None:
    datacenter = make_datacenter([make_node(model="G2"), make_node(model="T4"), make_node(gpus=0)])
    classes = [TaskClass(3000, 50, 2, 1000, "T4"), TaskClass(0, 0, 1, 250, "", "EPYC"), TaskClass(1, 1, 0, 0)]
    whole, share, cpu_only = task_records(classes, datacenter, PAPER.default_cpu)
    assert (whole.cpu_milli, whole.memory_mib, whole.num_gpu, whole.gpu_milli) == (3000, 50, 2, 1000)
    assert (whole.gpu_request, whole.kind, whole.gpu_models, whole.cpu_models) == (2000, 2, 0b010, ANY_MODEL)
    assert (share.gpu_request, share.kind, share.gpu_models, share.cpu_models) == (250, 0, ANY_MODEL, 0)
    assert (cpu_only.gpu_request, cpu_only.kind) == (0, -1)


def test_a_node_that_names_no_cpu_model_has_the_default_one() -> None:
    datacenter = make_datacenter([make_node(cpu_model="")])
    (task,) = task_records([TaskClass(1, 1, 0, 0, "", PAPER.default_cpu)], datacenter, PAPER.default_cpu)
    assert task.cpu_models == 1


@pytest.mark.parametrize(
    "task", [TaskClass(1000, 0, 2, 500), TaskClass(1000, 0, 0, 500), TaskClass(1000, 0, 1, 0), TaskClass(-1, 0, 0, 0)]
)
def test_a_workload_refuses_a_class_that_no_task_can_have(task: TaskClass) -> None:
    with pytest.raises(UserError, match="expected num_gpu 0 with gpu_milli 0"):
        Workload.of([task])
