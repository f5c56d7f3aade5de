"""`wattpack.compare` and its result as a person in Python looks at it: a short text, a frame, a figure, a report.

It stands at the front door because it knows both sides: experiments, which run and know nothing of looks, and report,
which shows and runs nothing (docs/decisions/009-comparison-at-the-front-door.md).
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from wattpack.errors import UserError
from wattpack.experiments.compare import Compared
from wattpack.experiments.compare import compare as run_comparison
from wattpack.experiments.curves import Results, at
from wattpack.experiments.summary import HEADER, summary_rows, write_summary
from wattpack.files import make_folder
from wattpack.frames import new_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

P = ParamSpec("P")
SHOWN_TRACES = 3  # in a text: more is for a frame or a report
TEXTS = ("trace", "policy", "datacenter", "profile", "against")  # columns of summary.csv that are no numbers


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Compared):
    """What `wattpack.compare` found: show it, `to_pandas()`, `plot()`, `save_report()`, `save_summary()`.

    `results[trace, policy]` are the curves over load, seed by seed; `outcome` says what became of the runs, and
    `unplaceable` which tasks no node could ever hold.
    """

    @property
    def traces(self) -> list[str]:
        """The traces as results call them: with datacenter and profile in brackets where there are several."""
        return list(dict.fromkeys(trace for trace, _ in self.results))

    @property
    def policies(self) -> list[str]:
        return list(dict.fromkeys(policy for _, policy in self.results))

    @property
    def seeds(self) -> list[int]:
        return sorted({scenario.seed for scenario in self.scenarios})

    def to_pandas(self) -> DataFrame:
        """The frame of `summary.csv`: a row for each trace, policy and hundredth of load.

        Means over the seeds, `_std`: standard deviations over them; NaN at loads that no run reached. Units are in the
        names; `saving`, `grar` and `allocated` are fractions.
        """
        return curves_frame(self.results)

    def plot(self, trace: str | None = None) -> Figure:
        """Savings, GRAR and power of all policies over load on `trace`, which may be left out if there is only one.

        A matplotlib figure: a notebook shows it, `savefig("figure.png")` writes it.
        """
        from wattpack.report.figures import compare_figure

        return compare_figure(self.results, self._one(trace))

    def save_report(self, path: str | Path = "report.html") -> Path:
        """Write the report, one HTML page that opens offline, and return its path."""
        from wattpack.report.html import write_report
        from wattpack.report.provenance import provenance_of

        if not self.results:
            raise UserError(f"no results to report: {self._faults() or 'no trace has tasks'}")
        provenance = provenance_of("wattpack.compare", self.outcome, self.results, self.on, self.choices)
        datacenters = list(self.inputs.datacenters.values())
        # Watts per GPU need the one datacenter that all curves are of.
        gpus = float(datacenters[0].gpus.sum()) if len(datacenters) == 1 else None
        return write_report(path, self.results, provenance, gpus=gpus, steady=self.steady)

    def save_summary(self, path: str | Path = "summary.csv") -> Path:
        """Write `summary.csv` and return its path."""
        file = Path(path)
        make_folder(file.parent)
        write_summary(file, self.results)
        return file

    def __repr__(self) -> str:
        lines = [self._title()]
        for trace in self.traces[:SHOWN_TRACES]:
            head, *rows = self._table(trace)
            width = max(len(row[0]) for row in (head, *rows))
            lines += ["  ".join([row[0].ljust(width), *(cell.rjust(5) for cell in row[1:])]) for row in (head, *rows)]
        return "\n".join([*lines, *self._notes()])

    def _repr_html_(self) -> str:
        """For notebooks."""
        parts = [f"<p>{html.escape(self._title())}</p>"]
        for trace in self.traces[:SHOWN_TRACES]:
            head, *rows = (tuple(map(html.escape, row)) for row in self._table(trace))
            body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
            parts.append(
                f"<table><thead><tr><th>{'</th><th>'.join(head)}</th></tr></thead><tbody>{body}</tbody></table>"
            )
        return "".join([*parts, *(f"<p>{html.escape(note)}</p>" for note in self._notes())])

    def _title(self) -> str:
        counts = (
            (self.policies, "policy", "policies"),
            (self.traces, "trace", "traces"),
            (self.seeds, "seed", "seeds"),
        )
        policies, traces, seeds = (_many(len(found), one, several) for found, one, several in counts)
        return (
            f"Comparison of {policies} on {traces}, {seeds}, datacenter {', '.join(self.inputs.datacenters)}, "
            f"power profile {', '.join(self.inputs.profiles)}; saving against {self.results.against[0]} in % by load"
        )

    def _table(self, trace: str) -> list[tuple[str, ...]]:
        """A head and a row for each policy: savings at a few loads, GRAR at full load."""
        from wattpack.report.metrics import FULL_LOAD, SAVING_LOADS, by_saving, mean, saving

        rows = [(trace, *(f"{load:g}" for load in SAVING_LOADS), f"GRAR {FULL_LOAD:.1f}")]
        for policy in by_saving(self.results, trace):
            savings = saving(self.results, trace, policy) * 100
            grar = mean(self.results[trace, policy], "grar")[at(FULL_LOAD)]
            cells = [
                _number(savings[at(load)], 1) if policy != self.results.against[0] else "-" for load in SAVING_LOADS
            ]
            rows.append((f"  {policy}", *cells, _number(grar, 3)))
        return rows

    def _notes(self) -> list[str]:
        from wattpack.report.provenance import never_fit

        left = self.traces[SHOWN_TRACES:]
        empty = [name for name, trace in self.inputs.traces.items() if len(trace) == 0]
        notes = [f"{_many(len(left), 'more trace', 'more traces')}: {', '.join(left)}" if left else "", self._faults()]
        notes += self.choices
        notes += [f"{name}: no tasks, nothing to compare" for name in empty]
        notes += [f"{name}: {never_fit(texts)}" for name, texts in self.unplaceable.items()]
        return [note for note in notes if note]

    def _faults(self) -> str:
        failed = self.outcome.failed
        return f"{len(failed)} of {len(self.scenarios)} runs failed, the first: {failed[0][1]}" if failed else ""

    def _one(self, trace: str | None) -> str:
        if trace is None and len(self.traces) == 1:
            return self.traces[0]
        if trace not in self.traces:
            raise UserError(f"trace: {trace!r}, expected one of {', '.join(map(repr, self.traces)) or 'none'}")
        return trace


def curves_frame(results: Results) -> DataFrame:
    """The frame of `summary.csv`."""
    columns = dict(zip(HEADER, zip(*summary_rows(results), strict=True), strict=False))
    return new_frame({name: _typed(name, columns.get(name, ())) for name in HEADER})


def _many(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _number(value: float, digits: int) -> str:
    return f"{value + 0.0:.{digits}f}" if np.isfinite(value) else "-"


def _typed(name: str, texts: tuple[str, ...]) -> Any:
    if name in TEXTS:
        return list(texts)
    return np.array([text or "nan" for text in texts], dtype=np.float64).astype(np.int64 if name == "seeds" else float)


def _shown(run: Callable[P, Compared]) -> Callable[P, Comparison]:
    @wraps(run)
    def compare(*given: P.args, **named: P.kwargs) -> Comparison:
        return Comparison(**vars(run(*given, **named)))

    return compare


compare = _shown(run_comparison)
