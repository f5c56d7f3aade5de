"""Options that several commands have, read in one way and refused in the same words."""

from __future__ import annotations

from wattpack.errors import UserError
from wattpack.model.power import PROFILES, PowerProfile


def profile_option(name: str) -> PowerProfile:
    """The power profile that `--profile` names."""
    if name not in PROFILES:
        raise UserError(f"--profile {name!r}, expected one of {', '.join(PROFILES)}")
    return PROFILES[name]


def check_seed(seed: int) -> None:
    """`--seed` of commands whose only chance is a policy that draws."""
    if seed < 0:
        raise UserError(f"--seed {seed}, expected 0 or more")
