"""Nodes asleep and GPUs capped, worked out by hand.

A node of 32 vCPU and one T4 draws 25 W idle and 190 W in use, asleep here 5 W. The engine is compared as well.
"""

from __future__ import annotations

from math import inf

import pytest

from builders import make_node, make_task
from engine.test_time_by_hand import ONE_T4, WHOLE, run_of, tasks_at
from time_reference.accounts import energy_j, gpu_s, wait_s
from time_reference.inputs import BACKFILL, DROP, FIFO, Options, Sleep, TimedTask, sigma_of
from time_reference.machines import machine_of
from time_reference.watts import Watts

TIMES = Sleep(idle_s=10.0, shutdown_s=2.0, wake_s=5.0, sleep_w=5.0, reserve=0)
TWO_T4 = [*ONE_T4, *ONE_T4]
LATE = TimedTask(make_task(gpu=8), 100, 0)  # refused; its arrival makes the run long


def test_a_node_sleeps_after_its_idle_time_and_a_task_waits_for_its_wake() -> None:
    """Busy 0 to 4, idle to 14, shuts down to 16, asleep to 20, wakes to 25, busy to 28, idle to 30."""
    run = run_of(ONE_T4, tasks_at(WHOLE, (0, 4), (20, 3)), sleep=TIMES, horizon_s=30.0)
    assert run.start_s == [0, 25]
    assert (run.wakes, wait_s(run, 1)) == (1, 5)
    assert energy_j(run, 30.0) == [7 * 70 + 12 * 10, 7 * 120 + 12 * 15, 0, 4 * 5, (2 + 5) * 25]
    assert gpu_s(run, 30.0) == 7


def test_every_change_of_a_nodes_state_is_noted_with_its_time() -> None:
    """Shuts down at 14, asleep at 16, wakes from 20 to 25, shuts down 10 s after the task has left at 28."""
    run = run_of(ONE_T4, tasks_at(WHOLE, (0, 4), (20, 3)), sleep=TIMES, horizon_s=39.0)  # the engine notes the same
    changes = [(14, "shutting down"), (16, "asleep"), (20, "waking"), (25, "awake"), (38, "shutting down")]
    assert run.machines[0].history == changes


def test_a_task_placed_on_a_node_that_shuts_down_waits_for_the_shutdown_and_the_wake() -> None:
    run = run_of(ONE_T4, tasks_at(WHOLE, (0, 4), (15, 3)), sleep=TIMES, horizon_s=30.0)
    assert run.start_s == [0, 16 + 5]
    assert energy_j(run, 30.0)[3:] == [0, 7 * 25]


def test_a_task_that_is_placed_does_not_give_up_and_counts_as_waiting_at_the_end() -> None:
    tasks = tasks_at(WHOLE, (0, 4), (20, 3))
    assert run_of(ONE_T4, tasks, sleep=TIMES, horizon_s=30.0, patience_s=1.0).start_s == [0, 25]
    cut = run_of(ONE_T4, tasks, sleep=TIMES, horizon_s=22.0)
    assert (cut.outcome, cut.node, wait_s(cut, 1)) == (["done", "waiting"], [0, 0], 2)
    assert run_of(ONE_T4, tasks, sleep=TIMES, discipline=DROP, horizon_s=22.0).outcome[1] == "waiting"  # it was placed


def test_awake_nodes_come_before_waking_ones_and_those_before_sleeping_ones() -> None:
    """Both asleep from 12 s on. The first half GPU wakes n0, the second goes there too, a whole one wakes n1."""
    half = make_task(gpu=0.5, cpu=1)
    tasks = [LATE._replace(arrival_s=0), *tasks_at(half, (20, 9), (21, 9)), *tasks_at(WHOLE, (22, 9))]
    run = run_of(TWO_T4, tasks, sleep=TIMES, horizon_s=40.0)
    assert (run.node[1:], run.start_s[1:]) == ([0, 0, 1], [25, 25, 27])


def test_the_reserve_of_free_gpus_stays_awake_and_the_hungriest_nodes_per_gpu_sleep_first() -> None:
    """Idle watts per GPU: n0 (15 + 20) / 2 = 17.5, n1 25, n2 15, without GPU. With a reserve of 2 n1 and n2 sleep.

    They are idle for 10 s, shut down for 2 and sleep for 88.
    """
    nodes = [make_node(gpus=2, cpu=32, model="T4"), *ONE_T4, make_node(gpus=0, cpu=32)]
    tasks = [LATE._replace(arrival_s=0), LATE]
    run = run_of(nodes, tasks, sleep=Sleep(10.0, 2.0, 5.0, 5.0, reserve=2))
    assert [machine.state for machine in run.machines] == ["awake", "asleep", "asleep"]
    assert energy_j(run, 100.0) == [20 * 100 + 10 * 10, 15 * 100 + 2 * 15 * 10, 0, 2 * 88 * 5, 2 * (25 + 15)]


def test_a_node_wakes_when_the_reserve_is_short_if_that_is_asked_for() -> None:
    """n0 sleeps from 12 s on, n1 is the reserve of 1. The task at 40 s takes it, so n0 wakes until 45 s, and stays.

    The task has left at 45 s too: n1 is empty for 10 s at 55 s and not needed for the reserve, nor is n0. n0 is first
    in the order of sleep, so it sleeps and n1 is the reserve again.
    """
    tasks = [LATE._replace(arrival_s=0), *tasks_at(WHOLE, (40, 5)), LATE]
    run = run_of(TWO_T4, tasks, sleep=Sleep(10.0, 2.0, 5.0, 5.0, reserve=1, wake_for_reserve=True))
    first = [(10, "shutting down"), (12, "asleep"), (40, "waking"), (45, "awake"), (55, "shutting down")]
    assert run.machines[0].history == [*first, (57, "asleep")]
    assert run.machines[1].history == []
    assert run.wakes == 1


def test_a_node_that_is_passed_over_is_looked_at_again_at_the_next_moment() -> None:
    """n0 sleeps at 10 s; n1 is the reserve of 1 and passed over. At 40 s it takes a task, and is the reserve again."""
    tasks = [LATE._replace(arrival_s=0), *tasks_at(WHOLE, (40, 5)), LATE]
    run = run_of(TWO_T4, tasks, sleep=Sleep(10.0, 2.0, 5.0, 5.0, reserve=1))
    assert (run.node[1], run.start_s[1]) == (1, 40)
    assert [machine.state for machine in run.machines] == ["asleep", "awake"]
    # A second task wakes n0 at 41 s and runs there from 46 to 58. n1 is empty from 45 s on and passed over at 55 s. The
    # next moment is that at 58 s: now n0 is free, and n1 goes to sleep.
    tasks = [LATE._replace(arrival_s=0), *tasks_at(WHOLE, (40, 5), (41, 12)), LATE]
    run = run_of(TWO_T4, tasks, sleep=Sleep(10.0, 2.0, 5.0, 5.0, reserve=1))
    assert run.start_s[1:3] == [40, 46]
    assert [machine.state for machine in run.machines] == ["awake", "asleep"]
    assert energy_j(run, 100.0)[3] == (41 - 12) * 5 + (100 - 60) * 5


@pytest.mark.parametrize(("budget_w", "second_starts"), [(380.0, 25), (379.0, 34)])
def test_a_budget_counts_nodes_that_wake_for_tasks_as_if_they_ran(budget_w: float, second_starts: float) -> None:
    """Both asleep: 10 W. A task on n0 commits 190 + 5 W, the next on n1 190 + 190 W: not within 379 W. Then it starts
    on n0 at once when the first has left, at 34 s."""
    tasks = [LATE._replace(arrival_s=0), *tasks_at(WHOLE, (20, 9), (20, 9))]
    run = run_of(TWO_T4, tasks, sleep=TIMES, discipline=FIFO, budget_w=[(0.0, budget_w)], horizon_s=60.0)
    assert run.start_s[1:] == [25, second_starts]


def test_the_default_idle_time_is_the_energy_of_a_shutdown_and_a_wake_over_the_watts_saved() -> None:
    """(60 + 300) s * 25 W / (25 - 10) W = 600 s; a node that saves nothing never sleeps."""
    watts = Watts(Options(sleep=Sleep()))
    assert machine_of(ONE_T4[0], watts, watts.options).idle_s == 600
    no_saving = Watts(Options(sleep=Sleep(sleep_w=30.0)))
    assert no_saving.asleep_mw(ONE_T4[0]) == 25_000
    assert machine_of(ONE_T4[0], no_saving, no_saving.options).idle_s == inf


def test_the_default_reserve_is_two_percent_of_the_gpus() -> None:
    """Three nodes of 16 GPUs: 0.96 GPUs, so one has to stay awake."""
    nodes = [make_node(gpus=16, model="T4")] * 3
    run = run_of(nodes, [LATE._replace(arrival_s=0, task=make_task(gpu=17)), LATE], sleep=Sleep(10.0, 2.0, 5.0, 5.0))
    assert [machine.state for machine in run.machines] == ["asleep", "asleep", "awake"]


def test_with_sleep_pwr_counts_an_empty_node_as_asleep() -> None:
    """A whole GPU on a node with one G2 adds 150 - 30 + 105 = 225 W, on one with 16 T4 70 - 10 + 105 = 165 W.

    From 5 W asleep: 120 + 150 - 5 = 265 W and 120 + 70 + 15 * 10 - 5 = 335 W.
    """
    nodes = [make_node(gpus=1, cpu=32, model="G2"), make_node(gpus=16, cpu=32, model="T4")]
    assert run_of(nodes, tasks_at(WHOLE, (0, 1)), "pwr").node == [1]
    assert run_of(nodes, tasks_at(WHOLE, (0, 1)), "pwr", sleep=TIMES).node == [0]


def test_with_times_of_0_a_node_sleeps_and_wakes_within_one_instant() -> None:
    now = Sleep(idle_s=0.0, shutdown_s=0.0, wake_s=0.0, sleep_w=5.0, reserve=0)
    run = run_of(TWO_T4, tasks_at(WHOLE, (0, 4), (0, 6), (8, 1)), sleep=now, discipline=BACKFILL, horizon_s=10.0)
    assert run.start_s == [0, 0, 8]
    assert energy_j(run, 10.0) == [11 * 70, 11 * 120, 0, 9 * 5, 0]


# ---- caps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cap", "sigma"), [(1.0, 1.0), (0.9, 0.995), (0.7, 0.95), (0.65, 0.925), (0.5, 0.8), (0.2, 0.8)]
)
def test_speed_under_a_cap_is_linear_between_the_rows_of_the_table(cap: float, sigma: float) -> None:
    assert sigma_of(Options(caps={"T4": cap}), "T4") == pytest.approx(sigma, rel=1e-12)


def test_a_cap_lowers_the_full_draw_and_lengthens_batch_tasks() -> None:
    """0.5 * 70 = 35 W; 8 s at speed 0.8 are 10 s. A service runs its 8 s. A cap of 0.1 leaves the idle 10 W."""
    for cap, drawn_w, batch, end_s in ((0.5, 35, True, 10), (0.5, 35, False, 8), (0.1, 10, True, 10)):
        run = run_of(ONE_T4, [TimedTask(WHOLE, 0, 8, batch=batch)], caps={"T4": cap}, horizon_s=5.0)
        assert (run.end_s, energy_j(run, 5.0)[0]) == ([end_s], 5 * drawn_w)
    cpu_only = run_of(ONE_T4, [TimedTask(make_task(cpu=1), 0, 8)], caps={"T4": 0.5}, horizon_s=5.0)
    assert (cpu_only.end_s, energy_j(cpu_only, 5.0)) == ([8], [5 * 10, 5 * 120, 0, 0, 0])


def test_a_cap_multiplies_the_speed_of_the_table() -> None:
    """8 s * 0.5 / (0.25 * 0.8) = 20 s."""
    told = {"caps": {"T4": 0.5}, "speeds": {"T4": 0.25}, "reference_speed": 0.5, "horizon_s": 30.0}
    assert run_of(ONE_T4, [TimedTask(WHOLE, 0, 8)], **told).end_s == [20]
