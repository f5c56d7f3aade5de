"""How many nodes of a type keep the wait within a limit: the least number, by bisection over runs in time.

All numbers of nodes see the same tasks. Bisection supposes that more nodes do not make tasks wait longer; a policy can
break that by a little, so the runs that were tried are part of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wattpack.datasets.edits import MAX_NODES, nodes_like
from wattpack.datasets.sources import load_datacenter
from wattpack.engine.moments.options import DROP
from wattpack.errors import RunError, UserError
from wattpack.experiments.plugins import Plugin
from wattpack.experiments.runner import Outcome, Report, run_experiment, summarise_timed
from wattpack.experiments.scenario import choice_lines
from wattpack.experiments.timed_experiment import timed_experiment
from wattpack.experiments.timed_options import Timed
from wattpack.experiments.timed_result import TimedNumbers
from wattpack.model.fit_anywhere import Nowhere, fit_nowhere
from wattpack.model.power import PAPER, PowerProfile

MOST = 10_000  # nodes of the type that are tried


@dataclass(frozen=True)
class Tried:
    """The runs with one number of nodes of the type."""

    nodes: int  # of the type, in all
    runs: tuple[TimedNumbers, ...]  # seed by seed
    choices: tuple[str, ...] = ()  # what `auto` chose for this number of nodes, and why
    nowhere: tuple[Nowhere, ...] = ()  # tasks that fit no node, whatever is free

    @property
    def wait_p99_s(self) -> float:
        """Of the seed in which tasks waited longest."""
        return self.worst("wait_p99_s")

    def worst(self, measure: str) -> float:
        return float(max(getattr(run, measure) for run in self.runs))

    def mean(self, measure: str) -> float:
        return float(sum(getattr(run, measure) for run in self.runs) / len(self.runs))


@dataclass(frozen=True)
class Plan:
    """The answer: the least number of nodes, None where even `MOST` do not do; and everything that was tried."""

    node_type: str
    there: int  # nodes of the type in the datacenter as it is
    limit_s: float
    least: int | None
    tried: tuple[Tried, ...]  # by number of nodes

    @property
    def nowhere(self) -> tuple[Nowhere, ...]:
        """Tasks that fit no node with the answer's number of nodes, or with the most that were tried."""
        return next((tried for tried in self.tried if tried.nodes == self.least), self.tried[-1]).nowhere


def plan(
    timed: Timed,
    node_type: str,
    limit_s: float,
    datacenter: str,
    trace: str,
    policy: str,
    seeds: int,
    out: Path,
    profile: PowerProfile = PAPER,
    most: int = MOST,
    report: Report | None = None,
    on: str = "local",
    workers: int | None = None,
    plugins: Sequence[str | Path | Plugin] = (),
) -> Plan:
    """The least number of nodes `node_type` (`H100-8`) with which the p99 of the wait is at most `limit_s`.

    The other nodes of the datacenter stay. Runs are kept in `out`: the same question goes on from them.
    """
    if timed.queue == DROP:
        raise UserError(f"queue {DROP!r}: no task waits there, expected fifo or backfill")
    if not 1 <= most <= MAX_NODES:
        raise UserError(f"at most {most} nodes, expected 1 to {MAX_NODES:,}")
    own = load_datacenter(datacenter, power=profile)
    name, there = nodes_like(own, node_type, profile)
    kind, at, pool = node_type.partition("@")
    shape = kind.partition(":")[1] + kind.partition(":")[2]

    def run(nodes: int) -> Tried:
        edits: tuple[tuple[str, ...], ...] = ((), (), ())
        if nodes > there:
            edits = ((f"{nodes - there}x{name}{shape}{at}{pool}",), (), ())
        elif nodes < there:
            edits = ((), (f"{there - nodes}x{name}{at}{pool}",), ())
        experiment = timed_experiment(
            timed, [datacenter], [trace], [policy], seeds, profile, (edits[0], edits[1], edits[2]), with_against=False
        )
        folder, scenarios, outcome = run_experiment(experiment, out, report, on, workers, plugins)
        _stop_if_failed(outcome)
        choices = choice_lines(scenarios, experiment.inputs)
        (now,), workload = experiment.inputs.datacenters.values(), experiment.inputs.traces[trace]
        nowhere = tuple(fit_nowhere(now, workload, profile, with_held=True))
        return Tried(nodes, tuple(summarise_timed(folder, scenarios).values()), tuple(choices), nowhere)

    lowest = 0 if there < len(own) else 1  # a datacenter has at least one node
    least, tried = search(run, limit_s, there, lowest, most)
    return Plan(name, there, limit_s, least, tried)


def search(
    run: Callable[[int], Tried], limit_s: float, there: int, lowest: int, most: int
) -> tuple[int | None, tuple[Tried, ...]]:
    """Doubles until the wait is kept, then bisects. Keeping it also means to refuse no task that more nodes hold."""
    found: dict[int, Tried] = {}

    def keeps(nodes: int) -> bool:
        if nodes not in found:
            found[nodes] = run(nodes)
        return found[nodes].wait_p99_s <= limit_s

    high, step = max(there, lowest, 1), 1
    low = lowest - 1  # surely too few, or none
    if keeps(high):
        while high - step > low and keeps(high - step):
            high, step = high - step, 2 * step
        low = max(low, high - step)
    else:
        # As many nodes as tasks: each could have one of its own, and more change nothing.
        most = min(most, high + int(found[high].worst("arrived")))
        while not keeps(high):
            low = high
            if high >= most:
                return None, tuple(found[nodes] for nodes in sorted(found))
            high, step = min(high + step, most), 2 * step
    if low < 0 < high and lowest == 0:
        # Without any node of the type some tasks may fit nowhere: they are refused and do not wait.
        keeps(0)
        low = 0 if found[0].worst("refused") > found[high].worst("refused") else low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high, tuple(found[nodes] for nodes in sorted(found))


def _stop_if_failed(outcome: Outcome) -> None:
    if outcome.failed:
        scenario, fault = outcome.failed[0]
        raise RunError(f"{scenario}: {fault}")
