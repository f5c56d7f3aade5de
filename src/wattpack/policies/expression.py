"""Policy expressions: `NAME[:WEIGHT](+NAME[:WEIGHT])*`, for example `pwr:0.1+fgd:0.9`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from wattpack.errors import UserError
from wattpack.model.policy import Component, Mix, Policy
from wattpack.policies import REGISTRY

ONE = 1000  # weights are integers in thousandths
MAX_WEIGHT = 1_000_000
NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)")


def parse(expression: str, registry: Mapping[str, Policy] | None = None) -> Mix:
    """The policies and weights that `expression` names; every fault is a one-line `UserError` that quotes it."""
    known = REGISTRY if registry is None else registry
    components: list[Component] = []
    for part in expression.split("+"):
        name, weight = _parse_part(expression, part, known)
        if any(component.policy.name == name for component in components):
            raise _fault(expression, f"{name!r} appears twice", known)
        components.append(Component(known[name], weight))
    if len(components) == 1:
        components = [Component(components[0].policy, ONE)]
    order = list(known)
    picker = min(range(len(components)), key=lambda i: (-components[i].weight, order.index(components[i].policy.name)))
    return Mix(_canonical(components), tuple(components), picker)


def _parse_part(expression: str, part: str, known: Mapping[str, Policy]) -> tuple[str, int]:
    name, colon, text = part.strip().partition(":")
    name, text = name.strip().lower(), text.strip()
    if name == "":
        raise _fault(
            expression, f"empty part {part!r}" if part.strip() == "" else f"no name in {part.strip()!r}", known
        )
    if name not in known:
        raise _fault(expression, f"unknown policy {name!r}", known)
    if colon == "":
        return name, ONE
    if not NUMBER.fullmatch(text):
        raise _fault(expression, f"weight {text!r} in {part.strip()!r}, expected a decimal number above 0", known)
    thousandths = Decimal(text) * ONE
    if thousandths != int(thousandths) or not 0 < thousandths <= MAX_WEIGHT:
        raise _fault(
            expression, f"weight {text!r} in {part.strip()!r}, expected 0.001 to 1000 in steps of 0.001", known
        )
    return name, int(thousandths)


def _fault(expression: str, what: str, known: Mapping[str, Policy]) -> UserError:
    return UserError(f"policy expression {expression!r}: {what}; known policies: {', '.join(known)}")


def _canonical(components: list[Component]) -> str:
    """One spelling for equal mixes, so that results of `PWR:.1 + FGD:.90` and `pwr:0.1+fgd:0.9` are the same run."""
    if len(components) == 1:
        return components[0].policy.name
    return "+".join(f"{c.policy.name}:{Decimal(c.weight) / ONE:f}" for c in components)
