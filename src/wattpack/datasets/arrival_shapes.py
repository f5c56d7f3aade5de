"""When tasks arrive: the rate over the hours of a week, and bursts. Shapes are given as words, like
`rhythm,daily=0.2,weekend=0`.

The rate in hour h of a day (0 to 23) is

    rate(h) = mean * (1 + daily * cos(2 pi (h + 0.5 - 15) / 24)) * (1 - weekend on Saturday and Sunday, else 1)

so that it is highest at 15:00 and lowest at 3:00, each hour at one rate, rounded to thousandths: no rounding of a
platform's cosine can change a draw. Weeks begin on Monday.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError

HOURS = 168  # of a week
PEAK_HOUR = 15
MAX_BURST = 10_000


@dataclass(frozen=True)
class Shape:
    """How arrivals are spread over time. `burst`: mean number of tasks that arrive at one instant."""

    name: str
    daily: float = 0.0  # 0 to 1: swing of the rate over a day, as a fraction of its mean
    weekend: float = 0.0  # 0 to 1: by how much the rate is lower on Saturday and Sunday
    burst: int = 1

    def hour_weights(self) -> NDArray[np.float64]:
        """Rates of the 168 hours from Monday 0:00 on, with a mean of 1."""
        weights = []
        for hour in range(HOURS):
            swing = 1 + self.daily * math.cos(2 * math.pi * (hour % 24 + 0.5 - PEAK_HOUR) / 24)
            weights.append(round(1000 * swing * (1 - self.weekend if hour // 24 >= 5 else 1)))
        if sum(weights) == 0:
            raise UserError(f"arrivals {self.text}: no hour has arrivals, expected smaller daily or weekend")
        return np.array(weights, dtype=np.float64) * (HOURS / sum(weights))

    @property
    def text(self) -> str:
        return f"{self.name},daily={self.daily:g},weekend={self.weekend:g},burst={self.burst}"


# name -> (shape, one line of help)
SHAPES = {
    "poisson": (Shape("poisson"), "the same rate at all times"),
    "rhythm": (Shape("rhythm", 0.4, 0.3), "40 % more than the mean at 15:00, 40 % less at 3:00, weekends 30 % lower"),
    "bursts": (Shape("bursts", burst=20), "20 tasks at a time on average (1 to 39), bursts at the same rate always"),
}


def read_shape(text: str) -> Shape:
    """`NAME[,daily=D][,weekend=W][,burst=B]`: a shape by name, with other numbers."""
    name, *settings = (part.strip() for part in text.split(","))
    if name not in SHAPES:
        raise UserError(f"arrivals {text!r}: {name!r}, expected one of {', '.join(SHAPES)}")
    found = SHAPES[name][0]
    values: dict[str, float] = {"daily": found.daily, "weekend": found.weekend, "burst": found.burst}
    for setting in settings:
        key, _, value = setting.partition("=")
        most = MAX_BURST if key == "burst" else 1
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        least = 1 if key == "burst" else 0
        if key not in values or not least <= number <= most or (key == "burst" and number != int(number)):
            expected = f"daily=0..1, weekend=0..1 or burst=1..{MAX_BURST} (a whole number)"
            raise UserError(f"arrivals {text!r}: {setting!r}, expected {expected}")
        values[key] = number
    shape = Shape(name, values["daily"], values["weekend"], int(values["burst"]))
    shape.hour_weights()
    return shape


class Clock:
    """Integrals of the rate, mean 1 an hour. Times in hours, before and after the start, at any hour of the week."""

    def __init__(self, weights: NDArray[np.float64], first_hour: float = 0.0) -> None:
        self.weights, self.first_hour = weights, first_hour
        self.before = np.concatenate(([0.0], np.cumsum(weights)))  # arrivals before each hour of the week
        self.area = np.concatenate(([0.0], np.cumsum(self.before[:-1] + weights / 2)))  # integral of those

    def arrivals(self, hours: NDArray[np.float64]) -> NDArray[np.float64]:
        """Integral of the rate up to these times, from Monday 0:00 of the first week on."""
        week, hour, part = self._split(hours)
        return week * self.before[-1] + self.before[hour] + self.weights[hour] * part

    def arrivals_area(self, hours: NDArray[np.float64]) -> NDArray[np.float64]:
        """Integral of `arrivals` up to these times."""
        week, hour, part = self._split(hours)
        inside = self.area[hour] + self.before[hour] * part + self.weights[hour] * part * part / 2
        whole = self.before[-1] * HOURS * week * (week - 1) / 2 + week * self.area[-1]
        return whole + week * self.before[-1] * (hour + part) + inside

    def times(self, arrivals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Hours from the start at which `arrivals` has these values; in hours of rate 0, their end."""
        week = np.floor(arrivals / self.before[-1])
        inside = arrivals - week * self.before[-1]
        hour = np.minimum(np.searchsorted(self.before, inside, side="right") - 1, HOURS - 1)
        # at the end of a week rounding can leave `inside` a hair above all: then the hour may have a rate of 0
        rate = np.where(self.weights[hour] > 0, self.weights[hour], 1.0)
        return week * HOURS + hour + (inside - self.before[hour]) / rate - self.first_hour

    def _split(self, hours: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
        shifted = hours + self.first_hour
        floor = np.floor(shifted)
        week = np.floor(floor / HOURS)
        return week, (floor - week * HOURS).astype(np.int64), shifted - floor
