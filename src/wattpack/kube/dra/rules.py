"""Constraints of claims while devices are chosen: an attribute that is the same on all, or different on each."""

from __future__ import annotations

from collections.abc import Sequence

from wattpack.kube.dra.pools import Offered
from wattpack.kube.dra.slice_objects import Attribute
from wattpack.kube.dra.wanted import Ask, Rule

Value = tuple[str, int | bool | str]  # kind and value: 1 and true are different


class Rules:
    """The values that each constraint has seen so far."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self.seen: list[list[Value]] = [[] for _ in rules]

    def add(self, ask: Ask, offered: Offered) -> bool:
        """Whether every constraint allows the device for the request; then it counts from now on."""
        new: list[tuple[int, Value]] = []
        for number, rule in enumerate(self.rules):
            if not rule.about(ask):
                continue
            value = attribute_value(offered, rule.attribute)
            seen = self.seen[number]
            if value is None or (rule.same and any(value != other for other in seen[:1])):
                return False
            if not rule.same and value in seen:
                return False
            new.append((number, value))
        for number, value in new:
            self.seen[number].append(value)
        return True

    def remove(self, ask: Ask, offered: Offered) -> None:
        """The device that was added last is given back."""
        for number, rule in enumerate(self.rules):
            if rule.about(ask):
                self.seen[number].pop()


def attribute_value(offered: Offered, name: str) -> Value | None:
    """By its full name `domain/name`; the driver's own attributes may be written without the domain. None: none."""
    said = offered.said.attributes
    found: Attribute | None = said.get(name)
    domain, _, short = name.partition("/")
    if found is None and domain == offered.id.driver:
        found = said.get(short)
    return None if found is None else found.value()
