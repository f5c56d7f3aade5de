"""`wattpack.experiments.plan`: the least number of nodes that keeps the wait, by bisection."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from wattpack.experiments.plan import Tried, search


def run_with(needed: int, refused_without: int = 0, tasks: int = 10_000):  # type: ignore[no-untyped-def]
    """Runs in which tasks wait 60 s for each node that is missing; and the numbers of nodes that were tried."""
    asked: list[int] = []

    def run(nodes: int) -> Tried:
        asked.append(nodes)
        wait_s, refused = 60.0 * max(needed - nodes, 0), refused_without if nodes == 0 else 0
        return Tried(nodes, (SimpleNamespace(wait_p99_s=wait_s, refused=refused, arrived=tasks),))  # type: ignore[arg-type]

    return run, asked


@pytest.mark.parametrize("there", [0, 1, 5, 40, 41, 42, 300])
@pytest.mark.parametrize("needed", [0, 1, 2, 17, 41, 42, 200])
def test_the_least_number_is_found_wherever_the_search_starts_and_no_run_is_made_twice(there: int, needed: int) -> None:
    run, asked = run_with(needed)
    least, tried = search(run, 0.0, there, 0, 10_000)
    assert least == needed
    assert len(asked) == len(set(asked)) <= 25
    assert [one.nodes for one in tried] == sorted(asked)


def test_a_wait_above_0_may_be_allowed() -> None:
    run, _ = run_with(10)
    assert search(run, 180.0, 50, 0, 100)[0] == 7


def test_a_type_without_which_tasks_fit_nowhere_keeps_at_least_one_node() -> None:
    run, _ = run_with(0, refused_without=3)
    assert search(run, 0.0, 4, 0, 100)[0] == 1


def test_a_datacenter_of_one_type_keeps_at_least_one_node() -> None:
    run, asked = run_with(0)
    assert search(run, 0.0, 4, 1, 100)[0] == 1
    assert 0 not in asked


def test_where_no_number_does_the_search_ends_at_the_most_or_at_one_node_a_task() -> None:
    run, asked = run_with(10**9)
    assert search(run, 0.0, 4, 0, 64)[0] is None
    assert max(asked) == 64
    run, asked = run_with(10**9, tasks=6)
    assert search(run, 0.0, 4, 0, 64)[0] is None
    assert max(asked) == 10
