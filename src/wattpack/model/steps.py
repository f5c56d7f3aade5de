"""A quantity that changes in steps over time: a carbon intensity, a price, a power budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wattpack.errors import UserError


@dataclass(frozen=True)
class Steps:
    """A value holds until the next time stamp; before the first one the first holds."""

    time_s: NDArray[np.float64]  # strictly ascending, seconds from the start of the run
    value: NDArray[np.float64]

    @classmethod
    def of(cls, time_s: ArrayLike, value: ArrayLike) -> Steps:
        return cls(np.asarray(time_s, dtype=np.float64), np.asarray(value, dtype=np.float64))

    @classmethod
    def constant(cls, value: float) -> Steps:
        return cls.of([0.0], [value])

    def __post_init__(self) -> None:
        if len(self.time_s) == 0 or self.time_s.shape != self.value.shape:
            raise UserError(f"{len(self.value)} values at {len(self.time_s)} times, expected one for each, at least 1")
        if not (np.isfinite(self.time_s).all() and np.isfinite(self.value).all()):
            raise UserError("steps over time: a time or value is not finite, expected numbers")
        if not (np.diff(self.time_s) > 0).all():
            raise UserError("steps over time: the times do not ascend, expected each one once, in order")

    def at(self, time_s: ArrayLike) -> NDArray[np.float64]:
        """The values that hold at these times."""
        return self.value[np.maximum(np.searchsorted(self.time_s, time_s, side="right") - 1, 0)]

    def integral(self, time_s: ArrayLike) -> NDArray[np.float64]:
        """The integral from the first time stamp to each of these times; negative before it."""
        times = np.asarray(time_s, dtype=np.float64)
        before = np.concatenate([[0.0], np.cumsum(self.value[:-1] * np.diff(self.time_s))])
        place = np.maximum(np.searchsorted(self.time_s, times, side="right") - 1, 0)
        return before[place] + self.value[place] * (times - self.time_s[place])

    def shifted(self, seconds: float) -> Steps:
        """The same steps, all this much later."""
        return Steps(self.time_s + seconds, self.value)

    def scaled(self, factor: float) -> Steps:
        """The same steps in another unit."""
        return Steps(self.time_s, self.value * factor)
