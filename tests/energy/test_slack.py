"""When tasks with slack join the queue: by hand, and against a slow plain version."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energy.hand_made import timed
from wattpack.energy import slack
from wattpack.energy.slack import PERFECT, YESTERDAY, joined_s, slack_by_class, with_slack
from wattpack.errors import UserError
from wattpack.model.steps import Steps
from wattpack.model.timed_tasks import TimedTasks

HOUR, DAY = 3600.0, 86400.0


def tasks_of(arrivals: list[float], durations: list[float], slacks: list[float]) -> TimedTasks:
    return timed(arrivals, [1.0] * len(arrivals), durations=durations, slack_s=np.array(slacks, dtype=float))


def joined(signal: Steps, arrival: float, duration: float, slack_s: float, forecast: str = PERFECT) -> float:
    """Of one task beside another that arrives at 0 and never waits."""
    return float(joined_s(tasks_of([0, arrival], [1, duration], [0, slack_s]), signal, forecast)[1])


VALLEY = Steps.of(np.arange(6) * HOUR, [50, 40, 10, 20, 5, 60])


def test_a_task_joins_at_the_time_stamp_with_the_least_mean_over_its_duration() -> None:
    assert joined(VALLEY, 0, HOUR, 3 * HOUR) == 2 * HOUR
    assert joined(VALLEY, 0, 2 * HOUR, 4 * HOUR) == 3 * HOUR  # 12.5, where 02:00 has 15
    assert joined(VALLEY, 0, 3 * HOUR, 4 * HOUR) == 2 * HOUR  # 35 / 3


def test_the_end_of_the_slack_is_a_candidate_if_it_is_a_time_stamp() -> None:
    assert joined(VALLEY, 0, HOUR, 2 * HOUR) == 2 * HOUR
    assert joined(VALLEY, 0, HOUR, 2 * HOUR - 1) == HOUR


def test_a_task_without_slack_or_without_a_time_stamp_inside_it_joins_on_arrival() -> None:
    assert joined(VALLEY, 100.5, HOUR, 0) == 100.5
    assert joined(VALLEY, 100.5, HOUR, 1800) == 100.5


def test_the_earliest_of_equals_is_taken_also_where_sums_round_differently() -> None:
    constant = Steps.of(np.arange(5000) * 900.0, np.full(5000, 0.1))
    arrivals = (np.arange(300) * 7777.7).tolist()
    tasks = tasks_of(arrivals, [1234.5] * 300, [DAY] * 300)
    assert joined_s(tasks, constant).tolist() == arrivals


def test_a_duration_of_0_looks_at_the_value_itself() -> None:
    assert joined(VALLEY, 0, 0, 3 * HOUR) == 2 * HOUR


def test_a_task_that_never_ends_joins_on_arrival() -> None:
    assert joined(VALLEY, 0, math.inf, 4 * HOUR) == 0


def test_times_are_on_the_clock_of_arrivals_and_the_signal_counts_from_the_first_arrival() -> None:
    tasks = tasks_of([1000, 1000 + HOUR], [1, HOUR], [0, 3 * HOUR])
    assert joined_s(tasks, VALLEY).tolist() == [1000, 1000 + 4 * HOUR]


def test_slack_without_end_looks_at_the_whole_signal() -> None:
    assert joined(VALLEY, 0, HOUR, math.inf) == 4 * HOUR


def test_yesterday_repeats_the_day_before_and_knows_nothing_on_the_first_day() -> None:
    values = [100.0] * 24 + [100.0, 5.0, *[100.0] * 22]  # 01:00 of the second day is clean
    values[3] = 10.0  # 03:00 of the first day was
    signal = Steps.of(np.arange(48) * HOUR, values)
    assert joined(signal, 0, HOUR, 5 * HOUR, YESTERDAY) == 0
    assert joined(signal, DAY, HOUR, 5 * HOUR, YESTERDAY) == DAY + 3 * HOUR
    assert joined(signal, DAY, HOUR, 5 * HOUR, PERFECT) == DAY + HOUR


def test_yesterday_knows_the_day_before_the_run_where_the_signal_has_it() -> None:
    values = [100.0] * 48
    values[3] = 10.0  # 03:00 of the day before the run
    signal = Steps.of(np.arange(-24, 24) * HOUR, values)
    assert joined(signal, 0, HOUR, 5 * HOUR, YESTERDAY) == 3 * HOUR


def plain_mean(signal: Steps, at: float, duration: float, arrival: float, forecast: str) -> Fraction:
    """In fractions, step by step, straight from the definition."""

    def value(time: Fraction) -> Fraction:
        if forecast == YESTERDAY:
            yesterday = time - Fraction(DAY)
            time = Fraction(arrival) if yesterday < Fraction(signal.time_s[0]) else yesterday
        found = signal.value[0]
        for stamp, there in zip(signal.time_s, signal.value, strict=True):
            if Fraction(stamp) <= time:
                found = there
        return Fraction(found)

    begin, end = Fraction(at), Fraction(at) + Fraction(duration)
    if duration == 0:
        return value(begin)
    shift = Fraction(DAY) if forecast == YESTERDAY else Fraction(0)
    edges = {Fraction(stamp) + shift for stamp in signal.time_s}
    cuts = [begin, *sorted(edge for edge in edges if begin < edge < end), end]
    total = sum((b - a) * value(a) for a, b in pairwise(cuts))
    return total / Fraction(duration)


def plain_joined(signal: Steps, arrival: float, duration: float, slack_s: float, forecast: str) -> float:
    inside = [stamp for stamp in signal.time_s.tolist() if arrival < stamp <= arrival + slack_s]
    means = [(plain_mean(signal, at, duration, arrival, forecast), at) for at in [arrival, *inside]]
    return min(means)[1]


# Quarters of hours and small integers, so that ties are common.
QUARTER = 900.0
TASK = st.tuples(st.integers(0, 200), st.integers(0, 40), st.integers(0, 120))


@settings(max_examples=60, deadline=None)
@given(
    first=st.integers(-3, 3),
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=40),
    values=st.lists(st.integers(-2, 5), min_size=41, max_size=41),
    tasks=st.lists(TASK, min_size=1, max_size=5),
    forecast=st.sampled_from([PERFECT, YESTERDAY]),
    scale=st.sampled_from([1.0, 0.1, 1 / 3]),
)
def test_it_equals_a_slow_plain_version_in_fractions(
    first: int,
    lengths: list[int],
    values: list[int],
    tasks: list[tuple[int, int, int]],
    forecast: str,
    scale: float,
) -> None:
    times = QUARTER * np.cumsum([first, *lengths])
    signal = Steps.of(times, scale * np.array(values[: len(times)], dtype=float))
    arrivals, durations, slacks = (list(column) for column in zip(*[(0, 1, 0), *tasks], strict=True))
    quarters = [[QUARTER * number for number in column] for column in (arrivals, durations, slacks)]
    found = joined_s(tasks_of(*quarters), signal, forecast)
    expected = [plain_joined(signal, *task, forecast) for task in zip(*quarters, strict=True)]
    assert found.tolist() == expected


def test_chunks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    signal = Steps.of(np.arange(400) * HOUR, random.uniform(0, 500, 400))
    arrivals = np.sort(random.uniform(0, 300 * HOUR, 500)).tolist()
    tasks = tasks_of(arrivals, random.exponential(5000, 500).tolist(), random.uniform(0, 2 * DAY, 500).tolist())
    whole = joined_s(tasks, signal)
    monkeypatch.setattr(slack, "AT_ONCE", 7)
    assert joined_s(tasks, signal).tolist() == whole.tolist()
    assert (whole >= tasks.arrival_s).all()
    assert (whole <= tasks.arrival_s + tasks.slack_s).all()


def test_more_candidates_than_can_be_compared_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slack, "MAX_CANDIDATES", 5)
    with pytest.raises(UserError, match="6 time stamps to compare, expected at most 5"):
        joined(VALLEY, 0, HOUR, math.inf)


def test_an_unknown_forecast_is_refused() -> None:
    with pytest.raises(UserError, match="forecast 'oracle', expected one of perfect, yesterday"):
        joined_s(tasks_of([0], [1], [0]), VALLEY, "oracle")


def test_no_tasks_is_fine() -> None:
    assert joined_s(tasks_of([], [], []), VALLEY).tolist() == []


def test_slack_is_read_by_class_of_service() -> None:
    assert slack_by_class(["BE=6h", "LS=90s,Burstable=1d"]) == {"BE": 21600.0, "LS": 90.0, "Burstable": 86400.0}
    assert slack_by_class(["2h"]) == {"*": 7200.0}


@pytest.mark.parametrize("text", ["BE=", "=6h", "BE=6h,BE=2h", "BE=soon", "", "BE=-1"])
def test_other_texts_are_refused_as_slack(text: str) -> None:
    with pytest.raises(UserError, match=r"slack .*, expected"):
        slack_by_class([text])


def test_tasks_of_a_class_get_its_slack_and_others_keep_theirs() -> None:
    tasks = timed([0, 1, 2], [1] * 3, service_class=("BE", "LS", ""), slack_s=np.array([1.0, 2, 3]))
    assert with_slack(tasks, {"BE": 60.0}).slack_s.tolist() == [60, 2, 3]
    assert with_slack(tasks, {"*": 9.0, "LS": 0.0}).slack_s.tolist() == [9, 0, 9]
    assert with_slack(tasks, {}) is tasks


def test_a_class_that_no_task_has_is_refused() -> None:
    with pytest.raises(UserError, match="slack BE: no task of that class of service in workload, expected LS"):
        with_slack(timed([0], [1], service_class=("LS",)), {"BE": 60.0})
