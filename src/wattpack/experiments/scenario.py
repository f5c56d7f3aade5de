"""A scenario: one run, fully specified. Its id is a digest of everything that decides the result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any

from wattpack.choose.choice import resolve
from wattpack.datasets.cap_speed_files import CapSpeeds
from wattpack.datasets.inflation import UP_TO
from wattpack.datasets.speed_files import SpeedTable
from wattpack.datasets.timed_trace import TimedTrace
from wattpack.energy.signal import Signal
from wattpack.engine.windows.batch import Batch
from wattpack.experiments import timed_options
from wattpack.experiments.digests import TIMED as TIMED
from wattpack.experiments.digests import (
    code_digest,
    datacenter_digest,
    digest,
    policy_digest,
    profile_digest,
    signal_digest,
    speed_digest,
    timed_digest,
    trace_digest,
)
from wattpack.experiments.options import Moving, Offered
from wattpack.experiments.timed_options import Timed
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.tasks import Workload
from wattpack.model.timed_tasks import TimedTasks
from wattpack.policies.expression import FILL_UP as FILL_UP  # kinds of scenarios
from wattpack.policies.expression import STEADY as STEADY
from wattpack.policies.expression import canonical

# May differ between machines (paths): no part of the id, their digests are.
NAMES = ("datacenter", "trace", *timed_options.NAMES)
DIGESTS = ("datacenter_digest", "trace_digest", "policy_digest", "profile_digest")


@dataclass(frozen=True)
class Scenario:
    """What is run. The digests stand for the contents: a changed file or policy is another scenario."""

    datacenter: str  # as the user named it
    trace: str
    policy: str  # canonical expression
    seed: int
    profile: str
    up_to: float  # load at which a fill-up ends
    datacenter_digest: str
    trace_digest: str
    policy_digest: str = ""  # of policies of the user's own
    profile_digest: str = ""  # of a profile of the user's own; the built-in ones are part of `code_digest`
    batch: Batch | None = None  # windows of tasks that are placed together
    steady: Offered | None = None  # a steady state at this offered load; None: a fill-up
    moving: Moving | None = None  # moves of placed tasks, in a steady state
    timed: Timed | None = None  # a run in time
    word: str = ""  # `auto` where it chose the policy; no part of the id: the run is that of the policy chosen

    @property
    def named(self) -> str:
        """The policy as the user named it: `auto`, or the canonical expression."""
        return self.word or self.policy

    @property
    def kind(self) -> str:
        return TIMED if self.timed is not None else FILL_UP if self.steady is None else STEADY

    @property
    def label(self) -> str:
        """The policy's name in curves, summaries and reports: with its windows, if it has any."""
        return self.named if self.batch is None else f"{self.named} {self.batch.label}"

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits of the contents, all options and the code that runs them; names have no part in it."""
        decisive = {key: value for key, value in self.columns().items() if key not in NAMES}
        decisive |= {name: getattr(self, name) for name in DIGESTS}
        decisive["code"] = code_digest(self.kind)
        if self.timed is not None:
            decisive |= {name: getattr(self.timed, name) for name in timed_options.DIGESTS}
            decisive = {key: value for key, value in decisive.items() if value or key not in timed_options.LATER}
        return digest(json.dumps(decisive, sort_keys=True).encode())

    def columns(self) -> dict[str, Any]:
        """The scenario as the constant columns of its run file: options are spread out, digests are not there."""
        return self._names() | self._options()

    def row(self) -> dict[str, Any]:
        """The scenario as a row of `experiment.json`: id, columns and digests; null where there is no limit."""
        options = {key: None if value == inf else value for key, value in self._options().items()}
        word = {"word": self.word} if self.word else {}
        return {"id": self.id, **self._names(), **{name: getattr(self, name) for name in DIGESTS}, **options, **word}

    def _names(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("datacenter", "trace", "policy", "seed", "profile", "up_to")}

    def _options(self) -> dict[str, Any]:
        batch, moving = self.batch or Batch(), self.moving or Moving(0, 0)
        found: dict[str, Any] = {"batch": batch.tasks, "batch_milp_seconds": batch.milp_seconds}
        if self.steady is not None:
            found |= {"kind": STEADY, "load": self.steady.load, "tasks": self.steady.arrivals}
            found |= {"batch_seconds": batch.seconds, "defrag_every": moving.every}
            found |= {"defrag_moves": moving.moves, "defrag_pause_seconds": moving.pause_s}
        if self.timed is not None:
            own = self.timed._asdict()
            found |= {"kind": TIMED} | {name: own[name] for name in own if name not in timed_options.DIGESTS}
        return found

    def __str__(self) -> str:
        steady = "" if self.steady is None else f", steady at {self.steady.load:g}"
        timed = "" if self.timed is None else f", in time ({self.timed.text})"
        return f"{self.trace}, {self.label}, seed {self.seed}{steady}{timed}"


def fill_up_of(row: Mapping[str, Any]) -> Scenario | None:
    """The fill-up that a row of `experiment.json` describes, also one of an earlier version; None for other kinds."""
    if row.get("kind", FILL_UP) != FILL_UP:
        return None
    batch = Batch(row.get("batch", 1), milp_seconds=row.get("batch_milp_seconds", 0.0))
    return Scenario(**_stored(row), batch=batch if batch.tasks > 1 else None)


def run_in_time_of(row: Mapping[str, Any]) -> Scenario | None:
    """The run in time that a row of `experiment.json` describes; None for other kinds.

    Its id may be another than that of the row: digests of signals are not there.
    """
    if row.get("kind", FILL_UP) != TIMED:
        return None
    own: dict[str, Any] = {name: inf if row[name] is None else row[name] for name in Timed._fields if name in row}
    return Scenario(**_stored(row), timed=Timed(**own))


def _stored(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("datacenter", "trace", "policy", "seed", "profile", "up_to", "datacenter_digest", "trace_digest")
    more = {name: row[name] for name in ("policy_digest", "profile_digest", "word") if name in row}
    return {name: row[name] for name in names} | more


@dataclass(frozen=True)
class Inputs:
    """What the scenarios of an experiment are run on, by the names the scenarios use."""

    datacenters: dict[str, Datacenter]
    traces: dict[str, Workload]
    profiles: dict[str, PowerProfile]
    # Of runs in time: tasks with times by the trace's name, signals by (quantity, name), speeds by name.
    timed: dict[str, TimedTrace | TimedTasks] = field(default_factory=dict)
    signals: dict[tuple[str, str], Signal] = field(default_factory=dict)
    speeds: dict[str, SpeedTable] = field(default_factory=dict)
    cap_speeds: dict[str, CapSpeeds] = field(default_factory=dict)  # speeds under power caps, by name

    @cached_property
    def digests(self) -> dict[str, dict[str, str]]:
        """Of the inputs, by name. Once per experiment: 0.3 ms each was much for each scenario."""
        return {
            "datacenter": {name: datacenter_digest(datacenter) for name, datacenter in self.datacenters.items()},
            "trace": {name: trace_digest(trace) for name, trace in self.traces.items()},
            "profile": {name: profile_digest(name, profile) for name, profile in self.profiles.items()},
            "timed": {name: timed_digest(tasks) for name, tasks in self.timed.items()},
            "speed": {name: speed_digest(table) for name, table in self.speeds.items()},
            "cap_speed": {name: digest(repr(table).encode()) for name, table in self.cap_speeds.items()},
            **{
                quantity: {
                    name: signal_digest(signal) for (own, name), signal in self.signals.items() if own == quantity
                }
                for quantity in dict.fromkeys(quantity for quantity, _ in self.signals)
            },
        }


def new_scenario(
    inputs: Inputs,
    datacenter: str,
    trace: str,
    policy: str,
    seed: int,
    profile: str = PAPER.name,
    up_to: float = UP_TO,
    batch: Batch | None = None,
    steady: Offered | None = None,
    moving: Moving | None = None,
    kind: str = FILL_UP,
) -> Scenario:
    """kind: of the scenario, for `auto`; a steady state whose load is filled in later is one too."""
    nodes, tasks, watts = inputs.datacenters[datacenter], inputs.traces[trace], inputs.profiles[profile]
    mix, choice = resolve(policy, nodes, tasks, watts, kind if steady is None else STEADY)
    return Scenario(
        datacenter,
        trace,
        mix.expression,
        seed,
        profile,
        up_to,
        inputs.digests["datacenter"][datacenter],
        inputs.digests["trace"][trace],
        policy_digest(mix),
        inputs.digests["profile"][profile],
        batch,
        steady,
        moving,
        word="" if choice is None else canonical(policy),
    )


def choice_lines(scenarios: Sequence[Scenario], inputs: Inputs) -> list[str]:
    """What `auto` chose and why, a line for each trace and kind of scenario; none without `auto`."""
    lines = []
    for kind in (FILL_UP, STEADY):  # `auto` chooses for a run in time as for a steady state
        own = labels(s for s in scenarios if s.word and (STEADY if s.kind == TIMED else s.kind) == kind)
        for (label, word), scenario in {(label, scenario.word): scenario for scenario, label in own.items()}.items():
            nodes, tasks = inputs.datacenters[scenario.datacenter], inputs.traces[scenario.trace]
            _, choice = resolve(word, nodes, tasks, inputs.profiles[scenario.profile], kind)
            assert choice is not None
            lines.append(f"{label}: {choice.text}")
    return list(dict.fromkeys(lines))


def labels(scenarios: Iterable[Scenario]) -> dict[Scenario, str]:
    """The trace's name of each scenario in curves, summaries and reports. The scenarios are of one kind.

    The trace's name, followed in brackets by the datacenter, the power profile and the load where the experiment has
    more than one of them: `default (linear)`, `tasks.csv (nodes.csv, concave, up to 0.9)`.
    """
    found = list(scenarios)
    many = {axis: len({getattr(s, axis) for s in found}) > 1 for axis in ("datacenter", "profile", "up_to")}
    texts = {}
    for s in found:
        parts = (
            (s.datacenter, many["datacenter"]),
            (s.profile, many["profile"]),
            (f"up to {s.up_to:g}", many["up_to"]),
        )
        more = ", ".join(text for text, several in parts if several)
        texts[s] = f"{s.trace} ({more})" if more else s.trace
    return texts
