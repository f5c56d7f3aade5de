"""Accounts of simulated runs, against integrals taken moment by moment."""

import numpy as np
import pytest

from builders import make_datacenter, make_node
from wattpack.energy.account import account, delivered_s
from wattpack.energy.signal import signal_marks
from wattpack.energy.slack import joined_s
from wattpack.engine.moments.options import BACKFILL, Speeds, TimeOptions
from wattpack.engine.moments.simulate import new_simulation
from wattpack.model.steps import Steps
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.model.timed_tasks import TimedTasks
from wattpack.policies.expression import parse

DATACENTER = make_datacenter([make_node(8, model="G2"), make_node(4, model="T4"), make_node(0, cpu=32)])
CLASSES = [
    TaskClass(4000, 0, 0, 0),
    TaskClass(2000, 0, 1, 500),
    TaskClass(8000, 0, 1, 1000),
    TaskClass(8000, 0, 4, 1000),
]
SIGNAL = Steps.of([-600.0, 1000, 2500.5, 4000, 7000, 9000], [300.0, 50, 420, 10, 500, 5])


def random_tasks(seed: int, first_s: float = 0.0) -> TimedTasks:
    random = np.random.default_rng(seed)
    workload = Workload.of([CLASSES[i] for i in random.integers(0, 4, 40)])
    arrival_s = first_s + np.round(np.sort(random.uniform(0, 8000, 40)), 1)
    arrival_s[0] = first_s
    duration_s = random.exponential(2000, 40)
    slack_s = np.where(random.random(40) < 0.5, 4000.0, 0.0)
    return TimedTasks(workload, arrival_s, duration_s, slack_s, random.random(40) < 0.5)


@pytest.mark.parametrize("seed", [1, 2])
def test_carbon_money_gpu_hours_and_work_equal_integrals_over_moments_and_tasks(seed: int) -> None:
    tasks = random_tasks(seed, first_s=1e6)
    speeds = Speeds(0.6, np.array([1.0, 0.2, 0.0]))
    options = TimeOptions(
        BACKFILL, horizon_s=9500.0, sample_s=777.0, more_marks_s=signal_marks(SIGNAL, 9500.0), speeds=speeds
    )
    mix, target = parse("fgd"), Target.of(tasks.workload)
    record = new_simulation(DATACENTER, tasks, mix, target, options=options, joined_s=joined_s(tasks, SIGNAL)).record()
    found = account(record, tasks, DATACENTER, pue=1.25, carbon=SIGNAL, price=SIGNAL, speeds=speeds)

    edges = np.unique(np.concatenate([record.moment_s, SIGNAL.time_s, [9500.0]]))
    edges = edges[(edges >= 0) & (edges <= 9500)]
    watts = record.moment_w[np.searchsorted(record.moment_s, edges[:-1], side="right") - 1]
    joules = watts * np.diff(edges)
    assert found.kwh == pytest.approx(joules.sum() / 3.6e6, rel=1e-9)
    weighted = 1.25 * (joules * SIGNAL.at(edges[:-1])).sum() / 3.6e6
    assert found.co2_operational_kg == pytest.approx(weighted / 1000, rel=1e-9)
    assert found.money == pytest.approx(weighted, rel=1e-9)

    gpus = tasks.workload.gpu_request_milli() / 1000
    assert found.gpu_hours == pytest.approx((gpus * delivered_s(record)).sum() / 3600, rel=1e-9)
    speed = np.where(record.node == 0, 1.0, 0.2)
    assert found.work == pytest.approx((gpus * speed * delivered_s(record))[tasks.batch].sum() / 3600, rel=1e-9)
    assert found.arrived == 40
    assert found.arrived == found.done + found.running + found.waiting + found.failed + found.refused + found.gave_up


def test_waiting_for_clean_hours_emits_no_more_where_nothing_else_limits_a_task() -> None:
    """One task that needs a whole empty node: its own energy moves to cleaner hours."""
    workload = Workload.of([CLASSES[3]])
    tasks = TimedTasks(workload, np.zeros(1), np.array([1500.0]), np.array([5000.0]))
    options = TimeOptions(BACKFILL, horizon_s=9500.0, more_marks_s=signal_marks(SIGNAL, 9500.0))
    mix, target = parse("fgd"), Target.of(workload)
    at_once, later = (
        account(
            new_simulation(DATACENTER, tasks, mix, target, options=options, joined_s=joined).record(),
            tasks,
            DATACENTER,
            carbon=SIGNAL,
        )
        for joined in (None, joined_s(tasks, SIGNAL))
    )
    assert later.kwh == pytest.approx(at_once.kwh)
    assert later.p99_kw == at_once.p99_kw
    assert later.co2_operational_kg is not None
    assert at_once.co2_operational_kg is not None
    assert later.co2_operational_kg < at_once.co2_operational_kg


def test_power_before_the_first_task_joins_counts_in_percentiles() -> None:
    """The only task waits 4000 s of 9500 for a clean hour: the empty datacenter's power holds for more than a third."""
    workload = Workload.of([CLASSES[3]])
    tasks = TimedTasks(workload, np.zeros(1), np.array([np.inf]), np.array([4000.0]))
    options = TimeOptions(BACKFILL, horizon_s=9500.0)
    record = new_simulation(
        DATACENTER, tasks, parse("fgd"), Target.of(workload), options=options, joined_s=np.array([4000.0])
    ).record()
    assert record.moment_s.tolist() == [0.0, 4000.0]
    assert record.percentile_w(40) == record.power_w[0] < record.percentile_w(50)
