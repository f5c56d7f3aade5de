"""What must hold at every moment of a run; a run of the second implementation checks itself with these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from time_reference.machines import ASLEEP, AWAKE, SHUTTING_DOWN, WAKING, drawn_mw

if TYPE_CHECKING:
    from time_reference.moments import Run


def check_moment(run: Run) -> None:
    check_conservation(run)
    check_nodes(run)


def check_conservation(run: Run) -> None:
    """arrived = running + placed and waiting for a wake + queued + left + failed + refused + gave up"""
    ended = sum(outcome is not None for outcome in run.outcome)  # left, failed, refused, gave up
    part = sum(arrival_s <= run.horizon_s for arrival_s in run.arrival_s)
    arrived = part - len(run.to_come)
    assert arrived == len(run.running) + len(run.placed_until_awake) + len(run.queue) + ended
    open_tasks = [*run.running, *run.placed_until_awake, *run.queue, *run.to_come]
    assert len(set(open_tasks)) == len(open_tasks)
    assert all(run.outcome[i] is None for i in open_tasks)


def check_nodes(run: Run) -> None:
    """Nothing is over capacity; only the tasks of awake nodes run; draw lies between sleep_w and all maxima."""
    for n, machine in enumerate(run.machines):
        node = machine.node
        assert node.cpu_left >= 0
        assert node.memory_left >= 0
        assert all(0 <= left <= 1000 for left in node.gpu_left)
        running = sum(run.node[i] == n for i in run.running)
        assert len(node.tasks) == running + len(machine.to_start)
        assert machine.state == AWAKE or running == 0
        assert not machine.to_start or machine.state in (WAKING, SHUTTING_DOWN)
        for_reserve = run.options.sleep is not None and run.options.sleep.wake_for_reserve
        assert machine.state != WAKING or machine.to_start or for_reserve
        assert machine.state != ASLEEP or machine.empty
        least = run.watts.idle_mw(node) if run.options.sleep is None else run.watts.asleep_mw(node)
        assert least <= sum(drawn_mw(machine, run.watts)) <= run.watts.most_mw(node)


def check_start(run: Run, drawn_before: int) -> None:
    drawn = sum(run.drawn_mw())
    assert drawn <= drawn_before or drawn <= run.budget_mw(), "a start lifts IT power above the budget"


def check_wake(run: Run, drawn_before: int) -> None:
    """Tasks that waited for a wake were placed within the budget of that time, which may have fallen since."""
    values = [value for stamp_s, value in run.options.budget_w or () if stamp_s <= run.now_s]
    if values == sorted(values):
        check_start(run, drawn_before)
