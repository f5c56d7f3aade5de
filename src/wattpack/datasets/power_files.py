"""A power profile from what a user gives: the name of a built-in one, a power file, or both."""

from __future__ import annotations

from pathlib import Path

from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.errors import UserError
from wattpack.model.power import PAPER, PROFILES, PowerProfile
from wattpack.model.power_changes import Overlay
from wattpack.model.power_file import MAX_BYTES, parse_power
from wattpack.model.power_overlay import lay_over

_from_pipes: dict[str, bytes] = {}
MOST_SHOWN = 60  # letters of a value that is no path


def read_power_file(path: str | Path, profile: str | None = None) -> Overlay:
    """A power file over the profile of this name, or over the one that the file names; and what it changes."""
    file = Path(path)
    found = parse_power(_bytes_of(file), str(file))
    return lay_over(found, str(file), file.stem, profile)


def _bytes_of(file: Path) -> bytes:
    """A pipe, as of `--power <(...)`, can be read once only: a command that reads it again gets the same bytes."""
    if str(file) in _from_pipes and not file.is_file():
        return _from_pipes[str(file)]
    data = read_bytes_up_to(file, MAX_BYTES, "a power file (TOML)")
    if not file.is_file():
        _from_pipes[str(file)] = data
    return data


def load_power(path: str | Path, profile: str | None = None) -> PowerProfile:
    """The power profile of a power file: your own GPUs, CPUs and node base power (docs/guide/power.md).

    `profile`: the built-in profile that it is laid over (paper, linear, concave, measured); default: the one that the
    file names, or paper.
    """
    if isinstance(path, PowerProfile):
        raise UserError("power: a PowerProfile, expected the path of a power file, or the object as profile")
    if not isinstance(path, str | Path) or str(path) == "":
        raise UserError(f"power: {repr(path)[:MOST_SHOWN]}, expected the path of a power file")
    if profile is not None and profile not in PROFILES:
        raise UserError(f"profile: {profile!r}, expected one of {', '.join(PROFILES)}")
    if (name := Path(path).name) in PROFILES and not Path(path).exists():
        raise UserError(f"power: no file {str(path)!r}; expected a power file, or the profile as profile = {name!r}")
    return read_power_file(path, profile).profile


def as_profile(given: PowerProfile | str | Path | None) -> PowerProfile:
    """The profile given, the built-in one of this name, the one of a power file, or the paper's."""
    if given is None:
        return PAPER
    if isinstance(given, str) and given in PROFILES:
        return PROFILES[given]
    return given if isinstance(given, PowerProfile) else load_power(given)
