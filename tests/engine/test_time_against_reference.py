"""Runs in time: the engine and the plain second implementation agree to the last event, on random small cases."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from time_cases import TimedCase, smaller, tight_case, timed_case
from time_engine import run_both


def differs(case: TimedCase) -> bool:
    try:
        run_both(case)
    except AssertionError:
        return True
    return False


def check_seeds(make: Callable[[int], TimedCase], seeds: range) -> None:
    for seed in seeds:
        case = make(seed)
        if differs(case):
            case = smaller(case, differs)
            print(f"seed {seed}, reduced: {case}")
            run_both(case)


@pytest.mark.parametrize("block", range(3))
def test_every_task_and_joule_is_the_second_implementations(block: int) -> None:
    check_seeds(timed_case, range(block * 100, block * 100 + 100))


def test_so_it_is_where_a_budget_leaves_room_for_one_task_and_not_for_the_next() -> None:
    check_seeds(tight_case, range(60))


@pytest.mark.parametrize("sleep", [True, False], ids=["sleep and caps", "caps"])
def test_so_it_is_with_nodes_asleep_and_capped_gpus(sleep: bool) -> None:
    check_seeds(lambda seed: timed_case(seed, sleep=sleep, caps=True), range(100))
    check_seeds(lambda seed: tight_case(seed, sleep=sleep), range(100, 120))
