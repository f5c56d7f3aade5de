"""Readings of a GPU as an entry of a power file, with the curve, the fitted form and its error."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from wattpack.calibrate.fit import PowerLaw, curve, fit_power_law
from wattpack.calibrate.readings_file import Readings
from wattpack.calibrate.sweep import CONTEXT, IDLE, SPACE, TIME
from wattpack.errors import UserError
from wattpack.model.power_file import GpuItem

WORDS = {TIME: "share of the time", SPACE: "share of the multiprocessors"}


class Calibration(NamedTuple):
    idle_w: float
    context_w: float
    laws: dict[str, PowerLaw]  # by kind of sweep
    item: GpuItem
    comment: str


def calibration(readings: Readings, by: str, today: datetime.date) -> Calibration:
    """The entry with the curve of sweep `by`; both sweeps are fitted and told in the comment."""
    (_, idle_w), (_, context_w) = readings.watts(IDLE)[-1], readings.watts(CONTEXT)[-1]
    context_w = max(context_w, idle_w)
    sweeps = {kind: readings.watts(kind) for kind in (TIME, SPACE) if len(readings.watts(kind)) >= 2}
    if by not in sweeps:
        raise UserError(f"--by {by}: no readings of it, expected {' or '.join(sweeps) or 'a sweep of two shares'}")
    laws = {kind: fit_power_law(context_w, points) for kind, points in sweeps.items()}
    loads = {kind: next(reading.load for reading in readings.readings if reading.kind == kind) for kind in sweeps}
    points = curve(context_w, sweeps[by])
    item = GpuItem(
        idle_w=round(idle_w, 1),
        limit_w=round(readings.limit_w, 1),
        points=tuple((share, max(watts, round(idle_w, 1))) for share, watts in points),
        source=f"wattpack calibrate gpu, {today}, by {WORDS[by]}, load {loads[by]}",
        confidence="curve",
        samples=len(readings.readings),
        fit_error_w=round(laws[by].error_w, 1),
    )
    lines = [
        f"{WORDS[kind]}, load {loads[kind]}: {law.context_w:.1f} + {law.max_w - law.context_w:.1f} x share ** "
        f"{law.exponent:.2f} W, error {law.error_w:.1f} W ({law.error_w / law.max_w:.1%}), at most {law.worst_w:.1f} W"
        for kind, law in laws.items()
    ]
    return Calibration(idle_w, context_w, laws, item, "\n".join(lines))
