"""Accounts of records written by hand, by arithmetic."""

import numpy as np
import pytest

from energy.hand_made import power_record, timed, two_nodes
from wattpack.energy.account import account
from wattpack.energy.embodied import Embodied
from wattpack.energy.signal import signal_marks
from wattpack.engine.moments.options import Speeds
from wattpack.engine.moments.record import DONE, FAILED, GAVE_UP, NO_PART, REFUSED, RUNNING, WAITING
from wattpack.errors import UserError
from wattpack.model.steps import Steps

HOUR = 3600.0
NOTHING = timed([], [])


def test_energy_is_power_times_time_and_facility_energy_is_pue_times_that() -> None:
    record = power_record([(0, 1000), (HOUR, 3000)], 2 * HOUR)  # 1 kWh + 3 kWh
    found = account(record, NOTHING, two_nodes(), pue=1.5)
    assert found.kwh == pytest.approx(4)
    assert found.gpu_kwh == pytest.approx(4)
    assert found.cpu_kwh == found.base_kwh == found.asleep_kwh == found.transition_kwh == 0
    assert found.facility_kwh == pytest.approx(6)
    assert (found.mean_kw, found.p99_kw, found.peak_kw) == pytest.approx((2, 3, 3))


def test_the_parts_of_the_energy_are_named_and_add_up() -> None:
    record = power_record([(0, 0)], HOUR)
    record.energy_j[-1] = [3.6e6, 7.2e6, 1.8e6, 0.9e6, 0.36e6]
    found = account(record, NOTHING, two_nodes())
    parts = (found.gpu_kwh, found.cpu_kwh, found.base_kwh, found.asleep_kwh, found.transition_kwh)
    assert parts == pytest.approx((1, 2, 0.5, 0.25, 0.1))
    assert found.kwh == pytest.approx(3.85)


def test_carbon_is_the_integral_of_facility_power_times_the_intensity() -> None:
    # 1 kW for 1.5 h, then 2 kW for 0.5 h; 100 g for the first hour, then 400 g
    steps = Steps.of([0, HOUR], [100, 400])
    record = power_record([(0, 1000), (1.5 * HOUR, 2000)], 2 * HOUR, list(signal_marks(steps, 2 * HOUR)))
    found = account(record, NOTHING, two_nodes(), pue=1.2, carbon=steps, embodied=Embodied(kg_per_gpu=0))
    # 1 kWh * 100 + 0.5 kWh * 400 + 1 kWh * 400 = 700 g of IT
    assert found.co2_operational_kg == pytest.approx(1.2 * 0.7, rel=1e-15)
    assert found.co2_kg == found.co2_operational_kg


def test_money_is_the_integral_of_facility_power_times_the_price_and_may_be_negative() -> None:
    steps = Steps.of([0, HOUR], [0.3, -0.1])
    record = power_record([(0, 1000)], 3 * HOUR, [HOUR])
    found = account(record, NOTHING, two_nodes(), pue=2.0, price=steps, currency="EUR")
    assert found.money == pytest.approx(2 * (0.3 - 0.2))  # 1 kWh and 2 kWh of IT
    assert found.currency == "EUR"


def test_before_the_first_time_stamp_the_first_value_counts() -> None:
    record = power_record([(0, 1000)], 2 * HOUR, [HOUR])
    found = account(record, NOTHING, two_nodes(), carbon=Steps.of([HOUR], [500]))
    assert found.co2_operational_kg == pytest.approx(1.0)


def test_a_time_stamp_that_is_no_mark_is_refused_rather_than_guessed() -> None:
    record = power_record([(0, 1000)], 2 * HOUR)
    with pytest.raises(UserError, match="no mark of the run"):
        account(record, NOTHING, two_nodes(), carbon=Steps.of([0, HOUR], [1, 2]))


def test_without_signals_carbon_and_money_do_not_apply_but_embodied_carbon_does() -> None:
    found = account(power_record([(0, 1000)], HOUR), NOTHING, two_nodes())
    assert (found.co2_operational_kg, found.co2_kg, found.money, found.sci_g_per_gpu_hour) == (None,) * 4
    assert found.co2_embodied_kg > 0
    assert (found.work, found.kwh_per_work, found.wh_per_gpu_hour) == (None,) * 3


def test_embodied_carbon_is_kg_over_lifetime_times_the_length_of_the_run() -> None:
    year_s = 365 * 86400.0
    record = power_record([(0, 0)], year_s / 10)
    # 12 GPUs of 150 kg over 4 years: 450 kg a year
    assert account(record, NOTHING, two_nodes()).co2_embodied_kg == pytest.approx(45)
    own = Embodied(kg_per_gpu=100, kg_per_node=1000, lifetime_years=5)  # (1200 + 3000) / 5 = 840 a year
    assert account(record, NOTHING, two_nodes(), embodied=own).co2_embodied_kg == pytest.approx(84)


def test_sci_is_operational_plus_embodied_per_gpu_hour() -> None:
    record = power_record([(0, 1000)], HOUR, gpu_s=20 * HOUR)
    own = Embodied(kg_per_gpu=365 * 24 * 4 / 12)  # 1 kg an hour
    found = account(record, NOTHING, two_nodes(), carbon=Steps.constant(500), embodied=own)
    assert found.gpu_hours == pytest.approx(20)
    assert found.sci_g_per_gpu_hour == pytest.approx((500 + 1000) / 20)
    assert found.wh_per_gpu_hour == pytest.approx(1000 / 20)


def test_work_is_of_batch_tasks_by_the_speed_of_their_model_inside_the_horizon() -> None:
    # on a (A100, speed 1): 4 GPUs for 1 h, batch; 8 GPUs, a service, not counted
    # on b (T4, 0.25): half a GPU from 1 h to beyond the end at 2 h: 0.5 * 0.25 * 1 h
    # a task that never started
    record = power_record(
        [(0, 2000)],
        2 * HOUR,
        starts=(0, 0, HOUR, np.nan),
        ends=(HOUR, HOUR, 9 * HOUR, np.nan),
        joined=(0, 0, 0, 0),
        outcomes=(DONE, DONE, RUNNING, WAITING),
        nodes=(0, 0, 1, -1),
    )
    tasks = timed([0, 0, 0, 0], [4, 8, 0.5, 1], batch=[True, False, True, True])
    found = account(record, tasks, two_nodes(), speeds=Speeds(0.75, np.array([1.0, 0.25, 0.0])))
    assert found.work == pytest.approx(4 + 0.125)
    assert found.kwh_per_work == pytest.approx(4 / 4.125)


def test_tasks_are_counted_by_what_became_of_them_and_those_after_the_horizon_not_at_all() -> None:
    outcomes = (DONE, RUNNING, WAITING, FAILED, REFUSED, GAVE_UP, NO_PART)
    tasks = timed([5, 6, 7, 8, 9, 10, 106], [1] * 7)  # the first arrival is the start
    record = power_record(
        [(0, 1)],
        100,
        starts=(0, 50, *[np.nan] * 5),
        ends=(1, 200, *[np.nan] * 5),
        joined=(0, 1, 2, 3, 4, 5, 101),
        outcomes=outcomes,
        patience_s=30,
    )
    found = account(record, tasks, two_nodes())
    counts = (found.arrived, found.done, found.running, found.waiting, found.failed, found.refused, found.gave_up)
    assert counts == (6, 1, 1, 1, 1, 1, 1)
    # waits: 0 and 49 of the started, 98 so far, 30 of the one that gave up
    assert found.wait_mean_s == pytest.approx((0 + 49 + 98 + 30) / 4)
    assert found.wait_p50_s == pytest.approx((30 + 49) / 2)
    assert found.wait_p95_s == pytest.approx(np.percentile([0, 49, 98, 30], 95))
    assert found.wait_p99_s == pytest.approx(np.percentile([0, 49, 98, 30], 99))
    # (0 + 1) / 10 is below 1; (49 + 150) / 150
    assert found.slowdown_mean == pytest.approx((1 + 199 / 150) / 2)


def test_a_task_that_never_ends_has_a_slowdown_of_1() -> None:
    record = power_record([(0, 1)], 10, starts=(5.0,), ends=(np.inf,), joined=(0.0,), outcomes=(RUNNING,))
    found = account(record, timed([0], [1]), two_nodes())
    assert (found.slowdown_mean, found.slowdown_p95) == (1, 1)


def test_a_run_without_tasks_has_no_waits() -> None:
    found = account(power_record([(0, 1)], 10), NOTHING, two_nodes())
    assert (found.arrived, found.wait_mean_s, found.wait_p99_s, found.slowdown_p95) == (0, None, None, None)


@pytest.mark.parametrize("cut", [0.25, 1, 2.5, 7.75])
def test_a_run_cut_into_two_has_the_sum_of_energy_carbon_money_and_embodied(cut: float) -> None:
    random = np.random.default_rng(7)
    times = np.concatenate([[0.0], np.sort(random.uniform(0, 8 * HOUR, 40))])
    moments = list(zip(times.tolist(), random.uniform(0, 5000, 41).tolist(), strict=True))
    steps = Steps.of(np.arange(-1, 9) * HOUR + 900, random.uniform(0, 500, 10))

    def found(of: list[tuple[float, float]], signal: Steps, horizon_s: float) -> np.ndarray:
        record = power_record(of, horizon_s, list(signal_marks(signal, horizon_s)))
        it = account(record, NOTHING, two_nodes(), pue=1.3, carbon=signal, price=signal)
        return np.array([it.kwh, it.facility_kwh, it.co2_operational_kg, it.co2_embodied_kg, it.money], dtype=float)

    cut_s = cut * HOUR
    before = [moment for moment in moments if moment[0] < cut_s]
    after = [(0.0, before[-1][1]), *[(time - cut_s, watts) for time, watts in moments if time >= cut_s]]
    whole = found(moments, steps, 8 * HOUR)
    parts = found(before, steps, cut_s) + found(after, steps.shifted(-cut_s), 8 * HOUR - cut_s)
    assert parts == pytest.approx(whole, rel=1e-12)
