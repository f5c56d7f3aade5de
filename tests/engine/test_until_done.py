"""The length of a run until done, against the plain second implementation: nothing starts or ends after it."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import numpy as np
import pytest

from builders import make_datacenter, make_mix, make_target
from time_cases import TimedCase, tight_case, timed_case
from time_engine import run_both, time_options, timed_tasks
from time_reference.inputs import STEP
from wattpack.engine.moments.simulate import endless_s, length_until_done_s, new_simulation
from wattpack.model.caps import capped
from wattpack.model.power import LINEAR, PAPER


def length_s(case: TimedCase) -> float:
    tasks, datacenter = timed_tasks(case), make_datacenter(case.nodes)
    horizon_s = endless_s(tasks, float("inf"))
    options = replace(time_options(case, case.options, datacenter), horizon_s=horizon_s, sample_s=horizon_s)
    profile = replace(PAPER if case.options.curves is STEP else LINEAR, base_w=case.options.base_w)
    watts = capped(profile, case.options.caps)
    mix, target = make_mix(case.policy), make_target(case.trace)
    joined_s = np.array(case.joined_s())
    return length_until_done_s(new_simulation(datacenter, tasks, mix, target, None, watts, options, joined_s))


@pytest.mark.parametrize(
    "make",
    [timed_case, tight_case, lambda seed: timed_case(seed, sleep=True, caps=True)],
    ids=["queues and patience", "budgets that bind", "sleep and caps"],
)
def test_nothing_starts_or_ends_after_a_run_until_done_and_not_before_it_is_over(make) -> None:  # type: ignore[no-untyped-def]
    waited = 0
    for seed in range(60):
        case = make(seed)
        found_s = length_s(case)
        exact = run_both(case._replace(options=replace(case.options, horizon_s=found_s)))
        later = case._replace(options=replace(case.options, horizon_s=10 * found_s + 1e5)).run()
        assert exact.start_s == later.start_s, seed
        ends_s = [end_s for end_s in later.end_s if end_s is not None and isfinite(end_s)]
        first_s = min((task.arrival_s for task in case.tasks), default=0.0)
        arrivals_s = [task.arrival_s - first_s for task in case.tasks]
        assert found_s == max([*ends_s, *arrivals_s], default=0.0), seed
        waited += max(ends_s, default=0.0) > max(arrivals_s, default=0.0)
    assert waited > 20  # the run goes on after the last arrival in these
