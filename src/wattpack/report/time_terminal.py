"""The tables of runs in time that commands print: one for each trace, a policy a row."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from wattpack.experiments.timed_table import Table, TimedRow, baseline_of, group_titles
from wattpack.report.time_rows import Column, best_of, columns, row_title, several_datacenters
from wattpack.report.time_words import sentences

WIDTH = 1000  # where the output is no terminal: nothing is cut


def print_time(table: Table, console: Console | None = None) -> None:
    """A table and two sentences for each trace and set of options."""
    console = console or Console()
    if not console.is_terminal:
        console = Console(file=console.file, width=WIDTH)
    ascii_only = console.options.ascii_only
    titles = group_titles(list(table))
    for place, (group, rows) in enumerate(table.items()):
        if place > 0:
            console.print()
        baseline = baseline_of(rows)
        where = f" on {baseline.datacenter}" if baseline is not None and several_datacenters(rows) else ""
        seeds = max(len(row.seeds) for row in rows)
        against = f"; saving against {baseline.policy}{where} in %" if baseline is not None and len(rows) > 1 else ""
        mean = f"mean of {seeds} seeds" if seeds > 1 else "one run" if group.options.load == 0 else "1 seed"
        console.print(Text.assemble((_printable(titles[group], ascii_only), "bold"), f" ({mean}{against})"))
        shown = columns(group, rows)
        printed = RichTable(box=box.SIMPLE_HEAD, padding=0, show_edge=False, collapse_padding=False)
        printed.add_column("policy", no_wrap=True, overflow="crop" if ascii_only else "ellipsis")
        for column in shown:
            printed.add_column(f"{column.head}\n{column.unit}", justify="right", no_wrap=True)
        best = {column.key: best_of(column, rows) for column in shown}
        for row in rows:
            name = Text(_printable(row_title(row, rows), ascii_only), style="bold" if row is baseline else "")
            printed.add_row(name, *(_cell(column, row, best[column.key], ascii_only) for column in shown))
        console.print(printed)
        for line in notes(rows, shown, ascii_only):
            console.print(Text(line, style="dim"))
        for sentence in sentences(group, rows):
            console.print(Text(_printable(sentence, ascii_only)), soft_wrap=not console.is_terminal)


def notes(rows: Sequence[TimedRow], shown: Sequence[Column], ascii_only: bool = False) -> list[str]:
    """What stands in the table, in words: a line each."""
    heads, said = {column.head for column in shown}, []
    if "saving" in heads:
        said.append("saving: kWh per GPU-hour delivered that a policy needs less.")
    if "wait p99" in heads:
        said.append("wait p99: 99 of 100 tasks wait at most so long. slowdown: (wait + run) / run, at least 1.")
    if "saving" in heads and any(len(row.runs) > 1 for row in rows):
        said.append(f"{'+-' if ascii_only else '±'}: standard deviation over the seeds.")
    return said


def _cell(column: Column, row: object, best: float, ascii_only: bool) -> Text:
    value = column.value(row)  # type: ignore[arg-type]
    if isnan(value):
        return Text("-", style="dim")
    text = f"{value:,.{column.digits}f}"
    text = text.lstrip("-") if float(text.replace(",", "")) == 0 else text
    if column.head == "saving":
        spread = column.spread(row) if column.spread is not None else 0.0  # type: ignore[arg-type]
        runs = len(row.runs)  # type: ignore[attr-defined]
        text += f"{'+-' if ascii_only else '±'}{spread:.{column.digits}f}" if runs > 1 and not isnan(spread) else ""
    return Text(text, style="bold" if value == best else "")


def _printable(name: str, ascii_only: bool) -> str:
    encoding = "ascii" if ascii_only else "utf-8"
    return name.encode(encoding, "replace").decode(encoding)
