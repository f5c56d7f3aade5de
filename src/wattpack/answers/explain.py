"""One decision, node by node: `wattpack.explain`, and the tables that it and `wattpack explain` show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wattpack.answers.chosen import Plugins, imported_plugins
from wattpack.answers.explain_at import options_at, say_at, with_sleep_and_caps
from wattpack.answers.text import Shown, say
from wattpack.choose.choice import Choice, resolve
from wattpack.datasets.inflation import seeded
from wattpack.datasets.sources import as_datacenter, as_workload
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import Explanation
from wattpack.engine.core.explain import explain as explain_decision
from wattpack.engine.moments.options import BACKFILL, TimeOptions
from wattpack.engine.moments.simulate import new_simulation
from wattpack.engine.moments.why import placement
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.engine.runs.record import gpu_index_text
from wattpack.errors import UserError
from wattpack.experiments.spec.chosen import check_models, chosen_policy, chosen_profile, chosen_seed
from wattpack.frames import new_frame
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.model.timed_tasks import TimedTasks
from wattpack.policies.expression import FILL_UP, STEADY, canonical

if TYPE_CHECKING:
    from pandas import DataFrame

TOP = 20


@dataclass(frozen=True, repr=False)
class Explained(Shown):
    """The answer of `wattpack.explain`: what is said of the task, and the `decision` that placed it, if there is one.

    `decision.total`, `.raw`, `.weighted`, `.verdict`, ...: numpy arrays by node; `decision.node` is the chosen one, -1
    if the task fits nowhere.
    """

    task: TaskClass
    name: str
    lines: tuple[str, ...]  # what `auto` chose; what became of the task by a moment
    decision: Explanation | None
    moment: str
    top: int = TOP

    @property
    def node(self) -> str:
        """The name of the chosen node, empty if there is none."""
        found = self.decision
        return found.datacenter.names[found.node] if found is not None and found.node >= 0 else ""

    def show(self, console: Console) -> None:
        say(console, *self.lines)
        if self.decision is not None:
            show_decision(self.decision, self.task, self.name, self.moment, self.top, console)

    def to_pandas(self) -> DataFrame:
        """A row a node, best first: the score of each policy of the expression, the total, and why it does not fit."""
        if self.decision is None:
            return new_frame({"node": [], "total": [], "reason": []})
        found, order = self.decision, [int(n) for n in self.decision.order]
        columns = {"node": [found.datacenter.names[n] for n in order]}
        scores = {c.policy.name: found.weighted[i][order] for i, c in enumerate(found.mix.components)}
        fits = [bool(found.takes_part[n]) for n in order]
        why = ["" if own else found.reason(n) for n, own in zip(order, fits, strict=True)]
        chosen = [n == found.node for n in order]
        return new_frame(columns | scores | {"total": found.total[order], "chosen": chosen, "reason": why})


def explain(
    datacenter: Datacenter | str | Path,
    trace: Workload | str | Path,
    policy: str,
    task: str,
    *,
    target: Workload | str | Path | None = None,
    profile: PowerProfile | str | None = None,
    power: str | Path | None = None,
    seed: int = 0,
    top: int = TOP,
    at: float | str | None = None,
    queue: str = BACKFILL,
    patience_s: float | str | None = None,
    budget_kw: float | str | None = None,
    sleep: bool | str | None = None,
    cap: str | float | Mapping[str, float] | None = None,
    cap_speed: str | None = None,
    plugin: Plugins = (),
) -> Explained:
    """Place the tasks that come before `task`, then say how `policy` sees every node for it.

    `task` is a name, or a place like `#3`. With `at`, a time since the first arrival such as `2h`, the tasks run at
    their times, and the answer is what became of the task by then, or why it still waits; `queue`, `patience_s`,
    `budget_kw`, `sleep`, `cap` are for that. `top`: nodes that `print` shows, 0 for all.
    """
    imported_plugins(plugin)
    expression = canonical(chosen_policy(policy))
    watts = chosen_profile(profile, power)
    nodes = as_datacenter(datacenter, watts)
    check_models(nodes, watts)
    tasks = as_workload(trace)
    named = trace if isinstance(trace, str | Path) else tasks.name
    if top < 0:
        raise UserError(f"top: {top}, expected 0 (all) or more")
    index = task_index(tasks, task, named, "task")
    aim = tasks if target is None else as_workload(target, "target")
    question = Question(nodes, tasks, index, expression, aim, watts, chosen_seed(seed), top)
    if at is None:
        if (sleep, cap, cap_speed) != (None, None, None):
            raise UserError("sleep or cap without at: a decision alone has no time, expected at too")
        return question.answer()
    if isinstance(tasks.times, UserError):
        raise tasks.times
    if tasks.times is None:
        raise UserError(f"at: {named} has no times, expected tasks with times of arrival and durations")
    timed = tasks.times
    wait, kw = (None if one is None else str(one) for one in (patience_s, budget_kw))
    options = options_at(str(at), queue, wait, kw, timed.start, "at", "patience_s")
    options, watts = with_sleep_and_caps(options, nodes, watts, sleep, cap, cap_speed)
    return question.answer_at(timed, options, watts)


@dataclass(frozen=True)
class Question:
    """A task, and the fleet and policy that decide about it. `faults`: as whose an error of a policy counts."""

    nodes: Datacenter
    tasks: Workload
    index: int  # of the task
    policy: str
    target: Workload
    watts: PowerProfile
    seed: int
    top: int
    faults: AbstractContextManager[None] = field(default_factory=nullcontext)

    def answer(self) -> Explained:
        """The decision after all earlier tasks."""
        luck = draw_luck(self.tasks, seeded(self.seed).policy)
        own = self.tasks
        before = Workload(own.classes, own.sequence[: self.index], own.task_names, own.name)
        mix, choice = resolve(self.policy, self.nodes, self.target, self.watts, FILL_UP)
        with self.faults:
            engine = Engine(self.nodes, own.classes, mix, Target.of(self.target), self.watts)
            run_arrivals(engine, before, luck[: self.index])
            found = explain_decision(engine, int(own.sequence[self.index]), luck[self.index])
        return self._told(choice, [], found, f"after {self.index} earlier tasks")

    def answer_at(self, timed: TimedTasks, options: TimeOptions, watts: PowerProfile) -> Explained:
        """What became of the task at the end of `options`; `watts`: under its caps."""
        mix, choice = resolve(self.policy, self.nodes, self.target, self.watts, STEADY)  # as `simulate` does
        with self.faults:
            told = (self.nodes, timed, mix, Target.of(self.target))
            simulation = new_simulation(*told, seeded(self.seed).policy, watts, options)
            simulation.to_end()
            again = new_simulation(*told, seeded(self.seed).policy, watts, options)
            decided = placement(again, self.index) if simulation.run.tasks.node[self.index] >= 0 else None
        moment = f"at {float(again.run.now[0].clock_s):,.0f} s" if decided is not None else ""
        return self._told(choice, say_at(simulation, self.index), decided, moment)

    def _told(self, choice: Choice | None, lines: list[str], found: Explanation | None, moment: str) -> Explained:
        said = [*([] if choice is None else [choice.text]), *lines]
        task = self.tasks.classes[int(self.tasks.sequence[self.index])]
        return Explained(task, self.tasks.task_name(self.index), tuple(said), found, moment, self.top)


def task_index(workload: Workload, name: str, file: object, option: str) -> int:
    names = workload.task_names or ()
    if name not in names:
        if (match := re.fullmatch(r"#([0-9]+)", name)) and 1 <= int(match[1]) <= len(names):
            return int(match[1]) - 1
        raise UserError(f"{option} {name!r}: {file} has no task of this name ({len(names)} tasks)")
    same = [place for place, other in enumerate(names, 1) if other == name]
    if len(same) > 1:
        places = ", ".join(f"#{place}" for place in same[:5]) + (", ..." if len(same) > 5 else "")
        raise UserError(f"{option} {name!r}: {file} has {len(same)} tasks of this name, expected a place: {places}")
    return same[0] - 1


def show_decision(
    explanation: Explanation, task: TaskClass, name: str, moment: str, top: int, console: Console
) -> None:
    console.print(Text(f"task {name} ({task.text}), {moment}, policy {explanation.mix.expression}"))
    fitting = [int(n) for n in explanation.order if explanation.takes_part[n]]
    refused = [int(n) for n in explanation.order if not explanation.takes_part[n]]
    shown, hidden = (fitting, refused) if top == 0 else (fitting[:top], refused[:top])
    if fitting:
        console.print(score_table(explanation, shown))
        console.print(Text(f"{len(fitting)} {'node fits' if len(fitting) == 1 else 'nodes fit'}, {len(shown)} shown"))
        for c, component in enumerate(explanation.mix.components):
            if component.policy.terms > 1:
                console.print(Text(f"\nterms of {component.policy.name}, each times its price: they add up to raw"))
                console.print(term_table(explanation, c, shown))
                for name in priced_terms(explanation, c, shown):
                    if name in explanation.meanings:
                        console.print(Text(f"{name}: {explanation.meanings[name]}"))
    if refused:
        console.print(refusal_table(explanation, hidden))
        reasons = "; ".join(f"{reason}: {count}" for reason, count in explanation.reasons.items())
        do_not = "node does" if len(refused) == 1 else "nodes do"
        console.print(Text(f"{len(refused)} {do_not} not fit, {len(hidden)} shown ({reasons})"))
    if explanation.node < 0:
        console.print(Text("decision: the task fits nowhere and fails"))
    else:
        gpus = gpu_index_text(explanation.gpus)
        chosen = explanation.datacenter.names[explanation.node]
        why = "the only node that fits, taken unscored" if len(fitting) == 1 else "largest total, first in node order"
        console.print(Text(f"decision: node {chosen}{f', GPU {gpus}' if gpus else ''} ({why})"))


def score_table(explanation: Explanation, nodes: list[int]) -> Table:
    """Raw, normalised and weighted score of every component, and the total, best node first."""
    table = Table(show_edge=False)
    table.add_column("node")
    for component in explanation.mix.components:
        policy = component.policy.name
        for what in ("raw", "normalised", f"x {component.weight}"):
            table.add_column(f"{policy}\n{what}", justify="right")
    longer = explanation.extension_w
    if longer is not None:  # where nodes sleep
        table.add_column("W, awake\nfor longer", justify="right")
    table.add_column("total", justify="right")
    for n in nodes:
        cells = []
        for c in range(len(explanation.mix.components)):
            scores = (explanation.raw[c, n], explanation.normalised[c, n], explanation.weighted[c, n])
            cells += [f"{value:g}" for value in scores]
        if longer is not None:
            cells.append(f"{-longer[n]:.1f}")
        name = explanation.datacenter.names[n]
        table.add_row(Text(f"{name} <-" if n == explanation.node else name), *cells, f"{explanation.total[n]:g}")
    return table


def priced_terms(explanation: Explanation, c: int, nodes: list[int]) -> dict[str, int]:
    """The terms of component `c` that are not 0 on all nodes shown, by name, and their rows."""
    at = sum(component.policy.terms for component in explanation.mix.components[:c])
    names = enumerate(explanation.mix.components[c].policy.term_names, at)
    return {name: row for row, name in names if (explanation.priced[row, nodes] != 0).any()}


def term_table(explanation: Explanation, c: int, nodes: list[int]) -> Table:
    """Term times price of component `c`; terms that are 0 on all nodes shown are left out."""
    rows = priced_terms(explanation, c, nodes)
    table = Table(show_edge=False)
    for name in ("node", *rows, "sum"):
        table.add_column(name, justify="left" if name == "node" else "right")
    for n in nodes:
        cells = [f"{explanation.priced[row, n] + 0.0:.2f}" for row in rows.values()]  # -0.0 + 0.0 is 0.0
        name = explanation.datacenter.names[n]
        table.add_row(Text(f"{name} <-" if n == explanation.node else name), *cells, f"{explanation.raw[c, n]:.2f}")
    return table


def refusal_table(explanation: Explanation, nodes: list[int]) -> Table:
    table = Table(show_edge=False)
    table.add_column("node")
    table.add_column("does not fit: first reason")
    for n in nodes:
        table.add_row(Text(explanation.datacenter.names[n]), explanation.reason(n))
    return table
