"""Nodes that sleep and GPUs that are capped, by the words of users: texts, and what they mean for a datacenter.

A text has one spelling, `reserve=2%,shutdown=60,wake=300,watts=10` and `A10=0.7,T4=0.8`: it is a part of a run's id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from wattpack.engine.moments.options import Sleep
from wattpack.errors import UserError
from wattpack.experiments.knobs import NO, OFF, YES, knobs_of, yes_or_no
from wattpack.model.caps import check_cap
from wattpack.model.durations import seconds_of
from wattpack.model.gpu_names import catalog_name, model_of
from wattpack.model.sleeping import RESERVE_PERCENT, reserve_of, reserve_text

AUTO = "auto"  # ski rental: the energy of one shutdown and wake, divided by the watts saved
KNOBS = ("idle", "reserve", "shutdown", "wake", "wake_for_reserve", "watts")
MAX_W = 1e6
ALL_MODELS = "*"
EXPECTED = "on, or knobs like idle=6m,wake=5m,shutdown=1m,reserve=2%,watts=10"


def sleep_text(given: object, what: str = "sleep") -> str:
    """The knobs in one spelling, with the default of each that is not given; empty: all nodes stay awake."""
    found = knobs_of(given, KNOBS, EXPECTED, what)
    if found is None:
        return ""
    plain = Sleep()
    texts = {
        "idle": _seconds(found.get("idle", AUTO), what, "idle"),
        "reserve": reserve_text(found.get("reserve", f"{RESERVE_PERCENT}%"), what),
        "shutdown": _seconds(found.get("shutdown", f"{plain.shutdown_s}"), what, "shutdown"),
        "wake": _seconds(found.get("wake", f"{plain.wake_s}"), what, "wake"),
        "wake_for_reserve": yes_or_no(found.get("wake_for_reserve", NO), what, "wake_for_reserve"),
        "watts": _watts(found.get("watts", f"{plain.sleep_w}"), what),
    }
    return ",".join(f"{name}={value}" for name, value in texts.items() if value not in (AUTO, NO))


def _seconds(text: str, what: str, knob: str) -> str:
    if knob == "idle" and text.lower() == AUTO:
        return AUTO
    return f"{seconds_of(text, f'{what}: {knob}'):.15g}"


def _watts(text: str, what: str) -> str:
    try:
        watts = float(text) if text.isascii() and "_" not in text else float("nan")
    except ValueError:
        watts = float("nan")
    if not (isfinite(watts) and 0 <= watts <= MAX_W):
        raise UserError(f"{what}: watts {text!r}, expected watts of a node asleep, 0 to {MAX_W:,.0f}")
    return f"{watts:.15g}"


def sleep_of(text: str, gpus: int) -> Sleep | None:
    """The knobs of `sleep_text` for a datacenter of so many GPUs; None: all nodes stay awake."""
    if not text:
        return None
    knobs = dict(part.split("=") for part in text.split(","))
    return Sleep(
        idle_s=float(knobs["idle"]) if "idle" in knobs else None,
        shutdown_s=float(knobs["shutdown"]),
        wake_s=float(knobs["wake"]),
        sleep_w=float(knobs["watts"]),
        reserve_gpus=reserve_of(knobs["reserve"], gpus),
        wake_for_reserve=knobs.get("wake_for_reserve") == YES,
    )


def cap_text(given: object, what: str = "cap") -> str:
    """Caps in one spelling, `T4=0.7`; a lone share is for all models (`*`), one of 1 is no cap. Empty: none."""
    if given is None or given is False:
        return ""
    if isinstance(given, Mapping):
        given = ",".join(f"{name}={value}" for name, value in given.items())
    elif isinstance(given, int | float) and not isinstance(given, bool):
        given = repr(given)
    if not isinstance(given, str):
        raise UserError(f"{what} {given!r}, expected MODEL=SHARE like T4=0.7, or a share for all models")
    found: dict[str, float] = {}
    parts = [] if given.strip().lower() in OFF else given.split(",")
    for part in parts:
        name, equals, text = part.rpartition("=")
        name = name.strip() if equals else ALL_MODELS
        try:
            share = float(text) if text.isascii() and "_" not in text else float("nan")
        except ValueError:
            share = float("nan")
        if name == "" or name in found or share != share:
            raise UserError(
                f"{what} {part.strip()!r}, expected MODEL=SHARE like T4=0.7, or a share for all models, each once"
            )
        found[name] = check_cap("all models" if name == ALL_MODELS else name, share)
    general = found.get(ALL_MODELS, 1.0)
    kept = {name: share for name, share in found.items() if share != (1.0 if name == ALL_MODELS else general)}
    return ",".join(f"{name}={share:.15g}" for name, share in sorted(kept.items()))


def caps_of(text: str, models: Sequence[str]) -> dict[str, float]:
    """The caps of `cap_text` by the models of a datacenter; those of other models are left out."""
    by_name = {name: float(share) for name, _, share in (part.rpartition("=") for part in text.split(",")) if name}
    general = by_name.pop(ALL_MODELS, 1.0)
    found = {model: general for model in models if model}
    for name, share in by_name.items():
        if (model := _meant(name, models)) != "":
            found[model] = share
    return {model: share for model, share in found.items() if share < 1}


def check_caps(text: str, models: Iterable[str]) -> None:
    """Refuse caps of models that no node has."""
    there = sorted({model for model in models if model})
    for part in text.split(",") if text else ():
        name = part.rpartition("=")[0]
        if name != ALL_MODELS and _meant(name, there) == "":
            raise UserError(f"cap {part}: no node has the GPU {name}, expected one of {', '.join(there)}")


def _meant(name: str, models: Sequence[str]) -> str:
    """The model of these that a name means; empty if none."""
    if name in models:
        return name
    catalog = catalog_name(name)
    same = (model for model in models if catalog and catalog_name(model) == catalog)
    return model_of(name, [model for model in models if model]) or next(same, "")
