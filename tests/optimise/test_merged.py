"""Similar task classes merged for the bound: never larger, few, and at the same prices almost nothing is lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_datacenter, make_node, make_task, make_workload
from optimise.test_least_energy import HOUR_S, record_of
from wattpack.datasets import alibaba2023
from wattpack.experiments.bound.curves import expected_counts
from wattpack.model.tasks import TaskClass
from wattpack.model.timed_tasks import TimedTasks
from wattpack.optimise.bound.asleep import AsleepLp
from wattpack.optimise.bound.least_energy import least_energy
from wattpack.optimise.bound.merged import merged_classes

many = st.lists(
    st.builds(
        lambda cpu, memory, gpu, spec: TaskClass(cpu, memory, *gpu, spec),
        st.integers(0, 64_000),
        st.integers(0, 1_000_000),
        st.sampled_from([(0, 0), (1, 100), (1, 137), (1, 999), (1, 1000), (4, 1000)]),
        st.sampled_from(["", "T4"]),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=60)
@given(classes=many, most=st.sampled_from([1, 8, 50]))
def test_the_class_that_stands_for_another_is_no_larger_and_goes_to_the_same_models(
    classes: list[TaskClass], most: int
) -> None:
    merged, place = merged_classes(classes, most)
    assert len(merged) == len(set(place.tolist()))
    if len(classes) <= most:
        assert merged == tuple(classes)
    for i, task in enumerate(classes):
        stand_in = merged[place[i]]
        assert (stand_in.num_gpu, stand_in.gpu_spec) == (task.num_gpu, task.gpu_spec)
        assert stand_in.cpu_milli <= task.cpu_milli
        assert stand_in.memory_mib <= task.memory_mib
        assert stand_in.gpu_milli <= task.gpu_milli
        assert (stand_in.gpu_milli == 1000) == (task.gpu_milli == 1000)


def test_many_classes_become_few() -> None:
    rng = np.random.default_rng(3)
    drawn = zip(rng.integers(1, 64_000, 3000).tolist(), rng.integers(1, 500_000, 3000).tolist(), strict=True)
    merged, _ = merged_classes(
        [TaskClass(cpu, memory, i % 4, 1000 if i % 4 else 0) for i, (cpu, memory) in enumerate(drawn)]
    )
    assert len(merged) <= 250


def test_at_the_prices_of_merged_classes_the_bound_of_the_real_ones_is_below_and_almost_reached() -> None:
    datacenter, trace = alibaba2023.datacenter(), alibaba2023.trace("gpuspec33")
    merged, place = merged_classes(trace.classes, 200)
    assert len(merged) <= 200 < len(trace.classes)
    exact, coarse = AsleepLp(datacenter, trace.classes, sleep_w=10.0), AsleepLp(datacenter, merged, sleep_w=10.0)
    counts = expected_counts(trace, datacenter.gpu_milli, 0.5) * exact.fits_some_node
    floor = coarse.floor(np.bincount(place, counts), 125)
    found = exact.at_prices_of(floor).power_w(counts, 125)
    assert floor.power_w(np.bincount(place, counts), 125) <= found
    assert found <= exact.least_power_w(counts, 125) * (1 + 2e-5)
    assert found == pytest.approx(exact.least_power_w(counts, 125), rel=1e-3)


def test_a_run_of_very_many_classes_has_the_least_energy_of_the_lp_over_all_of_them() -> None:
    """300 classes that run for an hour on 60 nodes: merged for the solve, charged one by one."""
    sizes = [make_task(gpu=(0.25, 0.5, 1)[i % 3], cpu=1 + i / 100, memory_mib=i) for i in range(300)]
    tasks = TimedTasks(make_workload(sizes), np.zeros(300), np.full(300, HOUR_S))
    datacenter = make_datacenter([make_node()] * 60)
    record = record_of([0.0] * 300, [HOUR_S] * 300, HOUR_S)
    exact_w = AsleepLp(datacenter, tasks.workload.classes, sleep_w=10.0).least_power_w(np.ones(300), 8)
    found = least_energy(record, tasks, datacenter, sleep_w=10.0, reserve_gpus=8, samples=1)
    assert found.mean_w <= exact_w * (1 + 2e-5)
    assert found.mean_w == pytest.approx(exact_w, rel=1e-3)
