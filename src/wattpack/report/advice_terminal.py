"""The table of advice that `wattpack simulate --advise` prints."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wattpack.experiments.advise import Advice
from wattpack.report.advice import UNITS, rows, sentences

WIDTH = 1000  # where the output is no terminal: nothing is cut


def print_advice(advice: Advice, console: Console | None = None) -> None:
    """What each option takes off alone, what all do together, and the sentences."""
    console = console or Console()
    if not console.is_terminal:
        console = Console(file=console.file, width=WIDTH)
    what, unit = UNITS[advice.measure]
    unit = unit or advice.plain.runs[0].currency or "money"
    seeds = len(advice.plain.runs)
    console.print()
    console.print(Text.assemble((f"what to do: {what}", "bold"), f" (mean of {seeds} seeds)" if seeds > 1 else ""))
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False, collapse_padding=False)
    table.add_column("options", no_wrap=True)
    for head in (f"{what}\n{unit}", "less\n%", "share\npoints", "wait mean\ns", "wait p99\ns", "done\ntasks"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows(advice):
        value, less = row.tried.mean(advice.measure), 100 * advice.less(row.tried)
        cells = [
            f"{value:,.0f}" if value >= 100 else f"{value:.3g}",
            "-" if row.tried is advice.plain else f"{less:.1f}",
        ]
        cells += ["" if row.share is None else f"{100 * row.share:.1f}", f"{row.tried.mean('wait_mean_s'):,.1f}"]
        name = Text(row.what, style="bold" if row.tried is advice.best else "")
        table.add_row(name, *cells, *(f"{row.tried.mean(one):,.0f}" for one in ("wait_p99_s", "done")))
    console.print(table)
    for sentence in sentences(advice):
        console.print(Text(sentence), soft_wrap=not console.is_terminal)
