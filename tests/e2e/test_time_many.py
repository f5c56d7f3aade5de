"""Runs in time against the second implementation, thousands of cases: too many for every `make test`."""

from __future__ import annotations

import pytest

from engine.test_time_against_reference import check_seeds
from time_cases import tight_case, timed_case

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("block", range(1, 11))
def test_every_task_and_joule_is_the_second_implementations(block: int) -> None:
    first = block * 10_000
    check_seeds(timed_case, range(first, first + 200))
    check_seeds(lambda seed: timed_case(seed, most_nodes=3, most_tasks=80), range(first, first + 100))
    check_seeds(tight_case, range(first, first + 200))
    check_seeds(lambda seed: timed_case(seed, sleep=True, caps=True), range(first, first + 200))
