"""What a worker does, wherever it is: it takes the inputs once, then runs one scenario after another into run files."""

from __future__ import annotations

import os
import platform
import tempfile
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from wattpack.experiments.digests import all_code_digest, policy_digest
from wattpack.experiments.plugins import Plugin, import_plugin
from wattpack.experiments.run_files import run_file
from wattpack.experiments.scenario import Inputs, Scenario
from wattpack.policies.expression import parse

KEPT = 4  # experiments whose inputs a worker keeps: a cluster may serve several at once


@dataclass(frozen=True)
class Setup:
    """What all runs of an experiment need. It travels once to each worker."""

    inputs: Inputs
    plugins: tuple[Plugin, ...] = ()
    code: str = field(default_factory=all_code_digest)
    token: str = field(default_factory=lambda: uuid.uuid4().hex)


_setups: OrderedDict[str, Setup] = OrderedDict()
_ready: set[str] = set()
_lock = Lock()


def take(setup: Setup) -> None:
    """Keep the inputs on this worker. Nothing is checked yet, so that whatever is wrong belongs to a run."""
    with _lock:
        _setups[setup.token] = setup
        while len(_setups) > KEPT:
            _setups.popitem(last=False)


def has(token: str) -> bool:
    return token in _setups


def run_on_worker(token: str, scenario: Scenario) -> bytes:
    """The run file of one scenario."""
    setup = _setups[token]
    _make_ready(setup)
    if policy_digest(parse(scenario.policy)) != scenario.policy_digest:
        raise RuntimeError(f"the policies of {scenario.policy!r} have other code on this worker")
    return run_file(scenario, setup.inputs)


def _make_ready(setup: Setup) -> None:
    """Once per worker and experiment: the same code as where the experiment was started, and the user's policies."""
    with _lock:
        if setup.token in _ready:
            return
        if all_code_digest() != setup.code:
            raise RuntimeError(f"the worker on {platform.node()} has another version of wattpack: its results differ")
        for plugin in setup.plugins:
            import_plugin(plugin)
        _ready.add(setup.token)


def run_into_folder(token: str, scenario: Scenario, folder: str) -> str:
    """`run_on_worker`, with the run file left in `folder`; its path."""
    handle, path = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(run_on_worker(token, scenario))
    return path
