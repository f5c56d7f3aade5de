"""Finished runs of a folder as the report shows them: its payload, its sentences, tiles and tables, its figures."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wattpack.errors import UserError
from wattpack.experiments.bound.curves import bound_is_quick, with_bound
from wattpack.experiments.curves import Results
from wattpack.experiments.folder import FOLDERS, ResultsFolder
from wattpack.experiments.recent import Recent
from wattpack.experiments.scenario import FILL_UP, TIMED, Inputs, Scenario
from wattpack.experiments.spec.axes import resolve
from wattpack.experiments.timed_experiment import DEFAULT_POLICIES, DEFAULT_SEEDS, timed_experiment
from wattpack.experiments.timed_fields import timed_of
from wattpack.experiments.timed_table import Group, Table, group_titles, timed_table
from wattpack.report.html import colours, options
from wattpack.report.metrics import traces
from wattpack.report.payload import payload
from wattpack.report.sections import summary_section, trace_table, trace_tiles
from wattpack.report.style import trace_title
from wattpack.report.time_page import states_legend, time_summary, time_tables
from wattpack.report.time_payload import time_payload
from wattpack.ui.answers import RunResults
from wattpack.ui.as_words import SIGNALS, is_drawn
from wattpack.ui.runs import Run, files_of, progress
from wattpack.ui.sources import Sources
from wattpack.ui.wire import RunRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
NONE = RunResults("none", 0, None, "", "", "", "", "", [])
_timed = Recent(4)


def results_of(run: Run, sources: Sources) -> RunResults:
    """What is finished now; a run that is still on has less."""
    if not (run.folder / "experiment.json").is_file():
        if not run.folder.is_dir():
            raise UserError(f"{run.folder}: the folder of this run is gone, expected a results folder")
        return NONE
    if is_in_time(run):
        return _in_time(run, sources)
    found, gpus = _curves(run, sources)
    if not found:
        return NONE
    names = traces(found)
    policies = list(dict.fromkeys(policy for _, policy in found))
    return RunResults(
        kind="curves",
        done=progress(run.folder)[0],
        data=payload(found, gpus),
        options=options(map(trace_title, names)),
        words=summary_section(found, names),
        tiles="\n".join(trace_tiles(found, name, place) for place, name in enumerate(names)),
        tables="\n".join(trace_table(found, name, place, gpus) for place, name in enumerate(names)),
        colours=colours(policies),
        traces=names,
    )


def _curves(run: Run, sources: Sources) -> tuple[Results, float | None]:
    """Curves, with the bound where the finished run has solved it, and the GPUs of the datacenter."""
    found = ResultsFolder(run.folder).read_stored()
    request = run.request
    if request is None:
        return found, None
    nodes = sources.datacenter(request)
    if request.bound and run.state == "done" and any(run.folder.glob("bound-*.json")):
        own = {sources.trace_path(name): sources.trace(name) for name in request.traces}
        quick = {path: trace for path, trace in own.items() if bound_is_quick(trace)}
        found = with_bound(found, nodes, quick, folder=run.folder, profile=sources.profile(request.profile))
    return found, float(nodes.gpus.sum())


def is_in_time(run: Run) -> bool:
    """Whether it is of `simulate`: as the page asked, or by the run files of a folder of the command line."""
    if run.request is not None:
        return run.request.kind == "simulate"
    return not any((run.folder / FOLDERS[FILL_UP]).glob("*.parquet")) and (run.folder / FOLDERS[TIMED]).is_dir()


def _timed_table(run: Run, sources: Sources) -> tuple[Table, ResultsFolder, Inputs | None]:
    folder = ResultsFolder(run.folder)
    if run.request is None:
        return timed_table(folder.read_timed(folder.stored_runs_in_time()), folder.against), folder, None
    inputs, scenarios = _timed.get(run.id, partial(_scenarios, run.request, sources))
    return timed_table(folder.read_timed(scenarios), folder.against), folder, inputs


def _in_time(run: Run, sources: Sources) -> RunResults:
    table, folder, inputs = _timed_table(run, sources)
    if not table:
        return NONE
    policies = list(dict.fromkeys(row.policy for rows in table.values() for row in rows))
    titles = group_titles(list(table))
    # Signals of a folder may be files that are elsewhere now: their lines are left out.
    drawn = table if inputs is not None else {_without_signals(group): rows for group, rows in table.items()}
    return RunResults(
        kind="time",
        done=progress(run.folder)[0],
        data=time_payload(drawn, folder, inputs or Inputs({}, {}, {})),
        options=options(titles.values()),
        words=time_summary(table),
        tiles=states_legend(table),
        tables=time_tables(table),
        colours=colours(policies),
        traces=list(titles.values()),
    )


def _without_signals(group: Group) -> Group:
    return group._replace(options=group.options._replace(carbon="", price="", budget=""))


def _scenarios(request: RunRequest, sources: Sources) -> tuple[Inputs, tuple[Scenario, ...]]:
    """As `wattpack simulate` makes them of the same words."""
    fields = ("load", "days", "queue", "patience", "pue", "sleep", "cap", *SIGNALS)
    timed = timed_of({name: getattr(request, name) or None for name in (*fields, "bound")})
    return resolve(
        timed_experiment(
            timed,
            [sources.datacenter_path(request.datacenter)],
            [sources.trace_path(name) for name in request.traces],
            request.policies or DEFAULT_POLICIES,
            request.seeds if is_drawn(request) else DEFAULT_SEEDS,
            sources.profile(request.profile),
            (request.add, request.remove, request.replace),
            against=request.against or None,
        )
    )


def figure_of(run: Run, sources: Sources, trace: int, kind: str) -> bytes:
    """The figure of `wattpack compare`, or of a run in time, as PNG, SVG or PDF."""
    from wattpack.report.figure_parts import METADATA, print_style

    makers = _figures(run, sources)
    if kind not in KINDS or not 0 <= trace < len(makers):
        raise UserError(f"figure {trace}.{kind}: not there, expected 0 to {len(makers) - 1} as {', '.join(KINDS)}")
    written = io.BytesIO()
    with print_style():
        makers[trace]().savefig(written, format=kind, metadata=METADATA.get(kind, {"Date": None}))
    return written.getvalue()


def _figures(run: Run, sources: Sources) -> list[Callable[[], Figure]]:
    """What makes the figure of each trace."""
    from wattpack.report.figures import compare_figure
    from wattpack.report.time_figure import about_of, time_figure

    if not is_in_time(run):
        found, _ = _curves(run, sources)
        return [partial(compare_figure, found, name) for name in traces(found)]
    table, folder, _ = _timed_table(run, sources)
    makers: list[Callable[[], Figure]] = []
    for group, rows in table.items():
        series = [folder.read_series(row.scenarios[0]) for row in rows]
        makers.append(partial(time_figure, rows, series, about_of(rows, group.text)))
    return makers


def file_of(run: Run, name: str) -> Path:
    """A file to take away; never one that the list of files does not name."""
    if name not in files_of(run.folder):
        raise UserError(f"{name}: no file of run {run.id}, expected one of its list")
    return run.folder / name
