"""Checks the arguments of `wattpack.compare` and `wattpack.simulate`: objects, names or paths, one or several."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

from wattpack.datasets.columns import Columns
from wattpack.datasets.edits import split_edits
from wattpack.datasets.power_files import load_power
from wattpack.datasets.sources import DATACENTERS, as_datacenter, as_workload
from wattpack.errors import UserError
from wattpack.experiments.options import MAX_LOAD, MAX_LOADS
from wattpack.experiments.plugins import Plugin
from wattpack.experiments.saving import DEFAULT_AGAINST, OWN_CLUSTER_AGAINST
from wattpack.experiments.spec.axes import MAX_SEED, first_seeds
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PROFILES, PowerProfile
from wattpack.model.tasks import Workload
from wattpack.policies.expression import canonical

T = TypeVar("T", Datacenter, Workload, PowerProfile)
V = TypeVar("V")

# One value or several. Names are built-in ones or paths of CSV files.
Datacenters = Datacenter | str | Path | Iterable[Datacenter | str | Path]
Traces = Workload | str | Path | Iterable[Workload | str | Path]
Profiles = PowerProfile | str | Iterable[PowerProfile | str]
ONE = (str, Path, Datacenter, Workload, PowerProfile, Columns)  # columns are one wrong value, not a list of names


def several(given: Any, what: str) -> list[Any]:
    """The values of a list, or the one value."""
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, ONE) else [given]
    if not found:
        raise UserError(f"{what}: an empty list, expected at least one")
    return found


def chosen_datacenters(given: Datacenters, profile: PowerProfile = PAPER) -> dict[str, Datacenter]:
    """`profile`: knows the models of the files."""
    return _labelled([(_label(one), as_datacenter(one, profile)) for one in _once(several(given, "datacenter"))])


def chosen_traces(given: Traces) -> dict[str, Workload]:
    return _labelled([(_label(one), as_workload(one)) for one in _once(several(given, "traces"))])


def chosen_profiles(given: Profiles | None, power: str | Path | None = None) -> dict[str, PowerProfile]:
    """The profiles by name; with a power file, the file over each of them."""
    if given is None or power is not None:
        wanted = [None] if given is None else _once(several(given, "profile"))
        found = [chosen_profile(one, power) for one in wanted]
        return _labelled([(one.name, one) for one in found])
    return _labelled([(_label(one), chosen_profile(one)) for one in _once(several(given, "profile"))])


def chosen_profile(given: PowerProfile | str | None, power: str | Path | None = None) -> PowerProfile:
    """A power profile as it is, or by its name; with a power file, the file over it."""
    if given is not None and not isinstance(given, PowerProfile) and given not in PROFILES:
        raise UserError(f"profile: {given!r}, expected a PowerProfile or one of {', '.join(PROFILES)}")
    if isinstance(given, PowerProfile):
        if power is not None:
            raise UserError(f"power with a PowerProfile, {given.name!r}: expected one of {', '.join(PROFILES)} with it")
        return given
    if power is not None:
        return load_power(power, given)
    return PAPER if given is None else PROFILES[given]


def chosen_policies(given: str | Iterable[str]) -> list[str]:
    found = several(given, "policies")
    for one in found:
        chosen_policy(one)
    return found


def chosen_policy(given: str) -> str:
    if not isinstance(given, str):
        raise UserError(f"policy: {given!r}, expected an expression such as 'fgd' or 'pwr:0.1+fgd:0.9'")
    return given


def chosen_against(given: str | Iterable[str] | None, datacenters: Iterable[object] = ()) -> tuple[str, ...]:
    """The policies that savings are against, the first of them wherever one is shown.

    Without a choice: FGD; where one of `datacenters` is the user's own, a file or an object, what runs there first.
    """
    if given is None:
        return OWN_CLUSTER_AGAINST if any(map(_is_own, datacenters)) else DEFAULT_AGAINST
    found = [given] if isinstance(given, str) else list(given)
    if not found or not all(isinstance(one, str) for one in found):
        raise UserError(f"against: {given!r}, expected policy expressions such as 'fgd'")
    return tuple(dict.fromkeys(map(canonical, found)))


def _is_own(datacenter: object) -> bool:
    """Whether it is no built-in datacenter, with edits or without."""
    name = split_edits(str(datacenter))[0] if isinstance(datacenter, str) else None
    return name not in DATACENTERS


def chosen_plugins(given: str | Path | Iterable[str | Path | Plugin]) -> list[str | Path | Plugin]:
    """Files, or none."""
    found: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for one in found:
        if not isinstance(one, str | Path | Plugin):
            raise UserError(f"plugins: {one!r}, expected Python files that call wattpack.register")
    return found


def chosen_loads(given: float | Iterable[float]) -> tuple[float, ...]:
    """Offered loads, or none."""
    loads = [chosen_number(one, "steady") for one in (list(given) if isinstance(given, Iterable) else [given])]
    if len(loads) > MAX_LOADS:
        raise UserError(f"steady: {len(loads):,} loads, expected at most {MAX_LOADS:,}")
    if not all(0 < load <= MAX_LOAD for load in loads):
        raise UserError(f"steady: {loads}, expected loads above 0 and at most {MAX_LOAD:g}")
    return tuple(dict.fromkeys(loads))


def chosen_seeds(given: int | Iterable[Any]) -> tuple[int, ...]:
    """The first seeds, as many as a count says; or those of a list."""
    if not isinstance(given, Iterable):
        return first_seeds(int(chosen_number(given, "seeds", whole=True)))
    if isinstance(given, str):
        raise UserError(f"seeds: {given!r}, expected a count or a list of seeds")
    return tuple(dict.fromkeys(chosen_seed(one) for one in several(given, "seeds")))


def chosen_seed(given: int) -> int:
    if not _is_whole(given) or not 0 <= given <= MAX_SEED:
        raise UserError(f"seed: {given!r}, expected a whole number from 0 to {MAX_SEED}")
    return int(given)


def chosen_number(given: float, what: str, whole: bool = False) -> float:
    """A number, not a text or a truth value; its range is checked where it is used."""
    good = _is_whole(given) if whole else isinstance(given, int | float) and not isinstance(given, bool)
    if not good:
        raise UserError(f"{what}: {given!r}, expected a {'whole ' if whole else ''}number")
    return int(given) if whole else float(given)


def check_models(datacenter: Datacenter, profile: PowerProfile) -> None:
    """A profile must know the watts of every model of the datacenter."""
    for model in filter(None, datacenter.models):
        profile.gpu(model)
    for model in datacenter.cpu_models:
        profile.cpu(model)


def _is_whole(given: object) -> bool:
    return isinstance(given, Integral) and not isinstance(given, bool)  # numpy's integers too


def _label(given: object) -> str:
    """What results call it: an object by its name, the rest as it was given."""
    return given.name if isinstance(given, Datacenter | Workload | PowerProfile) else str(given)


def _once(given: list[V]) -> list[V]:
    """Without what was given twice: the same name or path, or the same object."""
    found: dict[object, V] = {}
    for one in given:
        found.setdefault(str(one) if isinstance(one, str | Path) else id(one), one)
    return list(found.values())


def _labelled(pairs: list[tuple[str, T]]) -> dict[str, T]:
    """By label. Two objects of one name are told apart by a number: `workload`, `workload-2`."""
    found: dict[str, T] = {}
    for label, value in pairs:
        text, number = label, 1
        while text in found:
            number += 1
            text = f"{label}-{number}"
        found[text] = value
    return found
