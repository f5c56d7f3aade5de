"""A scenario: one run, fully said. Its id is a digest of everything that decides the outcome."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from wattpack.datasets.inflation import UP_TO, node_order, run_workload, seeded
from wattpack.engine.runs.arrivals import simulate
from wattpack.engine.runs.record import Run
from wattpack.engine.windows.batch import ALONE, Batch, simulate_windows
from wattpack.jit import source_digest
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix, Policy
from wattpack.model.power import PAPER, PROFILES, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.policies import BUILT_IN
from wattpack.policies.expression import parse

ROOMS = ("model", "policies", "engine", "datasets")  # the code that decides what a run gives
FILES = ("scenario.py", "curves.py")  # of this room: how a run is put together and read
PACKAGE = Path(__file__).parents[1]
NAMES_ONLY = ("datacenter", "trace")  # may differ between machines (paths); their digests may not

T = TypeVar("T")


@dataclass(frozen=True)
class Scenario:
    """What is run. The digests stand for the contents, so that a changed file or policy is another scenario."""

    datacenter: str  # as the user named it
    trace: str
    policy: str  # canonical expression
    seed: int
    profile: str
    up_to: float
    datacenter_digest: str
    trace_digest: str
    policy_digest: str
    profile_digest: str = ""  # of a profile of the user's own; the built-in ones are part of `code_digest`
    batch: int = 1  # tasks that are held and placed together
    batch_milp_seconds: float = 0.0  # that the MILP of a window may take; 0: without it

    @property
    def window(self) -> Batch:
        return Batch(self.batch, milp_seconds=self.batch_milp_seconds)

    @property
    def label(self) -> str:
        """What stands for the policy in curves, summaries and reports: with its window, where it has one."""
        return f"{self.policy} {self.window.label}".rstrip()

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits: of contents, policy, seed, profile, load and the code that runs them; not of names."""
        said = {key: value for key, value in asdict(self).items() if key not in NAMES_ONLY}
        said["code"] = code_digest()
        return _digest(json.dumps(said, sort_keys=True).encode())

    def __str__(self) -> str:
        return f"{self.trace}, {self.label}, seed {self.seed}"


@dataclass(frozen=True)
class Inputs:
    """What the scenarios of an experiment are run on, by the names the scenarios use."""

    datacenters: dict[str, Datacenter]
    traces: dict[str, Workload]
    profiles: dict[str, PowerProfile]

    @cached_property
    def digests(self) -> dict[str, dict[str, str]]:
        """Of the inputs, by name. Once per experiment: 0.3 ms each was much for each scenario."""
        return {
            "datacenter": {name: datacenter_digest(datacenter) for name, datacenter in self.datacenters.items()},
            "trace": {name: trace_digest(trace) for name, trace in self.traces.items()},
            "profile": {name: profile_digest(name, profile) for name, profile in self.profiles.items()},
        }


def new_scenario(
    inputs: Inputs,
    datacenter: str,
    trace: str,
    policy: str,
    seed: int,
    profile: str = PAPER.name,
    up_to: float = UP_TO,
    batch: int = 1,
    batch_milp_seconds: float = 0.0,
) -> Scenario:
    mix = parse(policy)
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
        float(batch_milp_seconds) if batch > 1 else 0.0,
    )


def labels(scenarios: Iterable[Scenario]) -> dict[Scenario, str]:
    """What stands for the trace of each scenario in curves, summaries and reports.

    The trace's name, followed in brackets by the datacenter, the power profile and the load where the experiment has
    more than one of them: `default (linear)`, `tasks.csv (nodes.csv, concave, up to 0.9)`.
    """
    found = list(scenarios)
    many = {axis: len({getattr(s, axis) for s in found}) > 1 for axis in ("datacenter", "profile", "up_to")}
    texts = {}
    for s in found:
        said = ((s.datacenter, many["datacenter"]), (s.profile, many["profile"]), (f"up to {s.up_to:g}", many["up_to"]))
        more = ", ".join(text for text, several in said if several)
        texts[s] = f"{s.trace} ({more})" if more else s.trace
    return texts


class Recent:
    """The few latest values by key, for threads: all policies of a seed share its workload and node order."""

    def __init__(self, size: int) -> None:
        self._size, self._values, self._lock = size, OrderedDict[Hashable, Any](), Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of `key`, made if it is not there (twice, if two threads ask at once: that does no harm)."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                value: T = self._values[key]
                return value
        value = make()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return value


# Runs of one seed come together, so few are enough; a datacenter of 100,000 nodes is 15 MB.
_targets, _workloads, _ordered = Recent(32), Recent(8), Recent(4)


def run_scenario(scenario: Scenario, inputs: Inputs) -> Run:
    """The paper's experiment for one seed: a shuffled datacenter, an inflated shuffled workload.

    The same as `run_seed`; what runs of one seed have in common is made once (1.1 ms of a run of 45, measured).
    """
    datacenter, trace = inputs.datacenters[scenario.datacenter], inputs.traces[scenario.trace]
    seeds, up_to = seeded(scenario.seed), scenario.up_to
    target = _targets.get(scenario.trace_digest, lambda: Target.of(trace))
    workload = _workloads.get(
        (scenario.trace_digest, datacenter.gpu_milli, scenario.seed, up_to),
        lambda: run_workload(trace, datacenter.gpu_milli, seeds.workload, up_to),
    )
    shuffled = _ordered.get(
        (scenario.datacenter_digest, scenario.seed),
        lambda: datacenter.ordered(node_order(datacenter, seeds.node_order)),
    )
    profile = inputs.profiles[scenario.profile]
    mix = parse(scenario.policy)
    if scenario.batch > 1:
        return simulate_windows(shuffled, workload, mix, target, seeds.policy, profile, scenario.window)
    return simulate(shuffled, workload, mix, target, seeds.policy, profile)


def run_seed(
    datacenter: Datacenter,
    trace: Workload,
    mix: Mix,
    seed: int,
    profile: PowerProfile = PAPER,
    up_to: float = UP_TO,
    batch: Batch = ALONE,
) -> Run:
    """One run of the paper's experiment; all policies of a seed see the same workload and node order."""
    seeds = seeded(seed)
    workload = run_workload(trace, datacenter.gpu_milli, seeds.workload, up_to)
    shuffled = datacenter.ordered(node_order(datacenter, seeds.node_order))
    if batch.tasks > 1:
        return simulate_windows(shuffled, workload, mix, Target.of(trace), seeds.policy, profile, batch)
    return simulate(shuffled, workload, mix, Target.of(trace), seeds.policy, profile)


@cache
def code_digest() -> str:
    rooms = "".join(source_digest(PACKAGE / room) for room in ROOMS).encode()
    return _digest(rooms + b"".join((PACKAGE / "experiments" / file).read_bytes() for file in FILES))


def datacenter_digest(datacenter: Datacenter) -> str:
    columns = (datacenter.cpu_milli, datacenter.memory_mib, datacenter.gpus, datacenter.model, datacenter.cpu_model)
    names = "\n".join((*datacenter.models, "", *datacenter.cpu_models)).encode()
    return _digest(b"".join(np.ascontiguousarray(column, dtype="<i8").tobytes() for column in columns) + names)


def trace_digest(trace: Workload) -> str:
    return _digest(repr(trace.classes).encode() + np.ascontiguousarray(trace.sequence, dtype="<i4").tobytes())


def profile_digest(name: str, profile: PowerProfile) -> str:
    """Of the watts of a profile of the user's own; empty for a built-in one."""
    return "" if PROFILES.get(name) == profile else _digest(repr(profile).encode())


def own_policies(mix: Mix) -> list[Policy]:
    """The policies of the user's own; the built-in ones are part of `code_digest`."""
    policies = [component.policy for component in mix.components]
    return [policy for policy in policies if policy.name.partition("@")[0] not in BUILT_IN]


def policy_digest(mix: Mix) -> str:
    """Of the code of the user's own policies; empty without any."""
    return _digest(b"".join(map(_code_of, own))) if (own := own_policies(mix)) else ""


def _code_of(policy: Policy) -> bytes:
    """The choices, and of every function the whole file it stands in: constants and callees are there too.

    A function that was typed in has no file: its compiled code then. What a closure holds counts if it is plain.
    """
    parts = [repr((policy.name, int(policy.normalise), int(policy.pick), policy.terms, policy.memory_size)).encode()]
    for function in (policy.score, policy.weigh, policy.remember, policy.prepare):
        plain = getattr(function, "py_func", function)
        code, file = plain.__code__, Path(plain.__code__.co_filename)
        held = [cell.cell_contents for cell in plain.__closure__ or ()]
        parts.append(
            repr((code.co_qualname, [value for value in held if isinstance(value, int | float | str)])).encode()
        )
        if PACKAGE in file.parents:  # a default of the contract: part of `code_digest`
            continue
        constants = [constant for constant in code.co_consts if not hasattr(constant, "co_code")]
        parts.append(file.read_bytes() if file.is_file() else repr((code.co_code, constants, code.co_names)).encode())
    return b"\0".join(parts)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
