"""Tasks at a wanted load: the load they have, where in the week they arrive, and what is refused."""

import hashlib
from datetime import UTC, datetime

import numpy as np
import pytest

from wattpack.datasets import alibaba2023
from wattpack.datasets.alibaba2023_times import timed_trace
from wattpack.datasets.arrival_shapes import read_shape
from wattpack.datasets.generators import generate, offered_load
from wattpack.datasets.inflation import seeded
from wattpack.datasets.timed_trace import timed_trace_of
from wattpack.errors import UserError
from wattpack.model.tasks import TaskClass, Workload
from wattpack.model.timed_tasks import TimedTasks

GPU_MILLI = alibaba2023.datacenter().gpu_milli
WEEK_S = 7 * 86_400.0


def tasks_of(durations_s: list[float], gpus: int = 1) -> TimedTasks:
    workload = Workload.of([TaskClass(1000, 1024, gpus, 1000 if gpus else 0)] * len(durations_s))
    return TimedTasks(workload, np.zeros(len(durations_s)), np.array(durations_s))


def generated(shape: str = "rhythm", days: float = 7, seed: int = 0, load: float = 0.7) -> TimedTasks:
    return generate(timed_trace("default"), GPU_MILLI, load, days, seeded(seed).workload, read_shape(shape))


@pytest.mark.parametrize("shape", ["poisson", "rhythm", "bursts"])
@pytest.mark.parametrize("days", [1, 7])
def test_the_offered_load_over_the_run_is_the_wanted_one_within_2_percent(shape: str, days: float) -> None:
    tasks = generated(shape, days)
    assert offered_load(tasks, GPU_MILLI, days * 86_400) == pytest.approx(0.7, rel=0.02)


@pytest.mark.parametrize("name", ["multigpu50", "gpushare60", "gpuspec33"])
def test_the_offered_load_of_the_other_traces_is_within_3_percent(name: str) -> None:
    tasks = generate(timed_trace(name), GPU_MILLI, 0.7, 3, seeded(1).workload)
    assert offered_load(tasks, GPU_MILLI, 3 * 86_400) == pytest.approx(0.7, rel=0.03)


def test_the_load_holds_from_the_first_hour_to_the_last_at_a_constant_rate() -> None:
    tasks = generated("poisson")
    gpus = tasks.workload.gpu_request_milli() / GPU_MILLI
    for time_s in (1.0, WEEK_S / 2, WEEK_S - 1):
        in_use = (tasks.arrival_s <= time_s) & (tasks.arrival_s + tasks.duration_s > time_s)
        assert gpus[in_use].sum() == pytest.approx(0.7, rel=0.05)


def test_tasks_that_run_at_the_start_come_first_at_time_0_and_others_in_order() -> None:
    tasks = generated()
    there = int((tasks.arrival_s == 0).sum())
    assert there == 4136
    assert (tasks.arrival_s[:there] == 0).all()
    assert (np.diff(tasks.arrival_s) >= 0).all()
    assert 0.999 * WEEK_S < tasks.arrival_s.max() <= WEEK_S
    assert (tasks.duration_s > 0).all()


def test_of_tasks_of_one_duration_the_time_left_at_the_start_is_spread_evenly() -> None:
    # duration 1 h, 1000 GPUs at load 0.5: 500 run at any time, with 0 to 1 h left: 30 minutes on average
    tasks = generate(timed_trace_of(tasks_of([3600])), 10**6, 0.5, 1, seeded(0).workload, read_shape("poisson"))
    left_s = tasks.duration_s[tasks.arrival_s == 0]
    assert len(left_s) == 500
    assert left_s.mean() == pytest.approx(1800, rel=0.05)
    assert left_s.max() <= 3600
    # 500 GPUs * 24 h at 1 GPU-hour a task
    assert len(tasks) == 500 + 12_000


def test_each_row_of_the_trace_comes_as_often_as_its_weight_says() -> None:
    # rows of 1 and 3 h, as many arrivals of each; three times as many long ones run at the start
    tasks = generate(
        timed_trace_of(tasks_of([3600, 10_800])), 400_000, 0.5, 1, seeded(0).workload, read_shape("poisson")
    )
    arriving = tasks.duration_s[tasks.arrival_s > 0]
    assert abs(int((arriving == 3600).sum()) - int((arriving == 10_800).sum())) <= 2
    assert len(tasks.duration_s[tasks.arrival_s == 0]) == 200


def test_weekend_days_have_fewer_arrivals_and_a_start_sets_the_day_of_the_week() -> None:
    def by_day(start: datetime | None) -> list[float]:
        trace = timed_trace_of(tasks_of([600]))
        tasks = generate(trace, 10**6, 0.5, 7, seeded(0).workload, start=start)
        found: list[float] = np.bincount((tasks.arrival_s[tasks.arrival_s > 0] // 86_400).astype(int)).tolist()
        return found

    monday = by_day(None)
    assert min(monday[:5]) > 1.3 * max(monday[5:])
    saturday = by_day(datetime(2026, 11, 14, tzinfo=UTC))
    assert min(saturday[2:]) > 1.3 * max(saturday[:2])


def test_bursts_arrive_together() -> None:
    tasks = generated("bursts", days=1)
    arrivals = tasks.arrival_s[tasks.arrival_s > 0]
    assert len(arrivals) / len(np.unique(arrivals)) == pytest.approx(20, rel=0.1)


def test_tasks_without_gpu_come_in_proportion() -> None:
    tasks = generated(days=2)
    arriving = tasks.workload.gpu_request_milli()[tasks.arrival_s > 0]
    trace = alibaba2023.trace("default")
    assert (arriving == 0).mean() == pytest.approx((trace.gpu_request_milli() == 0).mean(), rel=0.02)


def test_the_same_seed_gives_the_same_tasks_and_another_seed_others() -> None:
    first, again, other = (generated(days=1, seed=seed) for seed in (0, 0, 1))
    assert first.arrival_s.tolist() == again.arrival_s.tolist()
    assert first.workload.sequence.tolist() == again.workload.sequence.tolist()
    assert first.arrival_s.tolist() != other.arrival_s.tolist()


def test_a_seed_gives_the_tasks_of_this_digest_on_every_platform() -> None:
    tasks = generated("rhythm,burst=3", days=0.5, seed=7)
    digest = hashlib.sha256()
    for column in (tasks.arrival_s, tasks.duration_s):
        digest.update(np.rint(column * 1000).astype("<i8").tobytes())
    digest.update(tasks.workload.sequence.astype("<i4").tobytes())
    assert digest.hexdigest()[:16] == "f6585589fed34ea4"


@pytest.mark.parametrize(
    ("load", "days", "gpu_milli", "message"),
    [
        (0, 7, 1000, "load 0, expected above 0"),
        (float("nan"), 7, 1000, "load nan"),
        (0.7, 0, 1000, "days 0, expected above 0"),
        (0.7, 1e9, 1000, "days 1e\\+09"),
        (0.7, 7, 0, "no GPU"),
        (1, 3660, 10**8, "tasks .* an hour.*, expected at most 10,000,000"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_line(load: float, days: float, gpu_milli: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        generate(timed_trace("default"), gpu_milli, load, days, seeded(0).workload)


def test_a_trace_that_asks_for_no_gpu_has_no_load() -> None:
    with pytest.raises(UserError, match="no task asks for GPU"):
        generate(timed_trace_of(tasks_of([60], gpus=0)), 8000, 0.7, 1, seeded(0).workload)


def test_tasks_that_never_leave_or_never_run_are_no_trace_to_draw_from() -> None:
    with pytest.raises(UserError, match="task workload-00001 has no duration"):
        timed_trace_of(tasks_of([60, float("inf")]))
    with pytest.raises(UserError, match="no task runs for any time"):
        timed_trace_of(tasks_of([0]))
    assert len(timed_trace_of(tasks_of([0, 60]))) == 1
