"""`check_policy`: what is wrong with a policy, in words, before it is used."""

from __future__ import annotations

from dataclasses import replace

from wattpack.datasets.inflation import seeded
from wattpack.engine.core.plan import new_plan, prepared
from wattpack.engine.runs.arrivals import simulate
from wattpack.engine.runs.record import Run
from wattpack.errors import RunError, one_line
from wattpack.experiments.policy_check.calls import faults_of_plain_calls
from wattpack.experiments.policy_check.compiled import faults_of_calls
from wattpack.experiments.policy_check.history import History, new_history
from wattpack.experiments.policy_check.source import faults_of_source
from wattpack.model.policy import Component, Mix, Normalise, Pick, Policy, new_world, no_memory
from wattpack.model.power import PAPER
from wattpack.policies import REGISTRY

ONE = 1000


def check_policy(policy: Policy | str) -> list[str]:
    """The faults found, one sentence each; empty if there are none.

    The policy is read, compiled, taken through a small datacenter in which every kind of task comes and some leave, as
    plain Python and compiled, and run there from beginning to end. Only the first fault is reported; what comes after
    it would only follow from it. Takes about a second besides the compile.
    """
    if isinstance(policy, str):
        if policy not in REGISTRY:
            return [f"{policy!r} is not registered; call wattpack.register first"]
        policy = REGISTRY[policy]
    faults = _faults_of_form(policy) or faults_of_source(policy)
    if faults:
        return faults
    history = new_history()
    try:
        params = prepared(policy, history.datacenter, history.target, PAPER)
        again = prepared(policy, history.datacenter, history.target, PAPER)
        listed = list(range(policy.terms) if policy.used_terms is None else policy.used_terms(params))
    except Exception as fault:  # whatever the policy's own Python raises
        return [f"prepare or used_terms: {one_line(fault)}"]
    if params.tobytes() != again.tobytes():
        return ["prepare gives other params the second time: it must not depend on chance or on the clock"]
    if len(set(listed)) < len(listed) or not set(listed) <= set(range(policy.terms)):
        return [f"used_terms gives {listed}, expected different numbers of 0 to {policy.terms - 1}"]
    return (
        _faults_of_compile(policy, history)
        or faults_of_plain_calls(policy, history, params)
        or faults_of_calls(policy, history, params, listed)
        or _faults_of_runs(policy, history)
    )


def _mix(policy: Policy) -> Mix:
    return Mix(policy.name, (Component(policy, ONE),), 0)


def _faults_of_compile(policy: Policy, history: History) -> list[str]:
    datacenter, target = history.datacenter, history.target
    try:
        new_plan(_mix(policy), datacenter, target, PAPER, new_world(datacenter, target, PAPER))
    except KeyError as fault:
        return [
            f"does not compile: no field {fault} in a node or task record (model/node_record.py and tasks.py list them)"
        ]
    except Exception as fault:  # whatever numba says
        return [f"does not compile: {one_line(fault)}"]
    return []


def _faults_of_runs(policy: Policy, history: History) -> list[str]:
    """Whole runs must be repeatable, and the same without the shortcuts that the policy declares."""
    try:
        first, second = _run(policy, history), _run(policy, history)
        if not _same(first, second):
            return ["two runs with the same seed differ: a score may depend only on node, task and params"]
        if policy.amounts_only and not _same(first, _run(replace(policy, amounts_only=False), history)):
            return ["amounts_only=True changes decisions: score reads more of a task than amounts"]
        if policy.used_terms is not None and not _same(first, _run(replace(policy, used_terms=None), history)):
            return ["used_terms changes decisions: it does not list all terms that have a price"]
    except RunError as fault:
        return [str(fault)]
    return []


def _run(policy: Policy, history: History) -> Run:
    return simulate(history.datacenter, history.workload, _mix(policy), history.target, seeded(1).policy)


def _faults_of_form(policy: Policy) -> list[str]:
    faults = []
    if not policy.name.isidentifier() or policy.name != policy.name.lower():
        faults.append(f"name {policy.name!r}: expected lower-case letters, digits and underscores")
    if not policy.summary or "\n" in policy.summary:
        faults.append("summary: expected one line that says what the policy prefers")
    if policy.terms < 1:
        faults.append(f"terms: {policy.terms}, expected 1 or more")
    if len(policy.term_names) != policy.terms:
        faults.append(f"term_names: {len(policy.term_names)} names for {policy.terms} terms")
    if policy.memory_size < 0:
        faults.append(f"memory_size: {policy.memory_size}, expected 0 or more")
    if policy.normalise not in set(Normalise) or policy.pick not in set(Pick):
        faults.append("normalise and pick: expected members of wattpack.Normalise and wattpack.Pick")
    if policy.remember is not no_memory and policy.memory_size == 0:
        faults.append("remember is never called: memory_size is 0, expected the numbers that memory holds")
    if policy.notes and policy.remember is no_memory:
        faults.append("notes=True, but there is no remember that writes node.notes: leave notes out")
    return faults


def _same(first: Run, second: Run) -> bool:
    return bool((first.node == second.node).all() and (first.gpus == second.gpus).all())
