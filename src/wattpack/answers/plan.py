"""How many nodes keep the wait: `wattpack.plan`, and the table that it and `wattpack plan` show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from rich.console import Console
from rich.table import Table

from wattpack.answers.chosen import Plugins, folder_of, imported_plugins, named
from wattpack.answers.text import Shown, say
from wattpack.datasets import alibaba2023
from wattpack.errors import UserError
from wattpack.experiments.lineup import BASELINE
from wattpack.experiments.plan import MOST, Plan
from wattpack.experiments.plan import plan as run_plan
from wattpack.experiments.runner import Report
from wattpack.experiments.simulate import QueuedInTime, timed_of_words
from wattpack.experiments.spec.chosen import chosen_number, chosen_policy, chosen_profile
from wattpack.experiments.timed_experiment import DEFAULT_SEEDS
from wattpack.experiments.timed_options import shown_time
from wattpack.frames import new_frame
from wattpack.model.durations import seconds_of
from wattpack.model.power import PowerProfile

if TYPE_CHECKING:
    from pandas import DataFrame

HEADER = (
    "nodes",
    "keeps",
    "wait_p50_s",
    "wait_p95_s",
    "wait_p99_s",
    "waiting",
    "refused",
    "gpu_hours",
    "kwh",
    "mean_kw",
)


@dataclass(frozen=True, repr=False)
class Planned(Shown, Plan):
    """The answer of `wattpack.plan`: `least` nodes (None: even the most do not do), and everything that was tried."""

    def show(self, console: Console) -> None:
        show(self, console)

    def to_pandas(self) -> DataFrame:
        """A row for each number of nodes that was tried: waits of the worst seed, means of the rest."""
        columns = {name: [tried.worst(name) for tried in self.tried] for name in HEADER[2:7]}
        columns |= {name: [tried.mean(name) for tried in self.tried] for name in HEADER[7:]}
        keeps = [tried.wait_p99_s <= self.limit_s for tried in self.tried]
        return new_frame({"nodes": [tried.nodes for tried in self.tried], "keeps": keeps, **columns})


def plan(
    node: str,
    wait_p99_s: float | str,
    *,
    datacenter: str | Path = alibaba2023.NAME,
    trace: str | Path = "default",
    policy: str = BASELINE,
    seeds: int | None = None,
    profile: PowerProfile | str | None = None,
    power: str | Path | None = None,
    most: int = MOST,
    out: str | Path | None = None,
    report: Report | None = None,
    on: str = "local",
    workers: int | None = None,
    plugin: Plugins = (),
    **in_time: Unpack[QueuedInTime],
) -> Planned:
    """The least number of nodes of type `node`, like `H100-8`, with which 99 of 100 tasks wait at most `wait_p99_s`.

    The wait is in seconds, or a text like `10m`. The tasks are those of a run in time with the same options:
    `load=0.7`, `days=7`, `queue`, `patience_s` and the others. With a folder `out` finished runs are kept there.
    """
    plugins = imported_plugins(plugin)
    timed = timed_of_words(in_time, "plan")
    own, tasks = named(datacenter, "datacenter"), named(trace, "trace")
    limit_s = seconds_of(str(wait_p99_s), "wait_p99_s")
    count = seeds_of(None if seeds is None else int(chosen_number(seeds, "seeds", whole=True)), timed.load, tasks)
    watts = chosen_profile(profile, power)
    with folder_of(out) as folder:
        settings = (timed, str(node), limit_s, own, tasks, chosen_policy(policy), count, folder, watts, most)
        return Planned(**vars(run_plan(*settings, report, on, workers, plugins)))


def seeds_of(seeds: int | None, load: float, trace: str, option: str = "seeds") -> int:
    """Runs with drawn tasks, 2 unless a number is given; tasks at their own times run once."""
    drawn = load > 0 or trace in alibaba2023.TRACES
    if seeds is not None and seeds != 1 and not drawn:
        word = "--load" if option.startswith("-") else "load"
        raise UserError(f"{option} {seeds} with tasks at their own times: nothing is drawn, expected {word} too")
    return (DEFAULT_SEEDS if drawn else 1) if seeds is None else seeds


def rows(found: Plan) -> list[tuple[str, ...]]:
    """A row for each number of nodes that was tried: waits of the worst seed, means of the rest."""
    lines = []
    for tried in found.tried:
        worst = [tried.worst(name) for name in HEADER[2:7]]
        waits = ["" if number != number else f"{number:.6g}" for number in worst]  # no task waited or started
        means = [f"{tried.mean(name):.6g}" for name in HEADER[7:]]
        keeps = "yes" if tried.wait_p99_s <= found.limit_s else "no"
        lines.append((str(tried.nodes), keeps, *waits, *means))
    return lines


def show(found: Plan, console: Console) -> None:
    table = Table(show_edge=False)
    for name in ("nodes", "keeps it", "wait p50", "p95", "p99", "still waiting", "refused", "GPU-hours", "kWh", "kW"):
        table.add_column(name, justify="right")
    for nodes, keeps, p50, p95, p99, waiting, refused, *means in rows(found):
        waits = [shown_wait(float(text)) if text else "-" for text in (p50, p95, p99)]
        table.add_row(nodes, keeps, *waits, waiting, refused, *(f"{float(text):,.0f}" for text in means))
    console.print(table)
    limit, tried = shown_time(found.limit_s), len(found.tried)
    answer = next((tried for tried in found.tried if tried.nodes == found.least), found.tried[-1])
    for line in answer.choices:
        say(console, f"With {answer.nodes:,} of {found.node_type}, {line}")
    if (without_node := answer.worst("refused")) > 0:
        of_all = f"{without_node:,.0f} of {answer.worst('arrived'):,.0f} tasks"
        say(
            console,
            f"With {answer.nodes:,} of {found.node_type}, {of_all} fit no node: they are refused and count in no wait.",
        )
    if found.least is None:
        most = found.tried[-1].nodes
        say(
            console,
            f"No number of {found.node_type} nodes up to {most:,} keeps the p99 of the wait at {limit} or below.",
        )
        return
    more, kept = found.least - found.there, f"the p99 of the wait at {limit} or below ({tried} numbers of nodes tried)"
    nodes, are, keep = ("node", "is", "keeps") if found.least == 1 else ("nodes", "are", "keep")
    change = f"as there {are} now"
    if more != 0:
        change = f"{abs(more):,} {'more' if more > 0 else 'fewer'} than there are"
    say(console, f"{found.least:,} {nodes} of {found.node_type}, {change}, {keep} {kept}.")


def shown_wait(seconds: float) -> str:
    """`5400` as `1.5 h`."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
