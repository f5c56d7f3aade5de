"""A key of an experiment file whose values are numbers: what they may be, in words and as a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from wattpack.datasets.inflation import UP_TO

REAL = (int, float)


class Numbers(NamedTuple):
    """Type, noun, validity test (a NaN is never valid), message, default, and the key that it needs."""

    kind: type | tuple[type, ...]
    what: str
    good: Callable[[float], bool]
    expected: str
    default: Any
    needs: str = ""  # another key without which this one has no meaning


UP_TO_KEY = {
    "up_to": Numbers(
        REAL, "a load", lambda x: 0 < x <= UP_TO, f"a load above 0 and at most {UP_TO}, where readings end", UP_TO
    )
}
