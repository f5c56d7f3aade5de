"""A series on the clock of a run: where it begins, where it ends, gaps, repeats, kinds."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from wattpack.energy.signal import AVERAGE, BUDGET, CARBON, MARGINAL, PRICE, Signal, one_kind, run_start, signal_marks
from wattpack.errors import UserError
from wattpack.model.steps import Steps

MIDNIGHT = datetime(2024, 1, 1, tzinfo=UTC)
HOUR = 3600.0


def hourly(values: list[float], quantity: str = CARBON, missing: tuple[int, ...] = (), kind: str = AVERAGE) -> Signal:
    """Values at 00:00, 01:00, ... of 2024-01-01, without the `missing` ones."""
    kept = [hour for hour in range(len(values)) if hour not in missing]
    times = MIDNIGHT.timestamp() + HOUR * np.array(kept)
    return Signal(times, np.array(values)[kept], quantity, kind, "FR", name="fr.csv", counted="line")


def test_time_stamps_become_seconds_from_the_start_of_the_run() -> None:
    steps = hourly([10, 20, 30]).on_run_clock(MIDNIGHT + timedelta(minutes=90))
    assert steps.time_s.tolist() == [-5400, -1800, 1800]
    assert steps.at([0, 1799, 1800]).tolist() == [20, 20, 30]


def test_the_time_zone_of_the_start_is_respected() -> None:
    paris = datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=1)))  # 01:00 UTC
    assert hourly([10, 20, 30]).on_run_clock(paris).at(0.0) == 20


def test_a_start_without_a_time_zone_is_refused() -> None:
    with pytest.raises(UserError, match="has no time zone"):
        hourly([10, 20]).on_run_clock(datetime(2024, 1, 1))


def test_a_run_without_clock_time_begins_at_the_first_time_stamp_and_says_so() -> None:
    signal = hourly([10, 20])
    assert signal.on_run_clock(None).time_s.tolist() == [0, HOUR]
    assert signal.clock_note(None) == (
        "fr.csv: the tasks have no clock time; the run begins at its first time stamp, 2024-01-01T00:00Z"
    )
    assert signal.clock_note(MIDNIGHT) == ""


def test_signals_share_one_start_the_latest_of_their_first_time_stamps() -> None:
    carbon, price = hourly([10, 20, 30, 40]), hourly([1, 2, 3, 4], PRICE, missing=(0, 1), kind="")
    budget = Signal(np.array([0.0, 60]), np.array([5.0, 4]), BUDGET, from_start=True)
    start = run_start([carbon, price, budget, Signal.constant(0.2, PRICE)], None)
    assert start == MIDNIGHT + timedelta(hours=2)
    assert (carbon.on_run_clock(start).at(0.0), price.on_run_clock(start).at(0.0)) == (30, 3)
    assert run_start([carbon], MIDNIGHT) == MIDNIGHT
    assert run_start([budget], None) is None


def test_a_single_value_holds_throughout_and_needs_no_clock() -> None:
    signal = Signal.constant(56, CARBON)
    assert signal.on_run_clock(None, horizon_s=1e9).at([0, 1e9]).tolist() == [56, 56]
    assert signal.clock_note(None) == ""


def test_a_run_may_last_until_the_last_value_ends_one_step_after_its_time_stamp() -> None:
    signal = hourly([10, 20, 30])
    assert signal.on_run_clock(None, horizon_s=3 * HOUR).at(2.5 * HOUR) == 30
    with pytest.raises(UserError, match="has values from 2024-01-01T00:00Z to 2024-01-01T03:00Z, the run is from"):
        signal.on_run_clock(None, horizon_s=3 * HOUR + 1)


def test_before_the_first_time_stamp_the_first_value_holds() -> None:
    steps = hourly([10, 20, 30]).on_run_clock(MIDNIGHT - timedelta(hours=2), horizon_s=3 * HOUR)
    assert steps.at([0, 2 * HOUR, 3 * HOUR]).tolist() == [10, 10, 20]


@pytest.mark.parametrize("away", [timedelta(days=-2), timedelta(days=2)])
def test_a_run_wholly_outside_of_the_series_is_refused(away: timedelta) -> None:
    with pytest.raises(UserError, match="expected a longer series, or repeat_signals"):
        hourly([10, 20, 30]).on_run_clock(MIDNIGHT + away, horizon_s=HOUR)


def test_a_series_is_repeated_in_whole_days_so_that_hours_of_the_day_stay_in_place() -> None:
    signal = hourly([float(hour) for hour in range(30)])  # a day and 6 hours
    steps = signal.on_run_clock(MIDNIGHT + timedelta(hours=3), horizon_s=50 * HOUR, repeat=True)
    clock = (np.arange(50) + 3) % 24
    assert steps.at(np.arange(50) * HOUR).tolist() == clock.tolist()


def test_a_series_is_repeated_backwards_too() -> None:
    signal = hourly([float(hour) for hour in range(24)])
    steps = signal.on_run_clock(MIDNIGHT - timedelta(days=365), horizon_s=30 * HOUR, repeat=True)
    assert steps.at(np.arange(30) * HOUR).tolist() == [hour % 24 for hour in range(30)]


def test_a_repeat_of_less_than_a_day_repeats_at_its_own_length() -> None:
    steps = hourly([1, 2]).on_run_clock(None, horizon_s=5 * HOUR, repeat=True)
    assert steps.at(np.arange(5) * HOUR).tolist() == [1, 2, 1, 2, 1]


def test_a_repeat_that_asks_for_too_much_is_refused_before_memory_is_taken() -> None:
    with pytest.raises(UserError, match="expected a longer series"):
        hourly([1, 2]).on_run_clock(None, horizon_s=1e15, repeat=True)


def test_a_gap_inside_the_run_is_refused_with_its_line() -> None:
    signal = hourly([1, 2, 3, 4, 5, 6], missing=(3,))
    with pytest.raises(UserError) as fault:
        signal.on_run_clock(None, horizon_s=5 * HOUR)
    assert str(fault.value) == (
        "fr.csv, line 4: 2024-01-01T04:00Z is 7200 s after the time stamp before, expected 3600 s, or hold_gaps"
    )
    assert signal.on_run_clock(None, horizon_s=5 * HOUR, hold_gaps=True).at(3.5 * HOUR) == 3


def test_a_gap_outside_of_the_run_does_not_matter() -> None:
    signal = hourly([1, 2, 3, 4, 5, 6, 7], missing=(3,))
    assert signal.on_run_clock(None, horizon_s=2 * HOUR).at(0.0) == 1
    assert signal.on_run_clock(MIDNIGHT + timedelta(hours=4), horizon_s=2 * HOUR).at(0.0) == 5


def test_a_tariff_whose_steps_differ_has_no_usual_step_and_no_gaps() -> None:
    times = MIDNIGHT.timestamp() + HOUR * np.array([0, 6, 22, 30, 46])  # night and day
    signal = Signal(times, np.array([1.0, 2, 1, 2, 1]), PRICE, currency="EUR", name="tariff.csv")
    assert signal.step_s == 0
    assert signal.on_run_clock(None, horizon_s=46 * HOUR).at(7 * HOUR) == 2


def test_a_budget_holds_after_its_last_time_stamp() -> None:
    signal = Signal(MIDNIGHT.timestamp() + HOUR * np.array([0.0, 1, 9]), np.array([5.0, 4, 3]), BUDGET)
    assert signal.on_run_clock(None, horizon_s=100 * HOUR).at(99 * HOUR) == 3


def test_average_and_marginal_are_never_mixed() -> None:
    average, marginal = hourly([1, 2]), hourly([1, 2], kind=MARGINAL)
    assert one_kind([average, average, Signal.constant(0.2, PRICE)]) == AVERAGE
    with pytest.raises(UserError, match=r"fr.csv \(average\) and fr.csv \(marginal\), expected only"):
        one_kind([average, marginal])


def test_a_number_has_no_kind_and_stands_beside_either() -> None:
    assert one_kind([Signal.constant(56, CARBON), hourly([1, 2], kind=MARGINAL)]) == MARGINAL


def test_marks_are_the_time_stamps_inside_the_run() -> None:
    assert signal_marks(Steps.of([-5, 0, 10, 20, 30], [1, 2, 3, 4, 5]), 30.0) == (10.0, 20.0)
