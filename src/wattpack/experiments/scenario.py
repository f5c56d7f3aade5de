"""A scenario: one run, fully said. Its id is a digest of everything that decides the outcome."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from wattpack.datasets.inflation import UP_TO, node_order, run_workload, seeded
from wattpack.engine.arrivals import simulate
from wattpack.engine.record import Run
from wattpack.jit import source_digest
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix, Policy
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.policies import BUILT_IN
from wattpack.policies.expression import parse

ROOMS = ("model", "policies", "engine", "datasets")  # the code that decides what a run gives


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

    @property
    def id(self) -> str:
        """Names may differ between machines (paths), contents may not."""
        said = {key: value for key, value in asdict(self).items() if key not in ("datacenter", "trace")}
        said["code"] = code_digest()
        return _digest(json.dumps(said, sort_keys=True).encode())


@dataclass(frozen=True)
class Inputs:
    """What the scenarios of an experiment are run on, by the names the scenarios use."""

    datacenters: dict[str, Datacenter]
    traces: dict[str, Workload]
    profiles: dict[str, PowerProfile]

    def of(self, scenario: Scenario) -> Inputs:
        """Only what one scenario needs: small enough to travel with it."""
        return Inputs(
            {scenario.datacenter: self.datacenters[scenario.datacenter]},
            {scenario.trace: self.traces[scenario.trace]},
            {scenario.profile: self.profiles[scenario.profile]},
        )


def new_scenario(
    inputs: Inputs, datacenter: str, trace: str, policy: str, seed: int, profile: str = PAPER.name, up_to: float = UP_TO
) -> Scenario:
    mix = parse(policy)
    return Scenario(
        datacenter,
        trace,
        mix.expression,
        seed,
        profile,
        up_to,
        datacenter_digest(inputs.datacenters[datacenter]),
        trace_digest(inputs.traces[trace]),
        policy_digest(mix),
    )


def run_scenario(scenario: Scenario, inputs: Inputs) -> Run:
    """The paper's experiment for one seed: a shuffled datacenter, an inflated shuffled workload."""
    datacenter, trace = inputs.datacenters[scenario.datacenter], inputs.traces[scenario.trace]
    return run_seed(
        datacenter, trace, parse(scenario.policy), scenario.seed, inputs.profiles[scenario.profile], scenario.up_to
    )


def run_seed(
    datacenter: Datacenter,
    trace: Workload,
    mix: Mix,
    seed: int,
    profile: PowerProfile = PAPER,
    up_to: float = UP_TO,
) -> Run:
    """One run of the paper's experiment; all policies of a seed see the same workload and node order."""
    seeds = seeded(seed)
    workload = run_workload(trace, datacenter.gpu_milli, seeds.workload, up_to)
    shuffled = datacenter.ordered(node_order(datacenter, seeds.node_order))
    return simulate(shuffled, workload, mix, Target.of(trace), seeds.policy, profile)


@cache
def code_digest() -> str:
    package = Path(__file__).parents[1]
    return _digest("".join(source_digest(package / room) for room in ROOMS).encode())


def datacenter_digest(datacenter: Datacenter) -> str:
    columns = (datacenter.cpu_milli, datacenter.memory_mib, datacenter.gpus, datacenter.model, datacenter.cpu_model)
    names = "\n".join((*datacenter.models, "", *datacenter.cpu_models)).encode()
    return _digest(b"".join(np.ascontiguousarray(column, dtype="<i8").tobytes() for column in columns) + names)


def trace_digest(trace: Workload) -> str:
    return _digest(repr(trace.classes).encode() + np.ascontiguousarray(trace.sequence, dtype="<i4").tobytes())


def policy_digest(mix: Mix) -> str:
    """Of the code of the user's own policies; the built-in ones are part of `code_digest`."""
    own = [component.policy for component in mix.components if component.policy.name not in BUILT_IN]
    return _digest("".join(_code_of(policy) for policy in own).encode()) if own else ""


def _code_of(policy: Policy) -> str:
    parts = [repr((policy.name, int(policy.normalise), int(policy.pick), policy.terms, policy.memory_size))]
    for function in (policy.score, policy.weigh, policy.remember, policy.prepare):
        code = getattr(function, "py_func", function).__code__
        constants = [constant for constant in code.co_consts if not hasattr(constant, "co_code")]
        parts.append(repr((code.co_code, constants, code.co_names)))
    return "".join(parts)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
