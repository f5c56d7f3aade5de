"""JSON of Electricity Maps' API, v3 and v4: history, past-range and forecast of carbon-intensity."""

from __future__ import annotations

from typing import Any

from wattpack.energy.readers.json_fields import entries, is_list_with
from wattpack.energy.readers.points import Points
from wattpack.energy.signal import AVERAGE

SHAPE = "Electricity Maps (JSON)"
LISTS = ("history", "data", "forecast")
VALUE, TIME = "carbonIntensity", "datetime"


def matches(document: Any) -> bool:
    return isinstance(document, dict) and any(is_list_with(document.get(name), VALUE) for name in LISTS)


def read(document: Any, points: Points) -> None:
    name = next(name for name in LISTS if is_list_with(document.get(name), VALUE))
    points.source = "Electricity Maps"
    own = document.get("zone", "")
    bases: set[str] = set()
    for number, entry in entries(document[name], points):
        zone = entry.get("zone", own)
        bases.add(str(entry.get("emissionFactorType", "lifecycle")))
        time_s = points.stamp(number, TIME, entry.get(TIME))
        points.add(number, time_s, points.amount(number, VALUE, entry.get(VALUE)), str(zone), AVERAGE)
    if bases - {"lifecycle"}:
        points.notes.append(f"emission factors: {', '.join(sorted(bases))}")
    if name == "forecast":
        points.notes.append("a forecast")
