"""Progress of many runs on stderr: a bar with rate and time left on a terminal, nothing elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from wattpack.experiments.runner import Report


@contextmanager
def progress_bar(title: str, console: Console | None = None) -> Iterator[Report]:
    """Yields the function to call before the first run and after each."""
    console = console or Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[what]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        bar = progress.add_task(escape(title), total=None, rate="", what="")
        counting = False

        def report(done: int, everything: int, what: str) -> None:
            nonlocal counting
            if not counting:  # runs that were there already took no time: they are not part of the rate
                progress.reset(bar, completed=done, total=everything, rate="", what="")
                counting = True
                return
            progress.update(bar, completed=done, what=escape(what))
            if speed := progress.tasks[bar].speed:
                rate = f"{speed:.1f} runs/s" if speed >= 1 else f"{1 / speed:.1f} s a run"
                progress.update(bar, rate=rate)

        yield report
