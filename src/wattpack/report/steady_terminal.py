"""The tables of steady states that commands print: one for each trace and offered load."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wattpack.experiments.steady_table import SteadyRow
from wattpack.report.steady_rows import Column, baseline_lookup, columns, moving_text, titles

WIDTH = 1000  # where the output is no terminal: nothing is cut
NOTE = """\
Saving: watts per GPU served that a policy needs less at the same load. GRAR: GPU served / GPU requested.
frag. GPUs: free GPUs that a task drawn from the trace is expected not to be able to use.
±: standard deviation over the seeds."""
PLAIN_COLUMNS = 5  # without moves, pauses and waits


def print_steady(rows: Sequence[SteadyRow], console: Console | None = None) -> None:
    """Power, saving, GRAR, watts per GPU and fragmentation; moves, pauses and waits where there are any."""
    moving, baseline, title_of = moving_text(rows), baseline_lookup(rows), titles(rows)
    console = console or Console()
    if not console.is_terminal:
        console = Console(file=console.file, width=WIDTH)
    for trace, load in dict.fromkeys((row.trace, row.load) for row in rows):
        title = f"{trace}: steady state at offered load {load:g}" + (f" ({moving})" if moving else "")
        console.print(Text(title, style="italic"), soft_wrap=not console.is_terminal)
        table = Table(show_edge=False)
        own = [row for row in rows if (row.trace, row.load) == (trace, load)]
        shown = columns(own, baseline)
        table.add_column("policy", no_wrap=len(shown) == PLAIN_COLUMNS)
        for column in shown:
            table.add_column(column.title, justify="right", no_wrap=True)
        for row in own:
            table.add_row(Text(title_of(row)), *(_number(row, column) for column in shown))
        console.print(table)
    console.print(Text(NOTE, style="dim"))


def _number(row: SteadyRow, column: Column) -> str:
    """A number with its spread; a dash where there is none, as watts per GPU where no GPU is in use."""
    value = column.value(row)
    if value != value:
        return "-"
    spread = "" if column.spread is None else f"±{column.spread(row):.{column.digits}f}"
    return f"{value:.{column.digits}f}{spread}"
