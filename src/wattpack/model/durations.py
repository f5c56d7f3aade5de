"""Durations as people write them: `90s`, `6m`, `2h`, `1d`, or plain seconds."""

from __future__ import annotations

import re

from wattpack.errors import UserError

SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
DAY_S = SECONDS["d"]
MAX_S = 1e10  # three centuries: above any run, far below what loses whole seconds
FORM = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([smhdw]?)", re.ASCII)


def seconds_of(text: str, what: str) -> float:
    """The seconds of a duration, from 0; `what` is the option or column that an error names."""
    found = FORM.fullmatch(text.strip().lower())
    seconds = float(found[1]) * SECONDS[found[2]] if found else float("nan")
    if not seconds <= MAX_S:
        raise UserError(f"{what} {text!r}, expected a duration like 90s, 6m, 2h or 1d, or seconds")
    return seconds
