"""A policy expression made ready for kernels: compiled functions, weights, parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.faults import (
    FIRST_PARAM,
    REMEMBER,
    SCORE,
    WEIGH,
    is_own,
    own_remember,
    own_score,
    own_weigh,
    plain_functions,
)
from wattpack.engine.core.records import Parts
from wattpack.errors import RunError, UserError
from wattpack.jit import COMPILED, addresses, is_kernel
from wattpack.model.nodes import NODE, Datacenter
from wattpack.model.policy import Mix, Normalise, Order, Policy, World, fixed_price
from wattpack.model.power import PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import TASK

# One component of a mix; it owns terms[terms_at:terms_end], and so on.
PART = np.dtype(
    [
        ("weight", np.int64),  # thousandths
        ("normalise", np.int64),
        ("pick", np.int64),
        ("terms_at", np.int64),
        ("terms_end", np.int64),
        ("params_at", np.int64),
        ("params_end", np.int64),
        ("memory_at", np.int64),
        ("memory_end", np.int64),
    ],
    align=True,
)


class Plan(NamedTuple):
    """A policy expression, fixed for a run. Few arrays on purpose: each one costs time at every kernel call."""

    score: Any  # int64[components]: addresses of the compiled functions
    weigh: Any
    remember: Any
    parts: Parts  # one a component
    params: NDArray[np.float64]
    picker: int  # the component whose GPU picker is used
    remembers: bool  # whether any component keeps a memory
    bucketed: bool  # whether nodes of equal terms are interchangeable but for their order: see buckets.py
    priced: bool  # whether prices may change from decision to decision
    used: NDArray[np.int64]  # the terms that any component writes
    amounts_only: bool  # whether classes that differ only in memory and models have equal scores: see columns.py
    plain_choice: bool  # these five as the policy declares them that has the largest weight: model/policy.py
    look: int
    stretch: bool
    ties: int
    order: NDArray[np.int32]  # [nodes] in the policy's order


def new_plan(mix: Mix, datacenter: Datacenter, target: Target, profile: PowerProfile, world: World) -> Plan:
    """Compile the policies of `mix` (or load them from the disk cache) and compute their parameters."""
    policies = [component.policy for component in mix.components]
    if len({policy.remember for policy in policies if policy.notes}) > 1:
        raise UserError(f"{mix.expression}: two kinds of policies that keep notes of nodes, expected at most one")
    leading = policies[mix.picker]
    bucketed = leading.plain_choice and all(policy.normalise != Normalise.DRAW for policy in policies)
    params = [prepared(policy, datacenter, target, profile) for policy in policies]
    functions, given = _functions(policies, params, world)
    parts = np.zeros(len(policies), dtype=PART).view(np.recarray)
    parts.weight = [component.weight for component in mix.components]
    parts.normalise = [policy.normalise for policy in policies]
    parts.pick = [policy.pick for policy in policies]
    parts.terms_at, parts.terms_end = _slices([policy.terms for policy in policies])
    parts.params_at, parts.params_end = _slices([len(values) for values in given])
    parts.memory_at, parts.memory_end = _slices([policy.memory_size for policy in policies])

    return Plan(
        score=functions[0],
        weigh=functions[1],
        remember=functions[2],
        parts=parts,
        params=np.concatenate([*given, np.zeros(1)]),
        picker=mix.picker,
        remembers=any(policy.memory_size > 0 for policy in policies),
        bucketed=bucketed,
        priced=any(policy.terms > 1 or policy.weigh is not fixed_price for policy in policies),
        used=np.array(
            [
                start + t
                for policy, values, start in zip(policies, params, parts.terms_at.tolist(), strict=True)
                for t in (range(policy.terms) if policy.used_terms is None else policy.used_terms(values))
            ],
            dtype=np.int64,
        ),
        amounts_only=bucketed and all(policy.amounts_only for policy in policies),
        plain_choice=leading.plain_choice,
        look=int(leading.look),
        stretch=leading.stretch,
        ties=int(leading.ties),
        order=in_order(leading.order, datacenter),
    )


def in_order(order: Order, datacenter: Datacenter) -> NDArray[np.int32]:
    """The nodes in a policy's order."""
    if order == Order.NAME:
        return np.array(sorted(range(len(datacenter)), key=datacenter.names.__getitem__), dtype=np.int32)
    if order == Order.FILE and datacenter.file_place is not None:
        return np.argsort(datacenter.file_place, kind="stable").astype(np.int32)
    return np.arange(len(datacenter), dtype=np.int32)


def _functions(policies: list[Policy], params: list[NDArray[np.float64]], world: World) -> tuple[list[Any], list[Any]]:
    """Three arrays of addresses, of score, weigh and remember of the policies, and the params for each policy.

    A user's policies are called through functions of faults.py, which find their addresses in front of the params.
    """
    floats = np.zeros(1)
    node, task = np.zeros(1, NODE).view(np.recarray)[0], np.zeros(1, TASK).view(np.recarray)[0]
    roles: tuple[tuple[str, type | None, tuple[Any, ...]], ...] = (
        ("score", int, (node, task, world, floats, floats, floats)),
        ("weigh", None, (task, world, floats, floats, floats)),
        ("remember", None, (0, node, task, world, floats, floats)),
    )
    found: list[Any] = [
        addresses([getattr(p, role) for p in policies], result, example) for role, result, example in roles
    ]
    given = list(params)
    for component in (component for component, policy in enumerate(policies) if is_own(policy)):
        before = np.zeros(FIRST_PARAM)
        if COMPILED:
            before[[SCORE, WEIGH, REMEMBER]] = [of_role[component] for of_role in found]  # below 2**53: exact
        given[component] = np.concatenate([before, params[component]])
        instead = (own_score, own_weigh, own_remember) if COMPILED else plain_functions(policies[component])
        for i, (_, result, example) in enumerate(roles):
            (address,) = addresses([instead[i]], result, example)
            both = [*found[i][:component], address, *found[i][component + 1 :]]
            found[i] = np.array(both, dtype=np.int64) if COMPILED else tuple(both)
    return found, given


def prepared(policy: Policy, datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
    """The policy's parameters. Checks its functions before anything is compiled."""
    for role in ("score", "weigh", "remember"):
        if not is_kernel(getattr(policy, role)):
            raise UserError(f"policy {policy.name}: {role} is not a kernel, expected @wattpack.kernel above its def")
    try:
        params = np.asarray(policy.prepare(datacenter, target, profile), dtype=np.float64)
    except SystemExit:  # it would end the program without an error
        raise RunError(f"policy {policy.name}: prepare calls sys.exit") from None
    if params.ndim != 1:
        raise UserError(f"policy {policy.name}: prepare gives {params.ndim} dimensions, expected one row of numbers")
    return params


def _slices(sizes: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ends = np.cumsum(sizes).astype(np.int64)
    return ends - np.array(sizes, dtype=np.int64), ends
