"""The least energy of the tasks that ran: by hand, below every run, and how it is sampled."""

import re
from dataclasses import replace
from math import inf, isnan
from pathlib import Path

import numpy as np
import pytest

from builders import make_datacenter, make_node, make_task, make_workload
from time_cases import TimedCase, timed_case
from time_engine import simulated, timed_tasks
from time_reference.inputs import STEP
from wattpack.datasets import alibaba2023
from wattpack.datasets.generators import generate
from wattpack.engine.moments.options import TimeOptions
from wattpack.engine.moments.record import DONE, TimeRecord
from wattpack.engine.moments.simulate import new_simulation
from wattpack.errors import UserError
from wattpack.experiments.timed_scenarios import load_timed
from wattpack.model.power import LINEAR, PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.timed_tasks import TimedTasks
from wattpack.optimise.bound.least_energy import (
    EnergyBound,
    LeastEnergy,
    gap_to_least,
    least_energy,
    note_on_least,
    standard_error,
)
from wattpack.policies.expression import parse

HOUR_S = 3600.0
FEW = 1 + 1e-9


def record_of(start_s: list[float], end_s: list[float], horizon_s: float) -> TimeRecord:
    """A record of which only the times of the tasks are used."""
    count, none = len(start_s), np.zeros(0)
    whole, nothing = np.zeros(count, np.int32), np.zeros(0, np.int64)
    start, end, outcome = np.array(start_s), np.array(end_s), np.full(count, DONE, np.int8)
    by_mark = (none, np.zeros((0, 5)), none, none, none, nothing, nothing)
    asleep = (nothing, nothing, nothing, 0, 0.0)
    return TimeRecord(whole, whole, start, start, end, outcome, *by_mark, none, none, horizon_s, inf, *asleep)


def profile_of(case: TimedCase) -> PowerProfile:
    return replace(PAPER if case.options.curves is STEP else LINEAR, base_w=case.options.base_w)


# ---- by hand ---------------------------------------------------------------------------------------------------------

# G2 nodes with 8 GPUs: idle 285 W, full 8 x 150 + 3 x 120 = 1560 W (test_asleep.py).
NODES = make_datacenter([make_node()] * 3)


def eight_then_sixteen(horizon_s: float = 3 * HOUR_S) -> tuple[TimeRecord, TimedTasks]:
    """Nothing for an hour, then one node full for an hour, then two."""
    tasks = TimedTasks(make_workload([make_task(gpu=1, cpu=12)] * 16), np.zeros(16), np.full(16, inf))
    start_s = [HOUR_S] * 8 + [2 * HOUR_S] * 8
    return record_of(start_s, [inf] * 16, horizon_s), tasks


@pytest.mark.parametrize(
    ("sleep_w", "reserve_gpus", "kwh"),
    [
        (10.0, 0, (30 + 1560 + 20 + 2 * 1560 + 10) / 1000),
        (10.0, 8, (285 + 20 + 1560 + 285 + 10 + 2 * 1560 + 285) / 1000),
        # from the third hour on the reserve cannot be kept: all nodes are awake
        (10.0, 16, (2 * 285 + 10 + 1560 + 2 * 285 + 2 * 1560 + 285) / 1000),
        (inf, 0, (3 * 285 + 1560 + 2 * 285 + 2 * 1560 + 285) / 1000),
    ],
)
def test_three_hours_by_hand(sleep_w: float, reserve_gpus: int, kwh: float) -> None:
    record, tasks = eight_then_sixteen()
    found = least_energy(record, tasks, NODES, sleep_w=sleep_w, reserve_gpus=reserve_gpus, samples=6)
    assert found.kwh == pytest.approx(kwh, rel=2e-5)
    assert found.sampled_kwh == pytest.approx(kwh, rel=2e-5)  # as many samples in each hour
    assert found.mean_w * 3 == pytest.approx(kwh * 1000, rel=2e-5)


def test_one_sample_gives_a_bound_for_all_other_moments() -> None:
    """Sampled once, in the hour of one full node: the floor there holds for no tasks and for two full nodes too."""
    record, tasks = eight_then_sixteen()
    found = least_energy(record, tasks, NODES, sleep_w=10.0, samples=1)
    assert found.sampled_kwh == pytest.approx(3 * 1.580, rel=2e-5)
    assert isnan(found.sampled_error_kwh)
    assert found.kwh == pytest.approx((30 + 1580 + 3130) / 1000, rel=2e-5)  # here power is linear in the tasks


def test_the_reserve_costs_something_and_the_bound_without_it_is_given_beside() -> None:
    record, tasks = eight_then_sixteen()
    with_reserve = least_energy(record, tasks, NODES, sleep_w=10.0, reserve_gpus=8)
    without = least_energy(record, tasks, NODES, sleep_w=10.0)
    assert without.kwh == without.kwh_without_reserve
    assert with_reserve.kwh_without_reserve <= without.kwh * (1 + 2e-5)
    assert with_reserve.kwh > without.kwh


def test_a_run_of_no_length_has_no_energy_and_no_gap() -> None:
    record, tasks = eight_then_sixteen(horizon_s=0.0)
    found = least_energy(record, tasks, NODES, sleep_w=10.0)
    assert (found.kwh, found.sampled_kwh) == (0, 0)
    assert isnan(found.mean_w)
    assert isnan(gap_to_least(0.0, found))


@pytest.mark.parametrize("samples", [0, -3, 10**9])
def test_a_number_of_samples_that_cannot_be_is_refused(samples: int) -> None:
    record, tasks = eight_then_sixteen()
    with pytest.raises(UserError, match=r"samples of the least energy, expected 1 to 100,000"):
        least_energy(record, tasks, NODES, samples=samples)


# ---- below every run -------------------------------------------------------------------------------------------------


def test_no_run_with_sleep_uses_less_than_the_bound_without_reserve() -> None:
    slept = 0
    for seed in range(25):
        case = timed_case(seed, sleep=True, most_nodes=5, most_tasks=12)
        assert case.options.sleep is not None
        record, nodes, watts = simulated(case), make_datacenter(case.nodes), case.options.sleep.sleep_w
        found = least_energy(record, timed_tasks(case), nodes, profile_of(case), sleep_w=watts, samples=3)
        assert found.kwh <= record.energy_j[-1].sum() / 3.6e6 * FEW
        slept += record.asleep_node_s > 0
    assert slept > 5


def test_no_run_without_sleep_uses_less_than_the_bound_with_all_nodes_awake() -> None:
    for seed in range(12):
        case = timed_case(seed, most_nodes=5, most_tasks=12)
        record = simulated(case)
        found = least_energy(record, timed_tasks(case), make_datacenter(case.nodes), profile_of(case), samples=3)
        assert found.kwh <= record.energy_j[-1].sum() / 3.6e6 * FEW


# ---- the built-in datacenter -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def half_a_day() -> tuple[TimeRecord, TimedTasks]:
    datacenter, trace = alibaba2023.datacenter(), load_timed("default")
    tasks = generate(trace, datacenter.gpu_milli, 0.5, 0.5, np.random.default_rng(11))  # type: ignore[arg-type]
    options = TimeOptions("backfill", horizon_s=HOUR_S * 12)
    return new_simulation(datacenter, tasks, parse("fgd"), Target.of(tasks.workload), options=options).record(), tasks


def test_on_the_built_in_datacenter_more_samples_hardly_raise_the_bound(
    half_a_day: tuple[TimeRecord, TimedTasks],
) -> None:
    record, tasks = half_a_day
    datacenter = alibaba2023.datacenter()
    bound = EnergyBound(datacenter, tasks.workload.classes, PAPER, 10.0)
    few, more = (bound.of(record, tasks, 124, samples) for samples in (4, 12))
    assert few.kwh <= more.kwh * (1 + 1e-5)
    assert few.kwh == pytest.approx(more.kwh, rel=5e-4)
    assert abs(more.sampled_kwh - more.kwh) < 4 * more.sampled_error_kwh
    assert more.sampled_error_kwh < few.sampled_error_kwh
    # FGD, all nodes awake, nodes in the order of the file
    assert gap_to_least(float(record.energy_j[-1].sum() / 3.6e6), more) == pytest.approx(28.5, abs=0.1)


def test_on_the_built_in_datacenter_fgd_uses_more_than_the_least_with_all_nodes_awake(
    half_a_day: tuple[TimeRecord, TimedTasks],
) -> None:
    record, tasks = half_a_day
    found = least_energy(record, tasks, alibaba2023.datacenter(), samples=3)
    assert gap_to_least(float(record.energy_j[-1].sum() / 3.6e6), found) == pytest.approx(8.6, abs=0.1)


def test_the_same_run_has_the_same_bound_to_the_bit() -> None:
    record, tasks = eight_then_sixteen()
    assert len({least_energy(record, tasks, NODES, sleep_w=10.0, reserve_gpus=3) for _ in range(2)}) == 1


def test_the_example_of_the_guide_prints_what_the_guide_shows(capsys: pytest.CaptureFixture[str]) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "bound.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", guide, flags=re.DOTALL)
    assert found is not None
    exec(found.group(1), {})
    assert capsys.readouterr().out == found.group(2)


# ---- its parts -------------------------------------------------------------------------------------------------------


def test_the_error_of_strata_comes_from_neighbours() -> None:
    """Differences 1, 1, 2: sqrt((1 + 1 + 4) / 3 / 2 / 4)."""
    assert standard_error(np.array([5.0, 6.0, 5.0, 7.0])) == pytest.approx(0.5)


def least(sleep_w: float = 10.0, reserve_gpus: float = 124.0) -> LeastEnergy:
    return LeastEnergy(100.0, 95.0, 101.0, 1.0, 50, HOUR_S, sleep_w, reserve_gpus)


def test_the_gap_is_what_a_run_uses_more_than_the_least() -> None:
    assert gap_to_least(130.0, least()) == pytest.approx(30)


def test_the_note_says_what_the_bound_leaves_out() -> None:
    assert note_on_least(least()) == (
        "Least: no schedule that runs the same tasks at each moment uses less energy, with empty nodes asleep at 10 W "
        "and 124 free GPUs kept awake. The bound knows all tasks beforehand, moves them at no cost, and lets nodes "
        "fall asleep and wake at once and for nothing, so a part of the gap is out of reach."
    )
    assert "asleep at 10 W. The" in note_on_least(least(reserve_gpus=0))
    assert "with all nodes awake. The bound knows all tasks beforehand and moves" in note_on_least(least(sleep_w=inf))


def test_tasks_that_wait_or_run_past_the_horizon_count_only_while_they_run_in_it() -> None:
    tasks = TimedTasks(make_workload([make_task(gpu=1, cpu=12)] * 3), np.zeros(3), np.full(3, HOUR_S))
    nan = float("nan")
    record = record_of([nan, 0.0, 2 * HOUR_S], [nan, HOUR_S, 9 * HOUR_S], HOUR_S)
    one = record_of([0.0], [inf], HOUR_S)
    first = replace(
        tasks,
        workload=make_workload([make_task(gpu=1, cpu=12)]),
        arrival_s=np.zeros(1),
        duration_s=np.ones(1),
        slack_s=np.zeros(1),
        batch=np.ones(1, bool),
        service_class=("",),
        owner=("",),
    )
    seen, expected = (least_energy(*given, NODES, sleep_w=10.0, samples=2) for given in ((record, tasks), (one, first)))
    assert seen.kwh == pytest.approx(expected.kwh, rel=1e-9)
