"""Yearly mean carbon intensities of 30 countries."""

from __future__ import annotations

from typing import NamedTuple

from wattpack.energy.signal import AVERAGE, CARBON, Signal

YEAR = 2023
ATTRIBUTION = (
    f"carbon intensity of electricity, life-cycle, {YEAR}: Ember and Energy Institute, with processing by Our World in "
    "Data, CC BY 4.0"
)


class Zone(NamedTuple):
    iso3: str
    iso2: str
    name: str
    g_per_kwh: float  # life-cycle, mean of the year


ZONES = (
    Zone("ISL", "IS", "Iceland", 28),
    Zone("NOR", "NO", "Norway", 30),
    Zone("CHE", "CH", "Switzerland", 35),
    Zone("SWE", "SE", "Sweden", 41),
    Zone("FRA", "FR", "France", 56),
    Zone("FIN", "FI", "Finland", 79),
    Zone("BRA", "BR", "Brazil", 98),
    Zone("AUT", "AT", "Austria", 111),
    Zone("BEL", "BE", "Belgium", 138),
    Zone("DNK", "DK", "Denmark", 152),
    Zone("PRT", "PT", "Portugal", 166),
    Zone("CAN", "CA", "Canada", 170),
    Zone("ESP", "ES", "Spain", 174),
    Zone("GBR", "GB", "United Kingdom", 238),
    Zone("NLD", "NL", "Netherlands", 268),
    Zone("IRL", "IE", "Ireland", 291),
    Zone("ITA", "IT", "Italy", 331),
    Zone("USA", "US", "United States", 369),
    Zone("DEU", "DE", "Germany", 381),
    Zone("KOR", "KR", "South Korea", 431),
    Zone("CZE", "CZ", "Czechia", 450),
    Zone("SGP", "SG", "Singapore", 471),
    Zone("JPN", "JP", "Japan", 485),
    Zone("MEX", "MX", "Mexico", 507),
    Zone("AUS", "AU", "Australia", 549),
    Zone("CHN", "CN", "China", 582),
    Zone("TWN", "TW", "Taiwan", 642),
    Zone("POL", "PL", "Poland", 662),
    Zone("ZAF", "ZA", "South Africa", 708),
    Zone("IND", "IN", "India", 713),
)
ALIASES = {"UK": "GBR", "CZECH REPUBLIC": "CZE", "KOREA": "KOR", "UNITED STATES OF AMERICA": "USA"}
BY_NAME = {text.upper(): zone for zone in ZONES for text in (zone.iso3, zone.iso2, zone.name)}


def find_zone(text: str) -> Zone | None:
    """The country of an ISO code of 2 or 3 letters or an English name, in any case."""
    key = text.strip().upper()
    return BY_NAME.get(ALIASES.get(key, key))


def zone_names() -> str:
    return ", ".join(sorted(zone.iso3 for zone in ZONES))


def zone_signal(zone: Zone) -> Signal:
    """The country's yearly mean, which holds throughout."""
    return Signal.constant(
        zone.g_per_kwh, CARBON, kind=AVERAGE, zone=zone.iso3, source=ATTRIBUTION, shape="yearly mean", name=zone.name
    )
