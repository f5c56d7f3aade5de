"""`wattpack explain --at TIME`: what became of a task by then, or why it still waits."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from math import inf

from wattpack.energy.chosen import chosen_budget
from wattpack.engine.moments.options import TimeOptions
from wattpack.engine.moments.record import OUTCOMES
from wattpack.engine.moments.simulate import Simulation
from wattpack.engine.moments.why import BEHIND, BUDGET, NO_ROOM, NOT_ARRIVED, NOT_JOINED, SAME_CLASS, STARTS, Why, why
from wattpack.engine.runs.record import gpu_index_text
from wattpack.model.durations import seconds_of
from wattpack.model.fit import VERDICT_WORDS


def options_at(at: str, queue: str, patience: str | None, budget_kw: str | None, start: datetime | None) -> TimeOptions:
    """A run in time that ends at `at`; `start` is the clock time of the first arrival, which budgets may need."""
    end_s = seconds_of(at, "--at")
    return TimeOptions(
        queue,
        inf if patience is None else seconds_of(patience, "--patience"),
        None if budget_kw is None else chosen_budget(budget_kw).on_run_clock(start).scaled(1000),
        end_s,
        sample_s=max(end_s, 1.0),
    )


def say_at(simulation: Simulation, task: int) -> list[str]:
    """What there is to say about `task` at the end of the simulation's horizon, a line each."""
    run, tasks, now = simulation.run, simulation.tasks, simulation.run.tasks[task]
    name = tasks.workload.task_name
    title = f"task {name(task)} ({tasks.workload.classes[int(now.task_class)].text}) at {run.horizon_s:,.0f} s"
    found = why(simulation, task)
    if found.held_by == NOT_ARRIVED:
        arrival_s = tasks.arrival_s[task] - tasks.first_s
        return [f"{title}: has not arrived; it does at {arrival_s:,.0f} s"]
    if found.held_by == NOT_JOINED:
        return [f"{title}: has slack and joins the queue at {now.joined_s:,.0f} s, a cleaner or cheaper hour"]
    if found.explanation is None:
        return [f"{title}: {_settled(simulation, found)}"]
    waited_s = run.horizon_s - now.joined_s
    queue = f"{found.waiting:,} tasks wait, {found.ahead:,} of them joined before it"
    return [f"{title}: has waited {waited_s:,.0f} s; {queue}", *_reasons(simulation, found)]


def _settled(simulation: Simulation, found: Why) -> str:
    task = simulation.run.tasks[found.task]
    outcome = OUTCOMES[found.outcome].replace("_", " ")
    if task.node < 0:
        why_not = {"failed": ": no node had room when it arrived", "refused": ": no node could ever hold it"}
        return f"{outcome}{why_not.get(outcome, '')}"
    gpus = gpu_index_text(int(task.gpus))
    place = f"node {simulation.engine.datacenter.names[task.node]}{f', GPU {gpus}' if gpus else ''}"
    until = "ended" if outcome == "done" else "ends"
    return f"{outcome} on {place}; started at {task.start_s:,.0f} s, {until} at {task.end_s:,.0f} s"


def _reasons(simulation: Simulation, found: Why) -> list[str]:
    name = simulation.tasks.workload.task_name
    assert found.explanation is not None
    if found.held_by == BEHIND:
        head = why(simulation, found.first)
        told = _reasons(simulation, replace(head, first=head.task))
        return [f"under fifo nobody overtakes: it waits behind {name(found.first)}, which holds up the queue:", *told]
    if found.held_by == SAME_CLASS:
        return [f"it starts after {name(found.first)}, which asks for the same and joined before it"]
    if found.held_by == NO_ROOM:
        verdict = found.explanation.verdict
        counts = {words: int((verdict == code).sum()) for code, words in enumerate(VERDICT_WORDS) if code}
        nodes = "; ".join(f"{words}: {count:,}" for words, count in counts.items() if count)
        return [f"no node has room for it: {nodes} (of {len(verdict):,} nodes)"]
    chosen = simulation.engine.datacenter.names[found.explanation.node]
    if found.held_by == BUDGET:
        return [
            f"the power budget holds it back: on {chosen}, where the policy wants it, it adds {found.added_w:,.0f} W "
            f"to {found.committed_w / 1000:,.1f} kW; the budget is {found.budget_w / 1000:,.1f} kW"
        ]
    assert found.held_by == STARTS
    return [f"nothing holds it back: it starts on {chosen}"]
