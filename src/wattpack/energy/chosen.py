"""Signals from what a user gives: a country, a number, a file. PUE and embodied carbon from their texts."""

from __future__ import annotations

import math
import re
from pathlib import Path

from wattpack.energy.embodied import MAX_KG, MAX_YEARS, Embodied
from wattpack.energy.readers import read_signal
from wattpack.energy.readers.limits import MAX_G_PER_KWH, MAX_KW, MAX_PRICE
from wattpack.energy.signal import BUDGET, CARBON, PRICE, Signal
from wattpack.energy.zones import find_zone, zone_names, zone_signal
from wattpack.errors import UserError

MAX_PUE = 3.0
FILE_ENDINGS = (".csv", ".json", ".parquet")
PRICE_FORM = re.compile(r"([-+]?[\d.]+(?:e[-+]?\d+)?)\s*([a-z]{3})?", re.ASCII | re.IGNORECASE)


def named_zone(text: str) -> Signal:
    """The yearly mean of a country: `FR`, `FRA` or `France`."""
    zone = find_zone(text)
    if zone is None:
        raise UserError(f"zone {text!r}, expected one of {zone_names()}, its two letters or its English name")
    return zone_signal(zone)


def chosen_carbon(text: str, zone: str = "") -> Signal:
    """A country, g CO2e per kWh, or a file; FILE:ZONE or `zone` picks one of several zones of a file."""
    found = find_zone(text)
    if found is not None:
        return zone_signal(found)
    number = _number(text)
    if number is not None:
        if not 0 <= number <= MAX_G_PER_KWH:
            raise UserError(f"carbon {text!r}, expected g CO2e per kWh from 0 to {MAX_G_PER_KWH:,.0f}")
        return Signal.constant(number, CARBON, name="carbon", source="as given")
    path, zone = _file_and_zone(text, zone)
    if path is None:
        raise UserError(f"carbon {text!r}, expected a file, g CO2e per kWh, or a country: {zone_names()}")
    return read_signal(path, CARBON, zone)


def chosen_price(text: str, zone: str = "") -> Signal:
    """A price per kWh with or without its currency (`0.21`, `0.21 EUR`), or a file."""
    found = PRICE_FORM.fullmatch(text.strip())
    number = _number(found[1]) if found else None
    if found and number is not None:
        if not abs(number) <= MAX_PRICE:
            raise UserError(f"price {text!r}, expected at most {MAX_PRICE:,.0f} per kWh")
        return Signal.constant(number, PRICE, currency=(found[2] or "").upper(), name="price", source="as given")
    path, zone = _file_and_zone(text, zone)
    if path is None:
        raise UserError(f"price {text!r}, expected a file or a price per kWh like '0.21 EUR'")
    return read_signal(path, PRICE, zone)


def chosen_budget(text: str) -> Signal:
    """A limit of IT power in kW, or a file with `seconds,kw` or `timestamp,kw`."""
    number = _number(text)
    if number is not None:
        if not 0 < number <= MAX_KW:
            raise UserError(f"budget {text!r}, expected kW above 0, up to {MAX_KW:,.0f}")
        return Signal.constant(number, BUDGET, name="budget", source="as given")
    path, zone = _file_and_zone(text, "")
    if path is None:
        raise UserError(f"budget {text!r}, expected kW or a file with seconds,kw or timestamp,kw")
    return read_signal(path, BUDGET, zone)


def chosen_pue(text: str | float) -> float:
    """Facility power divided by IT power."""
    number = _number(str(text))
    if number is None or not 1.0 <= number <= MAX_PUE:
        raise UserError(f"PUE {text!r}, expected a number from 1 to {MAX_PUE:g}: facility power divided by IT power")
    return number


def chosen_embodied(text: str) -> Embodied:
    """`gpu=150,node=1200,years=4`: kg CO2e of each GPU and each node, and the lifetime. All parts are optional."""
    fields = {"gpu": "kg_per_gpu", "node": "kg_per_node", "years": "lifetime_years"}
    most = {"gpu": MAX_KG, "node": MAX_KG, "years": MAX_YEARS}
    given: dict[str, float] = {}
    for part in text.split(","):
        key, equals, amount = (word.strip() for word in part.partition("="))
        number = _number(amount)
        if not equals or key not in fields or fields[key] in given or number is None or not 0 <= number <= most[key]:
            raise UserError(f"embodied {part.strip()!r}, expected gpu=KG, node=KG or years=N, each at most once")
        given[fields[key]] = number
    return Embodied(**given)


def _number(text: str) -> float | None:
    """A plain finite number; None for anything else."""
    try:
        found = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _file_and_zone(text: str, zone: str) -> tuple[Path | None, str]:
    """The file, and the zone of it; no file if the text does not look like one."""
    whole = Path(text)
    if text and _exists(whole):
        return whole, zone
    head, colon, tail = text.rpartition(":")
    if colon and head and (_exists(Path(head)) or head.lower().endswith(FILE_ENDINGS)):
        if zone and tail != zone:
            raise UserError(f"{text}: zone {tail!r} and zone {zone!r}, expected one of them")
        return Path(head), tail
    looks_like_a_file = text.lower().endswith(FILE_ENDINGS) or "/" in text
    return (whole if looks_like_a_file else None), zone


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a text that is too long for a name, or has a null byte
        return False
