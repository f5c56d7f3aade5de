"""Task files with times: what is read, what is refused, and that a written file is read again unchanged."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from wattpack.answers.csv_output import write_timed_tasks
from wattpack.datasets.timed_files import has_times, read_timed_tasks
from wattpack.errors import UserError
from wattpack.model.tasks import TaskClass, Workload
from wattpack.model.timed_tasks import TimedTasks

HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli"
PUBLISHED = Path(__file__).parents[3] / "shared" / "traces" / "alibaba-2023" / "openb_pod_list_default.csv"


def written(tmp_path: Path, columns: str, *lines: str) -> Path:
    file = tmp_path / "tasks.csv"
    file.write_text("\n".join([f"{HEADER},{columns}", *lines, ""]), encoding="utf-8")
    return file


def test_duration_is_read_and_the_order_of_the_file_is_kept(tmp_path: Path) -> None:
    file = written(tmp_path, "creation_time,duration", "b,1000,10,1,500,90,60.5", "a,2000,20,0,0,30,0")
    tasks = read_timed_tasks(file)
    assert tasks.workload.task_names == ("b", "a")
    assert tasks.arrival_s.tolist() == [90, 30]
    assert tasks.duration_s.tolist() == [60.5, 0]
    assert tasks.first_s == 30
    assert tasks.batch.all()
    assert tasks.service_class == ("", "")


def test_deletion_time_minus_creation_time_is_the_duration(tmp_path: Path) -> None:
    tasks = read_timed_tasks(written(tmp_path, "creation_time,deletion_time", "a,1,1,1,1000,100,250"))
    assert tasks.duration_s.tolist() == [150]


def test_duration_wins_over_deletion_time_and_with_neither_the_task_never_leaves(tmp_path: Path) -> None:
    lines = ("a,1,1,1,1000,100,250,7", "b,1,1,1,1000,100,250,", "c,1,1,1,1000,100,,")
    tasks = read_timed_tasks(written(tmp_path, "creation_time,deletion_time,duration", *lines))
    assert tasks.duration_s.tolist() == [7, 150, math.inf]


def test_kind_says_what_is_batch_and_else_the_class_of_service_does(tmp_path: Path) -> None:
    qos_and_kind = ("BE,", "LS,", "Burstable,", "Guaranteed,", ",", "LS,batch", "BE,service", "own,")
    lines = [f"t,1,1,1,1000,0,1,{cells}" for cells in qos_and_kind]
    tasks = read_timed_tasks(written(tmp_path, "creation_time,duration,qos,kind", *lines))
    assert tasks.batch.tolist() == [True, False, True, False, True, True, False, False]
    assert tasks.service_class[:2] == ("BE", "LS")


def test_slack_is_read_and_an_empty_one_is_0(tmp_path: Path) -> None:
    lines = ("a,1,1,1,1000,0,1,3600", "b,1,1,1,1000,0,1,")
    assert read_timed_tasks(written(tmp_path, "creation_time,duration,slack_s", *lines)).slack_s.tolist() == [3600, 0]


@pytest.mark.parametrize(
    ("columns", "line", "message"),
    [
        ("creation_time,duration", "a,1,1,1,1000,x,1", "line 2, column creation_time: 'x', expected seconds from 0 on"),
        ("creation_time,duration", "a,1,1,1,1000,,1", "column creation_time: '', expected seconds from 0 on"),
        ("creation_time,duration", "a,1,1,1,1000,-1,1", "column creation_time: '-1', expected seconds from 0 on"),
        ("creation_time,duration", "a,1,1,1,1000,1,nan", "column duration: 'nan', expected seconds from 0 on"),
        ("creation_time,duration", "a,1,1,1,1000,1,inf", "column duration: 'inf', expected seconds from 0 on"),
        ("creation_time,duration", "a,1,1,1,1000,1,1_0", "column duration: '1_0', expected seconds from 0 on"),
        (
            "creation_time,deletion_time",
            "a,1,1,1,1000,9,8",
            "deletion_time: '8', expected seconds from creation_time on",
        ),
        ("creation_time,duration,kind", "a,1,1,1,1000,1,1,b", "column kind: 'b', expected empty, batch or service"),
        ("creation_time,duration,slack_s", "a,1,1,1,1000,1,1,-2", "column slack_s: '-2', expected seconds from 0 on"),
        ("creation_time,duration", "a,1,1,1,2000,1,1", "column gpu_milli: '2000'"),
        ("creation_time", "a,1,1,1,1000,1", "no columns with times, expected creation_time and duration or deletion_"),
        ("duration", "a,1,1,1,1000,1", "no columns with times, expected creation_time and duration or deletion_time"),
        ("creation_time,duration,duration", "a,1,1,1,1000,1,1,1", "column 'duration' appears twice"),
    ],
)
def test_a_bad_value_is_refused_with_file_line_column_and_value(
    tmp_path: Path, columns: str, line: str, message: str
) -> None:
    with pytest.raises(UserError) as fault:
        read_timed_tasks(written(tmp_path, columns, line))
    assert "tasks.csv" in str(fault.value)
    assert message in str(fault.value)


def test_a_file_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no tasks, expected a header"):
        read_timed_tasks(written(tmp_path, "creation_time,duration"))


def test_has_times_tells_files_apart(tmp_path: Path) -> None:
    assert has_times(written(tmp_path, "creation_time,duration", "a,1,1,1,1000,1,1"))
    assert has_times(written(tmp_path, "creation_time,deletion_time", "a,1,1,1,1000,1,1"))
    assert not has_times(written(tmp_path, "creation_time", "a,1,1,1,1000,1"))
    assert not has_times(written(tmp_path, "duration", "a,1,1,1,1000,1"))


def test_a_written_file_is_read_again_unchanged(tmp_path: Path) -> None:
    classes = [TaskClass(1000, 64, 1, 500, "A10|T4"), TaskClass(2000, 128, 0, 0, "", "x", "p")]
    tasks = TimedTasks(
        Workload.of([classes[0], classes[1], classes[0]], ["a", "b", "c"], "again"),
        np.array([0.1 + 0.2, 5.0, 1e9 + 1 / 3]),
        np.array([7.0, math.inf, 1 / 7]),
        np.array([0.0, 60.0, 0.5]),
        np.array([True, False, False]),
        ("BE", "", "LS"),
        ("ann", "", "bob"),
    )
    write_timed_tasks(tmp_path / "again.csv", tasks)
    again = read_timed_tasks(tmp_path / "again.csv")
    assert again.workload.classes == tasks.workload.classes
    assert again.workload.task_names == tasks.workload.task_names
    assert again.workload.sequence.tolist() == tasks.workload.sequence.tolist()
    for column in ("arrival_s", "duration_s", "slack_s", "batch"):
        assert getattr(again, column).tolist() == getattr(tasks, column).tolist()
    assert (again.service_class, again.owner) == (tasks.service_class, tasks.owner)


def test_unix_times_say_when_the_run_starts_and_are_written_again(tmp_path: Path) -> None:
    tasks = read_timed_tasks(
        written(tmp_path, "creation_time,duration", "a,1,1,1,1000,1600000060.5,1", "b,1,1,1,1000,1600000000,1")
    )
    assert tasks.start == datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC)
    write_timed_tasks(tmp_path / "again.csv", tasks)
    assert read_timed_tasks(tmp_path / "again.csv").arrival_s.tolist() == [1600000060.5, 1600000000]
    moved = replace(tasks, arrival_s=tasks.arrival_s - 1600000000)  # seconds from the first arrival, the same clock
    write_timed_tasks(tmp_path / "again.csv", moved)
    again = read_timed_tasks(tmp_path / "again.csv")
    assert again.arrival_s.tolist() == [1600000060.5, 1600000000]
    assert again.start == tasks.start


@pytest.mark.parametrize("seconds", ["999999999", "1e15"])
def test_seconds_that_are_no_unix_time_leave_the_start_unknown(tmp_path: Path, seconds: str) -> None:
    line = f"a,1,1,1,1000,{seconds},1"
    assert read_timed_tasks(written(tmp_path, "creation_time,duration", line)).start is None


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published trace files are not in ../shared/traces")
def test_the_published_file_of_2023_is_a_file_with_times() -> None:
    tasks = read_timed_tasks(PUBLISHED)
    assert len(tasks) == 8152
    # duration = deletion_time - creation_time: 51,600 GPU-hours
    assert (tasks.workload.gpu_request_milli() * tasks.duration_s).sum() / 3.6e6 == pytest.approx(51_600, abs=1)
    assert set(tasks.service_class) == {"BE", "LS", "Burstable", "Guaranteed"}
