"""JSON of WattTime's API v3: historical and forecast, lb CO2 per MWh, marginal (`co2_moer`) or average (`co2_aoer`)."""

from __future__ import annotations

from typing import Any

from wattpack.energy.readers.json_fields import entries, is_list_with
from wattpack.energy.readers.points import Points
from wattpack.energy.signal import AVERAGE, MARGINAL
from wattpack.errors import UserError

SHAPE = "WattTime v3 (JSON)"
G_PER_KWH = 0.45359237  # of 1 lb per MWh: a pound is 453.59237 g
UNITS = ("lbs_co2_per_mwh", "lb_co2_per_mwh")
KINDS = {"co2_moer": MARGINAL, "co2_aoer": AVERAGE}
TIME, VALUE = "point_time", "value"


def matches(document: Any) -> bool:
    return isinstance(document, dict) and is_list_with(document.get("data"), TIME)


def read(document: Any, points: Points) -> None:
    meta = document.get("meta")
    meta = meta if isinstance(meta, dict) else {}
    signal, units = str(meta.get("signal_type", "co2_moer")), str(meta.get("units", UNITS[0]))
    if signal not in KINDS:
        raise UserError(f"{points.file}: signal_type {signal[:60]!r}, expected {' or '.join(KINDS)}")
    if units.lower() not in UNITS:
        raise UserError(f"{points.file}: units {units[:60]!r}, expected {UNITS[0]}")
    points.source = "WattTime"
    for number, entry in entries(document["data"], points):
        time_s = points.stamp(number, TIME, entry.get(TIME))
        amount = points.amount(number, VALUE, entry.get(VALUE), G_PER_KWH)
        points.add(number, time_s, amount, str(meta.get("region", "")), KINDS[signal])
