"""Policy expressions: `NAME[:WEIGHT](+NAME[:WEIGHT])*`, for example `pwr:0.1+fgd:0.9`.

A policy with a knob may be named with the knob's value: `ocs@0.5`. `auto` stands in place of an expression: one is
chosen for the fleet at hand (wattpack.choose), in the regime at hand or, with `auto@steady`, in the one it names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from wattpack.errors import UserError
from wattpack.model.policy import Component, Mix, Policy
from wattpack.policies import REGISTRY

ONE = 1000  # weights are integers in thousandths
MAX_WEIGHT = 1_000_000
MAX_COMPONENTS = 100
NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)")
AUTO = "auto"
AUTO_SUMMARY = "chooses the best of several expressions for your fleet by simulating them; stands alone, not in a mix"
FILL_UP, STEADY = "fill-up", "steady"  # regimes that `auto` chooses for: tasks only come, or come and go
WORDS = {AUTO: "", f"{AUTO}@{FILL_UP}": FILL_UP, f"{AUTO}@{STEADY}": STEADY}  # the regime that each names


def is_auto(expression: str) -> bool:
    return expression.strip().lower() in WORDS


def canonical(expression: str) -> str:
    """One spelling for equal expressions, `auto` included; every fault is a one-line `UserError`."""
    return expression.strip().lower() if is_auto(expression) else parse(expression).expression


def parse(expression: str, registry: Mapping[str, Policy] | None = None) -> Mix:
    """The policies and weights that `expression` names; every fault is a one-line `UserError` that quotes it."""
    known = REGISTRY if registry is None else registry
    components: list[Component] = []
    parts = expression.split("+")
    if len(parts) > MAX_COMPONENTS:
        shown = f"{expression[:40]}..."
        raise UserError(f"policy expression {shown!r}: {len(parts):,} policies, expected at most {MAX_COMPONENTS}")
    for part in parts:
        policy, weight = _parse_part(expression, part, known)
        if any(component.policy.name == policy.name for component in components):
            raise _fault(expression, f"{policy.name!r} appears twice", known)
        components.append(Component(policy, weight))
    if len(components) == 1:
        components = [Component(components[0].policy, ONE)]
    order = list(known)
    rank = [(-weight, order.index(policy.name.partition("@")[0])) for policy, weight in components]
    picker = rank.index(min(rank))
    return Mix(_canonical(components), tuple(components), picker)


def _parse_part(expression: str, part: str, known: Mapping[str, Policy]) -> tuple[Policy, int]:
    name, colon, text = part.strip().partition(":")
    name, text = name.strip().lower(), text.strip()
    if name == "":
        raise _fault(
            expression, f"empty part {part!r}" if part.strip() == "" else f"no name in {part.strip()!r}", known
        )
    policy = _named(expression, name, known)
    if colon == "":
        return policy, ONE
    if not NUMBER.fullmatch(text):
        raise _fault(expression, f"weight {text!r} in {part.strip()!r}, expected a decimal number above 0", known)
    thousandths = Decimal(text) * ONE
    if thousandths != int(thousandths) or not 0 < thousandths <= MAX_WEIGHT:
        raise _fault(
            expression, f"weight {text!r} in {part.strip()!r}, expected 0.001 to 1000 in steps of 0.001", known
        )
    return policy, int(thousandths)


def _named(expression: str, name: str, known: Mapping[str, Policy]) -> Policy:
    base, at, text = (part.strip() for part in name.partition("@"))
    if base == AUTO and base not in known:
        what = f"{name!r} chooses a whole expression and stands alone"
        raise _fault(expression, f"{what}, expected one of {', '.join(WORDS)}", known)
    if base not in known:
        raise _fault(expression, f"unknown policy {base!r}", known)
    if at == "":
        return known[base]
    with_knob = known[base].with_knob
    if with_knob is None:
        raise _fault(expression, f"{base!r} has no knob for {name!r}", known)
    if not NUMBER.fullmatch(text):
        raise _fault(expression, f"knob {text!r} in {name!r}, expected a decimal number", known)
    try:
        return with_knob(float(text))
    except UserError as fault:
        raise _fault(expression, str(fault), known) from None


def _fault(expression: str, what: str, known: Mapping[str, Policy]) -> UserError:
    return UserError(f"policy expression {expression!r}: {what}; known policies: {', '.join((*known, AUTO))}")


def _canonical(components: list[Component]) -> str:
    """One spelling for equal mixes, so that results of `PWR:.1 + FGD:.90` and `pwr:0.1+fgd:0.9` are the same run."""
    if len(components) == 1:
        return components[0].policy.name
    return "+".join(f"{policy.name}:{Decimal(weight) / ONE:f}" for policy, weight in components)
