"""Progress of many runs on stderr: a bar with rate and time left on a terminal, nothing elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from wattpack.experiments.runner import Report


@contextmanager
def progress_bar(title: str) -> Iterator[Report]:
    """Yields the function to call after each run."""
    console = Console(stderr=True)
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
        bar = progress.add_task(title, total=None, rate="", what="")

        def report(done: int, everything: int, what: str) -> None:
            speed = progress.tasks[bar].speed
            rate = f"{speed:.1f} runs/s" if speed else ""
            progress.update(bar, completed=done, total=everything, what=what, rate=rate)

        yield report
