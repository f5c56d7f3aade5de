"""`claims.csv`: every statement of the paper as a check, with the number measured here and a verdict.

A verdict is `holds`, `holds within tolerance` or `differs`; the tolerances are those of `rules`, and nothing is
tuned: the decisions are fixed by the authors' program. A statement whose curves are not in the results is left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from wattpack.experiments.curves import Results
from wattpack.files import write_text
from wattpack.paper import grar, mixing, savings, setting
from wattpack.paper.rules import DIFFERS, HOLDS, VERDICTS, WITHIN, Rule, View, worst

RULES: tuple[Rule, ...] = (
    *setting.RULES,
    *mixing.RULES,
    *savings.RULES,
    *grar.RULES,
)

# These follow from the built-in data alone: if one differs, our data are wrong. Of the others, one that differs is a
# finding about the paper or about us, and the report says by how much.
MUST_HOLD = ("T1", "T2")
PAPER_SEEDS = 10


@dataclass(frozen=True)
class Claim:
    """One row of `claims.csv`."""

    id: str
    section: str
    statement: str
    paper: str
    measured: str
    verdict: str
    why: str = ""  # where it differs: by how much, and what usually moves the number

    def row(self) -> dict[str, str]:
        return asdict(self)


COLUMNS = tuple(field.name for field in fields(Claim))


def check_claims(results: Results) -> list[Claim]:
    """Every statement of the paper that the results have the curves for, in the paper's order."""
    claims = []
    for rule in RULES:
        if all(key in results for key in rule.needs):
            claim = _check(rule, View(results))
            if claim is not None:
                claims.append(claim)
    return claims


def _check(rule: Rule, view: View) -> Claim | None:
    reading = rule.check(view)
    if reading is None:
        return None
    verdict = worst(reading.parts)
    why = ""
    if verdict == DIFFERS:
        misses = "; ".join(one.miss for one in reading.parts if one.verdict == DIFFERS)
        seeds = min((len(view.results[key].seeds) for key in rule.needs), default=PAPER_SEEDS)
        few = f" Only {seeds} of the paper's {PAPER_SEEDS} seeds were run." if seeds < PAPER_SEEDS else ""
        why = f"{misses}. {rule.cause}{few}"
    return Claim(rule.id, rule.section, rule.statement, rule.paper, reading.measured, verdict, why)


def must_hold_but_differ(claims: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in claims if claim.id in MUST_HOLD and claim.verdict == DIFFERS]


def count_verdicts(claims: Sequence[Claim]) -> dict[str, int]:
    return {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS}


def write_claims(path: Path, claims: Sequence[Claim]) -> None:
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(claim.row() for claim in claims)
    write_text(path, file.getvalue())


__all__ = [
    "COLUMNS",
    "DIFFERS",
    "HOLDS",
    "MUST_HOLD",
    "RULES",
    "VERDICTS",
    "WITHIN",
    "Claim",
    "check_claims",
    "count_verdicts",
    "must_hold_but_differ",
    "write_claims",
]
