"""Durations and classes of service of the built-in traces, against the published files where they are at hand."""

import csv
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from wattpack.datasets import alibaba2023
from wattpack.datasets.alibaba2023_times import TABLE, WINDOW_S, own_times, timed_trace
from wattpack.datasets.node_table import table
from wattpack.errors import UserError

PUBLISHED = Path(__file__).parents[3] / "shared" / "traces" / "alibaba-2023"
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_dir(), reason="the published trace files are not in ../shared/traces beside the checkout"
)


def gpu_hours(name: str, unweighted: bool) -> float:
    trace = timed_trace(name)
    tasks = trace.weight / (WINDOW_S / (WINDOW_S + trace.duration_s)) if unweighted else trace.weight
    return float((tasks * trace.gpu_request_milli() * trace.duration_s).sum() / 3.6e6)


@pytest.mark.parametrize("name", alibaba2023.TRACES)
def test_every_task_of_every_trace_has_a_duration_and_a_class_of_service(name: str) -> None:
    trace, workload = timed_trace(name), alibaba2023.trace(name)
    tasks = trace.weight / (WINDOW_S / (WINDOW_S + trace.duration_s))
    by_class = np.bincount(trace.class_index, weights=tasks, minlength=len(workload.classes))
    assert trace.classes == workload.classes
    assert by_class == pytest.approx(workload.counts())
    assert set(trace.service_class) <= {"BE", "LS", "Burstable", "Guaranteed"}
    assert (trace.duration_s >= 1).all()


def test_services_are_not_batch() -> None:
    trace = timed_trace("default")
    assert {name for name, batch in zip(trace.service_class, trace.batch, strict=True) if batch} == {"BE", "Burstable"}


def test_the_longest_task_runs_for_145_days() -> None:
    assert timed_trace("default").duration_s.max() == 12_500_000


def test_tasks_of_more_than_a_week_hold_85_percent_of_the_gpu_hours_unweighted_and_69_weighted() -> None:
    trace = timed_trace("default")
    gpu_s = trace.gpu_request_milli() * trace.duration_s
    long = trace.duration_s > 7 * 86_400
    tasks = trace.weight / (WINDOW_S / (WINDOW_S + trace.duration_s))
    assert (tasks * gpu_s)[long].sum() / (tasks * gpu_s).sum() == pytest.approx(0.85, abs=0.01)
    assert (trace.weight * gpu_s)[long].sum() / (trace.weight * gpu_s).sum() == pytest.approx(0.69, abs=0.01)


def test_an_arriving_task_of_the_default_trace_takes_3_gpu_hours() -> None:
    assert timed_trace("default").mean_gpu_s() / 3600 == pytest.approx(3.079, abs=0.001)


def test_the_table_takes_30_kb() -> None:
    assert len((files("wattpack.datasets") / "tables" / TABLE).read_bytes()) < 31_000


def test_own_times_are_refused_with_the_file_to_give() -> None:
    with pytest.raises(UserError, match="expected a load to draw arrivals for, or the published file openb_pod_list"):
        own_times("default")
    with pytest.raises(UserError, match="unknown trace 'nothing'"):
        timed_trace("nothing")


@needs_published
def test_rounding_changes_gpu_hours_by_less_than_a_tenth_of_a_percent() -> None:
    with (PUBLISHED / "openb_pod_list_default.csv").open(encoding="utf-8", newline="") as file:
        ran = [row for row in csv.DictReader(file) if row["scheduled_time"]]
    published = sum(
        int(row["num_gpu"]) * int(row["gpu_milli"]) * (float(row["deletion_time"]) - float(row["scheduled_time"]))
        for row in ran
    )
    ours = sum(
        int(row["num_gpu"]) * int(row["gpu_milli"]) * int(seconds) * int(count or 1)
        for row in table(TABLE)
        for seconds, _, count in (text.partition("x") for text in row["durations"].split())
    )
    assert ours == pytest.approx(published, rel=1e-3)
    assert published / 3.6e6 == pytest.approx(51_471, abs=1)


@needs_published
@pytest.mark.parametrize("name", ["gpushare40", "gpushare60", "gpushare80", "gpushare100", "gpuspec33"])
def test_the_durations_of_default_give_the_gpu_hours_of_the_other_traces_within_a_tenth(name: str) -> None:
    with (PUBLISHED / f"openb_pod_list_{name}.csv").open(encoding="utf-8", newline="") as file:
        published = sum(
            int(row["num_gpu"]) * int(row["gpu_milli"]) * (float(row["deletion_time"]) - float(row["scheduled_time"]))
            for row in csv.DictReader(file)
            if row["scheduled_time"]
        )
    assert gpu_hours(name, unweighted=True) == pytest.approx(published / 3.6e6, rel=0.1)


@needs_published
def test_the_tool_writes_the_table_that_is_in_the_package(tmp_path: Path) -> None:
    import runpy

    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "make_durations.py"))
    assert tool["main"]([str(PUBLISHED), str(tmp_path)]) == 0
    packaged = (files("wattpack.datasets") / "tables" / TABLE).read_text(encoding="utf-8")
    assert (tmp_path / TABLE).read_text(encoding="utf-8") == packaged
