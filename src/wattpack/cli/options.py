"""Options that several commands have, read in one way and refused in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wattpack.cli.streams import note
from wattpack.datasets.power_files import read_power_file
from wattpack.errors import UserError
from wattpack.model.power import PAPER, PROFILES, PowerProfile
from wattpack.model.power_changes import ADDED, OVERRIDDEN, UNCHANGED, Overlay

if TYPE_CHECKING:
    from wattpack.kube.config import Config

NAMED = 3  # models of a power file that are named in a line


def profile_option(name: str | None, power: Path | None = None) -> PowerProfile:
    """The power profile of `--profile` and `--power`."""
    if name is not None and name not in PROFILES:
        raise UserError(f"--profile {name!r}, expected one of {', '.join(PROFILES)}")
    if power is None:
        return PROFILES[name or PAPER.name]
    return overlay_option(name, power).profile


def overlay_option(name: str | None, power: Path) -> Overlay:
    """The power file of `--power` over the profile of `--profile`."""
    if power.name in PROFILES and not power.exists():
        raise UserError(
            f"--power {power}: no such file; expected a power file, or the profile as --profile {power.name}"
        )
    return read_power_file(power, name)


def note_power(name: str | None, power: Path | None) -> None:
    """Say on stderr what the power file changes: once all inputs are known to be good."""
    if power is not None:
        note(f"power: {overlay_line(power, read_power_file(power, name))}")


def with_power(config: Config, profile: str | None, power: Path | None) -> Config:
    """The configuration of the service with `--profile` and `--power` above its own."""
    if profile is None and power is None:
        return config
    profile_option(profile, power)
    said = {"power_profile": profile, "power_file": None if power is None else str(power)}
    changes = {key: value for key, value in said.items() if value is not None}
    if power is not None and profile is None:
        changes["power_profile"] = ""  # that of the file
    return msgspec.structs.replace(config, **changes)


def overlay_line(file: Path, overlay: Overlay) -> str:
    """What a power file changes, in a line."""
    parts = []
    for table, kind in (("gpu", "GPU"), ("cpu", "CPU")):
        for status in (ADDED, OVERRIDDEN):
            names = [change.name for change in overlay.changes if (change.table, change.status) == (table, status)]
            if names:
                more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
                parts.append(f"{kind} {status}: {', '.join(names[:NAMED])}{more}")
    for change in overlay.changes:
        if change.table in ("", "node"):
            parts += [
                f"{key} {value.value:g}" if not isinstance(value.value, str) else f"{key} {value.value}"
                for key, value in change.values.items()
            ]
    changed = [change for change in overlay.changes if change.status != UNCHANGED]
    inherited = sum(value.origin != "file" for change in changed for value in change.values.values())
    if inherited:
        parts.append(f"{inherited} values inherited (wattpack power --power {file} shows them)")
    if idle := [change.name for change in overlay.changes if change.idle_exponent]:
        more = f" and {len(idle) - NAMED} more" if len(idle) > NAMED else ""
        parts.append(f"no effect of exponent: {', '.join(idle[:NAMED])}{more} (an idle context draws the maximum)")
    return f"{file} over the profile {overlay.parent.name}: {'; '.join(parts) or 'changes nothing'}"


def check_seed(seed: int) -> None:
    """`--seed` of commands whose only chance is a policy that draws."""
    if seed < 0:
        raise UserError(f"--seed {seed}, expected 0 or more")
