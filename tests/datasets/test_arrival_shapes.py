"""Rates over a week, their integrals, and how shapes are written."""

import numpy as np
import pytest

from wattpack.datasets.arrival_shapes import HOURS, Clock, Shape, read_shape
from wattpack.errors import UserError

RHYTHM = read_shape("rhythm")


def test_the_rhythm_is_highest_at_15_lowest_at_3_and_lower_at_weekends() -> None:
    weights = RHYTHM.hour_weights()
    assert weights.mean() == pytest.approx(1)
    assert set(np.argsort(weights[:24])[-2:].tolist()) == {14, 15}
    assert set(np.argsort(weights[:24])[:2].tolist()) == {2, 3}
    # 1 + 0.4 cos(7.5 degrees) = 1.397, thousandths; the other way 0.603
    assert weights[15] / weights[3] == pytest.approx(1397 / 603)
    assert weights[5 * 24 + 15] / weights[15] == pytest.approx(0.7, abs=0.001)


def test_numbers_behind_the_name_replace_those_of_the_shape() -> None:
    assert read_shape("poisson") == Shape("poisson", 0, 0, 1)
    assert read_shape("rhythm, daily=0.2,burst=5") == Shape("rhythm", 0.2, 0.3, 5)
    assert read_shape("bursts").burst == 20


@pytest.mark.parametrize(
    "text", ["", "daily", "rhythm,daily", "rhythm,daily=2", "rhythm,weekend=nan", "bursts,burst=0", "bursts,burst=1.5"]
)
def test_a_bad_shape_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(UserError, match="arrivals"):
        read_shape(text)


def test_integrals_of_the_rate_agree_with_sums_over_small_steps() -> None:
    clock = Clock(RHYTHM.hour_weights(), first_hour=30.5)
    grid = np.arange(-400, 300, 0.25)
    rate = RHYTHM.hour_weights()[np.floor(grid + 30.5).astype(int) % HOURS]
    begin, end = clock.arrivals(np.array([-400.0, 300.0]))
    assert end - begin == pytest.approx((rate * 0.25).sum())
    middle = clock.arrivals(grid + 0.125)
    area = clock.arrivals_area(np.array([-400.0, 300.0]))
    assert area[1] - area[0] == pytest.approx((middle * 0.25).sum(), rel=1e-6)


def test_times_are_the_inverse_of_arrivals() -> None:
    clock = Clock(RHYTHM.hour_weights(), first_hour=100.25)
    hours = np.linspace(-1000, 1000, 777)
    assert clock.times(clock.arrivals(hours)) == pytest.approx(hours)


def test_no_task_arrives_in_hours_without_a_rate() -> None:
    clock = Clock(read_shape("rhythm,weekend=1").hour_weights())
    times = clock.times(np.linspace(0, 167.999, 5000))
    assert (times <= 120 + 1e-9).all()
