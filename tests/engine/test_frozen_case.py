"""A small case of our own whose decisions are frozen: exactness without the folder `shared`.

31 nodes of the built-in datacenter, and what 1.3 times their GPUs draws from a built-in trace (some 270 tasks). The
digests were made by the plain reference: `PYTHONPATH=tests python tests/engine/test_frozen_case.py` prints them again.
"""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pytest

from builders import Decision, decisions, make_mix, plain_nodes, plain_tasks, plain_weights
from reference import replay, target_workload
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import run_workload, seeded
from wattpack.engine.runs.arrivals import simulate
from wattpack.model.nodes import Datacenter
from wattpack.model.target import Target
from wattpack.model.tasks import Workload

pytestmark = pytest.mark.compiled

SEED = 42
FROZEN = {
    ("default", "fgd"): "c7dcbc7ea80c7afef6cab50fe0c5248b9b87151189fb49e11d9b05c97f63b88b",
    ("default", "pwr"): "c32f6a5a85ccb9c5eade2f8f8329005481831c0b3ee43e24e5d0f164b8417f2f",
    ("default", "bestfit"): "11024724391b52b8d0744cfcac62feaf926457cd543cecdd82d03ef57d80a2a1",
    ("default", "dotprod"): "04d35cd8f830cd10e8353a5580736b4ea48f6ba51bd555c083aba801b48d7508",
    ("default", "gpupacking"): "8495d4ae85fff3ffa7ffee7845b06131bc27e4423e1a982a9e4adfe6cbd30511",
    ("default", "gpuclustering"): "b35ec53ce8178dcca76024c1e0446f483f196f90e7e4ef83703f3bcc2a10da84",
    ("default", "pwr:0.1+fgd:0.9"): "cf9bd84c844872bb1e738816e86a6e32850bec1e156479f59b87b3533f7a2033",
    ("default", "fgd:0.5+pwr:0.5"): "8ae912bb63d11c255ee36d67a77b8561fc1c915caec7ba379f62e1b30279b782",
    (
        "default",
        "bestfit:0.2+gpupacking:0.3+fgd:0.5",
    ): "f21e39c20f8fdd71f69a25a72afc8c6675c2d5c86950d40681aeb83f2339bb76",
    ("gpuspec33", "pwr:0.1+fgd:0.9"): "3ee1018a8b461a9b54bf1bc3bab2fab24a2250ee862beb6dd3785e2c99b4a88f",
    ("gpuspec33", "gpuclustering"): "a22e7a9b791bfc1469e90197505b3c963a7ab971b88c677c83a22b3ff351da23",
    ("multigpu50", "pwr:0.1+fgd:0.9"): "fa360d7aba6e4f7a0c100599c2ce7b98991d1d276ab23f2e7241648a93172c65",
    ("multigpu50", "gpupacking"): "239fcf77d6d0caafd07852a785b988144dc6009d4d21a81bb86c2aeb72db6041",
}
# The reference has no `random`; this digest is the engine's own.
FROZEN_RANDOM = "e8166b26fd5ea60e1b41b5a72cf3d63e12415efd817c0de8463e5224128310fe"


class Small(NamedTuple):
    datacenter: Datacenter
    trace: Workload
    workload: Workload


def small(trace_name: str) -> Small:
    whole = alibaba2023.datacenter()
    datacenter = whole.ordered(np.arange(0, len(whole), 40))  # 9 of the 15 types
    trace = alibaba2023.trace(trace_name)
    return Small(datacenter, trace, run_workload(trace, datacenter.gpu_milli, seeded(SEED).workload))


def digest(made: Iterable[Decision]) -> str:
    lines = [f"{node or ''},{'-'.join(map(str, gpus))}\n" for node, gpus in made]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def digest_by_reference(trace_name: str, policy: str) -> str:
    case = small(trace_name)
    target = target_workload(plain_tasks(case.trace))
    nodes, tasks = plain_nodes(case.datacenter), plain_tasks(case.workload)
    return digest(replay(nodes, tasks, plain_weights(make_mix(policy)), target))


def digest_by_engine(trace_name: str, policy: str) -> str:
    case = small(trace_name)
    rng = seeded(SEED).policy
    return digest(decisions(simulate(case.datacenter, case.workload, make_mix(policy), Target.of(case.trace), rng)))


@pytest.mark.parametrize(("trace_name", "policy"), FROZEN)
def test_the_engine_makes_the_frozen_decisions(trace_name: str, policy: str) -> None:
    assert digest_by_engine(trace_name, policy) == FROZEN[trace_name, policy]


@pytest.mark.parametrize(("trace_name", "policy"), FROZEN)
def test_the_plain_reference_makes_the_frozen_decisions(trace_name: str, policy: str) -> None:
    assert digest_by_reference(trace_name, policy) == FROZEN[trace_name, policy]


def test_seed_42_gives_the_frozen_random_decisions() -> None:
    assert digest_by_engine("default", "random") == FROZEN_RANDOM


def test_the_case_places_fails_shares_and_constrains() -> None:
    for trace_name in {trace_name for trace_name, _ in FROZEN}:
        case = small(trace_name)
        run = simulate(case.datacenter, case.workload, make_mix("fgd"), Target.of(case.trace))
        kinds = {(task.num_gpu, task.gpu_milli < 1000) for task in plain_tasks(case.workload)}
        assert {(0, True), (1, True), (1, False)} <= kinds
        assert 0 < run.failed[-1] < len(run) // 2
    assert any(task.gpu_spec for task in plain_tasks(small("gpuspec33").workload))


if __name__ == "__main__":
    for name, expression in FROZEN:
        print(f'    ("{name}", "{expression}"): "{digest_by_reference(name, expression)}",')
    print(f'FROZEN_RANDOM = "{digest_by_engine("default", "random")}"')
