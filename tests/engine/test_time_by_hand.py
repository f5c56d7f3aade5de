"""Runs in time worked out by hand: the second implementation gives these numbers, and so does the engine.

One T4 draws 10 W idle and 70 W in use, a V100M32 30 and 300; a socket of 32 vCPU 15 and 120.
"""

from __future__ import annotations

from math import inf

import pytest

from builders import make_node, make_task
from reference import Node, Task
from time_cases import TimedCase
from time_engine import run_both
from time_reference.accounts import energy_j, facility_times, gpu_s, it_kwh, wait_s, work_s
from time_reference.inputs import BACKFILL, DROP, FIFO, Options, TimedTask
from time_reference.moments import Run
from time_reference.slack import PERFECT, YESTERDAY, joins_s

ONE_T4 = [make_node(gpus=1, cpu=32, model="T4")]
WHOLE = make_task(gpu=1, cpu=1)
HALF = make_task(gpu=0.5, cpu=1)


def run_of(
    nodes: list[Node], tasks: list[TimedTask], policy: str = "fgd", joined_s: list[float] | None = None, **told: object
) -> Run:
    options = Options(**told)  # type: ignore[arg-type]
    named = [Node(f"n{i}", n.cpu_milli, n.memory_mib, n.gpu, n.model) for i, n in enumerate(nodes)]
    case = TimedCase(named, tasks, [(policy, 1000)], [timed.task for timed in tasks], options, [(0.0, 0.0)], PERFECT)
    return run_both(case)


def tasks_at(task: Task, *times: tuple[float, float]) -> list[TimedTask]:
    return [TimedTask(task, arrival_s, duration_s) for arrival_s, duration_s in times]


@pytest.mark.parametrize(
    ("queue", "starts", "outcomes"),
    [
        (DROP, [0, None, 2], ["done", "failed", "done"]),
        (FIFO, [0, 10, 10], ["done", "done", "done"]),  # the CPU task stands behind the GPU task
        (BACKFILL, [0, 10, 2], ["done", "done", "done"]),
    ],
)
def test_what_a_task_does_that_cannot_start_is_up_to_the_queue(
    queue: str, starts: list[float], outcomes: list[str]
) -> None:
    tasks = [*tasks_at(WHOLE, (0, 10), (1, 10)), TimedTask(make_task(cpu=1), 2, 1)]
    run = run_of(ONE_T4, tasks, discipline=queue, horizon_s=20.0)
    assert (run.start_s, run.outcome) == (starts, outcomes)


def test_energy_and_gpu_hours_are_those_of_the_time_each_task_ran() -> None:
    """Busy from 0 to 4 and from 8 to 10 = the end: GPU 6 * 70 + 4 * 10 = 460 J, CPU 6 * 120 + 4 * 15 = 780 J,
    base 10 * 25 J. With a PUE of 1.5, 100 g/kWh until 5 and 200 g/kWh then:
    [190 * 4 + 25 * 1 + 25 * 5] J of the first 5 s are (760 + 25 + 125) J, the other 5 s 2 * 190 + 3 * 25 + 125 = 580 J.
    """
    run = run_of(ONE_T4, tasks_at(WHOLE, (0, 4), (8, 100)), horizon_s=10.0, base_w=25.0)
    assert run.outcome == ["done", "running"]
    assert energy_j(run, 10.0) == [460, 780, 250, 0, 0]
    assert it_kwh(run) * 3_600_000 == 1490
    assert gpu_s(run, 10.0) == 6
    assert facility_times(run, 1.5, [(0.0, 100.0), (5.0, 200.0)]) * 3_600_000 == 1.5 * (100 * 910 + 200 * 580)


def test_a_task_that_leaves_makes_room_for_one_that_comes_at_the_same_time() -> None:
    run = run_of(ONE_T4, tasks_at(WHOLE, (0, 5), (5, 5)))
    assert run.start_s == [0, 5]


def test_tasks_of_no_length_start_one_after_the_other_at_one_instant() -> None:
    """They leave before the next round of steps; under `drop` there is no next round for the second."""
    tasks = tasks_at(WHOLE, (0, 0), (0, 0), (0, 3))
    assert run_of(ONE_T4, tasks, discipline=FIFO, horizon_s=5.0).start_s == [0, 0, 0]
    assert run_of(ONE_T4, tasks, discipline=DROP, horizon_s=5.0).outcome == ["done", "failed", "failed"]


def test_patience_that_ends_when_room_is_made_ends_first() -> None:
    run = run_of(ONE_T4, tasks_at(WHOLE, (0, 5), (1, 5), (2, 5)), discipline=FIFO, patience_s=4.0)
    assert (
        run_of(ONE_T4, tasks_at(WHOLE, (0, 5), (1, 5)), discipline=FIFO, patience_s=4.5, horizon_s=9.0).start_s[1] == 5
    )
    assert run.outcome == ["running", "waiting", "waiting"]  # the horizon ends with the last arrival, at 2
    longer = run_of(ONE_T4, tasks_at(WHOLE, (0, 5), (1, 5), (2, 5)), discipline=FIFO, patience_s=4.0, horizon_s=10.0)
    assert longer.outcome == ["done", "gave_up", "done"]
    assert [wait_s(longer, i) for i in range(3)] == [0, 4, 3]


def test_a_task_that_fits_no_empty_node_is_refused_whatever_the_queue() -> None:
    for queue in (DROP, FIFO, BACKFILL):
        run = run_of(ONE_T4, [TimedTask(make_task(gpu=2), 0, 1), TimedTask(WHOLE, 0, 1)], discipline=queue)
        assert run.outcome == ["refused", "running"]


def test_tasks_after_the_horizon_are_no_part_of_the_run_and_those_at_its_end_are() -> None:
    run = run_of(ONE_T4, tasks_at(HALF, (3, 1), (5, 1), (5.5, 1)), horizon_s=2.0)
    assert run.outcome == ["done", "running", None]
    assert gpu_s(run, 2.0) == 0.5


def test_a_budget_stops_starts_that_raise_power_and_no_others() -> None:
    """Idle 25 W; the first half GPU makes it 190 W. The second, on the same GPU and socket, adds nothing."""
    budget = [(0.0, 189.0), (4.0, 190.0), (6.0, 100.0)]
    tasks = tasks_at(HALF, (0, 10), (0, 1), (7, 1), (7, 1))
    run = run_of(ONE_T4, tasks, discipline=FIFO, budget_w=budget, horizon_s=20.0)
    assert run.start_s == [4, 4, 7, 8]
    assert run_of(ONE_T4, tasks, discipline=DROP, budget_w=budget, horizon_s=20.0).outcome == ["failed"] * 4


# Under dotprod a whole-GPU task wants the V100 (98 points against 97): 110 W idle + 105 + 270 = 485 W, too much. Two
# small tasks go to the T4 node (99 each, the first of equals). Then that has 98 points for a whole GPU as well, and
# comes first: 110 + 105 + 60 + 60 = 335 W.
UNLIKE = [make_node(gpus=2, cpu=64, model="T4"), make_node(gpus=1, cpu=64, model="V100M32")]
LARGE, SMALL = make_task(gpu=1, cpu=4), make_task(gpu=0.3, cpu=1)
NO_LENGTH = TimedTask(make_task(gpu=0.1, cpu=1), 0, 0)


def test_where_a_task_cannot_start_no_later_one_of_its_class_is_tried_in_the_pass() -> None:
    """At 3 s the large task is tried before the small ones start; the other large one comes after them. The next
    moment is when the small ones leave, at 8 s: the T4 node is empty, both want the V100 again, and wait on."""
    tasks = [TimedTask(LARGE, 1, 2), *tasks_at(SMALL, (3, 5), (3, 5)), TimedTask(LARGE, 3, 2), NO_LENGTH]
    run = run_of(UNLIKE, tasks, "dotprod", discipline=BACKFILL, budget_w=[(0.0, 423.0)], horizon_s=20.0)
    assert run.start_s == [None, 3, 3, None, 0]


def test_an_instant_at_which_nothing_happens_is_no_moment() -> None:
    """With a patience of 4 s that of the task of no length would end at 4 s, but it has left. A moment then would
    start the large task on the T4 node; so it gives up at 5 s."""
    tasks = [TimedTask(LARGE, 1, 2), *tasks_at(SMALL, (3, 5), (3, 5)), NO_LENGTH]
    told = {"discipline": BACKFILL, "budget_w": [(0.0, 423.0)], "horizon_s": 20.0}
    run = run_of(UNLIKE, tasks, "dotprod", patience_s=4.0, **told)
    assert (run.outcome[0], run.start_s[1:]) == ("gave_up", [3, 3, 0])
    arrival = TimedTask(make_task(gpu=8), 4, 0)  # refused; but an arrival is an event
    assert run_of(UNLIKE, [*tasks, arrival], "dotprod", patience_s=4.0, **told).start_s[0] == 4


def test_batch_tasks_run_by_the_speed_of_their_gpus_services_and_cpu_tasks_do_not() -> None:
    """Mean speed of two T4 and a V100M32: (2 * 0.5 + 2) / 3 = 1. On a T4 6 s take 12."""
    nodes = [make_node(gpus=2, cpu=64, model="T4"), make_node(gpus=1, cpu=64, model="V100M32")]
    t4, v100 = make_task(gpu=1, spec="T4"), make_task(gpu=1, spec="V100M32")
    tasks = [
        TimedTask(t4, 0, 6),
        TimedTask(t4, 0, 6, batch=False),
        TimedTask(v100, 0, 6),
        TimedTask(make_task(cpu=1), 0, 6),
    ]
    run = run_of(nodes, tasks, speeds={"T4": 0.5, "V100M32": 2.0}, horizon_s=20.0)
    assert run.end_s == [12, 6, 3, 6]
    assert work_s(run, 20.0) == 12 * 0.5 + 3 * 2
    assert work_s(run, 2.0) == 2 * 0.5 + 2 * 2


def test_a_task_without_end_runs_until_the_horizon() -> None:
    run = run_of(ONE_T4, tasks_at(WHOLE, (0, inf)), horizon_s=7.0)
    assert (run.outcome, gpu_s(run, 7.0)) == (["running"], 7)


# ---- waiting for clean or cheap hours --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("duration_s", "slack_s", "joins"),
    [
        (1.0, 0.0, 1.0),
        (1.0, 4.0, 4.0),  # 1 g from 4 to 6
        (4.0, 4.0, 2.0),
        (4.0, 1.0, 2.0),
        (0.0, 9.0, 4.0),  # the value at an instant
        (1.0, 2.9, 2.0),  # 2 g at 2; 4 lies behind 1 + 2.9
        (inf, 9.0, 1.0),  # all means are the same
    ],
)
def test_a_task_with_slack_joins_at_the_stamp_with_the_least_mean(
    duration_s: float, slack_s: float, joins: float
) -> None:
    """4 g until 2, 2 g until 4, 1 g until 6, then 9 g.

    4 s from 1: 4 + 2 * 2 + 1 = 9; from 2: 2 * 2 + 2 * 1 = 6; from 4: 2 * 1 + 2 * 9 = 20.
    """
    signal = [(0.0, 4.0), (2.0, 2.0), (4.0, 1.0), (6.0, 9.0)]
    assert joins_s(TimedTask(WHOLE, 1.0, duration_s, slack_s), signal) == joins


def test_of_equal_means_the_earliest_is_taken() -> None:
    assert joins_s(TimedTask(WHOLE, 0.0, 1.0, 9.0), [(0.0, 3.0), (1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]) == 1


def test_yesterdays_values_decide_and_on_the_first_day_that_of_the_arrival() -> None:
    hour = 3600.0
    signal = [(h * hour, float(v)) for h, v in [(0, 5), (6, 1), (12, 9), (24, 5), (30, 8), (36, 2), (48, 5)]]
    timed = TimedTask(WHOLE, 26 * hour, hour, 12 * hour)
    assert joins_s(timed, signal) == 36 * hour  # as it will be
    assert joins_s(timed, signal, YESTERDAY) == 30 * hour  # as it was at 6 h
    assert joins_s(timed._replace(arrival_s=hour), signal, YESTERDAY) == hour  # all candidates look alike
