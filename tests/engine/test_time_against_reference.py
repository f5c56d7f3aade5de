"""Runs in time: the engine and the plain second implementation agree to the last event, on random small cases."""

from __future__ import annotations

import pytest

from time_cases import TimedCase, smaller, timed_case
from time_engine import assert_same, simulated


def differs(case: TimedCase) -> bool:
    try:
        assert_same(simulated(case), case.run())
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("block", range(4))
def test_every_task_and_joule_is_the_second_implementations(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        case = timed_case(seed)
        if differs(case):
            case = smaller(case, differs)
            print(f"seed {seed}: {case}")
            assert_same(simulated(case), case.run())
