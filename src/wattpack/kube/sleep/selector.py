"""Label selectors as people write them: `pool=gpu`, `zone!=a`, `tier in (batch, test)`, `spot`, `!keep`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wattpack.errors import UserError
from wattpack.kube.constraints import Wish, holds

_KEY = r"[A-Za-z0-9]([A-Za-z0-9_./-]*[A-Za-z0-9])?"
_VALUE = r"([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?"
_EQUAL = re.compile(rf"(?P<key>{_KEY})\s*(?P<operator>==|=|!=)\s*(?P<value>{_VALUE})", re.ASCII)
_SET = re.compile(rf"(?P<key>{_KEY})\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)", re.ASCII)
_THERE = re.compile(rf"(?P<no>!?)\s*(?P<key>{_KEY})", re.ASCII)
_COMMA = re.compile(r",(?![^(]*\))")  # not one inside parentheses


def parse_selector(text: str) -> tuple[Wish, ...]:
    """The requirements, which must all hold; raises UserError."""
    found = tuple(_requirement(part.strip()) for part in _COMMA.split(text))
    return tuple(dict.fromkeys(found))


def _requirement(part: str) -> Wish:
    if match := _EQUAL.fullmatch(part):
        return Wish(match["key"], "NotIn" if match["operator"] == "!=" else "In", (match["value"],))
    if match := _SET.fullmatch(part):
        values = tuple(value.strip() for value in match["values"].split(","))
        if all(re.fullmatch(_VALUE, value, re.ASCII) for value in values):
            return Wish(match["key"], "In" if match["operator"] == "in" else "NotIn", values)
    if match := _THERE.fullmatch(part):
        return Wish(match["key"], "DoesNotExist" if match["no"] else "Exists", ())
    raise UserError(f"{part!r}, expected a label selector like pool=gpu or tier in (batch, test)")


def selects(selector: tuple[Wish, ...], labels: Mapping[str, str]) -> bool:
    return all(holds(wish, labels) for wish in selector)
