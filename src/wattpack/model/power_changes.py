"""What a power file changes in a profile: for tables, notes and tests of `wattpack power`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from wattpack.model.power import PowerProfile

ADDED, OVERRIDDEN, SET = "added", "overridden", "set"
UNCHANGED = "unchanged"  # the entry has the watts that the profile has already


class Value(NamedTuple):
    """A value of an entry and where it comes from: "file", or in words what it is inherited from."""

    value: float | str
    origin: str


@dataclass(frozen=True)
class Change:
    """What a file changes: one entry, with all its values."""

    table: str  # gpu, cpu, node, or "" for keys of the file's head
    name: str  # of the model; "" for node and the head
    status: str  # ADDED, OVERRIDDEN, UNCHANGED or SET
    values: Mapping[str, Value]

    @property
    def idle_exponent(self) -> bool:
        """Whether the entry has an exponent that changes nothing: an idle context draws the maximum already."""
        said, context = self.values.get("exponent"), self.values.get("context_w")
        return (
            said is not None
            and said.origin == "file"
            and context is not None
            and (context.value == self.values["max_w"].value)
        )


@dataclass(frozen=True)
class Overlay:
    """The profile that a file makes, and what it changes."""

    profile: PowerProfile
    parent: PowerProfile
    changes: tuple[Change, ...]
