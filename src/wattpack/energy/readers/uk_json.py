"""JSON of the UK Carbon Intensity API: national, of one region, or of all regions; half-hourly, average."""

from __future__ import annotations

from typing import Any

from wattpack.energy.readers.json_fields import entries, is_list_with
from wattpack.energy.readers.points import Points
from wattpack.energy.signal import AVERAGE

SHAPE = "UK Carbon Intensity (JSON)"
SOURCE = "UK Carbon Intensity API (National Energy System Operator, CC BY 4.0)"
NATION = "GB"


def matches(document: Any) -> bool:
    return any(is_list_with(found, "from") for _, found in _parts(document))


def read(document: Any, points: Points) -> None:
    points.source = SOURCE
    forecasts = before = 0  # entries are counted through all parts of the file
    for zone, found in _parts(document):
        for place, entry in entries(found, points, before):
            before = place
            time_s = points.stamp(place, "from", entry.get("from"))
            regions = entry.get("regions")
            each = [(zone, entry.get("intensity"))]
            if isinstance(regions, list):
                each = [(_name(region), region.get("intensity")) for region in regions if isinstance(region, dict)]
            for name, intensity in each:
                forecasts += _add(points, place, time_s, name, intensity)
    if forecasts:
        points.notes.append(f"{forecasts:,} of {len(points.number):,} values are forecasts: no actual ones are there")


def _add(points: Points, number: int, time_s: float, zone: str, intensity: Any) -> bool:
    if not isinstance(intensity, dict):
        raise points.fault(number, "intensity", intensity, "an object with actual or forecast")
    field = "forecast" if intensity.get("actual") is None else "actual"
    points.add(number, time_s, points.amount(number, field, intensity.get(field)), zone, AVERAGE)
    return field == "forecast"


def _parts(document: Any) -> list[tuple[str, Any]]:
    """(zone, list of half-hours) of each part: the nation, a region, or a list of regions."""
    data = document.get("data") if isinstance(document, dict) else None
    if isinstance(data, dict):
        return [(_name(data), data.get("data"))]
    if is_list_with(data, "data") and isinstance(data, list):
        return [(_name(part), part.get("data")) for part in data if isinstance(part, dict)]
    return [(NATION, data)]


def _name(region: dict[str, Any]) -> str:
    return str(region.get("shortname") or region.get("regionid") or NATION)
