"""The files for people in a results folder: `figures/` and `report.html`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wattpack.experiments.curves import Results
from wattpack.experiments.steady_table import SteadyRow
from wattpack.report.metrics import traces
from wattpack.report.steady_rows import by_trace


def write_page(
    out: Path,
    results: Results,
    provenance: Mapping[str, Any],
    steady: Sequence[SteadyRow] = (),
    gpus: float | None = None,
) -> Path:
    """`report.html`; `gpus`: GPUs of the one datacenter that all results are of."""
    from wattpack.report.html import write_report

    return write_report(out / "report.html", results, provenance, gpus=gpus, steady=steady)


def write_compare_figures(out: Path, results: Results) -> list[Path]:
    """`figures/compare-TRACE.png` of each trace."""
    from wattpack.report.figure_parts import save
    from wattpack.report.figures import compare_figure

    figures = []
    for trace, name in file_names(traces(results)).items():
        figures += save(compare_figure(results, trace), out / "figures", f"compare-{name}", kinds=("png",))
    return figures


def write_steady_figures(out: Path, rows: Sequence[SteadyRow]) -> list[Path]:
    """`figures/steady-TRACE.png` of each trace with steady states."""
    if not rows:
        return []
    from wattpack.report.figure_parts import save
    from wattpack.report.steady_figure import steady_figure

    own, figures = by_trace(rows), []
    for trace, name in file_names(own).items():
        figures += save(steady_figure(own[trace]), out / "figures", f"steady-{name}", kinds=("png",))
    return figures


def file_names(traces: Iterable[str]) -> dict[str, str]:
    """A name for the files of each trace: its file's name without folder and ending, if that is unique."""
    found = list(traces)
    stems = [_stem(trace) for trace in found]
    names: dict[str, str] = {}
    for trace, stem in zip(found, stems, strict=True):
        alone = stems.count(stem) == 1
        name = stem if alone else "-".join(part for part in Path(trace).parts if part not in ("/", "..")) or stem
        same = sum(other == name or other.startswith(f"{name}~") for other in names.values())
        names[trace] = f"{name}~{same + 1}" if same else name
    return names


def _stem(trace: str) -> str:
    """`tasks (two.csv)` of `tasks.csv (two.csv)`: what is in brackets is no ending (`labels` puts it there)."""
    name, bracket, more = trace.rpartition(" (")
    if not bracket or not trace.endswith(")"):
        return Path(trace).stem
    return f"{Path(name).stem} ({more.replace('/', '-')}"
