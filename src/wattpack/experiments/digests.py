"""Digests of everything that decides a result: wattpack's own code, the inputs, policies of the user's own."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import numpy as np

from wattpack.datasets.speed_files import SpeedTable
from wattpack.datasets.timed_trace import TimedTrace
from wattpack.energy.signal import Signal
from wattpack.jit import closure_digest
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix, Policy
from wattpack.model.pools import OPEN
from wattpack.model.power import PROFILES, PowerProfile, profile_text
from wattpack.model.tasks import TaskClass, Workload
from wattpack.model.timed_tasks import TimedTasks
from wattpack.policies import BUILT_IN
from wattpack.policies.expression import FILL_UP, STEADY

TIMED = "timed"  # the kind of scenario beside those that policies know

PACKAGE = Path(__file__).parents[1]
# By kind of scenario: the modules that compute a run. All that they import belongs to them.
COMPUTES = {
    FILL_UP: ("wattpack.experiments.fill_up", "wattpack.experiments.curves"),
    STEADY: ("wattpack.experiments.steady",),
    TIMED: (
        "wattpack.experiments.timed",
        "wattpack.experiments.timed_run_files",
        "wattpack.experiments.timed_scenarios",  # which tasks, loads and signals a run has
    ),
}


@cache
def code_digest(kind: str) -> str:
    """Of all code that computes a run of this kind; part of its id, so that no result of other code is taken for it."""
    return closure_digest(COMPUTES[kind])


def all_code_digest() -> str:
    """Of the code of every kind of scenario: a worker must have the same."""
    return digest("".join(map(code_digest, COMPUTES)).encode())


def datacenter_digest(datacenter: Datacenter) -> str:
    columns = [datacenter.cpu_milli, datacenter.memory_mib, datacenter.gpus, datacenter.model, datacenter.cpu_model]
    names = "\n".join((*datacenter.models, "", *datacenter.cpu_models)).encode()
    if datacenter.pools != (OPEN,):
        columns, names = [*columns, datacenter.pool], names + repr(datacenter.pools).encode()
    if datacenter.own_base_mw is not None:  # a datacenter without base power has the digest that it always had
        columns, names = [*columns, datacenter.own_base_mw], names + b"\nbase_mw"
    if datacenter.own_capacity_milli is not None:
        columns, names = [*columns, datacenter.own_capacity_milli], names + b"\ncapacity_milli"
    return digest(b"".join(np.ascontiguousarray(column, dtype="<i8").tobytes() for column in columns) + names)


def trace_digest(trace: Workload) -> str:
    texts = "".join(f"{_class_text(task)}, " for task in trace.classes)
    classes = f"({texts.removesuffix(', ') if len(trace.classes) != 1 else texts.removesuffix(' ')})"
    return digest(classes.encode() + np.ascontiguousarray(trace.sequence, dtype="<i4").tobytes())


def timed_digest(tasks: TimedTrace | TimedTasks) -> str:
    """Of tasks with times, or of what they are drawn from."""
    if isinstance(tasks, TimedTrace):
        classes = Workload(tasks.classes, tasks.class_index, None, tasks.name)
        times = (tasks.duration_s, tasks.slack_s, tasks.weight)
    else:
        classes, times = tasks.workload, (tasks.arrival_s, tasks.duration_s, tasks.slack_s)
    start = tasks.start.isoformat() if isinstance(tasks, TimedTasks) and tasks.start is not None else ""
    owners = tasks.owner if any(tasks.owner) else ()  # runs without any keep their names
    texts = "\n".join((trace_digest(classes), start, *tasks.service_class, *owners))
    columns = b"".join(np.ascontiguousarray(one, dtype="<f8").tobytes() for one in times)
    return digest(texts.encode() + columns + tasks.batch.tobytes())


def signal_digest(signal: Signal) -> str:
    """Of the values and what they are; names and notes have no part."""
    said = repr((signal.quantity, signal.kind, signal.currency, signal.from_start))
    columns = (signal.time_s, signal.value)
    return digest(said.encode() + b"".join(np.ascontiguousarray(one, dtype="<f8").tobytes() for one in columns))


def speed_digest(table: SpeedTable) -> str:
    """Of a table of the user's own; the built-in one is part of `code_digest`."""
    return digest(repr(sorted(table.items())).encode()) if table else ""


def _class_text(task: TaskClass) -> str:
    """Its repr; that of a class without pools is as it was before there were any, so that earlier ids hold."""
    text = repr(task)
    return text if task.pool_spec else text.removesuffix(", pool_spec='')") + ")"


def profile_digest(name: str, profile: PowerProfile) -> str:
    """Of the watts of a profile of the user's own; empty for a built-in one."""
    return "" if PROFILES.get(name) == profile else digest(profile_text(profile).encode())


def own_policies(mix: Mix) -> list[Policy]:
    """The policies of the user's own; the built-in ones are part of `code_digest`."""
    policies = [component.policy for component in mix.components]
    return [policy for policy in policies if policy.name.partition("@")[0] not in BUILT_IN]


def policy_digest(mix: Mix) -> str:
    """Of the code of the user's own policies; empty without any."""
    return digest(b"".join(map(_code_of, own))) if (own := own_policies(mix)) else ""


def _code_of(policy: Policy) -> bytes:
    """The policy's settings and, for every function, the whole file that defines it, with constants and callees.

    A function that was typed in has no file: then its compiled code. Plain values in a closure count too.
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


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
