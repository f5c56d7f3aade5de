"""Slack and accounts equal those of the plain second implementation, on random small runs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from builders import make_datacenter
from time_cases import TimedCase, timed_case
from time_engine import close, simulated, time_options, timed_tasks
from time_reference.accounts import embodied_kg, facility_times, gpu_s, it_kwh, percentile_w, sci, wait_s, work_s
from time_reference.slack import PERFECT, YESTERDAY
from wattpack.energy.account import account
from wattpack.energy.embodied import YEAR_S, Embodied
from wattpack.energy.slack import joined_s
from wattpack.model.steps import Steps

PUE = 1.5
SEEDS = range(3000, 3040)


def steps_of(case: TimedCase) -> Steps:
    return Steps.of(*zip(*case.signal, strict=True))


@pytest.mark.parametrize(("forecast", "least"), [(PERFECT, 100), (YESTERDAY, 40)])
def test_tasks_with_slack_join_when_the_second_implementations_do(forecast: str, least: int) -> None:
    later = 0
    for seed in range(300):
        case = timed_case(seed)._replace(forecast=forecast)
        expected = case.joined_s()
        assert joined_s(timed_tasks(case), steps_of(case), forecast).tolist() == expected
        later += sum(t > timed.arrival_s for t, timed in zip(expected, case.tasks, strict=True))
    assert later > least


def test_an_account_is_the_second_implementations() -> None:
    for seed in SEEDS:
        case = timed_case(seed)
        run, record, datacenter = case.run(), simulated(case), make_datacenter(case.nodes)
        speeds = time_options(case, case.options, datacenter).speeds
        told = {"carbon": steps_of(case), "price": steps_of(case), "embodied": Embodied(100.0, 30.0, 5.0)}
        seen = account(record, timed_tasks(case), datacenter, pue=PUE, speeds=speeds, **told)
        assert close(seen.kwh, it_kwh(run))
        assert close(seen.facility_kwh, it_kwh(run) * Fraction(PUE))
        operational_g = facility_times(run, PUE, case.signal)
        assert close(seen.co2_operational_kg, operational_g / 1000)
        assert close(seen.money, operational_g)  # the signal taken for a price
        assert close(seen.gpu_hours, gpu_s(run, run.horizon_s) / 3600)
        made_kg = embodied_kg([100.0 * node.gpu + 30.0 for node in case.nodes], 5 * YEAR_S, run)
        assert seen.co2_embodied_kg == pytest.approx(made_kg, rel=1e-9)
        if seen.gpu_hours > 0:
            assert seen.sci_g_per_gpu_hour == pytest.approx(sci(float(operational_g), made_kg * 1000, run), rel=1e-9)
        assert (seen.work is None) == (case.options.speeds is None)
        if seen.work is not None:
            assert close(seen.work, work_s(run, run.horizon_s) / 3600)
        if run.horizon_s > 0:
            low, high = (float(percentile_w(run, percent)) for percent in (99 - 1e-6, 99 + 1e-6))
            assert low * (1 - 1e-9) <= seen.p99_kw * 1000 <= high * (1 + 1e-9)


def test_waits_and_outcomes_are_the_second_implementations() -> None:
    for seed in SEEDS:
        case = timed_case(seed)
        run = case.run()
        seen = account(simulated(case), timed_tasks(case), make_datacenter(case.nodes))
        counts = Counter(run.outcome)
        assert seen.arrived == len(run.tasks) - counts[None]
        for outcome in ("done", "running", "waiting", "failed", "refused", "gave_up"):
            assert getattr(seen, outcome) == counts[outcome]
        waits = [waited for i in range(len(run.tasks)) if (waited := wait_s(run, i)) is not None]
        assert (seen.wait_mean_s is None) == (not waits)
        if waits:
            assert seen.wait_mean_s == pytest.approx(np.mean(waits), rel=1e-9)
            for percent in (50, 95, 99):
                expected = float(np.percentile(waits, percent))
                assert getattr(seen, f"wait_p{percent}_s") == pytest.approx(expected, rel=1e-9)
