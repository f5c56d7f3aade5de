"""What every reader collects, point by point, and how it becomes a `Signal`: checks of stamps, values and zones."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wattpack.energy.readers.limits import LIMITS
from wattpack.energy.signal import CARBON, MAX_STAMPS, NOT_SAID, Signal
from wattpack.errors import UserError

MAX_STAMP_S = 1e11  # the year 5138
SHOWN_ZONES = 8  # in an error


@dataclass
class Points:
    """The points of one file, in its order."""

    file: Path
    shape: str  # for people: "UK Carbon Intensity (JSON)"
    counted: str  # what numbers count: line, entry, row
    quantity: str
    source: str = ""
    notes: list[str] = field(default_factory=list)
    from_start: bool = False
    number: list[int] = field(default_factory=list)
    time_s: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    about: list[tuple[str, str, str, str]] = field(default_factory=list)  # zone, kind, currency, source
    without_zone: int = 0  # stamps that do not say their time zone

    def fault(self, number: int, what: str, value: object, expected: str) -> UserError:
        shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
        return UserError(f"{self.file}, {self.counted} {number}, {what}: {shown}, expected {expected}")

    def add(
        self,
        number: int,
        stamp: float,
        value: float,
        zone: str = "",
        kind: str = NOT_SAID,
        money: str = "",
        of: str = "",
    ) -> None:
        if len(self.number) >= MAX_STAMPS:
            raise UserError(f"{self.file}: more than {MAX_STAMPS:,} values, expected at most that")
        self.number.append(number)
        self.time_s.append(stamp)
        self.value.append(value)
        self.about.append((zone, kind, money, of))

    def stamp(self, number: int, what: str, text: object) -> float:
        """UTC seconds of an ISO 8601 time stamp. One without a time zone is taken as UTC, and noted."""
        expected = "a time stamp like 2024-01-31T13:00:00Z"
        try:
            found = datetime.fromisoformat(text.strip()) if isinstance(text, str) else None
        except ValueError:
            found = None
        if found is None:
            raise self.fault(number, what, text, expected)
        if found.tzinfo is None:
            self.without_zone += 1
            found = found.replace(tzinfo=UTC)
        time_s = found.timestamp()
        if not 0 <= time_s < MAX_STAMP_S:
            raise self.fault(number, what, text, "a time after 1970")
        return time_s

    def amount(self, number: int, what: str, found: object, factor: float = 1.0) -> float:
        """A number, or its text, within the limits of the quantity."""
        least, most, expected = LIMITS[self.quantity]
        try:
            plain = isinstance(found, int | float) and not isinstance(found, bool)
            text = isinstance(found, str) and found.isascii() and "_" not in found
            value = float(found) * factor if plain or text else math.nan  # type: ignore[arg-type]
        except (ValueError, OverflowError):
            value = math.nan
        if not least <= value <= most:
            raise self.fault(number, what, found, expected)
        return value

    def signal(self, zone: str) -> Signal:
        """The series of one zone; `zone` picks it where the file has several."""
        zones = list(dict.fromkeys(about[0] for about in self.about))
        if not zones:
            raise UserError(f"{self.file}: no values ({self.shape}), expected at least one")
        chosen = _one_zone(self.file, zones, zone)
        kept = np.flatnonzero([about[0] == chosen for about in self.about])
        time_s, number = np.array(self.time_s)[kept], np.array(self.number, dtype=np.int64)[kept]
        self._check_order(time_s, number)
        kind, currency, source = (self._one(part, kept) for part in (1, 2, 3))
        notes = [f"read as {self.shape}", *self.notes]
        if self.without_zone:
            notes.append(f"{self.without_zone:,} time stamps without a time zone taken as UTC")
        if self.quantity == CARBON and kind == NOT_SAID:
            notes.append("the file does not say whether its intensities are average or marginal")
        return Signal(
            time_s,
            np.array(self.value)[kept],
            self.quantity,
            kind,
            chosen,
            currency,
            source or self.source or self.file.name,
            self.shape,
            tuple(notes),
            self.from_start,
            number,
            self.counted,
            str(self.file),
        )

    def _check_order(self, time_s: np.ndarray, number: np.ndarray) -> None:
        wrong = np.flatnonzero(np.diff(time_s) <= 0)
        if len(wrong) == 0:
            return
        place = int(wrong[0]) + 1
        before, after = (self._shown(float(time_s[i])) for i in (place - 1, place))
        if before == after:
            naive = "; local clock time repeats an hour in autumn" if self.without_zone else ""
            expected = f"each time stamp once ({self.counted} {number[place - 1]} has it already{naive})"
        else:
            expected = f"one after {before}: time stamps in order"
        raise UserError(f"{self.file}, {self.counted} {number[place]}: {after}, expected {expected}")

    def _shown(self, time_s: float) -> str:
        if self.from_start:
            return f"{time_s:g} s"
        return datetime.fromtimestamp(time_s, UTC).isoformat().replace("+00:00", "Z")

    def _one(self, part: int, kept: np.ndarray) -> str:
        """What all points say of themselves; the source may change from point to point, kind and currency may not."""
        first: dict[str, int] = {}
        for place in kept.tolist():
            first.setdefault(self.about[place][part], self.number[place])
        if part == 3:
            return ", ".join(list(first)[:3]) + (" and others" if len(first) > 3 else "")
        if len(first) > 1:
            (one, _), (other, number) = list(first.items())[:2]
            what = "kind" if part == 1 else "currency"
            raise self.fault(number, what, other, f"{one!r} as before: never two in one series")
        return next(iter(first))


def _one_zone(file: Path, zones: list[str], zone: str) -> str:
    if zone == "":
        if len(zones) == 1:
            return zones[0]
        raise UserError(f"{file}: {len(zones)} zones ({_shown(zones)}), expected the choice of one: FILE:ZONE")
    found = [name for name in zones if name.lower() == zone.lower()]
    if not found and zones == [""]:
        return ""  # the file does not name its only zone
    if not found:
        raise UserError(f"{file}: no zone {zone!r}, expected one of {_shown(zones)}")
    return found[0]


def _shown(zones: list[str]) -> str:
    names = [zone[:30] or "without a name" for zone in sorted(zones)[:SHOWN_ZONES]]
    return ", ".join(names) + (", ..." if len(zones) > SHOWN_ZONES else "")
