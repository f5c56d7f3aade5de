"""The rule of sleep: who goes, who wakes for the reserve, in which order."""

from __future__ import annotations

import numpy as np
import pytest

from wattpack.errors import UserError
from wattpack.model.sleeping import idle_times_s, reserve_of, reserve_text, sleep_order, who_sleeps, who_wakes


def ask(rule, order, chosen, gpus, free, reserve):  # type: ignore[no-untyped-def]
    """The nodes that the rule names, in its order."""
    columns = [np.array(column, dtype=np.int64) for column in (order, chosen, gpus)]
    found = np.zeros(len(gpus), dtype=np.int64)
    return found[: rule(*columns, free, reserve, found)].tolist()


def test_the_node_with_most_idle_watts_per_gpu_goes_first_and_ties_keep_the_order_of_nodes() -> None:
    # 800/8 = 100, 300/2 = 150, no GPU: 120, 1200/8 = 150
    idle_mw, gpus = np.array([800, 300, 120, 1200]) * 1000, np.array([8, 2, 0, 8])
    assert sleep_order(idle_mw, gpus).tolist() == [1, 3, 2, 0]


def test_a_node_that_would_break_the_reserve_is_passed_over_and_a_smaller_one_goes() -> None:
    # 12 free: the first leaves 4 of 6; the second leaves 10, the third 8.
    assert ask(who_sleeps, [0, 1, 2], [1, 1, 1], [8, 2, 2], 12, 6) == [1, 2]


def test_only_nodes_that_were_empty_for_long_enough_go() -> None:
    assert ask(who_sleeps, [2, 1, 0], [1, 0, 1], [1, 1, 1], 3, 0) == [2, 0]


def test_for_the_reserve_the_node_wakes_that_would_sleep_last_and_no_more_than_needed() -> None:
    assert ask(who_wakes, [0, 1, 2], [1, 1, 1], [4, 4, 4], 1, 5) == [2]
    assert ask(who_wakes, [0, 1, 2], [1, 1, 0], [4, 4, 4], 1, 9) == [1, 0]
    assert ask(who_wakes, [0, 1, 2], [1, 1, 1], [4, 4, 4], 5, 5) == []


def test_a_node_without_gpus_does_not_wake_for_the_reserve() -> None:
    assert ask(who_wakes, [0, 1], [1, 1], [4, 0], 0, 1) == [0]


def test_a_node_just_woken_for_the_reserve_does_not_sleep_again_at_once() -> None:
    # 0 free, reserve 2: the node of 4 wakes. With 4 free, it alone could not go: 4 - 4 < 2.
    assert ask(who_wakes, [0], [1], [4], 0, 2) == [0]
    assert ask(who_sleeps, [0], [1], [4], 4, 2) == []


def test_ski_rental_is_the_energy_of_a_shutdown_and_wake_by_the_watts_saved() -> None:
    # 360 s * 100 W / 90 W = 400 s; a node that saves nothing never sleeps.
    found = idle_times_s(np.array([100_000, 10_000]), np.array([10_000, 10_000]), None, 360.0)
    assert found.tolist() == [400.0, np.inf]
    assert idle_times_s(np.array([1]), np.array([0]), 7.0, 360.0).tolist() == [7.0]


def test_a_reserve_is_a_number_or_a_share_rounded_up() -> None:
    assert [reserve_of(reserve_text(text, "sleep"), 101) for text in ("8", "2%", "0%", "100%")] == [8, 3, 0, 101]
    with pytest.raises(UserError, match=r"reserve '2\.5'"):
        reserve_text("2.5", "sleep")
