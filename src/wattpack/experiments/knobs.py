"""Options with knobs, as users write them: `on`, `idle=6m,wake=5m`, true, or a mapping of knobs."""

from __future__ import annotations

from collections.abc import Mapping

from wattpack.errors import UserError

ON, OFF = ("on", "true"), ("", "off", "false", "none")
YES, NO = "yes", "no"


def knobs_of(given: object, names: tuple[str, ...], expected: str, what: str) -> dict[str, str] | None:
    """The knobs that are given, by name; none of them for `on`. None: the option is off."""
    if given is None or given is False:
        return None
    if isinstance(given, Mapping):
        given = ",".join(f"{name}={value}" for name, value in given.items())
    if given is not True and not isinstance(given, str):
        raise UserError(f"{what} {given!r}, expected {expected}")
    text = "on" if given is True else given.strip()
    if text.lower() in OFF:
        return None
    found: dict[str, str] = {}
    for part in text.split(",") if text.lower() not in ON else ():
        name, equals, value = (one.strip() for one in part.partition("="))
        if not equals or name not in names or name in found:
            raise UserError(f"{what} {part.strip()!r}, expected {expected}, each knob once")
        found[name] = value
    return found


def yes_or_no(text: str, what: str, knob: str) -> str:
    """YES or NO, in one spelling."""
    if text.lower() in ("yes", "on", "true"):
        return YES
    if text.lower() in ("no", "off", "false"):
        return NO
    raise UserError(f"{what}: {knob} {text.lower()!r}, expected yes or no")
