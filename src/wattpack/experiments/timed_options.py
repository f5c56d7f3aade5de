"""Options of a run in time: the queue, where tasks come from, signals, speeds. A scenario holds them as one object.

`Timed` names what it uses; `Inputs` holds it by these names, and digests stand for the contents in a scenario's id.
"""

from __future__ import annotations

from datetime import datetime
from math import inf
from typing import NamedTuple

from wattpack.datasets.arrival_shapes import read_shape
from wattpack.datasets.generators import MAX_DAYS, MAX_LOAD
from wattpack.energy.slack import FORECASTS, PERFECT, slack_by_class
from wattpack.engine.moments.options import BACKFILL, DISCIPLINES, DROP, DURATIONS, LEARNT
from wattpack.errors import UserError
from wattpack.experiments.consolidating import consolidate_text
from wattpack.experiments.sleep_and_caps import ALL_MODELS, cap_text, sleep_text
from wattpack.model.durations import MAX_S

QUEUE = BACKFILL  # what a cluster's scheduler does: a task that does not fit waits, others go on
LOAD, DAYS, SHAPE = 0.7, 7.0, "rhythm"  # of tasks that are drawn, unless told otherwise
SAMPLE_S = 60.0
DONE = "done"
MAX_SPEED = 1000.0
CARBON, PRICE = "carbon", "price"  # signals that a task with slack may wait for


class Timed(NamedTuple):
    """What a run in time is told. Empty texts and zeros: not given."""

    queue: str = QUEUE
    patience_s: float = inf
    load: float = 0.0  # mean load of drawn tasks; 0: tasks at their own times
    days: float = 0.0  # of drawn tasks
    arrivals: str = ""  # shape of their arrivals
    load_gpu_milli: int = 0  # GPUs that the load is of: the same tasks come to every datacenter
    start: str = ""  # clock time of the first arrival, ISO 8601
    horizon_s: float = 0.0  # 0: until the last arrival, or the days of drawn tasks
    until: str = ""  # DONE: until no task is left, instead of a horizon
    sample_s: float = SAMPLE_S
    pue: float = 1.0
    embodied: str = ""  # as `chosen_embodied` reads it
    repeat: int = 0  # 1: signals that end before the run are repeated
    hold_gaps: int = 0  # 1: values hold where time stamps are missing
    slack: str = ""  # `BE=21600`: seconds by class of service
    slack_by: str = ""  # the signal that tasks with slack wait for
    forecast: str = ""
    speed_reference: float = 0.0  # speed that durations are of
    sleep: str = ""  # as `sleep_text` spells it; empty: all nodes stay awake
    cap: str = ""  # as `cap_text` spells it
    durations: str = ""  # what policies know of them where nodes sleep; empty: what they learn
    consolidate: str = ""  # as `consolidate_text` spells it; empty: no running task is moved
    bound: int = 0  # 1: the least energy of any schedule with the same tasks is worked out too
    carbon: str = ""  # names from here on: their contents are in the digests
    price: str = ""
    budget: str = ""
    speed: str = ""
    target: str = ""
    cap_speed: str = ""
    carbon_digest: str = ""
    price_digest: str = ""
    budget_digest: str = ""
    speed_digest: str = ""
    target_digest: str = ""
    cap_speed_digest: str = ""

    @property
    def text(self) -> str:
        """The options that a title names."""
        parts = [self.queue]
        if self.patience_s < inf:
            parts.append(f"patience {shown_time(self.patience_s)}")
        if self.load > 0:
            parts.append(f"load {self.load:g}, {self.days:g} day{'' if self.days == 1 else 's'}")
            parts += [self.arrivals] if self.arrivals != SHAPE else []
        if self.slack:
            parts.append(slack_shown(self.slack))
        parts += [f"until {self.until}"] if self.until else []
        parts += [f"speed {self.speed}"] if self.speed else []
        parts += [f"budget {self.budget} kW"] if self.budget else []
        parts += [shown_sleep(self.sleep)] if self.sleep else []
        parts += [f"durations {self.durations}"] if self.durations else []
        parts += [shown_caps(self.cap)] if self.cap else []
        moves = self.consolidate.split(",")[0].removeprefix("moves=")
        parts += [f"at most {moves} moves an hour"] if moves else []
        return ", ".join(parts)


NAMES = ("carbon", "price", "budget", "speed", "target", "cap_speed")  # no part of an id
DIGESTS = tuple(f"{name}_digest" for name in NAMES)
# Omitted from an id when unset, so that older ids stay valid.
LATER = ("until", "sleep", "cap", "durations", "consolidate", "bound", "cap_speed_digest")


def checked(timed: Timed) -> Timed:
    """The options as one spelling; what does not go together is refused."""
    if timed.queue not in DISCIPLINES:
        raise UserError(f"queue {timed.queue!r}, expected one of {', '.join(DISCIPLINES)}")
    if not timed.patience_s > 0:
        raise UserError(f"patience of {timed.patience_s:g} s, expected more than 0")
    if timed.queue == DROP and timed.patience_s < inf:
        raise UserError(f"patience with queue {DROP}, where no task waits, expected queue fifo or backfill")
    if timed.load and not 0 < timed.load <= MAX_LOAD:
        raise UserError(f"load {timed.load:g}, expected above 0 and at most {MAX_LOAD:g}")
    if timed.days and not 0 < timed.days <= MAX_DAYS:
        raise UserError(f"days {timed.days:g}, expected above 0 and at most {MAX_DAYS:g}")
    if not 0 < timed.sample_s <= MAX_S:
        raise UserError(f"a sample every {timed.sample_s:g} s, expected more than 0")
    if not 0 <= timed.horizon_s <= MAX_S:
        raise UserError(f"horizon of {timed.horizon_s:g} s, expected more than 0")
    if timed.until not in ("", DONE):
        raise UserError(f"until {timed.until!r}, expected {DONE}, or no until: a run then ends with the last arrival")
    if timed.until and timed.horizon_s:
        raise UserError(f"until {DONE} with a horizon of {timed.horizon_s:g} s, expected one of them")
    if not 0 <= timed.speed_reference <= MAX_SPEED:
        raise UserError(f"speed reference {timed.speed_reference:g}, expected above 0 and at most {MAX_SPEED:g}")
    if timed.speed_reference and not timed.speed:
        raise UserError("a speed reference without speeds, expected a table of speeds too")
    if timed.start:
        start_of(timed.start)
    if timed.durations not in ("", *DURATIONS):
        raise UserError(f"durations {timed.durations!r}, expected one of {', '.join(DURATIONS)}")
    if timed.durations and sleep_text(timed.sleep or False) == "":
        raise UserError(f"durations {timed.durations!r} without sleep, expected sleep too: nothing else asks for them")
    caps = cap_text(timed.cap)
    if timed.cap_speed and not caps:
        raise UserError("cap_speed without caps, expected a cap too, like T4=0.7")
    if timed.consolidate and not sleep_text(timed.sleep or False):
        raise UserError("consolidate without sleep: nodes that become empty stay awake, expected sleep too")
    slack = slack_text(timed.slack) if timed.slack else ""
    wanted = timed.slack_by or (CARBON if timed.carbon else PRICE if timed.price else "")
    if slack and not (timed.carbon if wanted == CARBON else timed.price if wanted == PRICE else ""):
        raise UserError(f"slack {timed.slack!r} without {wanted or 'carbon or price'}, expected the signal to wait for")
    if timed.forecast not in ("", *FORECASTS):
        raise UserError(f"forecast {timed.forecast!r}, expected one of {', '.join(FORECASTS)}")
    return timed._replace(
        arrivals=shape_text(timed.arrivals) if timed.arrivals else "",
        slack=slack,
        slack_by=wanted,
        forecast=timed.forecast or PERFECT,
        sleep=sleep_text(timed.sleep or False),
        cap=caps,
        durations="" if timed.durations == LEARNT else timed.durations,
        consolidate=consolidate_text(timed.consolidate or False),
    )


def shape_text(text: str) -> str:
    """The shape of arrivals as it was given, if it is one."""
    read_shape(text)
    return ",".join(part.strip() for part in text.split(","))


def slack_text(text: str) -> str:
    """`BE=6h` as `BE=21600`, classes in order."""
    found = slack_by_class(part.strip() for part in text.split(","))
    return ",".join(f"{name}={seconds:g}" for name, seconds in sorted(found.items()))


def slack_shown(text: str) -> str:
    """`slack BE=6h`."""
    by_class = slack_by_class(text.split(","))
    return f"slack {','.join(f'{name}={shown_time(seconds)}' for name, seconds in by_class.items())}"


def start_of(text: str) -> datetime:
    """A clock time with its time zone."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UserError(f"start {text!r}, expected a time like 2024-03-04T00:00+00:00") from None
    if found.tzinfo is None:
        raise UserError(f"start {text!r} has no time zone, expected one, as in 2024-03-04T00:00+00:00")
    return found


def shown_time(seconds: float) -> str:
    """`7200` as `2h`."""
    for letter, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{letter}"
    return f"{seconds:g}s"


def shown_sleep(text: str) -> str:
    """The knobs that are not the default: `sleep`, `sleep idle=6m`."""
    plain, shown = sleep_text(True).split(","), []
    for part in text.split(","):
        name, _, value = part.partition("=")
        if part not in plain:
            is_time = name in ("idle", "shutdown", "wake")
            shown.append(f"{name}={shown_time(float(value))}" if is_time else part)
    return f"sleep {','.join(shown)}" if shown else "sleep"


def shown_caps(text: str) -> str:
    """`cap 0.7` for all models, `cap T4=0.7`."""
    return f"cap {','.join(part.removeprefix(f'{ALL_MODELS}=') for part in text.split(','))}"
