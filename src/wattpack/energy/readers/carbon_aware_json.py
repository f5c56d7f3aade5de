"""JSON of the Carbon Aware SDK: the answer of its web API and command line, and its own data files."""

from __future__ import annotations

from typing import Any

from wattpack.energy.readers.json_fields import entries, lower_keys
from wattpack.energy.readers.points import Points

SHAPE = "Carbon Aware SDK (JSON)"
TIME, VALUE, ZONE = "time", "rating", "location"


def matches(document: Any) -> bool:
    found = _list(document)
    return isinstance(found, list) and len(found) > 0 and isinstance(found[0], dict) and VALUE in lower_keys(found[0])


def read(document: Any, points: Points) -> None:
    points.source = "Carbon Aware SDK"
    for number, entry in entries(_list(document), points):
        fields = lower_keys(entry)
        time_s = points.stamp(number, TIME, fields.get(TIME))
        zone = str(fields.get(ZONE) or "")
        points.add(number, time_s, points.amount(number, VALUE, fields.get(VALUE)), zone)


def _list(document: Any) -> Any:
    """The entries: the document itself, or its `Emissions`."""
    return lower_keys(document).get("emissions") if isinstance(document, dict) else document
