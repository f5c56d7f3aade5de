"""`wattpack explain --at TIME`: what became of a task by then, or why it still waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from math import inf

import numpy as np

from wattpack.datasets.cap_speed_files import load_cap_speeds
from wattpack.energy.chosen import chosen_budget
from wattpack.engine.moments.options import TimeOptions, with_caps
from wattpack.engine.moments.record import OUTCOMES
from wattpack.engine.moments.simulate import Simulation
from wattpack.engine.moments.why import (
    BEHIND,
    BUDGET,
    NO_ROOM,
    NOT_ARRIVED,
    NOT_JOINED,
    SAME_CLASS,
    STARTS,
    WAKE,
    Why,
    why,
)
from wattpack.engine.runs.record import gpu_index_text
from wattpack.experiments.sleep_and_caps import caps_of, check_caps, sleep_of
from wattpack.experiments.timed_fields import timed_of
from wattpack.model.caps import SPEED_UNDER_CAP, capped, speed_under_cap
from wattpack.model.durations import seconds_of
from wattpack.model.fit import VERDICT_WORDS
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile


def options_at(
    at: str,
    queue: str,
    patience: str | None,
    budget_kw: str | None,
    start: datetime | None,
    option_at: str = "--at",
    option_patience: str = "--patience",
) -> TimeOptions:
    """A run in time that ends at `at`; `start` is the clock time of the first arrival, which budgets may need.

    `option_at`, `option_patience`: what an error calls them.
    """
    end_s = seconds_of(at, option_at)
    return TimeOptions(
        queue,
        inf if patience is None else seconds_of(patience, option_patience),
        None if budget_kw is None else chosen_budget(budget_kw).on_run_clock(start).scaled(1000),
        end_s,
        sample_s=max(end_s, 1.0),
    )


def with_sleep_and_caps(
    options: TimeOptions,
    datacenter: Datacenter,
    profile: PowerProfile,
    sleep: bool | str | None,
    cap: str | float | Mapping[str, float] | None,
    cap_speed: str | None,
) -> tuple[TimeOptions, PowerProfile]:
    """The options with sleep and caps, and the profile with its GPUs capped."""
    timed = timed_of({"sleep": sleep, "cap": cap, "cap_speed": cap_speed})
    options = replace(options, sleep=sleep_of(timed.sleep, int(datacenter.gpus.sum())))
    check_caps(timed.cap, datacenter.models)
    caps = caps_of(timed.cap, datacenter.models)
    if not caps:
        return options, profile
    table = load_cap_speeds(timed.cap_speed) if timed.cap_speed else SPEED_UNDER_CAP
    shares = [speed_under_cap(caps.get(model, 1.0), table) for model in datacenter.models]
    return replace(options, speeds=with_caps(None, np.array(shares))), capped(profile, caps)


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
    if found.held_by == WAKE:
        node, waited_s = simulation.engine.datacenter.names[now.node], run.horizon_s - now.joined_s
        begins = "is waking since" if found.wakes_from_s <= run.horizon_s else "shuts down, begins to wake at"
        wake = f"which {begins} {found.wakes_from_s:,.0f} s and is awake at {found.awake_s:,.0f} s"
        return [f"{title}: has waited {waited_s:,.0f} s", f"it is placed on node {node}, {wake}: it starts then"]
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
    if found.explanation.node < 0:
        return [
            "it has room only on nodes that are not awake, and the power budget lets none of them wake: "
            f"{found.committed_w / 1000:,.1f} kW are drawn or promised; the budget is {found.budget_w / 1000:,.1f} kW"
        ]
    chosen = simulation.engine.datacenter.names[found.explanation.node]
    if found.held_by == BUDGET:
        return [
            f"the power budget holds it back: on {chosen}, where the policy wants it, it adds {found.added_w:,.0f} W "
            f"to {found.committed_w / 1000:,.1f} kW; the budget is {found.budget_w / 1000:,.1f} kW"
        ]
    assert found.held_by == STARTS
    return [f"nothing holds it back: it starts on {chosen}"]
