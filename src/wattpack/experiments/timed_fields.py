"""Options of runs in time by the words of users: `[timed]` of an experiment file, options of `wattpack simulate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from wattpack.datasets.cap_speed_files import CapSpeeds, load_cap_speeds
from wattpack.datasets.speed_files import TYPICAL, SpeedTable, load_speeds
from wattpack.energy.signal import BUDGET, CARBON, PRICE, Signal, one_kind
from wattpack.errors import UserError
from wattpack.experiments.consolidating import consolidate_text
from wattpack.experiments.sleep_and_caps import cap_text, sleep_text
from wattpack.experiments.timed_options import Timed, checked
from wattpack.model.durations import seconds_of


def _text(value: object, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Path):
        raise UserError(f"{what} {value!r}, expected a text")
    return str(value)


def _seconds(value: object, what: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    return seconds_of(_text(value, what), what)


def _above_zero(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (isfinite(value) and value > 0):
        raise UserError(f"{what} {value!r}, expected a number above 0")
    return float(value)


def _positive_seconds(value: object, what: str) -> float:
    found = _seconds(value, what)
    if found <= 0:
        raise UserError(f"{what} {value!r}, expected more than 0")
    return found


def _pue(value: object, what: str) -> float:
    from wattpack.energy.chosen import chosen_pue  # 15 ms of readers that other kinds of runs do without

    return chosen_pue(_text(value, what))


def _embodied(value: object, what: str) -> str:
    from wattpack.energy.chosen import chosen_embodied

    text = _text(value, what)
    chosen_embodied(text)
    return ",".join(sorted(part.strip() for part in text.split(",")))


def _flag(value: object, what: str) -> int:
    if not isinstance(value, bool):
        raise UserError(f"{what} {value!r}, expected true or false")
    return int(value)


# The user's word -> the field of `Timed`, and how its value is read.
FIELDS: dict[str, tuple[str, Callable[[object, str], Any]]] = {
    "queue": ("queue", _text),
    "patience": ("patience_s", _positive_seconds),
    "load": ("load", _above_zero),
    "days": ("days", _above_zero),
    "arrivals": ("arrivals", _text),
    "start": ("start", _text),
    "horizon": ("horizon_s", _positive_seconds),
    "until": ("until", _text),
    "sample": ("sample_s", _positive_seconds),
    "pue": ("pue", _pue),
    "embodied": ("embodied", _embodied),
    "carbon": ("carbon", _text),
    "price": ("price", _text),
    "budget_kw": ("budget", _text),
    "speed": ("speed", _text),
    "speed_reference": ("speed_reference", _above_zero),
    "slack": ("slack", _text),
    "slack_by": ("slack_by", _text),
    "forecast": ("forecast", _text),
    "repeat_signals": ("repeat", _flag),
    "hold_gaps": ("hold_gaps", _flag),
    "target": ("target", _text),
    "sleep": ("sleep", sleep_text),
    "cap": ("cap", cap_text),
    "durations": ("durations", _text),
    "cap_speed": ("cap_speed", _text),
    "consolidate": ("consolidate", consolidate_text),
    "bound": ("bound", _flag),
}


def timed_of(given: Mapping[str, object]) -> Timed:
    """The options; None is not given."""
    found = {FIELDS[key][0]: FIELDS[key][1](value, key) for key, value in given.items() if value is not None}
    return checked(Timed(**found))


def timed_keys(options: tuple[Timed, ...]) -> dict[str, tuple[object, ...]]:
    """The user's words that say these options, where they are not the default."""
    found: dict[str, tuple[object, ...]] = {}
    for key, (field, _) in FIELDS.items():
        values = tuple(dict.fromkeys(getattr(one, field) for one in options))
        if options and values != (getattr(Timed(), field),):
            found[f"timed.{key}"] = values
    return found if found or not options else {"timed.queue": (options[0].queue,)}


def load_signals(options: tuple[Timed, ...], folder: Path | None = None) -> dict[tuple[str, str], Signal]:
    """The signals that the options name, by quantity and name. Files are looked for in `folder`."""
    if not any(getattr(one, quantity) for one in options for quantity in (CARBON, PRICE, BUDGET)):
        return {}
    from wattpack.energy.chosen import chosen_budget, chosen_carbon, chosen_price

    readers = {CARBON: chosen_carbon, PRICE: chosen_price, BUDGET: chosen_budget}
    found: dict[tuple[str, str], Signal] = {}
    for quantity, read in readers.items():
        for name in dict.fromkeys(getattr(one, quantity) for one in options):
            if name:
                found[quantity, name] = read(_located(name, folder))
    one_kind(signal for (quantity, _), signal in found.items() if quantity == CARBON)
    return found


def load_speed_tables(options: tuple[Timed, ...], folder: Path | None = None) -> dict[str, SpeedTable]:
    names = dict.fromkeys(one.speed for one in options if one.speed)
    return {name: load_speeds(name if name == TYPICAL else _located(name, folder)) for name in names}


def load_cap_tables(options: tuple[Timed, ...], folder: Path | None = None) -> dict[str, CapSpeeds]:
    names = dict.fromkeys(one.cap_speed for one in options if one.cap_speed)
    return {name: load_cap_speeds(_located(name, folder)) for name in names}


def _located(name: str, folder: Path | None) -> str:
    """The path of a file of `folder`, also where a zone follows it; anything else as it is."""
    if folder is None:
        return name
    head = name.rpartition(":")[0] or name
    try:
        there = (folder / name).is_file() or (folder / head).is_file()
    except (OSError, ValueError):  # too long for a path
        there = False
    return str(folder / name) if there else name
