"""Kubernetes quantities (`500m`, `1.5Gi`, `2e3`) as exact integers in billionths, as in Kubernetes itself."""

from __future__ import annotations

import re
from functools import lru_cache

from wattpack.kube.objects import Amount, Unreadable

NANO = 10**9
NANO_PER_MILLI = 10**6
NANO_PER_MIB = NANO << 20

_TEXT = re.compile(
    r"([+-]?)(?=\.?[0-9])([0-9]{0,40})(?:\.([0-9]{0,40}))?"  # sign, digits with an optional point
    r"(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?[0-9]{1,2}))?",  # binary suffix, decimal suffix or exponent
    re.ASCII,
)
_BINARY = {f"{letter}i": 1 << 10 * power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


@lru_cache(maxsize=4096)  # the pods of a cluster use a few hundred different amounts
def _nano(text: str) -> int:
    found = _TEXT.fullmatch(text)
    if found is None:
        raise Unreadable(f"quantity {text[:40]!r}, expected one like 500m, 2 or 1.5Gi")
    sign, whole, part, binary, decimal, exponent = found.groups()
    if sign == "-":
        raise Unreadable(f"quantity {text[:40]!r}, expected 0 or more")
    part = part or ""
    tens = 9 - len(part) + (_DECIMAL[decimal] if decimal else int(exponent or 0))
    digits = int(whole + part) * _BINARY.get(binary or "", 1)
    return (
        digits * 10**tens if tens >= 0 else -(-digits // 10**-tens)
    )  # less than a billionth is rounded up, as in Kubernetes


def nano(amount: Amount) -> int:
    """Billionths of the quantity's unit (cores, bytes, devices), not negative."""
    return _nano(amount if isinstance(amount, str) else repr(amount))


def cpu_milli_up(amount_nano: int) -> int:
    """milli-vCPU of a request, rounded up."""
    return -(-amount_nano // NANO_PER_MILLI)


def cpu_milli_down(amount_nano: int) -> int:
    """milli-vCPU of a node, rounded down."""
    return amount_nano // NANO_PER_MILLI


def memory_mib_up(amount_nano: int) -> int:
    """MiB of a request, rounded up."""
    return -(-amount_nano // NANO_PER_MIB)


def memory_mib_down(amount_nano: int) -> int:
    """MiB of a node, rounded down."""
    return amount_nano // NANO_PER_MIB


def whole(amount_nano: int, what: str) -> int:
    """A number of devices, percents or units, which must be whole; `what` names it in the error."""
    count, rest = divmod(amount_nano, NANO)
    if rest:
        raise Unreadable(f"{what} is {amount_nano / NANO:g}, expected a whole number")
    return count
