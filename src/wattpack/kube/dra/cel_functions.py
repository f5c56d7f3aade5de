"""Kubernetes' own CEL functions: quantities (`quantity("8Gi")`, `compareTo`, `asInteger`, ...) and semantic versions.

The CEL library has no values of types that others define, so at run time a quantity or a version is a string of bytes
that only these functions take apart. The types are checked before that, with types of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from wattpack.kube.objects import Unreadable
from wattpack.kube.quantity import NANO, nano

QUANTITY, SEMVER = "kubernetes.Quantity", "kubernetes.Semver"
_QUANTITY, _SEMVER = b"\1quantity ", b"\1semver "  # no 0: the library ends a string there
_INT64 = 1 << 63
_VERSION = re.compile(
    r"(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?",
    re.ASCII,
)
_DIGITS = re.compile(r"[0-9]+", re.ASCII)


class Function(NamedTuple):
    """One overload. `takes` and `gives` name types of CEL, or the two above; `member`: called as `a.f(b)`."""

    name: str
    takes: tuple[str, ...]
    gives: str
    member: bool
    does: Callable[..., Any]


# ---- values


def quantity_value(amount_nano: int) -> bytes:
    return _QUANTITY + str(amount_nano).encode()


def semver_value(text: str) -> bytes:
    """Raises ValueError for text that is not a semantic version."""
    version(text)
    return _SEMVER + text.encode()


def _amount(value: bytes) -> int:
    if not value.startswith(_QUANTITY):
        raise ValueError("no such overload: expected a quantity")
    return int(value[len(_QUANTITY) :])


def version(text: str) -> tuple[int, int, int, tuple[tuple[int, int, str], ...]]:
    """A semantic version in an order in which comparison is that of semver.org: build metadata is not compared."""
    found = _VERSION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not a semantic version, expected one like 1.2.3")
    # A release is above its pre-releases; numbers are below words, and compare as numbers.
    before: tuple[tuple[int, int, str], ...] = ((2, 0, ""),)
    if found[4] is not None:
        parts = found[4].split(".")
        if any(part == "" or (_DIGITS.fullmatch(part) and part[0] == "0" and part != "0") for part in parts):
            raise ValueError(f"{text[:40]!r} is not a semantic version: bad pre-release")
        before = tuple((0, int(part), "") if _DIGITS.fullmatch(part) else (1, 0, part) for part in parts)
    if found[5] is not None and "" in found[5].split("."):
        raise ValueError(f"{text[:40]!r} is not a semantic version: bad build metadata")
    return int(found[1]), int(found[2]), int(found[3]), before


def _version(value: bytes) -> tuple[int, int, int, tuple[tuple[int, int, str], ...]]:
    if not value.startswith(_SEMVER):
        raise ValueError("no such overload: expected a semantic version")
    return version(value[len(_SEMVER) :].decode())


# ---- functions


def quantity(text: str) -> bytes:
    sign = -1 if text.startswith("-") else 1
    try:
        return quantity_value(sign * nano(text[1:] if sign < 0 else text))
    except Unreadable as fault:
        raise ValueError(str(fault)) from None


def semver(text: str, normalise: bool = False) -> bytes:
    """`normalise`: without a leading v, with a minor and a patch number, without leading zeros."""
    if normalise:
        parts = text.removeprefix("v").split(".", 2)
        parts = [part.lstrip("0") or "0" if _DIGITS.fullmatch(part) else _without_zeros(part) for part in parts]
        text = ".".join(parts + ["0"] * (3 - len(parts)))
    return semver_value(text)


def _without_zeros(part: str) -> str:
    """`01-rc.1` as `1-rc.1`."""
    digits = _DIGITS.match(part)
    return part if digits is None else (digits[0].lstrip("0") or "0") + part[digits.end() :]


def _works(function: Callable[..., bytes]) -> Callable[..., bool]:
    def works(*given: Any) -> bool:
        try:
            function(*given)
        except ValueError:
            return False
        return True

    return works


def compare(one: bytes, other: bytes) -> int:
    """Of two quantities, or of two versions."""
    a, b = (_amount(one), _amount(other)) if one.startswith(_QUANTITY) else (_version(one), _version(other))
    return (a > b) - (a < b)  # type: ignore[operator]


def as_integer(value: bytes) -> int:
    whole, rest = divmod(_amount(value), NANO)
    if rest or not -_INT64 <= whole < _INT64:
        raise ValueError("cannot convert value to integer")
    return whole


def _is_integer(value: bytes) -> bool:
    return _works(lambda: as_integer(value).to_bytes(9, "big", signed=True))()


def _plus(sign: int) -> Callable[[bytes, bytes | int], bytes]:
    def add(value: bytes, other: bytes | int) -> bytes:
        more = other * NANO if isinstance(other, int) else _amount(other)
        return quantity_value(_amount(value) + sign * more)

    return add


def _sign(value: bytes) -> int:
    amount = _amount(value)
    return (amount > 0) - (amount < 0)


def _both(name: str, gives: str, does: Callable[[bytes, bytes], Any]) -> tuple[Function, Function]:
    """The same for quantities and for versions."""
    return Function(name, (QUANTITY, QUANTITY), gives, True, does), Function(name, (SEMVER, SEMVER), gives, True, does)


FUNCTIONS = (
    Function("quantity", ("string",), QUANTITY, False, quantity),
    Function("isQuantity", ("string",), "bool", False, _works(quantity)),
    Function("sign", (QUANTITY,), "int", False, _sign),
    *_both("isGreaterThan", "bool", lambda a, b: compare(a, b) > 0),
    *_both("isLessThan", "bool", lambda a, b: compare(a, b) < 0),
    *_both("compareTo", "int", compare),
    Function("asApproximateFloat", (QUANTITY,), "double", True, lambda value: _amount(value) / NANO),
    Function("asInteger", (QUANTITY,), "int", True, as_integer),
    Function("isInteger", (QUANTITY,), "bool", True, _is_integer),
    Function("add", (QUANTITY, QUANTITY), QUANTITY, True, _plus(1)),
    Function("add", (QUANTITY, "int"), QUANTITY, True, _plus(1)),
    Function("sub", (QUANTITY, QUANTITY), QUANTITY, True, _plus(-1)),
    Function("sub", (QUANTITY, "int"), QUANTITY, True, _plus(-1)),
    Function("semver", ("string",), SEMVER, False, semver),
    Function("semver", ("string", "bool"), SEMVER, False, semver),
    Function("isSemver", ("string",), "bool", False, _works(semver)),
    Function("isSemver", ("string", "bool"), "bool", False, _works(semver)),
    Function("major", (SEMVER,), "int", True, lambda value: _version(value)[0]),
    Function("minor", (SEMVER,), "int", True, lambda value: _version(value)[1]),
    Function("patch", (SEMVER,), "int", True, lambda value: _version(value)[2]),
)
