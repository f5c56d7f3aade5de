"""The list of policies, as `wattpack.policies()` and `wattpack policies` show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from wattpack.frames import new_frame
from wattpack.policies import OF_WATTPACK, groups
from wattpack.policies.expression import AUTO, AUTO_SUMMARY

if TYPE_CHECKING:
    from pandas import DataFrame


class Listed(NamedTuple):
    name: str
    group: str  # where it comes from
    summary: str


@dataclass(frozen=True, repr=False)
class PolicyList:
    """The policies that expressions may name, your own among them, with a line about each."""

    rows: tuple[Listed, ...]

    @property
    def names(self) -> list[str]:
        return [row.name for row in self.rows]

    def __iter__(self) -> Iterator[Listed]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        width = max(len(row.name) for row in self.rows if row.name != AUTO)
        lines, group = [], ""
        for row in self.rows:
            lines += [f"{row.group}:"] if row.group != group else []
            group = row.group
            lines.append(f"  {row.name:<{width}}  {row.summary}")
        return "\n".join(lines)

    def to_pandas(self) -> DataFrame:
        """A row a policy."""
        return new_frame({name: [getattr(row, name) for row in self.rows] for name in Listed._fields})


def listed() -> PolicyList:
    rows = []
    for group, members in groups().items():
        rows += [Listed(policy.name, group, policy.summary) for policy in members]
        rows += [Listed(AUTO, group, AUTO_SUMMARY)] if group == OF_WATTPACK else []
    return PolicyList(tuple(rows))
