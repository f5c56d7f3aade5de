"""`check_policy`: what is wrong with a policy, in words, before it is used."""

from __future__ import annotations

import numpy as np

from wattpack.datasets.inflation import seeded
from wattpack.engine.arrivals import Engine, draw_luck, simulate
from wattpack.engine.explain import Explanation, explain
from wattpack.engine.plan import new_plan
from wattpack.engine.record import Run
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Component, Mix, Normalise, Pick, Policy, new_world
from wattpack.model.power import PAPER
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.policies import REGISTRY

ONE = 1000


def check_policy(policy: Policy | str) -> list[str]:
    """The faults found, one sentence each; empty if there are none.

    The policy is compiled, run twice on a small datacenter with every kind of task, and asked about every node at
    many moments: scores must be finite, must not depend on chance or on earlier questions, and a GPU it names must
    hold the task.
    """
    if isinstance(policy, str):
        if policy not in REGISTRY:
            return [f"{policy!r} is not registered; call wattpack.register first"]
        policy = REGISTRY[policy]
    faults = _faults_of_form(policy)
    if faults:
        return faults
    mix = Mix(policy.name, (Component(policy, ONE),), 0)
    datacenter, workload = small_datacenter(), small_workload()
    target = Target.of(workload)
    try:
        new_plan(mix, datacenter, target, PAPER, new_world(datacenter, target, PAPER))
    except KeyError as fault:
        return [f"does not compile: no field {fault} in a node or task record (model/nodes.py and tasks.py list them)"]
    except Exception as fault:  # whatever numba, or the policy's own `prepare`, says
        lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
        return [f"does not compile: {type(fault).__name__}: {' '.join(lines[:4])[:600]}"]
    first, second = (simulate(datacenter, workload, mix, target, seeded(1).policy) for _ in range(2))
    if not _same(first, second):
        faults.append("two runs with the same seed differ: a score may depend only on node, task, params and memory")
    return faults + _faults_of_scores(mix, datacenter, workload, target)


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
    return faults


def _faults_of_scores(mix: Mix, datacenter: Datacenter, workload: Workload, target: Target) -> list[str]:
    engine = Engine(datacenter, workload.classes, mix, target)
    luck = draw_luck(workload, seeded(1).policy)
    policy = mix.components[0].policy
    for i in range(len(workload)):
        k = int(workload.sequence[i])
        # A second engine that has never been asked before: its answers come from scratch.
        fresh = Engine(datacenter, workload.classes, mix, target)
        fresh.run(Workload(workload.classes, workload.sequence[:i]), luck[:i])
        kept, scratch = explain(engine, k, luck[i]), explain(fresh, k, luck[i])
        fits = kept.verdict == 0
        if not np.isfinite(kept.raw[:, fits]).all():
            bad = datacenter.names[int(np.flatnonzero(fits & ~np.isfinite(kept.raw).all(axis=0))[0])]
            return [f"score of node {bad} for {workload.classes[k]} is not finite: write a number into every term"]
        if not _same_scores(kept, scratch):
            return [
                f"scores for {workload.classes[k]} differ when asked again: `score` is called only when the node has "
                "changed, so it must not read what changes otherwise (put that into `weigh` and `remember`)"
            ]
        if (
            policy.normalise == Normalise.NONE
            and policy.terms == 1
            and np.abs(kept.raw[:, fits]).max(initial=0) > 2**40
        ):
            return [f"score {np.nanmax(np.abs(kept.raw)):g} is too large to be exact when weighted: keep below 2**40"]
        engine.run(Workload(workload.classes, workload.sequence[i : i + 1]), luck[i : i + 1])
    return []


def _same(first: Run, second: Run) -> bool:
    return bool((first.node == second.node).all() and (first.gpus == second.gpus).all())


def _same_scores(first: Explanation, second: Explanation) -> bool:
    return np.array_equal(first.raw, second.raw, equal_nan=True) and first.node == second.node


def small_datacenter() -> Datacenter:
    """Two nodes each of four kinds, one kind without GPU."""
    kinds = [("G2", 96000, 393216, 8), ("T4", 104000, 524288, 2), ("V100M16", 32000, 131072, 4), ("", 32000, 131072, 0)]
    nodes = [
        (f"{model or 'cpu'}-{copy}", cpu, memory, gpus, model) for model, cpu, memory, gpus in kinds for copy in (1, 2)
    ]
    names, cpu, memory, gpus, models = zip(*nodes, strict=True)
    return Datacenter.of(names, cpu, memory, gpus, models, name="check_policy")


def small_workload() -> Workload:
    """Every kind of task, some with a constraint, until nothing fits any more."""
    kinds = [
        TaskClass(4000, 8192, 1, 500),
        TaskClass(8000, 16384, 1, 1000),
        TaskClass(2000, 4096, 0, 0),
        TaskClass(6000, 16384, 1, 810, "T4|G2"),
        TaskClass(16000, 32768, 4, 1000),
        TaskClass(1000, 2048, 1, 190),
        TaskClass(8000, 65536, 2, 1000, "V100M16"),
        TaskClass(32000, 131072, 8, 1000),
    ]
    return Workload.of(kinds * 6)
